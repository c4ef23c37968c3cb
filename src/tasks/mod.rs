//! The queue of tasks: files with front matter, where each stands, which may begin, and who has it.
//!
//! Pure: [`status`] (which step may follow which), [`dependencies`] (what waits for what), [`queue`] (what comes next), [`graph`]
//! (pictures), [`write_back`] (one word in a file). Looking outside: [`folder`] (the files) and [`task_board`] (files and records together).

pub mod dependencies;
pub mod folder;
pub mod graph;
pub mod queue;
pub mod status;
pub mod task_board;
pub mod task_transition;
pub mod write_back;

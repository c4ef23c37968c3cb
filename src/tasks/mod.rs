//! The queue of tasks: files with front matter, their statuses, the next task, and its agent.
//!
//! Pure: [`status`] (the allowed transitions), [`dependencies`] (unmet ones and cycles), [`queue`] (the next task), [`graph`]
//! (pictures), [`write_back`] (one word in a file). With IO: [`folder`] (the files) and [`task_board`] (files and records together).

pub mod dependencies;
pub mod folder;
pub mod graph;
pub mod queue;
pub mod status;
pub mod task_board;
pub mod task_transition;
pub mod write_back;

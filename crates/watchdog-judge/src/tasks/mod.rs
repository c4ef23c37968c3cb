//! The queue of tasks: files with front matter, their statuses, the next task, and its agent.
//!
//! Pure: [`status`] (the allowed transitions), [`dependencies`] (unmet ones and cycles), [`queue`] (the next task), [`graph`]
//! (pictures), [`write_back`] (one word in a file), [`task_source`] (which queue). With IO: [`folder`] (the files) [`task_board`] (files and records together), [`leased_task`] (one that is worked on).

pub mod dependencies;
pub mod folder;
pub mod graph;
pub mod leased_task;
pub mod queue;
pub mod status;
pub mod task_board;
pub mod task_board_error;
pub mod task_source;
pub mod write_back;

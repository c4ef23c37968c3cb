//! Work on tasks: `task` takes one, has a loop work on it, and writes down what came of it; `pool` gives idle agents their next ones.
//!
//! `own_worktree` makes the worktree and branch of a task, `lease` keeps what is taken while it is worked on.

mod lease;
mod order;
mod own_worktree;
mod pool;
mod task;
pub mod task_queue;

pub use order::{TaskCheckout, TaskOrder};
pub use pool::{CrewOrder, CrewReport, PoolAgent, work};
pub use task::run_task;

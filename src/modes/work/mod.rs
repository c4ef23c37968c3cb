//! Works on tasks: `task` leases one, runs a loop on it and records the outcome; `pool` gives idle agents their next ones.
//!
//! `own_worktree` makes the worktree and branch of a task, `lease` renews its lease meanwhile.

mod lease;
mod options;
mod own_worktree;
mod pool;
mod task;
pub mod task_queue;
mod view;

pub use options::{TaskCheckout, TaskRunOptions};
pub use pool::{AgentPoolOptions, AgentPoolReport, PoolAgent, run_agent_pool};
pub use task::run_task;
pub use view::AgentPoolView;

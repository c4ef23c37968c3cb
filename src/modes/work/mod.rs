//! Works on tasks: `claim` leases one, `task` runs a loop on it and records the outcome; `pool` gives idle agents their next ones.
//!
//! `own_worktree` makes the worktree and branch of a task, `lease` renews its lease meanwhile (`boot_clock`);
//! `queue_choice` says whose queue the tasks are in.

mod boot_clock;
mod claim;
mod lease;
mod options;
mod own_worktree;
mod pool;
mod queue_choice;
mod task;
pub mod task_queue;
mod view;

pub use options::{TaskCheckout, TaskRunOptions};
pub use pool::{AgentPoolOptions, AgentPoolReport, PoolAgent, run_agent_pool};
pub use queue_choice::choose_queue;
pub use task::run_task;
pub use view::AgentPoolView;

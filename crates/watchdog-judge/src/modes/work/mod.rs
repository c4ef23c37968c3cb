//! Works on tasks: `claim` leases one, `preparation` makes what it needs, `task` runs a loop on it and records the outcome; `pool` gives
//! idle agents their next ones.
//!
//! `own_worktree` makes the worktree and branch of a task, `lease` renews its lease meanwhile (`boot_clock`);
//! `queue_choice` says whose queue the tasks are in. If a fleet shares the repository, `travel`
//! brings the work on a task to its remote and from there (`task_remote`, over `remote_git` and
//! `batch_ssh`, with the marks of `fence_commit`; `unpushed` for work that was complete and did not
//! get there).

mod batch_ssh;
mod boot_clock;
mod claim;
mod fence_commit;
mod lease;
#[cfg(test)]
mod odd_clones_tests;
mod options;
mod own_worktree;
mod pool;
mod preparation;
mod queue_choice;
#[cfg(test)]
mod remote_clones;
mod remote_git;
mod seat;
mod task;
mod task_push;
pub mod task_queue;
mod task_remote;
mod travel;
mod unpushed;
mod view;

pub use options::{TaskCheckout, TaskRunOptions};
pub use pool::{AgentPoolOptions, AgentPoolReport, PoolAgent, run_agent_pool};
pub use queue_choice::choose_queue;
pub use task::run_task;
pub use view::AgentPoolView;

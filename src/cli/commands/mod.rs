//! One file per command, and the way from the parsed command line to it.

mod breaker;
mod completions;
mod cron;
mod demo;
mod dispatch;
mod doctor;
pub mod evaluate;
mod events;
mod forget;
mod from_session;
mod hook;
mod init;
mod judging;
mod looping;
mod manual;
mod probe;
mod report;
mod rescue;
mod runtime;
pub mod schema;
mod snapshot;
mod snapshots;
mod status;
mod sweep;
mod task;
mod task_work;
mod trust;
mod watch;

pub use dispatch::{dispatch, judges_one_worktree};
pub use hook::excuse;

//! One file per command.

pub mod breaker;
pub mod completions;
mod cron;
pub mod demo;
pub mod doctor;
pub mod evaluate;
pub mod events;
pub mod forget;
mod from_session;
pub mod hook;
pub mod init;
pub mod judging;
pub mod looping;
pub mod manual;
pub mod probe;
pub mod report;
pub mod rescue;
mod runtime;
pub mod schema;
pub mod snapshot;
mod snapshots;
pub mod status;
pub mod sweep;
pub mod task;
mod task_work;
pub mod trust;
pub mod watch;

//! Each command has its own file.

pub mod agent;
pub mod agent_test;
pub mod breaker;
pub mod completions;
mod cron;
pub mod demo;
mod demo_stage;
pub mod doctor;
pub mod evaluate;
pub mod events;
pub mod explain;
pub mod fleet;
#[cfg(feature = "fleet")]
mod fleet_account_words;
#[cfg(feature = "fleet")]
pub(crate) mod fleet_copies;
#[cfg(feature = "fleet")]
mod fleet_events;
#[cfg(feature = "fleet")]
mod fleet_share;
#[cfg(feature = "fleet")]
mod fleet_status_words;
#[cfg(feature = "fleet")]
mod fleet_words;
pub mod forget;
mod from_session;
pub mod hook;
mod hook_settings;
pub mod init;
mod init_choice;
pub mod judging;
pub mod logs;
pub mod looping;
pub mod manual;
pub mod mcp;
pub mod notify_test;
pub mod probe;
pub mod report;
pub mod rescue;
mod runtime;
pub mod schema;
pub mod snapshot;
pub(super) mod snapshots;
pub mod status;
pub mod sweep;
pub mod switch;
pub mod task;
mod task_work;
pub mod trust;
pub mod watch;

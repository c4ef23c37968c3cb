//! One module for each mode of watchdog. Each takes the same five steps: open the worktree and lock it, wait for the session, collect the
//! input of the judgement, check whether it may begin, and let the judge drive it to a verdict.

pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod evaluate;
#[cfg(feature = "fleet")]
pub(crate) mod fleet;
pub(crate) mod forget;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod iterate;
mod person;
mod pid_wait;
pub(crate) mod record_baseline;
pub(crate) mod rescue_now;
pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod watching;
pub(crate) mod work;

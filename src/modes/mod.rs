//! One module for each way in which watchdog is used. Each reads as the same five steps: open the worktree and lock it, wait for the
//! session, settle what is to be judged, see whether it may be, and let the judge drive it to a verdict.

pub mod check;
pub mod evaluate;
pub mod forget;
pub mod hook;
pub mod iterate;
pub mod live_session;
pub mod person;
pub mod pid_wait;
pub mod record_baseline;
pub mod rescue_now;
pub mod run;
pub mod sweep;
pub mod watching;
pub mod work;

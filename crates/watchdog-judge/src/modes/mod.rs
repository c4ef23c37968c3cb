//! Each mode of watchdog has its own module. Each takes the same five steps: open the worktree and
//! lock it, wait for the session, collect the
//! input of the judgement, check whether it may begin, and let the judge drive it to a verdict.

pub mod blocked;
pub mod check;
pub mod doctor;
pub mod evaluate;
pub mod forget;
pub mod hook;
pub mod init;
pub mod iterate;
mod person;
mod pid_wait;
pub mod record_baseline;
pub mod rescue_now;
pub mod run;
pub mod sweep;
pub mod watching;
pub mod work;

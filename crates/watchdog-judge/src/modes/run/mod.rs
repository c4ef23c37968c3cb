//! `watchdog run`: one session under watch, and its judgement.

pub(crate) mod first_failure;
mod periodic;
pub(crate) mod session_recognition;
pub(crate) mod session_run;
pub(crate) mod session_wait;
pub(crate) mod sighted_agent;
mod silence_watch;
pub mod view;
pub mod wrapped;

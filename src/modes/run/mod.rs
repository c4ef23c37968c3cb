//! `watchdog run`: one session under watch, and its judgement.

mod budget;
pub(crate) mod first_failure;
mod periodic;
pub(crate) mod session_run;
mod session_wait;
mod silence_watch;
pub(crate) mod view;
pub(crate) mod wrapped;

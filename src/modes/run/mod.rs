//! `watchdog run`: one session under watch, and its judgement.

pub mod budget;
pub mod first_failure;
pub mod periodic;
pub mod session_run;
pub mod session_wait;
pub mod silence_watch;
pub mod wrapped;

//! `watchdog status --watch`: the shell around the view of `watchdog-view`, and what a person may do from it.
//!
//! `shell` is the event loop, `perform` the thread that does what was confirmed, `plain` the lines in a pipe.

mod perform;
mod plain;
mod shell;

pub(super) use shell::watch_live;

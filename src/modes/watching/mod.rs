//! `watchdog watch`: judges worktrees on every commit, session end or change.
//!
//! [`watch`] is the loop. `watch_set` keeps the watched worktrees and finds those that an event concerns, `fs_events` receives events of
//! the file system, `discovery` searches for worktrees, `scan` judges one as `check --once` does, `suspend_detector` notices suspends and
//! clock jumps, `stalled` reports sessions that fell silent.

mod discovery;
mod due_scans;
mod event_loop;
mod fs_events;
mod head_scan;
mod request;
mod scan;
#[cfg(test)]
mod scan_panics;
mod stalled;
mod suspend_detector;
mod watch_set;
mod watch_sources;
mod watched_folders;

pub use event_loop::watch;
pub use request::WatchRequest;

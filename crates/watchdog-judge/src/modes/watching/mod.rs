//! `watchdog watch`: judges worktrees on every commit, session end or change.
//!
//! [`watch_worktrees`] is the loop. `watch_set` keeps the watched worktrees and finds those that an event concerns, `fs_events` receives events of
//! the file system, `due_scans` keeps the scans that are due, `suspend_detector` notices suspends and clock jumps. What reads files blocks, and runs in threads: `watch_sources` opens the sources of events, `discovery` searches
//! for worktrees, `head_scan` reads where HEAD is, `scan` judges one worktree as `check --once` does, and `stalled` reports sessions that
//! fell silent.

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

pub use event_loop::watch_worktrees;
pub use request::WatchRequest;

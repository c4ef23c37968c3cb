//! `watchdog watch`: stays, and judges as commits, ends of sessions and changes happen.
//!
//! [`watch`] is the loop; `watch_set` knows which worktrees there are and whom a movement is about; `fs_events` hears movements;
//! `discovery` searches; `scan` judges one worktree, as `check --once` does; `suspend_detector` notices time that went by unheard; `stalled` tells of
//! sessions that fell silent.

mod discovery;
mod event_loop;
mod fs_events;
mod request;
mod scan;
#[cfg(test)]
mod scan_panics;
mod stalled;
mod suspend_detector;
mod watch_set;

pub use event_loop::watch;
pub use request::WatchRequest;

//! `watchdog watch`: stays, and judges as commits, ends of sessions and changes happen.
//!
//! [`watch`] is the loop; `watch_set` knows which worktrees there are and whom a movement is about; `fs_events` hears movements; `due_scans`
//! knows which looks are due; `suspend_detector` notices time that went by unheard. What touches files blocks, and runs in threads:
//! `watch_sources` opens what is listened to, `watched_folders` has the system tell of movements, `discovery` searches, `head_scan` reads
//! where HEAD is, `scan` judges one worktree, as `check --once` does, and `stalled` tells of sessions that fell silent.

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

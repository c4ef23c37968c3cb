//! Only gix. Reads HEAD, history and changes, makes and restores snapshots. Never starts a process.

mod baseline;
mod blob;
mod discover;
mod harden;
mod history;
mod net_change;
mod open;
mod origin;
mod patch;
mod reflog;
mod rewritten;
mod snapshot;
mod walk;

pub use baseline::Point;
pub use open::{Error, Worktree};
pub use snapshot::{RestoreError, RestoreTarget, Restored, RestoredTo, Snapshot, SnapshotInfo, SnapshotRequest};

//! Only gix. Reads HEAD, history and changes, makes and restores snapshots. Never starts a process.

mod open;
mod snapshot;

pub use open::{Error, Worktree};
pub use snapshot::{RestoreError, RestoreTarget, Restored, RestoredTo, Snapshot, SnapshotInfo, SnapshotRequest};

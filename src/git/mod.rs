//! Only gix. Reads HEAD, history and changes, makes and restores snapshots. Never starts a process.

mod open;
mod snapshot;

pub use open::{Error, Worktree};
pub use snapshot::{
    CommitState, RestoreError, RestoreTarget, Restored, RestoredTo, SavedIndex, Snapshot, SnapshotInfo, SnapshotKind, SnapshotPath,
    SnapshotRequest,
};

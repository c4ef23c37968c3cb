//! Only gix. Reads HEAD, history and changes, makes and restores snapshots. Never starts a process.

mod baseline;
mod baseline_ref;
mod blob;
mod changes;
mod content;
mod discover;
mod family;
mod fetched;
mod guarded;
mod guarded_disk;
mod harden;
mod head_path;
mod hidden;
mod history;
mod known_refs;
mod listing;
mod net_change;
mod open;
mod operation;
mod origin;
mod origin_evidence;
mod patch;
mod path_text;
mod pushed;
mod reflog;
mod rescue_branch;
mod rescued;
mod rewritten;
mod search;
mod served;
mod snapshot;
mod somebody;
mod span;
mod special;
mod staged;
mod steady;
mod submodule;
mod touched;
mod traces;
mod tree_change;
mod verified;
mod walk;
mod work_diff;
mod work_state;
mod work_tree;
mod worktrees;

pub use baseline::Point;
pub use baseline_ref::KeptBaseline;
pub use family::Family;
pub use guarded::Wanted;
pub use hidden::HiddenEntries;
pub use known_refs::{KnownRefs, RefTip};
pub use open::{Error, Worktree};
pub use origin_evidence::{OriginEvidence, RescuedCommit};
pub use path_text::{escape_path, unescape_path};
pub use pushed::Pushed;
pub use rescue_branch::RescueBranch;
pub use search::{Search, find_worktrees};
pub use served::{Answer, RunsGit, serve_with};
pub use snapshot::{
    AfterCommit, Candidate, CommitState, FileDiff, KeptEntry, PrivateRule, RestoreError, RestoreTarget, Restored, RestoredTo, SavedIndex,
    Snapshot, SnapshotDiff, SnapshotInfo, SnapshotKind, SnapshotPath, SnapshotRequest, Uncommitted, Versions,
};
pub use traces::{Scene, TABLES, Traces};
pub use work_diff::WorkDiff;
pub use worktrees::{FoundWorktree, Standing, worktrees_of};

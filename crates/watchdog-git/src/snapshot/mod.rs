//! Snapshots: all uncommitted work of a worktree as commits that no branch contains, and their restore.
//!
//! A snapshot is a commit at `refs/watchdog/rescue/<spec>/<utc>-<n>`. Its tree is the work tree: tracked and
//! untracked files byte for byte; of ignored files only those that the private rule selects, in the private part. Its message names
//! its parents:
//! - `Watchdog-Head`: the commit that HEAD named, absent on an unborn branch;
//! - `Watchdog-Index`: a commit of the exact index, absent where the index cannot be read;
//! - `Watchdog-Extras`, only where needed: `conflicts/<stage>/<path>` holds the stages of a conflict,
//!   `nested/<path>` the uncommitted files of submodules and of linked worktrees inside this one, and
//!   `intent-to-add` the paths that were added without content.
//!
//! Secrets and over-size files can go to `refs/watchdog/private/<spec>/<utc>-<n>` instead; see `private.rs`. The public commit does not
//! reference the private one, and every reader of a snapshot merges both.
//!
//! The files of a nested repository that is no submodule are ordinary files of the snapshot, without its
//! `.git` folder. Modes are those of git: executable or not, symlink or not.

mod as_committed;
mod blobs;
mod contents;
mod diff;
mod disk;
mod for_commits;
mod hand_made;
mod ignore_rules;
mod index_behind;
mod list;
mod loose_ref;
mod nested;
mod new_objects;
mod pack_entry;
mod pack_folder;
mod pack_index;
mod pack_writer;
mod private;
mod proof;
mod record;
mod recorded_rules;
mod restore;
mod restore_disk;
mod restore_ignored;
mod restore_in_place;
mod restore_index;
mod restore_result;
mod scan;
mod show;
mod sizes;
mod spec_name;
mod take;
mod tree;
mod types;
mod uncommitted;
mod write_tree;

pub use as_committed::CommitMismatch;
pub use contents::{CommitReadiness, IndexBackup, SnapshotPath, SnapshotPathKind};
pub(crate) use diff::diff_trees as changes_between;
pub(crate) use disk::{FolderWalk, as_path};
pub use for_commits::{CommitSideEffects, EntryToCommit, FileBeforeAfter};
pub(crate) use ignore_rules::FolderRules;
pub use index_behind::find_named_snapshot;

pub(crate) use loose_ref::write_loose_ref;
pub(crate) use record::build_signature;
pub use restore_result::{RestoreError, RestoreResult, RestoreTarget, RestoredTo};
pub(crate) use scan::{is_committable, mode_of};
pub use show::{FileDiff, SnapshotDiff};
pub use sizes::SnapshotSizes;
pub(crate) use spec_name::for_ref as spec_for_ref;
pub use types::{
    PrivacyClassifier, SecretFile, Snapshot, SnapshotCandidate, SnapshotRequest, SnapshotSummary,
};
pub use uncommitted::UncommittedFiles;

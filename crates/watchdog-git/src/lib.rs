//! Only gix. Reads HEAD, history and changes, makes and restores snapshots. Never starts a process.

#![warn(missing_docs, unreachable_pub)]

mod baseline;
mod baseline_ref;
mod beside_head;
mod birth;
mod blob;
mod blob_reader;
mod born_names;
mod born_worktrees;
mod branch;
mod brought;
mod changes;
mod clone_id;
mod commit_text;
mod comparison_parts;
mod config_fault;
mod content;
mod content_ids;
mod discover;
mod dropping_link;
mod error;
mod fetched;
mod file_state;
#[doc(hidden)]
pub mod fuzzed_readers;
mod gate_hooks;
mod guarded;
mod guarded_disk;
mod harden;
mod head_path;
mod hidden;
mod history;
mod index_folder;
mod judged_ref;
mod kept_listing;
mod known_refs;
mod left_behind;
mod line_hunks;
mod listing;
mod local_programs;
mod lost_branches;
mod lost_commits;
mod net_change;
mod open;
mod operation;
mod origin;
mod origin_evidence;
mod own_folders;
mod own_refs;
mod patch;
mod path_text;
mod pushed;
mod ref_owner;
mod reflog;
mod reftable;
mod remote_address;
mod repo_cache;
mod rescue_branch;
mod rescued;
mod retry_moved;
mod rewritten;
mod search;
mod shared_modes;
mod snapshot;
mod special;
mod staged;
mod stash;
mod stat_fingerprint;
mod stillness;
mod submodule;
mod submodule_commits;
mod submodule_work;
mod touched;
mod tree_change;
mod unmerged;
mod verified;
mod walk;
mod work_diff;
mod work_state;
mod work_tree;
mod worktree_id;
mod worktrees;

pub use baseline::HistoryPoint;
pub use baseline_ref::KeptBaseline;
pub use born_worktrees::BornWorktree;
pub use config_fault::{NO_SNAPSHOT, ask_for_broken_settings, find_config_fault, new_words_fault};
pub use discover::refuse_home_folder;
pub use dropping_link::DroppingLink;
pub use error::Error;
pub use file_state::is_absent;
pub use gate_hooks::CommitForHooks;
pub use guarded::GuardedPaths;
pub use hidden::HiddenEntries;
pub use known_refs::{KnownRefs, RefTip, UnclaimedNames};
pub use line_hunks::line_hunks;
pub use open::{Worktree, leave_gone_folder};
pub use origin_evidence::{ContentAtBaseline, OriginEvidence, RescuedCommit};
pub use own_folders::OwnFolder;
pub use own_refs::{OwnRef, OwnRefKind};
pub use path_text::{escape_path, unescape_path};
pub use pushed::RemoteState;
pub use reftable::{GitProcessOutput, GitRunner, TABLES, serve_with};
pub use remote_address::{
    absolute_address, public_address, repository_id_of, why_no_repository_id, without_credentials,
};
pub use repo_cache::RepoCache;
pub use rescue_branch::RescueBranch;
pub use search::{SearchResult, find_worktrees};
pub use snapshot::{
    CommitMismatch, CommitReadiness, CommitSideEffects, EntryToCommit, FileBeforeAfter, FileDiff,
    IndexBackup, PrivacyClassifier, RestoreError, RestoreResult, RestoreTarget, RestoredTo,
    SecretFile, Snapshot, SnapshotCandidate, SnapshotDiff, SnapshotPath, SnapshotPathKind,
    SnapshotRequest, SnapshotSizes, SnapshotSummary, UncommittedFiles, find_named_snapshot,
};
pub use stat_fingerprint::{FingerprintScope, StatFingerprints};
pub use submodule::UnsettledSubmodule;
pub use submodule_commits::LeftCommit;
pub use unmerged::UnmergedWork;
pub use work_diff::WorkDiff;
pub use worktrees::{
    FoundWorktree, ListedWorktree, WorktreeState, named_git_dirs, why_broken, worktrees_of,
};

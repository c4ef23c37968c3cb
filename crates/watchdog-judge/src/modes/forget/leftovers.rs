//! The leftovers of worktrees in watchdog's records, by kind: those that are removed, and those that stay.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::hooks::HookDialect;
use crate::hooks::settings_file::SettingsFile;
use watchdog_git::OwnRef;
use watchdog_store::left_rows::ForgottenOwners;

/// The worktrees to forget.
#[derive(Debug, Clone)]
pub struct ForgetOptions {
    /// Every worktree of the repository, also those whose folder is gone.
    pub all: bool,
    /// Also snapshots of work, and commits that no other ref keeps.
    pub snapshots: bool,
    /// How hooks call this program besides `watchdog`, as a shell word.
    pub program: String,
    /// The files in which each agent reads hooks of the user's own.
    pub user_hooks: Vec<(HookDialect, PathBuf)>,
}

/// The leftovers, by kind, in the order in which they are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftoverKind {
    /// Entries in agents' settings of the worktree.
    Hooks,
    /// Rows of the database, and days of which a worktree has figures of its own.
    Records,
    /// Events of the journal.
    Events,
    /// Files that are trusted.
    Trust,
    /// Refs of baselines, anchors and judged heads; with all snapshots, also those of unknown kinds.
    Refs,
    /// Snapshots, with their secrets and over-size files.
    Snapshots,
    /// Logs of sessions and prompts of loops.
    Files,
}

impl LeftoverKind {
    /// Every kind, in that order.
    pub const ALL: [LeftoverKind; 7] = [
        LeftoverKind::Hooks,
        LeftoverKind::Records,
        LeftoverKind::Events,
        LeftoverKind::Trust,
        LeftoverKind::Refs,
        LeftoverKind::Snapshots,
        LeftoverKind::Files,
    ];

    /// The word, for people and for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            LeftoverKind::Hooks => "hooks",
            LeftoverKind::Records => "records",
            LeftoverKind::Events => "events",
            LeftoverKind::Trust => "trust",
            LeftoverKind::Refs => "refs",
            LeftoverKind::Snapshots => "snapshots",
            LeftoverKind::Files => "files",
        }
    }
}

/// How much there is of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftoverCount {
    /// How many.
    pub count: u64,
    /// Their size, where it is known.
    pub bytes: Option<u64>,
}

/// Why something stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeepReason {
    /// Snapshots of the target worktrees.
    Snapshots,
    /// Refs that alone keep commits.
    SoleRefs,
    /// Snapshots, trusted files and tasks of other worktrees of the repository.
    OtherWorktrees,
    /// Worktrees that agents were given for tasks.
    TaskWorktrees,
    /// Entries in the user's own settings.
    UserHooks,
}

impl KeepReason {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            KeepReason::Snapshots => "snapshots",
            KeepReason::SoleRefs => "sole_refs",
            KeepReason::OtherWorktrees => "other_worktrees",
            KeepReason::TaskWorktrees => "task_worktrees",
            KeepReason::UserHooks => "user_hooks",
        }
    }
}

/// A worktree to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetWorktree {
    /// Its name in the records.
    pub id: String,
    /// Its top folder, where it is known.
    pub root: Option<PathBuf>,
    /// Whether that folder is there.
    pub there: bool,
}

/// The leftovers of worktrees.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// The target worktrees.
    pub worktrees: Vec<TargetWorktree>,
    /// How much is removed of each kind.
    pub counts: BTreeMap<LeftoverKind, LeftoverCount>,
    /// How much stays, by reason.
    pub kept_counts: BTreeMap<KeepReason, u64>,
    /// Read errors, for a person.
    pub notes: Vec<String>,
    pub(super) owners: ForgottenOwners,
    pub(super) settings: Vec<(HookDialect, SettingsFile)>,
    pub(super) grants: Vec<String>,
    pub(super) refs: Vec<OwnRef>,
    pub(super) files: Vec<PathBuf>,
}

impl Leftovers {
    pub(super) fn add(&mut self, kind: LeftoverKind, count: u64, bytes: Option<u64>) {
        let total = self.counts.entry(kind).or_default();
        total.count += count;
        if let Some(bytes) = bytes {
            total.bytes = Some(total.bytes.unwrap_or(0) + bytes);
        }
    }

    pub(super) fn keep(&mut self, reason: KeepReason, count: u64) {
        if count > 0 {
            *self.kept_counts.entry(reason).or_default() += count;
        }
    }

    /// Whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.counts.values().all(|total| total.count == 0)
    }
}

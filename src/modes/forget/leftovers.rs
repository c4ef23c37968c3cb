//! The leftovers of worktrees in watchdog's records, by kind: those that are removed, and those that stay.

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
    /// Rows of the database.
    Records,
    /// Days of which a worktree has figures of its own.
    Figures,
    /// Events of the journal.
    Events,
    /// Files that are trusted.
    Trust,
    /// Refs of baselines.
    BaselineRefs,
    /// Refs of anchors.
    AnchorRefs,
    /// Refs of judged heads.
    JudgedRefs,
    /// Snapshots.
    Snapshots,
    /// Their secrets and over-size files.
    PrivateParts,
    /// Refs of a kind that this program does not know.
    OtherRefs,
    /// Logs of sessions.
    Logs,
    /// Files with the prompt of a loop.
    Prompts,
    /// Lock files.
    Locks,
}

impl LeftoverKind {
    /// Every kind, in that order.
    pub const ALL: [LeftoverKind; 14] = [
        LeftoverKind::Hooks,
        LeftoverKind::Records,
        LeftoverKind::Figures,
        LeftoverKind::Events,
        LeftoverKind::Trust,
        LeftoverKind::BaselineRefs,
        LeftoverKind::AnchorRefs,
        LeftoverKind::JudgedRefs,
        LeftoverKind::Snapshots,
        LeftoverKind::PrivateParts,
        LeftoverKind::OtherRefs,
        LeftoverKind::Logs,
        LeftoverKind::Prompts,
        LeftoverKind::Locks,
    ];

    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            LeftoverKind::Hooks => "hooks",
            LeftoverKind::Records => "records",
            LeftoverKind::Figures => "figures",
            LeftoverKind::Events => "events",
            LeftoverKind::Trust => "trust",
            LeftoverKind::BaselineRefs => "baseline_refs",
            LeftoverKind::AnchorRefs => "anchor_refs",
            LeftoverKind::JudgedRefs => "judged_refs",
            LeftoverKind::Snapshots => "snapshots",
            LeftoverKind::PrivateParts => "private_parts",
            LeftoverKind::OtherRefs => "other_refs",
            LeftoverKind::Logs => "logs",
            LeftoverKind::Prompts => "prompts",
            LeftoverKind::Locks => "locks",
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
    /// Snapshots of other worktrees.
    OtherSnapshots,
    /// Trusted files that other worktrees share.
    SharedTrust,
    /// Tasks that other worktrees share.
    SharedTasks,
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
            KeepReason::OtherSnapshots => "snapshots_elsewhere",
            KeepReason::SharedTrust => "shared_trust",
            KeepReason::SharedTasks => "shared_tasks",
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
#[derive(Debug)]
pub struct Leftovers {
    /// The target worktrees.
    pub worktrees: Vec<TargetWorktree>,
    /// The removed rows and refs: every kind, in its order.
    pub counts: Vec<(LeftoverKind, LeftoverCount)>,
    /// The records by their kind.
    pub records: Vec<(&'static str, u64)>,
    /// The kept rows and refs, by reason.
    pub kept: Vec<(KeepReason, u64)>,
    /// Read errors, for a person.
    pub notes: Vec<String>,
    pub(super) owners: ForgottenOwners,
    pub(super) settings: Vec<(HookDialect, SettingsFile)>,
    pub(super) grants: Vec<String>,
    pub(super) refs: Vec<OwnRef>,
    pub(super) files: Vec<PathBuf>,
}

impl Leftovers {
    /// Whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|(_, found)| found.count == 0)
    }
}

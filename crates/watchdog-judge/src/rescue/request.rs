//! The input of a rescue: the work, the settings, and the snapshot for the proof.

use std::collections::BTreeSet;

use watchdog_core::config::settings::RescueSettings;
use watchdog_git::Snapshot;

/// A rescue of a worktree.
#[derive(Debug, Clone, Copy)]
pub struct RescueRequest<'a> {
    /// Mode, limits and the paths that are never committed.
    pub settings: &'a RescueSettings,
    /// The name of the work.
    pub spec: &'a str,
    /// The work before the rescue, for the proof afterwards.
    pub snapshot: &'a Snapshot,
    /// Paths (percent-escaped where not UTF-8) that are not the session's work: they stay uncommitted, and are not told as left out.
    pub others: &'a BTreeSet<String>,
}

/// The empty set: everything uncommitted is to be rescued.
pub static NO_OTHERS: BTreeSet<String> = BTreeSet::new();

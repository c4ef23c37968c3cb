//! Takes snapshots of what the helpers of a session have uncommitted in worktrees of their own. That is work of the session, and must
//! outlive the removal of such a worktree.

use std::path::Path;

use jiff::Timestamp;

use crate::rescue::take_snapshot;
use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_git::{Error, OriginEvidence, Snapshot, Worktree, is_absent};

/// The snapshots of helpers.
#[derive(Debug, Default)]
pub struct BornWorktreeSnapshots {
    /// Those that this call took.
    pub taken: Vec<Snapshot>,
    /// The failures, for a person.
    pub failed: Vec<String>,
}

/// Takes a snapshot of each helper's uncommitted files under the session's spec and the helper's name, so that `rescue list` and `restore`
/// find them. `is_due` gets the folder and a fingerprint of its state.
pub fn snapshot_helpers(
    worktree: &Worktree,
    evidence: &OriginEvidence,
    (spec, at, why): (&str, Timestamp, &str),
    settings: &RescueSettings,
    mut is_due: impl FnMut(&Path, u64) -> bool,
) -> BornWorktreeSnapshots {
    let mut kept = BornWorktreeSnapshots::default();
    if settings.mode == RescueMode::Off {
        return kept;
    }
    let helpers = match worktree.helper_worktrees(evidence) {
        Ok(helpers) => helpers,
        Err(error) => {
            kept.failed
                .push(format!("cannot look for helpers of the session: {error}"));
            return kept;
        }
    };
    for helper in helpers {
        let spec = format!("{spec}/{}", helper.name);
        let mut keep = || -> Result<Option<Snapshot>, Error> {
            let there = Worktree::open(&helper.root)?;
            let changes = there.changes()?;
            if !changes.any() || !is_due(&helper.root, changes.fingerprint) {
                return Ok(None);
            }
            take_snapshot(&there, (&spec, at, why), settings)
        };
        match keep() {
            Ok(taken) => kept.taken.extend(taken.filter(|snapshot| !snapshot.reused)),
            // It may have been removed a moment ago.
            Err(_) if is_absent(&helper.root) => {}
            Err(error) => kept.failed.push(format!(
                "the worktree {} of a helper could not be kept: {error}",
                helper.root.display()
            )),
        }
    }
    kept
}

//! Snapshots beside those of the session's own worktree: takes those of its helpers, says what no snapshot has, and deletes old ones.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::clock::now;
use crate::rescue::take_snapshot;
use crate::session::{expire_logs, record_lives};
use crate::wire::judgement_events::expired_data;
use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_facts::display::{name_first, plural};
use watchdog_git::{Error, OriginEvidence, Snapshot, Worktree, is_absent};
use watchdog_store::journal::{kind, new_event};
use watchdog_store::{LocalStore, RecordType, expiry, refs, session::SessionRecord};

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
    let mut snapshots = BornWorktreeSnapshots::default();
    if settings.mode == RescueMode::Off {
        return snapshots;
    }
    let helpers = match worktree.helper_worktrees(evidence) {
        Ok(helpers) => helpers,
        Err(error) => {
            snapshots
                .failed
                .push(format!("cannot look for helpers of the session: {error}"));
            return snapshots;
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
            Ok(taken) => snapshots
                .taken
                .extend(taken.filter(|snapshot| !snapshot.reused)),
            // It may have been removed a moment ago.
            Err(_) if is_absent(&helper.root) => {}
            Err(error) => snapshots.failed.push(format!(
                "the worktree {} of a helper could not be kept: {error}",
                helper.root.display()
            )),
        }
    }
    snapshots
}

/// The number of paths that are named.
const NAMED: usize = 3;

/// The sentence about them; `None` where the snapshot has everything.
pub fn describe_gaps(snapshot: &Snapshot) -> Option<String> {
    let denied = sentence(
        &snapshot.denied_paths().collect::<Vec<_>>(),
        "path",
        "cannot be read (permission denied), so no snapshot has",
    );
    let beyond = sentence(
        &snapshot.over_limit().collect::<Vec<_>>(),
        "new file",
        "over rescue.max_snapshot_bytes, so no snapshot has",
    );
    denied
        .into_iter()
        .chain(beyond)
        .reduce(|first, more| format!("{first}; {more}"))
}

fn sentence(paths: &[&str], noun: &str, why: &str) -> Option<String> {
    let quoted: Vec<String> = paths.iter().map(|path| format!("'{path}'")).collect();
    let (files, them) = (
        plural(paths.len() as u64, noun),
        if paths.len() == 1 { "it" } else { "them" },
    );
    (!paths.is_empty()).then(|| format!("{files} {why} {them}: {}", name_first(&quoted, NAMED)))
}

/// The key for the refs of baselines, in place of a repository's name; no repository's name has this form.
const RECORDED_REFS: &str = "recorded refs";
/// The key for the logs of sessions, likewise.
const SESSION_LOGS: &str = "session logs";

/// Deletes the snapshots that are older than `keep_days`, never the newest of a spec, and records that in the journal. Deletes the recorded
/// refs of baselines that are gone, and logs of sessions that are older than 30 days, in every worktree.
///
/// Returns what went wrong, for a person: nothing depends on it, and the next day tries again.
pub fn expire(
    worktree: &Worktree,
    store: &dyn LocalStore,
    logs: &Path,
    keep_days: u32,
) -> Result<(), String> {
    let at = now();
    if !expiry::is_expiry_due(store, &worktree.repository_id(), at)
        .map_err(|error| error.to_string())?
    {
        return Ok(());
    }
    // Each runs, even if another fails.
    let forgotten = forget_refs(store, at);
    let dropped = drop_logs(store, logs, at);
    drop_snapshots(worktree, store, keep_days, at)
        .and(forgotten)
        .and(dropped)
}

/// The logs of all worktrees: those of removed ones would stay for ever.
fn drop_logs(store: &dyn LocalStore, logs: &Path, at: Timestamp) -> Result<(), String> {
    if !expiry::is_expiry_due(store, SESSION_LOGS, at).map_err(|error| error.to_string())? {
        return Ok(());
    }
    let sessions = SessionRecord::list_rows(store).map_err(|error| error.to_string())?;
    let sessions = sessions
        .into_iter()
        .filter_map(|(_, _, record)| record.ok());
    let running: HashSet<PathBuf> = sessions
        .filter(record_lives)
        .filter_map(|record| record.log)
        .collect();
    let removed = expire_logs(logs, at, &running);
    if removed > 0 {
        tracing::debug!(target: "watchdog::session", count = removed, "removed logs of sessions that are older than 30 days");
    }
    Ok(())
}

/// All repositories share the refs: a sweep of a thousand repositories searches them once.
fn forget_refs(store: &dyn LocalStore, at: Timestamp) -> Result<(), String> {
    if expiry::is_expiry_due(store, RECORDED_REFS, at).map_err(|error| error.to_string())? {
        refs::forget_unused(store, at).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn drop_snapshots(
    worktree: &Worktree,
    store: &dyn LocalStore,
    keep_days: u32,
    at: Timestamp,
) -> Result<(), String> {
    let before = at
        .checked_sub(jiff::SignedDuration::from_hours(24 * i64::from(keep_days)))
        .map_err(|error| error.to_string())?;
    worktree
        .expire_judged(before)
        .map_err(|error| error.to_string())?;
    let dropped = worktree
        .expire_snapshots(before)
        .map_err(|error| error.to_string())?;
    if dropped.is_empty() {
        return Ok(());
    }
    let noted = new_event(
        at,
        &worktree.worktree_id(),
        None,
        kind::EXPIRED,
        expired_data(&dropped, keep_days),
    );
    // Nothing guards this append, so it cannot be fenced.
    store
        .append(&[noted], None)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_nobody_may_read_are_counted_and_the_first_three_named() {
        let describe = |denied: &[&str]| {
            sentence(
                denied,
                "path",
                "cannot be read (permission denied), so no snapshot has",
            )
            .unwrap_or_default()
        };
        assert_eq!(describe(&[]), "");
        assert_eq!(
            describe(&["a"]),
            "1 path cannot be read (permission denied), so no snapshot has it: 'a'"
        );
        assert_eq!(
            describe(&["a", "b", "c", "d"]),
            "4 paths cannot be read (permission denied), so no snapshot has them: 'a', 'b', 'c' and 1 more"
        );
    }
}

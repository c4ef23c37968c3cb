//! Deletes old snapshots, old logs of sessions, and recorded refs that no baseline needs any more, at most once a day for each repository, at the end of a
//! command.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use watchdog_git::Worktree;
use watchdog_store::journal::{event, kind};
use watchdog_store::{LocalStore, expiry, refs, session};

use crate::clock::now;
use crate::session::{expire_logs, record_lives};
use crate::wire::judgement_events::expired_data;

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
    if !expiry::due(store, &worktree.repository_id(), at).map_err(|error| error.to_string())? {
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
    if !expiry::due(store, SESSION_LOGS, at).map_err(|error| error.to_string())? {
        return Ok(());
    }
    let sessions = session::everywhere(store).map_err(|error| error.to_string())?;
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
    if expiry::due(store, RECORDED_REFS, at).map_err(|error| error.to_string())? {
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
    let noted = event(
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

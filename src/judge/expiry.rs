//! Deletes old snapshots, and recorded refs that no baseline needs any more, at most once a day for each repository, at the end of a
//! command.

use jiff::Timestamp;

use watchdog_git::Worktree;
use watchdog_store::journal::{event, kind};
use watchdog_store::{LocalStore, expiry, refs};

use crate::clock::now;
use crate::wire::judgement_events::expired_data;

/// The key for the refs of baselines, in place of a repository's name; no repository's name has this form.
const RECORDED_REFS: &str = "recorded refs";

/// Deletes the snapshots that are older than `keep_days`, never the newest of a spec, and records that in the journal. Deletes the recorded
/// refs of baselines that are gone.
///
/// Returns what went wrong, for a person: nothing depends on it, and the next day tries again.
pub fn expire(worktree: &Worktree, store: &dyn LocalStore, keep_days: u32) -> Result<(), String> {
    let at = now();
    if !expiry::due(store, &worktree.repository_id(), at).map_err(|error| error.to_string())? {
        return Ok(());
    }
    // Either runs, even if the other fails.
    let forgotten = forget_refs(store, at);
    drop_snapshots(worktree, store, keep_days, at).and(forgotten)
}

/// All repositories share the refs: a sweep of a thousand repositories searches them once.
fn forget_refs(store: &dyn LocalStore, at: Timestamp) -> Result<(), String> {
    if expiry::due(store, RECORDED_REFS, at).map_err(|error| error.to_string())? {
        refs::forget_unused(store, at).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn drop_snapshots(worktree: &Worktree, store: &dyn LocalStore, keep_days: u32, at: Timestamp) -> Result<(), String> {
    let before = at.checked_sub(jiff::SignedDuration::from_hours(24 * i64::from(keep_days))).map_err(|error| error.to_string())?;
    worktree.expire_judged(before).map_err(|error| error.to_string())?;
    let dropped = worktree.expire_snapshots(before).map_err(|error| error.to_string())?;
    if dropped.is_empty() {
        return Ok(());
    }
    let noted = event(at, &worktree.worktree_id(), None, kind::EXPIRED, expired_data(&dropped, keep_days));
    // Nothing guards this append, so it cannot be fenced.
    store.append(&[noted], None).map(drop).map_err(|error| error.to_string())
}

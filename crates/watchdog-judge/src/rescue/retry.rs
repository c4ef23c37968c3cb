//! Commits although others work in the same repository: locks are waited for, and commits that appear meanwhile are fine.

use std::time::Instant;

use jiff::Timestamp;

use super::index_lock::{named_in, wait_for_lock};
use super::private_rule::private_rule;
use super::request::RescueRequest;
use watchdog_facts::evidence::RescueOutcome;
use watchdog_git::{CommitReadiness, Error, Snapshot, SnapshotRequest, Worktree};

/// git's messages after another commit landed meanwhile and included the paths.
const OVERTAKEN: [&str; 4] = [
    "cannot lock ref",
    "nothing to commit",
    "nothing added to commit",
    "did not match any file",
];
/// How often it is tried in all.
const ATTEMPTS: usize = 5;

/// Waits for the index's lock, at most for the time of the whole rescue. `false`, and why in `outcome`, where it stays.
pub(super) fn index_is_free(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    outcome: &mut RescueOutcome,
) -> bool {
    let lock = worktree.git_dir().join("index.lock");
    match wait_for_lock(
        &lock,
        worktree.root(),
        Instant::now() + request.settings.timeout,
    ) {
        Ok(()) => true,
        Err(why) => {
            outcome.failed = Some(why);
            false
        }
    }
}

/// Calls `commit`, which adds to the outcome that it is given, until it succeeds or fails for another reason than a concurrent git.
///
/// - Waits for a lock (of the index, of HEAD, of a branch), at most until the rescue's deadline.
/// - If HEAD moved since the snapshot, a failure may be about paths that are committed by now: it retries with the rest, and if
///   there is none, another process was faster.
pub(super) fn commit_with_retry(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    outcome: &mut RescueOutcome,
    mut commit: impl FnMut(
        &RescueRequest<'_>,
        &CommitReadiness,
        &mut RescueOutcome,
    ) -> Result<(), Error>,
) -> Result<(), Error> {
    let deadline = Instant::now() + request.settings.timeout;
    let index_lock = worktree.git_dir().join("index.lock");
    let before = outcome.clone();
    let mut newer: Option<Snapshot> = None;
    for attempt in 1..=ATTEMPTS {
        *outcome = before.clone();
        if let Err(why) = wait_for_lock(&index_lock, worktree.root(), deadline) {
            outcome.failed = Some(why);
            return Ok(());
        }
        let snapshot = newer.as_ref().unwrap_or(request.snapshot);
        let state = worktree.commit_state()?;
        commit(
            &RescueRequest {
                snapshot,
                ..*request
            },
            &state,
            outcome,
        )?;
        let Some(why) = &outcome.failed else {
            return Ok(());
        };
        let is_safe = outcome.fallback_branch.is_some();
        // Another branch than that of the first attempt gets none of the work.
        let has_moved = worktree.branch() != state.branch;
        if is_safe || has_moved || attempt == ATTEMPTS || Instant::now() >= deadline {
            return Ok(());
        }
        if let Some(lock) = named_in(why) {
            if let Err(why) = wait_for_lock(&lock, worktree.root(), deadline) {
                outcome.failed = Some(why);
                return Ok(());
            }
        } else if state.head != snapshot.parent || OVERTAKEN.iter().any(|text| why.contains(text)) {
            let again = SnapshotRequest {
                spec: request.spec,
                at: Timestamp::now(),
                why: "a commit appeared during the rescue",
                max_new_bytes: request.settings.max_snapshot_bytes,
                even_clean: false,
            };
            match worktree.take_snapshot_with_private(&again, &private_rule(request.settings))? {
                None => {
                    outcome.failed = None;
                    return Ok(());
                }
                // The same state would fail in the same way.
                Some(same) if same.commit == snapshot.commit => return Ok(()),
                Some(fresh) => newer = Some(fresh),
            }
        } else {
            return Ok(());
        }
    }
    Ok(())
}

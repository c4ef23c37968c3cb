//! Joins what the store and git know of where commits come from, and records what a rescue made.

use std::sync::Arc;

use crate::decision::evidence::{Degraded, RescueOutcome};
use crate::git::{KnownRefs, OriginEvidence, RescuedCommit, Worktree};
use crate::store::rescued::RescuedRecord;
use crate::store::{Store, baseline, rescued};

/// All that watchdog recorded about where the commits of a worktree come from.
pub fn origin_evidence(store: &Arc<dyn Store>, worktree: &Worktree, refs: Option<&KnownRefs>) -> OriginEvidence {
    let (repository, of_rescues) = (worktree.repository_id(), Arc::clone(store));
    let of_baselines = Arc::clone(store);
    let evidence = OriginEvidence::from(refs)
        .with_recorded_worktrees(move || baseline::worktrees(of_baselines.as_ref()).map_err(|error| error.to_string()));
    evidence.with_rescued(move || {
        let commits = rescued::of_repository(of_rescues.as_ref(), &repository).map_err(|error| error.to_string())?;
        Ok(commits.into_iter().map(|RescuedRecord { id, patch, authored }| RescuedCommit { id, patch, authored }).collect())
    })
}

/// Records which commits a rescue made, so that they never count as the session's own. Where that fails, the outcome warns of it.
pub fn remember_rescued(store: &dyn Store, worktree: &Worktree, outcome: &mut RescueOutcome) {
    let described = worktree.describe_rescued(&outcome.made).map_err(|error| error.to_string());
    let kept = described.and_then(|commits| {
        let records: Vec<_> =
            commits.into_iter().map(|RescuedCommit { id, patch, authored }| RescuedRecord { id, patch, authored }).collect();
        rescued::remember(store, &worktree.repository_id(), &worktree.worktree_id(), &records).map_err(|error| error.to_string())
    });
    if let Err(why) = kept {
        let detail =
            format!("cannot record which commits the rescue made: {why}; without their trailers they will count as the session's own");
        outcome.warnings.push(Degraded { code: "rescue_unrecorded", detail });
    }
}

//! Restores rows from git's refs after the database was lost. git is the source of truth; the database is only a record.

use jiff::Timestamp;

use super::baseline::BaselineRecord;
use super::engine::LocalStore;
use super::error::StoreError;
use super::journal;
use super::records::RecordType;

/// A baseline, read from git's refs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineFact {
    /// The worktree's id.
    pub worktree_id: String,
    /// The spec that it was recorded for.
    pub spec: String,
    /// The part that the refs hold; `refs` may be empty, and then nothing proves a commit imported.
    pub baseline: BaselineRecord,
}

/// A snapshot, read from git's refs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotFact {
    /// The worktree's id.
    pub worktree_id: String,
    /// The spec, where the ref or its commit names it.
    pub spec: Option<String>,
    /// The full name of the ref.
    pub reference: String,
    /// The commit that it names.
    pub commit: String,
    /// When it was made, as its commit says.
    pub at: Timestamp,
}

/// All that git's refs hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RebuildFacts {
    /// Every baseline ref.
    pub baselines: Vec<BaselineFact>,
    /// Every snapshot ref.
    pub snapshots: Vec<SnapshotFact>,
}

/// How many rows were restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct RestoredRowCounts {
    /// Baselines that were missing.
    pub baselines: u64,
    /// Snapshots in the journal; one that it already had is counted, and not added again.
    pub snapshots: u64,
}

/// Creates the rows that are missing. Existing rows stay untouched, so that running it twice, or
/// beside a working watchdog, does no harm.
pub fn rebuild_rows(
    store: &dyn LocalStore,
    facts: &RebuildFacts,
) -> Result<RestoredRowCounts, StoreError> {
    let mut rebuilt = RestoredRowCounts::default();
    for fact in &facts.baselines {
        if fact
            .baseline
            .write_if_absent(store, &fact.worktree_id, &fact.spec)?
        {
            rebuilt.baselines += 1;
        }
    }
    for some in facts.snapshots.chunks(500) {
        let events: Vec<_> = some
            .iter()
            .map(|fact| {
                journal::snapshot_event(
                    fact.at,
                    &fact.worktree_id,
                    fact.spec.as_deref(),
                    &fact.reference,
                    &fact.commit,
                )
            })
            .collect();
        // Without a guard an append cannot be fenced.
        let _done = store.append(&events, None)?;
        rebuilt.snapshots += events.len() as u64;
    }
    Ok(rebuilt)
}

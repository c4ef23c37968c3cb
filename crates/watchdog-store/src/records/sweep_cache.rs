//! The cached verdict of a worktree's last sweep, so that the next sweep can skip a worktree without changes.
//! It is only a hint: losing it costs one scan.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use watchdog_core::decision::breaker::Breaker;

use super::anchor::CriteriaAnchor;
use super::baseline::BaselineRecord;
use super::progress::CheckProgress;
use super::row::{self, RecordType};
use crate::engine::{LocalStore, RowRevision, SwapOutcome};
use crate::error::StoreError;
use crate::key::RowKey;

/// A look and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepCacheEntry {
    /// Fingerprint of all other inputs: flags, configuration, the rows of the worktree.
    #[serde(rename = "asked")]
    pub inputs: String,
    /// The paths that it rested on.
    #[serde(rename = "traces")]
    pub paths: String,
    /// Fingerprint of their state.
    pub stamp: String,
    /// The snapshot that holds what was uncommitted.
    pub snapshot: Option<String>,
    /// When it was.
    pub at: Timestamp,
    /// The verdict's object.
    pub verdict: Value,
}

impl RecordType for SweepCacheEntry {
    const KIND: &'static str = "look";
}

fn cache_key(worktree_id: &str) -> RowKey {
    RowKey::new(SweepCacheEntry::KIND, &[worktree_id])
}

/// The worktrees with a cached verdict, and its revision.
pub fn list_cached_worktrees(
    store: &dyn LocalStore,
) -> Result<HashMap<String, RowRevision>, StoreError> {
    Ok(store
        .revisions(&RowKey::prefix(SweepCacheEntry::KIND, &[]))?
        .into_iter()
        .map(|(key, rev)| (key.first_part(), rev))
        .collect())
}

/// The revisions of all rows that a judgement of each worktree reads: the names of the rows with their revisions, as one text.
pub fn rows_of_worktrees(store: &dyn LocalStore) -> Result<HashMap<String, String>, StoreError> {
    let mut rows: HashMap<String, String> = HashMap::new();
    for kind in [
        CriteriaAnchor::KIND,
        BaselineRecord::KIND,
        Breaker::KIND,
        CheckProgress::KIND,
    ] {
        for (key, rev) in store.revisions(&RowKey::prefix(kind, &[]))? {
            let text = rows.entry(key.first_part()).or_default();
            text.push_str(&format!("{key}={} ", rev.0));
        }
    }
    Ok(rows)
}

/// The cached verdict of a worktree; `None` if it is unreadable.
pub fn read_verdict(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Option<SweepCacheEntry>, StoreError> {
    Ok(row::load_row(store, &cache_key(worktree_id)).unwrap_or_default())
}

/// Stores verdicts over the former ones.
pub fn store_entries(
    store: &dyn LocalStore,
    entries: &[(String, SweepCacheEntry)],
) -> Result<(), StoreError> {
    let hints: Vec<_> = entries
        .iter()
        .map(|(id, entry)| (cache_key(id), row::encode_row(entry)))
        .collect();
    store.keep_hints(&hints)
}

/// Deletes the cached verdict of a worktree that is gone, unless it was replaced.
pub fn forget_entry(
    store: &dyn LocalStore,
    worktree_id: &str,
    rev: RowRevision,
) -> Result<bool, StoreError> {
    match store.delete(&cache_key(worktree_id), rev)? {
        SwapOutcome::Ok(_) => Ok(true),
        SwapOutcome::Conflict => Ok(false),
        SwapOutcome::Unknown(failure) => Err(failure),
    }
}

//! Targets of all refs of a repository when a baseline was recorded: kept once for all baselines
//! that saw the same, as a thousand worktrees of one repository do, and apart from them, as few
//! judgements need it.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use watchdog_facts::ref_list::RefList;

use super::baseline::{BaselineRecord, BaselineRefs};
use super::row::{self, RecordType};
use crate::codec::sha256_hex;
use crate::engine::{LocalStore, SwapOutcome};
use crate::error::StoreError;
use crate::key::RowKey;

/// So many bytes of text stay with the baseline.
const SHORT: usize = 4096;

/// How long refs without a baseline are kept: a writer stores the refs before the baseline that names them.
const UNUSED_KEPT: Duration = Duration::from_secs(2 * 86_400);

/// From this age on, refs that are there already are written again before a new baseline relies on them.
const RENEWED_AFTER: Duration = Duration::from_secs(86_400);

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct RefsRecord {
    at: Timestamp,
    refs: RefList,
}

impl RecordType for RefsRecord {
    const KIND: &'static str = "refs";
}

/// Keeps refs for a baseline that is about to be recorded, and returns what the baseline is to hold of them.
pub fn keep_refs(
    store: &dyn LocalStore,
    refs: RefList,
    now: Timestamp,
) -> Result<BaselineRefs, StoreError> {
    let text = refs.as_str().as_bytes();
    if text.len() <= SHORT {
        return Ok(BaselineRefs::Here(refs));
    }
    let name = sha256_hex(&[text])[..32].to_owned();
    let key = RowKey::new(RefsRecord::KIND, &[&name]);
    // Writes an unreadable row again.
    let fresh = row::load_row::<RefsRecord>(store, &key)
        .is_ok_and(|row| row.is_some_and(|refs| !is_older(&refs, RENEWED_AFTER, now)));
    if !fresh {
        row::overwrite_row(store, &key, &RefsRecord { at: now, refs })?;
    }
    Ok(BaselineRefs::Kept(name))
}

/// The refs of a baseline.
///
/// # Errors
/// Also where they are gone: that is not a repository without refs.
pub fn read_refs(store: &dyn LocalStore, baseline: &BaselineRefs) -> Result<RefList, StoreError> {
    let name = match baseline {
        BaselineRefs::Here(refs) => return Ok(refs.clone()),
        BaselineRefs::Kept(name) => name,
    };
    let row = row::load_row::<RefsRecord>(store, &RowKey::new(RefsRecord::KIND, &[name]))?;
    row.map(|row| row.refs)
        .ok_or_else(|| StoreError::BadRecord {
            what: format!("refs '{name}'"),
            why: "they are gone".into(),
        })
}

/// Forgets the refs that no baseline names any more, and says how many.
pub fn forget_unused(store: &dyn LocalStore, now: Timestamp) -> Result<u64, StoreError> {
    let revisions = store.revisions(&RowKey::prefix(RefsRecord::KIND, &[]))?;
    if revisions.is_empty() {
        return Ok(0);
    }
    let mut named = HashSet::new();
    let mut failed = None;
    row::visit_rows::<BaselineRecord>(store, &[], |_, row| {
        match row.map(|baseline| baseline.refs) {
            Ok(BaselineRefs::Kept(name)) => drop(named.insert(name)),
            Ok(BaselineRefs::Here(_)) => {}
            Err(error) => failed = Some(error),
        }
    })?;
    // An unreadable baseline may name any of them.
    if let Some(error) = failed {
        return Err(error);
    }
    let mut forgotten = 0;
    for (key, rev) in revisions {
        if named.contains(&key.last_part()) {
            continue;
        }
        let young = row::load_row::<RefsRecord>(store, &key)
            .is_ok_and(|row| row.is_some_and(|refs| !is_older(&refs, UNUSED_KEPT, now)));
        if young {
            continue;
        }
        match store.delete(&key, rev)? {
            SwapOutcome::Ok(_) => forgotten += 1,
            SwapOutcome::Conflict => {}
            SwapOutcome::Unknown(failure) => return Err(failure),
        }
    }
    Ok(forgotten)
}

/// A clock that was turned back makes nothing older.
fn is_older(refs: &RefsRecord, age: Duration, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(refs.at)).is_ok_and(|since| since > age)
}

#[cfg(test)]
#[path = "refs_tests.rs"]
mod tests;

//! The start of a session: HEAD and the tips of all refs at that moment, per worktree and spec.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::refs;
use super::row::{self, RecordType, RowsByWorktree};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// A recorded baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineRecord {
    /// The commit that HEAD named; `None` = unborn.
    pub commit: Option<String>,
    /// The branch that was checked out; `None` = detached.
    pub branch: Option<String>,
    /// The refs of that moment.
    #[serde(flatten)]
    pub refs: BaselineRefs,
    /// The commits that HEAD and those of submodules had left behind then, by their reflogs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// The committer of what git committed there then; `None` where none was configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committer: Option<String>,
    /// When it was recorded.
    pub at: Timestamp,
    /// The top folder of the worktree, for people.
    #[serde(with = "crate::codec::path_form")]
    pub worktree: PathBuf,
    /// The id of the clone; `None` where none could be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_id: Option<String>,
    /// Why its session cannot go on without a person, as it reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
}

/// The refs that were recorded with a baseline. Version 1 had the text of all of them, however long; [`refs::read_refs`] reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaselineRefs {
    /// Full names of all refs, each with the object that it named.
    #[serde(
        rename = "refs",
        serialize_with = "refs::write_refs",
        deserialize_with = "refs::read_text"
    )]
    Here(Vec<(String, String)>),
    /// A row of their own has them, by this name.
    #[serde(rename = "kept_refs")]
    Kept(String),
}

impl RecordType for BaselineRecord {
    const KIND: &'static str = "baseline";
    const VERSION: u64 = 2;
}

/// The worktrees for which a baseline is recorded.
pub fn list_baseline_worktrees(store: &dyn LocalStore) -> Result<HashSet<String>, StoreError> {
    row::list_worktrees::<BaselineRecord>(store)
}

/// Records a baseline in place of the former one.
pub fn record_baseline(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline: &BaselineRecord,
) -> Result<(), StoreError> {
    row::overwrite_row(
        store,
        &row::spec_key::<BaselineRecord>(worktree_id, spec),
        baseline,
    )
}

/// Records a baseline where there is none, and says whether it did. For rebuilding.
pub fn record_if_absent(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline: &BaselineRecord,
) -> Result<bool, StoreError> {
    row::create_row(
        store,
        &row::spec_key::<BaselineRecord>(worktree_id, spec),
        baseline,
    )
}

/// Records why the session of a baseline is blocked, or that a person answered. Writes nothing where nothing changes.
pub fn set_blocked(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    blocked: Option<&str>,
) -> Result<(), StoreError> {
    let Some(recorded) = read_baseline(store, worktree_id, spec)? else {
        return Ok(());
    };
    if recorded.blocked.as_deref() == blocked {
        return Ok(());
    }
    row::update_row(
        store,
        &row::spec_key::<BaselineRecord>(worktree_id, spec),
        |row: Option<BaselineRecord>| {
            let mut baseline = row.unwrap_or_else(|| recorded.clone());
            // A session that began meanwhile is another one.
            if baseline.at == recorded.at {
                baseline.blocked = blocked.map(str::to_owned);
            }
            (baseline, ())
        },
    )
}

/// The baseline of a spec, if one is recorded.
pub fn read_baseline(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Option<BaselineRecord>, StoreError> {
    row::load_row(store, &row::spec_key::<BaselineRecord>(worktree_id, spec))
}

/// Every baseline of a worktree, each with its spec.
pub fn of_worktree(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Vec<(String, BaselineRecord)>, StoreError> {
    let (mut baselines, mut failed) = (Vec::new(), None);
    row::visit_rows::<BaselineRecord>(store, &[worktree_id], |key, read| match read {
        Ok(baseline) => baselines.push((key.last_part(), baseline)),
        Err(error) => failed = Some(error),
    })?;
    // An unreadable baseline may be the latest: a guess would count commits from the wrong place.
    failed.map_or(Ok(baselines), Err)
}

/// The baseline of a worktree that was recorded last, with its spec. For commands that name no spec.
pub fn read_latest_baseline(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Option<(String, BaselineRecord)>, StoreError> {
    Ok(of_worktree(store, worktree_id)?
        .into_iter()
        .max_by_key(|(_, baseline)| baseline.at))
}

/// Forgets the baseline of a spec.
pub fn forget_baseline(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<(), StoreError> {
    row::remove_row::<BaselineRecord>(store, &row::spec_key::<BaselineRecord>(worktree_id, spec))
}

/// Every recorded baseline, of all worktrees and specs.
pub fn list_all_baselines(
    store: &dyn LocalStore,
) -> Result<RowsByWorktree<BaselineRecord>, StoreError> {
    row::list_all_rows(store)
}

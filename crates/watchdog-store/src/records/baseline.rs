//! The start of a session: HEAD and the tips of all refs at that moment, per worktree and spec.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::refs;
use super::row::{self, RecordType, RowsByWorktree};
use crate::codec::{path_from_text, path_to_text};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// A recorded baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineRecord {
    /// The commit that HEAD named; `None` = unborn.
    pub commit: Option<String>,
    /// The branch that was checked out; `None` = detached.
    pub branch: Option<String>,
    /// The refs of that moment.
    pub refs: BaselineRefs,
    /// The commits that HEAD had left behind then, by its reflog.
    pub left_behind: Vec<String>,
    /// When it was recorded.
    pub at: Timestamp,
    /// The top folder of the worktree, for people.
    pub worktree: PathBuf,
    /// The id of the clone; `None` where none could be written.
    pub clone_id: Option<String>,
}

/// The refs that were recorded with a baseline; [`refs::read_refs`] reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaselineRefs {
    /// Full names of all refs, each with the object that it named.
    Here(Vec<(String, String)>),
    /// A row of their own has them, by this name.
    Kept(String),
}

/// Version 1 had the text of all refs in `refs`, however long; since version 2 a long one is kept under the name in `kept_refs`.
#[derive(Serialize, Deserialize)]
pub(super) struct BaselineV2 {
    commit: Option<String>,
    branch: Option<String>,
    at: Timestamp,
    worktree: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refs: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept_refs: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clone_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_behind: Vec<String>,
}

impl RecordType for BaselineRecord {
    type Disk = BaselineV2;
    const VERSION: u64 = 2;
    const KIND: &'static str = "baseline";

    fn to_disk(&self) -> BaselineV2 {
        let (refs, kept_refs) = match &self.refs {
            BaselineRefs::Here(tips) => (Some(refs::to_text(tips)), None),
            BaselineRefs::Kept(name) => (None, Some(name.clone())),
        };
        BaselineV2 {
            commit: self.commit.clone(),
            branch: self.branch.clone(),
            at: self.at,
            worktree: path_to_text(&self.worktree),
            refs,
            kept_refs,
            clone_id: self.clone_id.clone(),
            left_behind: self.left_behind.clone(),
        }
    }

    fn from_disk(disk: BaselineV2) -> Result<Self, String> {
        let refs = match (disk.kept_refs, disk.refs) {
            (Some(name), _) => BaselineRefs::Kept(name),
            (None, Some(text)) => BaselineRefs::Here(refs::from_text(&text)?),
            (None, None) => return Err("it says nothing of refs".to_string()),
        };
        let worktree = path_from_text(&disk.worktree);
        Ok(BaselineRecord {
            commit: disk.commit,
            branch: disk.branch,
            refs,
            left_behind: disk.left_behind,
            at: disk.at,
            worktree,
            clone_id: disk.clone_id,
        })
    }
}

/// The worktrees for which a baseline is recorded.
pub fn worktrees(store: &dyn LocalStore) -> Result<HashSet<String>, StoreError> {
    row::worktrees::<BaselineRecord>(store)
}

/// Records a baseline in place of the former one.
pub fn record(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    baseline: &BaselineRecord,
) -> Result<(), StoreError> {
    row::overwrite(
        store,
        &row::key::<BaselineRecord>(worktree_id, spec),
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
    row::create(
        store,
        &row::key::<BaselineRecord>(worktree_id, spec),
        baseline,
    )
}

/// The baseline of a spec, if one is recorded.
pub fn read_baseline(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
) -> Result<Option<BaselineRecord>, StoreError> {
    row::load(store, &row::key::<BaselineRecord>(worktree_id, spec))
}

/// Every baseline of a worktree, each with its spec.
pub fn of_worktree(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Vec<(String, BaselineRecord)>, StoreError> {
    let (mut baselines, mut failed) = (Vec::new(), None);
    row::each::<BaselineRecord>(store, &[worktree_id], |key, read| match read {
        Ok(baseline) => baselines.push((key.last_part(), baseline)),
        Err(error) => failed = Some(error),
    })?;
    // An unreadable baseline may be the latest: a guess would count commits from the wrong place.
    failed.map_or(Ok(baselines), Err)
}

/// The baseline of a worktree that was recorded last, with its spec. For commands that name no spec.
pub fn latest(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Option<(String, BaselineRecord)>, StoreError> {
    Ok(of_worktree(store, worktree_id)?
        .into_iter()
        .max_by_key(|(_, baseline)| baseline.at))
}

/// Forgets the baseline of a spec.
pub fn forget(store: &dyn LocalStore, worktree_id: &str, spec: &str) -> Result<(), StoreError> {
    row::remove::<BaselineRecord>(store, &row::key::<BaselineRecord>(worktree_id, spec))
}

/// Every recorded baseline, of all worktrees and specs.
pub fn everywhere(store: &dyn LocalStore) -> Result<RowsByWorktree<BaselineRecord>, StoreError> {
    row::everywhere(store)
}

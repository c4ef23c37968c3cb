//! The start of a session: HEAD and the tips of all refs at that moment, per worktree and spec.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use watchdog_facts::ref_list::RefList;

use super::row::RecordType;
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

/// The refs that were recorded with a baseline. Version 1 had the text of all of them, however long; [`super::refs::read_refs`] reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaselineRefs {
    /// Full names of all refs, each with the object that it named.
    #[serde(rename = "refs")]
    Here(RefList),
    /// A row of their own has them, by this name.
    #[serde(rename = "kept_refs")]
    Kept(String),
}

impl RecordType for BaselineRecord {
    const KIND: &'static str = "baseline";
    const VERSION: u64 = 2;
}

/// Records why the session of a baseline is blocked, or that a person answered. Writes nothing where nothing changes.
pub fn set_blocked(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    blocked: Option<&str>,
) -> Result<(), StoreError> {
    let Some(recorded) = BaselineRecord::read_row(store, worktree_id, spec)? else {
        return Ok(());
    };
    if recorded.blocked.as_deref() == blocked {
        return Ok(());
    }
    BaselineRecord::change_row(store, worktree_id, spec, |row| {
        let mut baseline = row.unwrap_or_else(|| recorded.clone());
        // A session that began meanwhile is another one.
        if baseline.at == recorded.at {
            baseline.blocked = blocked.map(str::to_owned);
        }
        (baseline, ())
    })
}

/// The baseline of a worktree that was recorded last, with its spec. For commands that name no spec.
pub fn read_latest_baseline(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Option<(String, BaselineRecord)>, StoreError> {
    Ok(BaselineRecord::list_rows_of(store, worktree_id)?
        .into_iter()
        .max_by_key(|(_, baseline)| baseline.at))
}

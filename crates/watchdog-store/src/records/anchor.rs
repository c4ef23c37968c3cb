//! The anchor of a spec: the criteria that govern it from session to session. Whatever a session does to files and commits leaves this as
//! it is; only what `session::anchor` names moves it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::LocalStore;
use crate::error::StoreError;

/// A full name of a ref with the object that it named.
type RecordedRef = (String, String);

/// A recorded anchor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriteriaAnchor {
    /// The text of the governing file; `None` where there was none.
    pub file: Option<String>,
    /// The commit that guards compare with; `None` = unborn.
    pub commit: Option<String>,
    /// The commit that changed tests are compared with, where a person committed after all work of the spec was accepted; else `commit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_from: Option<String>,
    /// Guarded files that differed from that commit already: their paths, each with the id of its content or `None` where it was absent.
    #[serde(default)]
    pub differing: BTreeMap<String, Option<String>>,
    /// When it was recorded or moved last.
    pub at: Timestamp,
    /// The state at the end of the last session; `None` while one runs, or where its end was not seen.
    #[serde(default)]
    pub end: Option<RefsAtSessionEnd>,
}

/// The state at the end of a session: later differences are not that session's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefsAtSessionEnd {
    /// The commit that HEAD named; `None` = unborn.
    pub head: Option<String>,
    /// The refs of remotes, each with the object that it named.
    pub remotes: Vec<RecordedRef>,
    /// Whether a `complete` accepted all work up to that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

impl RecordType for CriteriaAnchor {
    const KIND: &'static str = "anchor";
}

/// The anchor that governs a spec: its own, else the newest of the worktree.
pub fn find_effective_anchor(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: Option<&str>,
) -> Result<Option<CriteriaAnchor>, StoreError> {
    let own = spec.map_or(Ok(None), |spec| {
        CriteriaAnchor::read_row(store, worktree_id, spec)
    })?;
    if own.is_some() {
        return Ok(own);
    }
    Ok(CriteriaAnchor::list_rows_of(store, worktree_id)?
        .into_iter()
        .map(|(_, anchor)| anchor)
        .max_by_key(|anchor| anchor.at))
}

/// Records an anchor whose commit alone moved forward. It does not wait for the disk: what a power cut takes away leaves the former commit,
/// with which later judgements compare more.
pub fn move_commit(
    store: &dyn LocalStore,
    worktree_id: &str,
    spec: &str,
    anchor: &CriteriaAnchor,
) -> Result<(), StoreError> {
    row::overwrite_without_flush(
        store,
        &row::spec_key::<CriteriaAnchor>(worktree_id, spec),
        anchor,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::sqlite::tests::Scratch;

    fn anchor(file: &str, at: i64) -> CriteriaAnchor {
        CriteriaAnchor {
            file: Some(file.into()),
            commit: Some("a".repeat(40)),
            tests_from: None,
            differing: BTreeMap::from([
                ("tests/a".into(), None),
                ("tests/ü".into(), Some("b".repeat(40))),
            ]),
            at: Timestamp::from_second(at).unwrap(),
            end: Some(RefsAtSessionEnd {
                head: None,
                remotes: vec![("refs/remotes/origin/main".into(), "c".repeat(40))],
                accepted: false,
            }),
        }
    }

    #[test]
    fn new_spec_anchor_starts_at_newest_of_worktree() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        assert_eq!(find_effective_anchor(&store, "w", Some("a")).unwrap(), None);
        assert!(anchor("old", 1).write_if_absent(&store, "w", "a").unwrap());
        assert!(
            !anchor("other", 9)
                .write_if_absent(&store, "w", "a")
                .unwrap()
        );
        anchor("new", 2).write_row(&store, "w", "b").unwrap();
        anchor("newest", 3)
            .write_row(&store, "elsewhere", "c")
            .unwrap();
        let file = |spec: Option<&str>| {
            find_effective_anchor(&store, "w", spec)
                .unwrap()
                .and_then(|effective_anchor| effective_anchor.file)
        };
        assert_eq!(
            (file(Some("a")).as_deref(), file(Some("b")).as_deref()),
            (Some("old"), Some("new"))
        );
        assert_eq!(
            (file(Some("c")).as_deref(), file(None).as_deref()),
            (Some("new"), Some("new"))
        );
        assert_eq!(
            CriteriaAnchor::read_row(&store, "w", "a").unwrap(),
            Some(anchor("old", 1))
        );
    }
}

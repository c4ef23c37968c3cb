//! The rows that are kept about worktrees and their repository, of whatever kind: found together, counted and removed.
//!
//! A row of its own notes which worktrees are being forgotten, so that a call that was killed is finished by the next one, also where
//! nothing else names them any more.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use super::{baseline, expiry, hook_session, outbox, rebuilt, refs, rescued, task};
use crate::engine::{LocalStore, SwapOutcome};
use crate::error::StoreError;
use crate::key::RowKey;

/// How often a row is deleted that others write to meanwhile.
const ATTEMPTS: u32 = 20;

/// The owners whose rows are removed.
#[derive(Debug, Clone, Default)]
pub struct ForgottenOwners {
    /// The worktrees, as the records name them.
    pub worktrees: BTreeSet<String>,
    /// Their top folders.
    pub roots: HashSet<PathBuf>,
    /// Their repository.
    pub repository: String,
    /// Whether the repository has no other owners: then its own rows are removed, too.
    pub whole: bool,
}

/// A row about one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftoverRow {
    /// The size of its value.
    pub bytes: u64,
    key: RowKey,
}

/// Every row about these worktrees; with `whole`, about their repository as well.
pub fn rows_of(
    store: &dyn LocalStore,
    owners: &ForgottenOwners,
) -> Result<Vec<LeftoverRow>, StoreError> {
    let mut keys: HashSet<RowKey> = HashSet::new();
    row::visit_rows::<hook_session::HookedAgent>(store, &[], |key, session| {
        if session.is_ok_and(|session| owners.roots.contains(&session.worktree)) {
            keys.insert(key.clone());
        }
    })?;
    row::visit_rows::<outbox::OutboxNotice>(store, &[], |key, notice| {
        let worktree = notice
            .ok()
            .and_then(|notice| notice.event["worktree"].as_str().map(str::to_owned));
        if worktree.is_some_and(|worktree| owners.worktrees.contains(&worktree)) {
            keys.insert(key.clone());
        }
    })?;
    for worktree in &owners.worktrees {
        let kind = rescued::RescuedCommitList::KIND;
        keys.insert(RowKey::new(kind, &[&owners.repository, worktree]));
    }
    let mut prefixes = Vec::new();
    if owners.whole {
        keys.extend(
            own_refs(store, &owners.worktrees)?
                .iter()
                .map(|name| refs_key(name)),
        );
        keys.insert(RowKey::new(expiry::LastExpiry::KIND, &[&owners.repository]));
        keys.insert(rebuilt::rebuilt_key(&owners.repository));
        for kind in [task::TaskRecord::KIND, rescued::RescuedCommitList::KIND] {
            prefixes.push(RowKey::prefix(kind, &[&owners.repository]));
        }
    }
    filter_rows(store, |key| {
        keys.contains(key)
            || owners.worktrees.contains(&key.first_part())
            || prefixes
                .iter()
                .any(|prefix| key.as_str().starts_with(prefix))
    })
}

/// The rows whose first part is a worktree: neither the commits of its rescues nor notices about it.
pub fn rows_of_worktree(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Vec<LeftoverRow>, StoreError> {
    filter_rows(store, |key| key.first_part() == worktree_id)
}

fn filter_rows(
    store: &dyn LocalStore,
    is_wanted: impl Fn(&RowKey) -> bool,
) -> Result<Vec<LeftoverRow>, StoreError> {
    const PAGE: usize = 64;
    let mut rows = Vec::new();
    let mut after: Option<RowKey> = None;
    loop {
        let page = store.list("", after.as_ref(), PAGE)?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|entry| entry.key.clone());
        let wanted = page.into_iter().filter(|entry| is_wanted(&entry.key));
        rows.extend(wanted.map(|entry| LeftoverRow {
            bytes: entry.value.len() as u64,
            key: entry.key,
        }));
        if is_last {
            return Ok(rows);
        }
    }
}

/// Removes rows; those that are gone already are no fault.
pub fn remove_rows(store: &dyn LocalStore, rows: &[LeftoverRow]) -> Result<(), StoreError> {
    rows.iter().try_for_each(|row| {
        for _ in 0..ATTEMPTS {
            let Some((rev, _)) = store.get(&row.key)? else {
                return Ok(());
            };
            match store.delete(&row.key, rev)? {
                SwapOutcome::Ok(_) => return Ok(()),
                SwapOutcome::Conflict => {}
                SwapOutcome::Unknown(failure) => return Err(failure),
            }
        }
        Err(StoreError::Contended {
            what: format!("the row {}", row.key),
            attempts: ATTEMPTS,
        })
    })
}

/// The worktrees of a repository that commits of rescues are kept for.
pub fn rescued_worktrees(
    store: &dyn LocalStore,
    repository: &str,
) -> Result<Vec<String>, StoreError> {
    let rows = store.revisions(&RowKey::prefix(
        rescued::RescuedCommitList::KIND,
        &[repository],
    ))?;
    Ok(rows.iter().map(|(key, _)| key.last_part()).collect())
}

/// Whether anything is kept about the tasks of a repository, and how many tasks that are.
pub fn tasks_of(store: &dyn LocalStore, repository: &str) -> Result<u64, StoreError> {
    Ok(store
        .revisions(&RowKey::prefix(task::TaskRecord::KIND, &[repository]))?
        .len() as u64)
}

/// The recorded refs that baselines of these worktrees name and no other does; none where one cannot be read.
fn own_refs(
    store: &dyn LocalStore,
    worktrees: &BTreeSet<String>,
) -> Result<HashSet<String>, StoreError> {
    let (mut ours, mut others, mut unread) = (HashSet::new(), HashSet::new(), false);
    row::visit_rows::<baseline::BaselineRecord>(store, &[], |key, found| {
        let into = if worktrees.contains(&key.first_part()) {
            &mut ours
        } else {
            &mut others
        };
        match found.map(|baseline_row| baseline_row.refs) {
            Ok(baseline::BaselineRefs::Kept(name)) => drop(into.insert(name)),
            Ok(baseline::BaselineRefs::Here(_)) => {}
            Err(_) => unread = true,
        }
    })?;
    ours.retain(|name| !unread && !others.contains(name));
    Ok(ours)
}

fn refs_key(name: &str) -> RowKey {
    RowKey::new(refs::RefsRecord::KIND, &[name])
}

/// Which worktrees of a repository are being forgotten.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct UnfinishedForget {
    worktrees: BTreeSet<String>,
}

impl RecordType for UnfinishedForget {
    const KIND: &'static str = "forget";
}

fn mark_key(repository: &str) -> RowKey {
    RowKey::new(UnfinishedForget::KIND, &[repository])
}

/// The worktrees of a repository that a call that did not end began to forget.
pub fn half_forgotten(
    store: &dyn LocalStore,
    repository: &str,
) -> Result<BTreeSet<String>, StoreError> {
    Ok(
        row::load_row::<UnfinishedForget>(store, &mark_key(repository))?
            .unwrap_or_default()
            .worktrees,
    )
}

/// Notes that these worktrees are about to be forgotten.
pub fn begin_forgetting(
    store: &dyn LocalStore,
    owners: &ForgottenOwners,
) -> Result<(), StoreError> {
    let key = mark_key(&owners.repository);
    row::update_default(store, &key, |mark: &mut UnfinishedForget| {
        mark.worktrees.extend(owners.worktrees.iter().cloned());
    })
}

/// Notes that nothing of them is left.
pub fn finish_forgetting(
    store: &dyn LocalStore,
    owners: &ForgottenOwners,
) -> Result<(), StoreError> {
    let key = mark_key(&owners.repository);
    row::update_default(store, &key, |mark: &mut UnfinishedForget| {
        mark.worktrees
            .retain(|worktree| !owners.worktrees.contains(worktree));
    })?;
    if half_forgotten(store, &owners.repository)?.is_empty() {
        row::remove_row::<UnfinishedForget>(store, &key)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::engine::ExpectedRevision;
    use crate::sqlite::tests::Scratch;

    fn put(store: &dyn LocalStore, kind: &str, parts: &[&str]) {
        let written = store
            .cas(
                &RowKey::new(kind, parts),
                ExpectedRevision::Absent,
                b"12345",
            )
            .unwrap();
        assert!(matches!(written, SwapOutcome::Ok(_)));
    }

    #[test]
    fn only_rows_of_the_worktree_are_removed() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        for worktree in ["wt", "wt2"] {
            for n in 0..100 {
                put(&store, "session", &[worktree, &format!("spec/{n}")]);
            }
            put(&store, "written", &[worktree]);
            put(&store, "rescued", &["repo", worktree]);
        }
        put(&store, "task", &["repo", "T1"]);
        let mut owners = ForgottenOwners {
            worktrees: ["wt".to_owned()].into(),
            repository: "repo".into(),
            ..ForgottenOwners::default()
        };
        let rows = rows_of(&store, &owners).unwrap();
        assert_eq!(
            (rows.len(), rows.iter().map(|row| row.bytes).sum::<u64>()),
            (102, 510)
        );
        remove_rows(&store, &rows).unwrap();
        remove_rows(&store, &rows).unwrap();
        assert_eq!(rows_of(&store, &owners).unwrap(), []);
        assert_eq!(store.revisions("").unwrap().len(), 103);
        owners.whole = true;
        assert_eq!(
            rows_of(&store, &owners)
                .unwrap()
                .iter()
                .map(|row| row.key.as_str())
                .collect::<Vec<_>>(),
            ["rescued/repo/wt2", "task/repo/T1"]
        );
    }

    #[test]
    fn started_removal_is_known_until_it_finishes() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let owners = |worktree: &str| ForgottenOwners {
            worktrees: [worktree.to_owned()].into(),
            repository: "r".into(),
            ..ForgottenOwners::default()
        };
        begin_forgetting(&store, &owners("a")).unwrap();
        begin_forgetting(&store, &owners("b")).unwrap();
        finish_forgetting(&store, &owners("a")).unwrap();
        assert_eq!(
            half_forgotten(&store, "r").unwrap(),
            ["b".to_owned()].into()
        );
        finish_forgetting(&store, &owners("b")).unwrap();
        assert!(store.revisions("").unwrap().is_empty());
    }
}

//! The commits that rescues made, per repository and worktree: they count as the uncommitted work that they were, at every later look.

use serde::{Deserialize, Serialize};

use super::row::RecordType;
use crate::engine::LocalStore;
use crate::error::StoreError;

/// Commits that are kept for one worktree; the oldest go first.
const MOST: usize = 2_000;

/// A commit that a rescue made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RescuedRecord {
    /// Full hexadecimal object name.
    pub id: String,
    /// The name of what it changed, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// The name of its author, author date and subject.
    pub authored: String,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct RescuedCommitList {
    commits: Vec<RescuedRecord>,
}

impl RecordType for RescuedCommitList {
    const KIND: &'static str = "rescued";
}

/// Remembers commits that a rescue made in a worktree of a repository.
pub fn remember_rescued(
    store: &dyn LocalStore,
    repository_id: &str,
    worktree_id: &str,
    commits: &[RescuedRecord],
) -> Result<(), StoreError> {
    if commits.is_empty() {
        return Ok(());
    }
    RescuedCommitList::update_row(store, repository_id, worktree_id, |rescued| {
        rescued
            .commits
            .retain(|earlier| !commits.iter().any(|commit| commit.id == earlier.id));
        rescued.commits.extend_from_slice(commits);
        let surplus = rescued.commits.len().saturating_sub(MOST);
        rescued.commits.drain(..surplus);
    })
}

/// The commits that rescues made in any worktree of a repository.
pub fn of_repository(
    store: &dyn LocalStore,
    repository_id: &str,
) -> Result<Vec<RescuedRecord>, StoreError> {
    let lists = RescuedCommitList::list_rows_of(store, repository_id)?;
    Ok(lists
        .into_iter()
        .flat_map(|(_, list)| list.commits)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::sqlite::tests::Scratch;

    #[test]
    fn rescued_commits_are_read_together_and_expire_individually() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let commit = |id: &str| RescuedRecord {
            id: id.into(),
            patch: None,
            authored: "a".into(),
        };
        remember_rescued(&store, "r", "one", &[commit("1")]).unwrap();
        remember_rescued(&store, "r", "two", &[commit("2")]).unwrap();
        remember_rescued(&store, "other", "one", &[commit("3")]).unwrap();
        let ids = |repository| {
            of_repository(&store, repository)
                .unwrap()
                .into_iter()
                .map(|commit| commit.id)
                .collect::<Vec<_>>()
        };
        assert_eq!(ids("r"), ["1", "2"]);
        let many: Vec<_> = (0..MOST).map(|n| commit(&format!("n{n}"))).collect();
        remember_rescued(&store, "r", "one", &many).unwrap();
        assert!(!ids("r").contains(&"1".to_owned()));
        assert_eq!(ids("r").len(), MOST + 1);
    }
}

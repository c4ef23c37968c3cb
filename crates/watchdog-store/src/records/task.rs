//! The state of a task: its status, its agent and its result. Belongs to the repository, so that all worktrees share it.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::row::RecordType;
use crate::engine::{Lease, SharedStore};
use crate::error::StoreError;
use crate::key::RowKey;
use watchdog_core::config::task_file::TaskStatus;

/// A task as it is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The status.
    pub status: TaskStatus,
    /// The agent that works on it, or worked on it last if it is in review or failed.
    pub agent: Option<String>,
    /// The fence of the lease under which the status was set; `None` where a person or the queue set it.
    pub fence: Option<i64>,
    /// The reason for the status: a verdict's reason, `dependencies`, `by_hand`, `lease_ended`.
    pub reason: Option<String>,
    /// The same for people.
    pub message: Option<String>,
    /// The log of its last session.
    #[serde(with = "crate::codec::optional_path_form")]
    pub log: Option<PathBuf>,
    /// The branch that its work is on.
    pub branch: Option<String>,
    /// The work tree that it was last worked on in.
    #[serde(with = "crate::codec::optional_path_form")]
    pub worktree: Option<PathBuf>,
    /// The commit that was judged last: what the branch must hold where the task is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The machine of its agent; `None` where tasks are recorded on this machine alone.
    #[serde(skip)]
    pub machine: Option<String>,
    /// Ids of the tasks that must be complete before it, as they were when it was pinned; `None`
    /// where tasks are recorded on this machine alone: its files then say it.
    #[serde(skip)]
    pub depends_on: Option<Vec<String>>,
    /// The commit whose copy of the task's file governs: HEAD when it was first begun. Empty text = unborn.
    pub baseline: Option<String>,
    /// Its file as it was when the task was first seen, or when a person allowed it: its criteria hold whatever becomes of the file.
    pub pinned: Option<PinnedFile>,
    /// How often it was begun.
    pub attempts: u32,
    /// When it was first seen.
    pub since: Timestamp,
    /// When this was last changed.
    pub changed_at: Timestamp,
}

/// A task's file as a record keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// Its path from the root of the work tree.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl TaskRecord {
    /// A task that was just seen.
    pub fn begin(status: TaskStatus, now: Timestamp) -> Self {
        TaskRecord {
            status,
            since: now,
            changed_at: now,
            ..TaskRecord::default()
        }
    }
}

impl RecordType for TaskRecord {
    const KIND: &'static str = "task";
}

/// Takes the lease of a task; `None` while another process holds it.
pub fn acquire_task_lease(
    store: &dyn SharedStore,
    repository_id: &str,
    id: &str,
    holder: &str,
    ttl: Duration,
) -> Result<Option<Lease>, StoreError> {
    store.acquire(
        &RowKey::new("task-lease", &[repository_id, id]),
        holder,
        ttl,
    )
}

/// Takes the lease of an agent's name; `None` while somebody works under it.
pub fn agent_lease(
    store: &dyn SharedStore,
    repository_id: &str,
    agent: &str,
    holder: &str,
    ttl: Duration,
) -> Result<Option<Lease>, StoreError> {
    store.acquire(
        &RowKey::new("agent-lease", &[repository_id, agent]),
        holder,
        ttl,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::sqlite::tests::Scratch;

    #[test]
    fn what_is_recorded_of_a_task_comes_back() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let whole = TaskRecord {
            agent: Some("be-1".into()),
            fence: Some(7),
            reason: Some("max_iterations".into()),
            message: Some("the cap was reached".into()),
            log: Some("/state/logs/a b".into()),
            branch: Some("watchdog/T1".into()),
            worktree: Some("/w/ü".into()),
            head: Some("0123".into()),
            baseline: Some(String::new()),
            pinned: Some(PinnedFile {
                path: ".watchdog/tasks/T1.md".into(),
                text: "---\nid: T1\n---\n".into(),
            }),
            attempts: 3,
            ..TaskRecord::begin(TaskStatus::Review, Timestamp::UNIX_EPOCH)
        };
        assert_eq!(TaskRecord::read_row(&store, "repo", "T1").unwrap(), None);
        TaskRecord::change_row(&store, "repo", "T1", |stored_task| {
            (
                stored_task.map_or(whole.clone(), |_| panic!("there is none")),
                (),
            )
        })
        .unwrap();
        assert_eq!(
            TaskRecord::read_row(&store, "repo", "T1").unwrap(),
            Some(whole)
        );
        assert_eq!(TaskRecord::read_row(&store, "repo", "T2").unwrap(), None);
        assert_eq!(TaskRecord::read_row(&store, "other", "T1").unwrap(), None);
        assert_eq!(TaskRecord::list_rows_of(&store, "repo").unwrap().len(), 1);
    }

    #[test]
    fn task_has_one_lease_with_growing_fence() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let minute = Duration::from_secs(60);
        let first = acquire_task_lease(&store, "repo", "T1", "a", minute)
            .unwrap()
            .expect("nobody has it");
        assert_eq!(
            acquire_task_lease(&store, "repo", "T1", "b", minute).unwrap(),
            None
        );
        assert!(
            acquire_task_lease(&store, "repo", "T2", "b", minute)
                .unwrap()
                .is_some()
        );
        assert!(
            agent_lease(&store, "repo", "T1", "b", minute)
                .unwrap()
                .is_some(),
            "agents and tasks share no names"
        );
        assert!(store.release(&first).unwrap());
        let second = acquire_task_lease(&store, "repo", "T1", "b", minute)
            .unwrap()
            .expect("it was given back");
        assert!(second.fence > first.fence);
    }
}

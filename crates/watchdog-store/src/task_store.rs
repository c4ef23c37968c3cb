//! Records the tasks of one repository: as rows and leases of this machine's store, or the table of
//! a fleet.
//!
//! Every implementation promises: a task has one lease at a time, each with a larger fence than
//! those before; what is written under a lease that has ended changes nothing; a change is made on
//! what is recorded at that moment, once, or not at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use watchdog_core::config::task_file::TaskStatus;

use crate::engine::{AppendOutcome, Lease, LeaseRenewal, SharedStore};
use crate::error::StoreError;
use crate::key::RowKey;
use crate::records::RecordType;
use crate::task::{self, TaskRecord};
use watchdog_system::lock_mutex;

/// How long a lease is held for one change that no worker may come between.
const MOMENT: Duration = Duration::from_secs(5);

/// A task with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTask {
    /// The task.
    pub id: String,
    /// Its state.
    pub record: TaskRecord,
    /// Whether its lease is known to be valid. If `false`, only [`TaskStore::give_back`] can tell.
    pub is_held: bool,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWrite {
    /// The status before; `None` where the task was not recorded.
    pub from: Option<TaskStatus>,
    /// The record after the change.
    pub record: TaskRecord,
    /// Whether anything was written.
    pub is_written: bool,
}

/// The right to work on a task, for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLease {
    /// The task.
    pub id: String,
    /// Names one claim of one process.
    pub holder: String,
    /// Larger than that of every earlier lease of this task.
    pub fence: i64,
}

/// The worker and the tasks that it wants.
#[derive(Debug, Clone, Copy)]
pub struct TaskClaim<'a> {
    /// The tasks that would do, the best first.
    pub ids: &'a [String],
    /// The statuses in which a task may be taken.
    pub from: &'a [TaskStatus],
    /// The status of a task that was taken.
    pub to: TaskStatus,
    /// The agent's name.
    pub agent: &'a str,
    /// Names this claim: no other has the same.
    pub holder: &'a str,
    /// How long the lease lasts without renewal.
    pub ttl: Duration,
    /// The caller's clock.
    pub now: Timestamp,
}

/// A task that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedTask {
    /// Its lease.
    pub lease: TaskLease,
    /// Its status before.
    pub from: TaskStatus,
    /// The record after the change.
    pub record: TaskRecord,
}

/// Makes a record of what is recorded; may run several times. Returning `None` leaves it as it is.
pub type ChangeTask<'a> = &'a dyn Fn(Option<&TaskRecord>) -> Option<TaskRecord>;

/// The tasks of one repository. Everything blocks, for a bounded time.
pub trait TaskStore: Send + Sync {
    /// All tasks, by id.
    ///
    /// # Errors
    /// If one cannot be read.
    fn tasks(&self) -> Result<Vec<StoredTask>, StoreError>;

    /// Changes a record, whoever works on the task. A lease of it stays where the record keeps its fence, and ends where it does not.
    ///
    /// # Errors
    /// If it cannot be read or written.
    fn change(&self, id: &str, change: ChangeTask<'_>) -> Result<TaskWrite, StoreError>;

    /// As [`TaskStore::change`], and `None`, without effect, while somebody holds the task's lease. `holder` names the caller.
    ///
    /// # Errors
    /// As there.
    fn change_unheld(
        &self,
        id: &str,
        holder: &str,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError>;

    /// As [`TaskStore::change`], where the lease of the fence in `record_before` has ended; `None`, without effect, where it has not, or the task
    /// was taken anew.
    ///
    /// # Errors
    /// As there.
    fn give_back(
        &self,
        id: &str,
        record_before: &TaskRecord,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError>;

    /// Takes the first of some tasks that nobody has; `None` where there is none.
    ///
    /// # Errors
    /// If they cannot be read or written.
    fn claim(&self, claim: &TaskClaim<'_>) -> Result<Option<ClaimedTask>, StoreError>;

    /// Extends a lease to `ttl` from now; `false` where it has ended.
    ///
    /// # Errors
    /// If the store cannot say.
    fn renew(&self, lease: &TaskLease, ttl: Duration) -> Result<bool, StoreError>;

    /// Changes the record under a lease; `None`, without effect, where that has ended. A record without a fence ends it. Asked again after
    /// an answer that was lost, it is done once.
    ///
    /// # Errors
    /// As [`TaskStore::change`].
    fn step(
        &self,
        lease: &TaskLease,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError>;

    /// Ends a lease, if it still stands. The record keeps its status.
    ///
    /// # Errors
    /// If it cannot be written; it then ends by itself.
    fn release(&self, lease: &TaskLease) -> Result<(), StoreError>;
}

/// Stores of tasks that a command opened, by a name for each: what they hold open is used again.
#[derive(Clone, Default)]
pub struct OpenTaskStores(Arc<Mutex<BTreeMap<String, Arc<dyn TaskStore>>>>);

impl OpenTaskStores {
    /// The store of this name, opened by `open` where it is not yet.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn get<E>(
        &self,
        name: &str,
        open: impl FnOnce() -> Result<Arc<dyn TaskStore>, E>,
    ) -> Result<Arc<dyn TaskStore>, E> {
        let mut stores = lock_mutex(&self.0);
        if let Some(store) = stores.get(name) {
            return Ok(Arc::clone(store));
        }
        let store = open()?;
        stores.insert(name.to_owned(), Arc::clone(&store));
        Ok(store)
    }
}

/// The tasks of a repository in a store of rows and leases.
pub struct LocalTasks {
    store: Arc<dyn SharedStore>,
    repository_id: String,
}

impl LocalTasks {
    /// Those of a repository.
    pub fn new(store: Arc<dyn SharedStore>, repository_id: &str) -> Self {
        LocalTasks {
            store,
            repository_id: repository_id.to_owned(),
        }
    }

    fn update(&self, id: &str, change: ChangeTask<'_>) -> Result<TaskWrite, StoreError> {
        // A change that leaves a task without a record as it is must not make one.
        if TaskRecord::read_row(self.store.as_ref(), &self.repository_id, id)?.is_none()
            && change(None).is_none()
        {
            return Ok(TaskWrite {
                from: None,
                record: TaskRecord::begin(TaskStatus::Pending, Timestamp::UNIX_EPOCH),
                is_written: false,
            });
        }
        TaskRecord::change_row(self.store.as_ref(), &self.repository_id, id, |row| {
            let from = row.as_ref().map(|row| row.status);
            match change(row.as_ref()) {
                Some(record) => (
                    record.clone(),
                    TaskWrite {
                        from,
                        is_written: row.as_ref() != Some(&record),
                        record,
                    },
                ),
                None => {
                    let record = row.unwrap_or_else(|| {
                        TaskRecord::begin(TaskStatus::Pending, Timestamp::UNIX_EPOCH)
                    });
                    (
                        record.clone(),
                        TaskWrite {
                            from,
                            record,
                            is_written: false,
                        },
                    )
                }
            }
        })
    }

    fn lease(&self, id: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        task::acquire_task_lease(self.store.as_ref(), &self.repository_id, id, holder, ttl)
    }

    fn engine_lease(&self, lease: &TaskLease) -> Lease {
        let key = RowKey::new("task-lease", &[&self.repository_id, &lease.id]);
        // The holder and the fence count.
        Lease {
            key,
            holder: lease.holder.clone(),
            fence: lease.fence,
            until: crate::engine::EngineTime(0),
        }
    }
}

impl TaskStore for LocalTasks {
    fn tasks(&self) -> Result<Vec<StoredTask>, StoreError> {
        let mut all = TaskRecord::list_rows_of(self.store.as_ref(), &self.repository_id)?;
        // Keys are escaped, and sort otherwise.
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(all
            .into_iter()
            .map(|(id, record)| StoredTask {
                id,
                record,
                is_held: false,
            })
            .collect())
    }

    fn change(&self, id: &str, change: ChangeTask<'_>) -> Result<TaskWrite, StoreError> {
        self.update(id, change)
    }

    fn change_unheld(
        &self,
        id: &str,
        holder: &str,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError> {
        let Some(lease) = self.lease(id, holder, MOMENT)? else {
            return Ok(None);
        };
        let done = self.update(id, change);
        // Its short time ends by itself where this fails.
        let _ = self.store.release(&lease);
        done.map(Some)
    }

    fn give_back(
        &self,
        id: &str,
        record_before: &TaskRecord,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError> {
        // Taking the lease proves that no worker holds it.
        let same = |now: Option<&TaskRecord>| {
            now.filter(|now| now.fence == record_before.fence)
                .and_then(|now| change(Some(now)))
        };
        let done = self.change_unheld(id, "watchdog: giving back", &same)?;
        Ok(done.filter(|done| done.is_written))
    }

    fn claim(&self, claim: &TaskClaim<'_>) -> Result<Option<ClaimedTask>, StoreError> {
        for id in claim.ids {
            let Some(lease) = self.lease(id, claim.holder, claim.ttl)? else {
                continue;
            };
            let taken = self.update(id, &|row| {
                row.filter(|task| claim.from.contains(&task.status))
                    .map(|task| TaskRecord {
                        status: claim.to,
                        agent: Some(claim.agent.to_owned()),
                        fence: Some(lease.fence),
                        reason: None,
                        message: None,
                        changed_at: claim.now,
                        ..task.clone()
                    })
            });
            match taken {
                Ok(TaskWrite {
                    from: Some(from),
                    record,
                    is_written: true,
                }) => {
                    let lease = TaskLease {
                        id: id.clone(),
                        holder: lease.holder,
                        fence: lease.fence,
                    };
                    return Ok(Some(ClaimedTask {
                        lease,
                        from,
                        record,
                    }));
                }
                other => {
                    let _ = self.store.release(&lease);
                    other?;
                }
            }
        }
        Ok(None)
    }

    fn renew(&self, lease: &TaskLease, ttl: Duration) -> Result<bool, StoreError> {
        Ok(matches!(
            self.store.renew(&self.engine_lease(lease), ttl)?,
            LeaseRenewal::Held(_)
        ))
    }

    fn step(
        &self,
        lease: &TaskLease,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError> {
        // A record keeps the fence of a lease that was released or ran out.
        if self.store.append(&[], Some(&self.engine_lease(lease)))? == AppendOutcome::Fenced {
            return Ok(None);
        }
        let is_ours =
            |row: Option<&TaskRecord>| row.is_some_and(|task| task.fence == Some(lease.fence));
        let was_ours = std::cell::Cell::new(false);
        let done = self.update(&lease.id, &|row| {
            was_ours.set(is_ours(row));
            if was_ours.get() { change(row) } else { None }
        })?;
        Ok(was_ours.get().then_some(done))
    }

    fn release(&self, lease: &TaskLease) -> Result<(), StoreError> {
        self.store.release(&self.engine_lease(lease)).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqliteStore;
    use crate::sqlite::tests::Scratch;

    fn on_this_machine(test: fn(&dyn TaskStore)) {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).expect("a store");
        test(&LocalTasks::new(Arc::new(store), "repo"));
    }

    crate::on_each_task_test!(on_this_machine);

    #[test]
    fn retaken_task_forgets_return_reason_and_updates_time() {
        let scratch = Scratch::new();
        let tasks = LocalTasks::new(
            Arc::new(SqliteStore::open(&scratch.dir).expect("a store")),
            "repo",
        );
        let (put, now) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(1000).unwrap());
        let back = TaskRecord {
            reason: Some("lease_ended".into()),
            message: Some("its worker is gone".into()),
            branch: Some("watchdog/a".into()),
            ..TaskRecord::begin(TaskStatus::Pending, put)
        };
        tasks.change("a", &|_| Some(back.clone())).unwrap();
        let (ids, ttl) = (["a".to_owned()], Duration::from_secs(60));
        let claim = TaskClaim {
            ids: &ids,
            from: &[TaskStatus::Pending],
            to: TaskStatus::Assigned,
            agent: "be-1",
            holder: "me",
            ttl,
            now,
        };
        let record = tasks.claim(&claim).unwrap().expect("it is free").record;
        assert_eq!(
            (&record.reason, &record.message, record.changed_at),
            (&None, &None, now)
        );
        assert_eq!(
            (record.since, record.branch.as_deref()),
            (put, Some("watchdog/a")),
            "what else is known of it stays"
        );
    }
}

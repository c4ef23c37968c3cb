//! The tasks of a repository on the server: claims, leases and steps, each one statement, judged by the server's clock alone.
//!
//! A write whose answer was lost is looked up: a claim by its holder, a step by its fence, any other change of a status by the name of its
//! write. The caller's clock (`changed_at` of a record) is not used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};
use watchdog_core::config::task_file::TaskStatus;
use watchdog_store::StoreError;
use watchdog_store::journal::event_id;
use watchdog_store::task::{PinnedFile, TaskRecord};
use watchdog_store::task_store::{
    ChangeTask, ClaimedTask, StoredTask, TaskClaim, TaskLease, TaskStore, TaskWrite,
};

use crate::fleet_error::FleetError;
use crate::server::{CallFailure, FleetServer, Repeat, SqlValue};
use crate::task_sql as sql;

/// How often a change is tried on what others change meanwhile.
const ATTEMPTS: u32 = 100;

/// The tasks of a repository that the machines of a fleet share.
pub struct FleetTasks {
    server: Arc<FleetServer>,
    repository: String,
    machine: String,
    /// The rows read last, so that texts are not sent again and a change needs no look before it.
    seen: Mutex<HashMap<String, SeenTask>>,
}

#[derive(Clone)]
struct SeenTask {
    rev: i64,
    record: TaskRecord,
}

/// When a change is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeGuard {
    Anyhow,
    Unheld,
    /// The lease with this fence has ended.
    Ended(i64),
}

impl FleetTasks {
    /// Those of a repository, by its name in the fleet, as the machine of this name uses them.
    /// Sends no request yet.
    pub fn new(server: Arc<FleetServer>, machine: &str, repository: &str) -> Self {
        FleetTasks {
            server,
            repository: repository.to_owned(),
            machine: machine.to_owned(),
            seen: Mutex::default(),
        }
    }

    fn lock_seen(&self) -> MutexGuard<'_, HashMap<String, SeenTask>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, id: &str, rev: i64, record: &TaskRecord) {
        self.lock_seen().insert(
            id.to_owned(),
            SeenTask {
                rev,
                record: record.clone(),
            },
        );
    }

    /// Returns the recorded task, as it was seen last or as it is.
    fn current(&self, id: &str, anew: bool) -> Result<Option<SeenTask>, StoreError> {
        if !anew && let Some(seen) = self.lock_seen().get(id) {
            return Ok(Some(seen.clone()));
        }
        let row = to_store_result(self.server.call("read a task", Repeat::Safe, async |call| {
            let row = call
                .client
                .query_typed_opt(
                    sql::READ_ONE,
                    &[(&self.repository, Type::TEXT), (&id, Type::TEXT)],
                )
                .await?;
            row.as_ref().map(row_of).transpose()
        }))?;
        let Some(row) = row else {
            self.lock_seen().remove(id);
            return Ok(None);
        };
        let (_, rev, record) = row.understood(None)?;
        self.keep(id, rev, &record);
        Ok(Some(SeenTask { rev, record }))
    }

    fn change_guarded(
        &self,
        id: &str,
        guard: ChangeGuard,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError> {
        // Names of writes whose answers were lost, each with what it would have written.
        let mut lost: Vec<(String, TaskWrite)> = Vec::new();
        let mut anew = guard != ChangeGuard::Anyhow;
        for _ in 0..ATTEMPTS {
            let seen_task = self.current(id, anew)?;
            anew = true;
            if let Some(done) = self.written_unheard(id, &lost)? {
                return Ok(Some(done));
            }
            let before = seen_task.as_ref().map(|seen| &seen.record);
            if let ChangeGuard::Ended(fence) = guard
                && before.is_none_or(|before| before.fence != Some(fence))
            {
                return Ok(None);
            }
            let from = before.map(|before| before.status);
            let unwritten = |record: TaskRecord| TaskWrite {
                from,
                record,
                is_written: false,
            };
            let depends_on = |after: &TaskRecord| {
                after
                    .depends_on
                    .clone()
                    .or_else(|| before?.depends_on.clone())
            };
            let after = change(before).map(|after| TaskRecord {
                depends_on: depends_on(&after),
                ..as_stored(&after)
            });
            let Some(after) = after else {
                let record = before.cloned().unwrap_or_else(|| {
                    TaskRecord::begin(TaskStatus::Pending, Timestamp::UNIX_EPOCH)
                });
                return Ok(Some(unwritten(record)));
            };
            if before.is_some_and(|before| is_same(before, &after)) {
                return Ok(Some(unwritten(after)));
            }
            let name = event_id(Timestamp::UNIX_EPOCH);
            match self.write(
                id,
                seen_task.as_ref().map(|seen| seen.rev),
                &after,
                guard,
                &name,
            ) {
                Ok(Some((rev, changed_at, since))) => {
                    let machine = after.machine.clone().filter(|_| after.agent.is_some());
                    let record = TaskRecord {
                        changed_at,
                        since,
                        machine,
                        ..after
                    };
                    self.keep(id, rev, &record);
                    return Ok(Some(TaskWrite {
                        from,
                        record,
                        is_written: true,
                    }));
                }
                Ok(None) => {
                    // Somebody wrote meanwhile, or the guard holds.
                    let now = self.current(id, true)?;
                    if guard != ChangeGuard::Anyhow
                        && now.as_ref().map(|now| now.rev)
                            == seen_task.as_ref().map(|seen| seen.rev)
                    {
                        return self.written_unheard(id, &lost);
                    }
                }
                Err(CallFailure::Unknown(_)) => lost.push((
                    name,
                    TaskWrite {
                        from,
                        record: after,
                        is_written: true,
                    },
                )),
                Err(CallFailure::Failed(error)) => return Err(error.into()),
            }
        }
        Err(StoreError::Contended {
            what: format!("task of '{id}'"),
            attempts: ATTEMPTS,
        })
    }

    /// The write of this call that was done although its answer was lost.
    fn written_unheard(
        &self,
        id: &str,
        lost: &[(String, TaskWrite)],
    ) -> Result<Option<TaskWrite>, StoreError> {
        for (name, write) in lost.iter().rev() {
            let names = [name.as_str()];
            let done = to_store_result(self.server.call(
                "look for a write",
                Repeat::Safe,
                async |call| {
                    let values: [SqlValue<'_>; 3] = [
                        (&self.repository, Type::TEXT),
                        (&id, Type::TEXT),
                        (&names.as_slice(), Type::TEXT_ARRAY),
                    ];
                    call.client
                        .query_typed_one(sql::WRITTEN, &values)
                        .await?
                        .try_get(0)
                },
            ))?;
            if done {
                return Ok(Some(write.clone()));
            }
        }
        Ok(None)
    }

    /// Writes a whole record where the revision is still this one. Returns `None` if it is not, or
    /// the guard holds.
    fn write(
        &self,
        id: &str,
        rev: Option<i64>,
        after: &TaskRecord,
        guard: ChangeGuard,
        name: &str,
    ) -> Result<Option<(i64, Timestamp, Timestamp)>, CallFailure> {
        let texts = RecordTexts::from_record(after);
        let (repository, status) = (&self.repository, after.status.as_str());
        let depends_on: &[String] = after.depends_on.as_deref().unwrap_or_default();
        let pinned_path = after.pinned.as_ref().map(|pinned| pinned.path.as_str());
        let pinned_text = after.pinned.as_ref().map(|pinned| pinned.text.as_bytes());
        let keeps_lease = after.fence.is_some();
        let mut values: Vec<SqlValue<'_>> = vec![(repository, Type::TEXT), (&id, Type::TEXT)];
        if let Some(rev) = &rev {
            values.push((rev, Type::INT8));
        }
        values.push((&status, Type::TEXT));
        values.extend(texts.values());
        values.extend([
            (&depends_on as _, Type::TEXT_ARRAY),
            (&pinned_path as _, Type::TEXT),
            (&pinned_text as _, Type::BYTEA),
        ]);
        let statement = match (rev, guard) {
            (None, _) => {
                values.extend([
                    (&after.since as _, Type::TIMESTAMPTZ),
                    (&self.machine as _, Type::TEXT),
                ]);
                sql::INSERT.to_owned()
            }
            (Some(_), guard) => {
                values.push((&keeps_lease, Type::BOOL));
                sql::CHANGE.replace(
                    "{guard}",
                    match guard {
                        ChangeGuard::Anyhow => sql::ANYHOW,
                        ChangeGuard::Unheld => sql::UNHELD,
                        ChangeGuard::Ended(_) => sql::ENDED,
                    },
                )
            }
        };
        values.push((&name, Type::TEXT));
        self.server
            .call("change a task", Repeat::Never, async |call| {
                let row = call.client.query_typed_opt(&statement, &values).await?;
                row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(3)?)))
                    .transpose()
            })
    }

    fn to_claimed_task(&self, row: &ClaimRow, holder: &str) -> Result<ClaimedTask, StoreError> {
        let (id, rev, record) = row.task.clone().understood(None)?;
        self.keep(&id, rev, &record);
        let from = row
            .from
            .as_deref()
            .and_then(TaskStatus::from_word)
            .unwrap_or(TaskStatus::Pending);
        let lease = TaskLease {
            id,
            holder: holder.to_owned(),
            fence: record.fence.unwrap_or_default(),
        };
        Ok(ClaimedTask {
            lease,
            from,
            record,
        })
    }
}

/// The columns of a record that are plain values.
struct RecordTexts {
    texts: [Option<String>; 8],
    attempts: i32,
}

impl RecordTexts {
    fn from_record(record: &TaskRecord) -> Self {
        let path =
            |path: &Option<std::path::PathBuf>| path.as_deref().map(watchdog_store::path_to_text);
        let texts = [
            record.agent.clone(),
            record.reason.clone(),
            record.message.clone(),
            path(&record.log),
            record.branch.clone(),
            path(&record.worktree),
            record.head.clone(),
            record.baseline.clone(),
        ];
        RecordTexts {
            texts,
            attempts: i32::try_from(record.attempts).unwrap_or(i32::MAX),
        }
    }

    fn values(&self) -> impl Iterator<Item = SqlValue<'_>> {
        let texts = self.texts.iter().map(|text| (text as _, Type::TEXT));
        texts.chain(std::iter::once((&self.attempts as _, Type::INT4)))
    }
}

/// A record as the server can hold it: no text there has a NUL.
fn as_stored(record: &TaskRecord) -> TaskRecord {
    let clean = |text: &Option<String>| text.as_ref().map(|text| text.replace('\0', "\u{fffd}"));
    let (agent, reason, message) = (
        clean(&record.agent),
        clean(&record.reason),
        clean(&record.message),
    );
    TaskRecord {
        agent,
        reason,
        message,
        branch: clean(&record.branch),
        ..record.clone()
    }
}

/// Whether nothing is to be written. The server's clock sets the time.
fn is_same(before: &TaskRecord, after: &TaskRecord) -> bool {
    let (since, machine) = (before.since, before.machine.clone());
    *before
        == TaskRecord {
            changed_at: before.changed_at,
            since,
            machine,
            ..after.clone()
        }
}

/// A row of the table, read but not judged.
#[derive(Clone)]
struct TaskRow {
    id: String,
    rev: i64,
    status: String,
    texts: [Option<String>; 9],
    fence: Option<i64>,
    attempts: i32,
    depends_on: Vec<String>,
    pinned_path: Option<String>,
    pinned_text: Option<Vec<u8>>,
    since: Timestamp,
    changed_at: Timestamp,
    is_held: bool,
    /// The pinned text was not sent, because the caller has it.
    is_known: bool,
}

struct ClaimRow {
    task: TaskRow,
    from: Option<String>,
}

/// Reads the columns of [`crate::task_sql`].
fn row_of(row: &Row) -> Result<TaskRow, Error> {
    Ok(TaskRow {
        id: row.try_get(0)?,
        rev: row.try_get(1)?,
        status: row.try_get(2)?,
        texts: [
            row.try_get(3)?,
            row.try_get(4)?,
            row.try_get(6)?,
            row.try_get(7)?,
            row.try_get(8)?,
            row.try_get(9)?,
            row.try_get(10)?,
            row.try_get(11)?,
            row.try_get(12)?,
        ],
        fence: row.try_get(5)?,
        attempts: row.try_get(13)?,
        depends_on: row.try_get(14)?,
        pinned_path: row.try_get(15)?,
        since: row.try_get(16)?,
        changed_at: row.try_get(17)?,
        is_held: row.try_get(18)?,
        is_known: row.try_get(19)?,
        pinned_text: row.try_get(20)?,
    })
}

impl TaskRow {
    /// Id, revision and record. `known` is the pinned file that the caller has of this revision.
    fn understood(
        self,
        known_file: Option<PinnedFile>,
    ) -> Result<(String, i64, TaskRecord), StoreError> {
        let bad = |why: String| StoreError::BadRecord {
            what: format!("task of '{}'", self.id),
            why,
        };
        let status = TaskStatus::from_word(&self.status)
            .ok_or_else(|| bad(format!("its status '{}' is none", self.status)))?;
        let pinned = match (self.is_known, self.pinned_path, self.pinned_text) {
            (true, ..) => known_file,
            (false, Some(path), Some(text)) => {
                let text = String::from_utf8(text)
                    .map_err(|_| bad("its pinned file is no text".into()))?;
                Some(PinnedFile { path, text })
            }
            (false, ..) => None,
        };
        let [
            agent,
            machine,
            reason,
            message,
            log,
            branch,
            worktree,
            head,
            baseline,
        ] = self.texts;
        let path = |text: Option<String>| text.as_deref().map(watchdog_store::path_from_text);
        let record = TaskRecord {
            status,
            agent,
            fence: self.fence,
            reason,
            message,
            log: path(log),
            branch,
            worktree: path(worktree),
            head,
            machine,
            depends_on: Some(self.depends_on),
            baseline,
            pinned,
            attempts: u32::try_from(self.attempts).unwrap_or_default(),
            since: self.since,
            changed_at: self.changed_at,
        };
        Ok((self.id, self.rev, record))
    }
}

fn to_store_result<T>(done: Result<T, CallFailure>) -> Result<T, StoreError> {
    done.map_err(|failure| FleetError::from(failure).into())
}

fn to_millis(ttl: Duration) -> f64 {
    ttl.as_secs_f64().min(3.2e9) * 1000.0
}

impl TaskStore for FleetTasks {
    fn tasks(&self) -> Result<Vec<StoredTask>, StoreError> {
        let seen_tasks: HashMap<String, SeenTask> = self.lock_seen().clone();
        let (ids, revs): (Vec<&str>, Vec<i64>) = seen_tasks
            .iter()
            .map(|(id, seen)| (id.as_str(), seen.rev))
            .unzip();
        let rows = to_store_result(self.server.call(
            "read the tasks",
            Repeat::Safe,
            async |call| {
                let values: [SqlValue<'_>; 3] = [
                    (&self.repository, Type::TEXT),
                    (&ids, Type::TEXT_ARRAY),
                    (&revs, Type::INT8_ARRAY),
                ];
                call.client
                    .query_typed(sql::READ, &values)
                    .await?
                    .iter()
                    .map(row_of)
                    .collect::<Result<Vec<_>, _>>()
            },
        ))?;
        let mut tasks = Vec::with_capacity(rows.len());
        for row in rows {
            let (is_held, known) = (
                row.is_held,
                seen_tasks
                    .get(&row.id)
                    .and_then(|seen| seen.record.pinned.clone()),
            );
            let (id, rev, record) = row.understood(known)?;
            self.keep(&id, rev, &record);
            tasks.push(StoredTask {
                id,
                record,
                is_held,
            });
        }
        Ok(tasks)
    }

    fn change(&self, id: &str, change: ChangeTask<'_>) -> Result<TaskWrite, StoreError> {
        let done = self.change_guarded(id, ChangeGuard::Anyhow, change)?;
        done.ok_or_else(|| StoreError::Contended {
            what: format!("task of '{id}'"),
            attempts: ATTEMPTS,
        })
    }

    fn change_unheld(
        &self,
        id: &str,
        _holder: &str,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError> {
        self.change_guarded(id, ChangeGuard::Unheld, change)
    }

    fn give_back(
        &self,
        id: &str,
        task_record: &TaskRecord,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError> {
        let Some(fence) = task_record.fence else {
            return Ok(None);
        };
        let done = self.change_guarded(id, ChangeGuard::Ended(fence), change)?;
        Ok(done.filter(|done| done.is_written))
    }

    fn claim(&self, claim: &TaskClaim<'_>) -> Result<Option<ClaimedTask>, StoreError> {
        let from: Vec<&str> = claim.from.iter().map(|status| status.as_str()).collect();
        let (to, ttl) = (claim.to.as_str(), to_millis(claim.ttl));
        let values: [SqlValue<'_>; 8] = [
            (&self.repository, Type::TEXT),
            (&claim.ids, Type::TEXT_ARRAY),
            (&from, Type::TEXT_ARRAY),
            (&to, Type::TEXT),
            (&claim.agent, Type::TEXT),
            (&self.machine, Type::TEXT),
            (&claim.holder, Type::TEXT),
            (&ttl, Type::FLOAT8),
        ];
        let read_row = |row: Option<Row>| {
            row.map(|row| {
                Ok(ClaimRow {
                    task: row_of(&row)?,
                    from: row.try_get(21)?,
                })
            })
            .transpose()
        };
        let taken = self
            .server
            .call("take a task", Repeat::Never, async |call| {
                read_row(call.client.query_typed_opt(sql::CLAIM, &values).await?)
            });
        let row = match taken {
            Ok(row) => row,
            Err(CallFailure::Failed(error)) => return Err(error.into()),
            // A claim that comes through later ends with its lease.
            Err(CallFailure::Unknown(_)) => to_store_result(self.server.call(
                "look for a claim",
                Repeat::Safe,
                async |call| {
                    let values: [SqlValue<'_>; 2] =
                        [(&self.repository, Type::TEXT), (&claim.holder, Type::TEXT)];
                    read_row(
                        call.client
                            .query_typed_opt(sql::READ_CLAIMED, &values)
                            .await?,
                    )
                },
            ))?,
        };
        row.map(|row| self.to_claimed_task(&row, claim.holder))
            .transpose()
    }

    fn renew(&self, lease: &TaskLease, ttl: Duration) -> Result<bool, StoreError> {
        let ttl = to_millis(ttl);
        let values: [SqlValue<'_>; 5] = [
            (&self.repository, Type::TEXT),
            (&lease.id, Type::TEXT),
            (&lease.holder, Type::TEXT),
            (&lease.fence, Type::INT8),
            (&ttl, Type::FLOAT8),
        ];
        to_store_result(
            self.server
                .call("renew the lease of a task", Repeat::Safe, async |call| {
                    Ok(call
                        .client
                        .query_typed_opt(sql::RENEW, &values)
                        .await?
                        .is_some())
                }),
        )
    }

    fn step(
        &self,
        lease: &TaskLease,
        change: ChangeTask<'_>,
    ) -> Result<Option<TaskWrite>, StoreError> {
        let is_ours = |seen: &SeenTask| seen.record.fence == Some(lease.fence);
        // Under a lease nobody else changes what a step changes: what was seen last is so still.
        let seen = match self.current(&lease.id, false)?.filter(is_ours) {
            Some(seen) => Some(seen),
            None => self.current(&lease.id, true)?.filter(is_ours),
        };
        let Some(SeenTask { record: before, .. }) = seen else {
            return Ok(None);
        };
        let Some(after) = change(Some(&before)).map(|after| as_stored(&after)) else {
            return Ok(Some(TaskWrite {
                from: Some(before.status),
                record: before,
                is_written: false,
            }));
        };
        let texts = RecordTexts::from_record(&after);
        let (status, ends) = (after.status.as_str(), after.fence.is_none());
        let mut values: Vec<SqlValue<'_>> = vec![
            (&self.repository, Type::TEXT),
            (&lease.id, Type::TEXT),
            (&lease.fence, Type::INT8),
            (&lease.holder, Type::TEXT),
            (&status, Type::TEXT),
        ];
        values.extend(texts.values());
        values.push((&ends, Type::BOOL));
        let written: Option<(i64, Timestamp)> = to_store_result(self.server.call(
            "write down a step of a task",
            Repeat::Safe,
            async |call| {
                let row = call.client.query_typed_opt(sql::STEP, &values).await?;
                row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
                    .transpose()
            },
        ))?;
        let Some((rev, changed_at)) = written else {
            // An answer may have been lost, and the task taken by others since.
            let key: [SqlValue<'_>; 4] = [
                (&self.repository, Type::TEXT),
                (&lease.id, Type::TEXT),
                (&lease.fence, Type::INT8),
                (&status, Type::TEXT),
            ];
            let done: bool = to_store_result(self.server.call(
                "look for a step",
                Repeat::Safe,
                async |call| {
                    call.client
                        .query_typed_one(sql::STEPPED, &key)
                        .await?
                        .try_get(0)
                },
            ))?;
            self.lock_seen().remove(&lease.id);
            return Ok((done && ends).then_some(TaskWrite {
                from: Some(before.status),
                record: after,
                is_written: true,
            }));
        };
        let record = TaskRecord {
            changed_at,
            ..after
        };
        self.keep(&lease.id, rev, &record);
        Ok(Some(TaskWrite {
            from: Some(before.status),
            record,
            is_written: true,
        }))
    }

    fn release(&self, lease: &TaskLease) -> Result<(), StoreError> {
        // A step that ended the work has ended the lease as well.
        if self
            .lock_seen()
            .get(&lease.id)
            .is_some_and(|seen| seen.record.fence != Some(lease.fence))
        {
            return Ok(());
        }
        let values: [SqlValue<'_>; 4] = [
            (&self.repository, Type::TEXT),
            (&lease.id, Type::TEXT),
            (&lease.holder, Type::TEXT),
            (&lease.fence, Type::INT8),
        ];
        to_store_result(self.server.call(
            "release the lease of a task",
            Repeat::Safe,
            async |call| {
                call.client
                    .query_typed_opt(sql::RELEASE, &values)
                    .await
                    .map(|_| ())
            },
        ))
    }
}

//! Files and records together: the status of each task, and every transition.
//!
//! The worker of a task holds its lease. The record has the fence of that lease, so that a worker that was too slow cannot overwrite the
//! record of its successor; and the next reader resets a record whose lease has expired to `pending`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::dependencies::{BlockedBy, DependencyGraph, DependencyNode};
use super::folder::{LoadedTask, TaskFolder};
use super::graph;
use super::leased_task::LeasedTask;
use super::queue::{QueuedTask, settle_status};
use super::status::{check_step, step_by_person};
use super::task_board_error::TaskBoardError;
use super::write_back::with_status;
use crate::wire::task_json::TaskTransition;
use watchdog_core::config::task_file::{TaskPriority, TaskStatus, parse_task};
use watchdog_git::HistoryPoint;
use watchdog_store::StoreError;
use watchdog_store::task::{PinnedFile, TaskRecord};
use watchdog_store::task_store::{StoredTask, TaskClaim, TaskStore, TaskWrite};
use watchdog_system::read_regular_file;

/// The word for a status that dependencies set.
pub const DEPENDENCIES: &str = "dependencies";
/// The word for a status that a person set.
pub const BY_HAND: &str = "by_hand";
/// The reason of a task that was reset because its lease expired.
pub const LEASE_ENDED: &str = "lease_ended";

/// A task: its file and its record.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardTask {
    /// Its file.
    pub loaded: LoadedTask,
    /// Its status.
    pub record: TaskRecord,
    /// Whether the file is gone, or no task any more: then the entry has the task as first seen.
    pub gone: bool,
    /// Whether the record is written, pin and all.
    is_recorded: bool,
    /// Whether its lease is known to be valid.
    is_held: bool,
}

impl BoardTask {
    /// The commit at which the task first began: `head` until then.
    pub fn begun_at(&self, head: &HistoryPoint) -> HistoryPoint {
        match self.record.baseline.as_deref() {
            None => head.clone(),
            begun => begun
                .filter(|commit| !commit.is_empty())
                .map(str::to_owned)
                .into(),
        }
    }

    /// The record to keep of a task without a file; `None` where it is complete, or has nothing to keep.
    fn from_gone(stored: StoredTask, is_recorded: bool, root: &Path) -> Option<Self> {
        let StoredTask {
            id,
            record,
            is_held,
        } = stored;
        let pinned = record
            .pinned
            .as_ref()
            .filter(|_| record.status != TaskStatus::Complete)?;
        let relative = PathBuf::from(&pinned.path);
        let bytes = pinned.text.clone().into_bytes();
        let task = parse_task(&bytes, &relative)
            .ok()
            .filter(|task| task.id == id)?;
        let loaded = LoadedTask {
            path: root.join(&relative),
            relative,
            bytes,
            task,
        };
        Some(BoardTask {
            loaded,
            record,
            gone: true,
            is_recorded,
            is_held,
        })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.loaded.task.id
    }

    /// With the dependencies that decide its status: those of the record, where it has them, so that machines with different files agree.
    fn settled_link(&self) -> DependencyNode {
        let depends_on = self
            .record
            .depends_on
            .as_ref()
            .unwrap_or(&self.loaded.task.depends_on)
            .clone();
        DependencyNode {
            id: self.id().to_owned(),
            status: self.record.status,
            depends_on,
        }
    }

    /// With all dependencies: those of the file of the moment keep it from beginning here as well.
    fn link(&self) -> DependencyNode {
        let mut link = self.settled_link();
        let further: Vec<String> = self
            .loaded
            .task
            .depends_on
            .iter()
            .filter(|id| !link.depends_on.contains(id))
            .cloned()
            .collect();
        link.depends_on.extend(further);
        link
    }

    /// For the picture.
    pub fn node(&self) -> graph::TaskGraphNode {
        graph::TaskGraphNode {
            link: self.link(),
            title: self.loaded.task.title.clone(),
        }
    }

    /// For the queue.
    pub fn to_queued(&self) -> QueuedTask {
        let task = &self.loaded.task;
        QueuedTask {
            link: self.link(),
            priority: task.priority,
            role: task.role.clone(),
            since: self.record.since,
        }
    }
}

/// The tasks of a repository.
pub struct TaskBoard {
    store: Arc<dyn TaskStore>,
    entries: BTreeMap<String, BoardTask>,
    /// Complete tasks that are recorded for other machines as well, and whose files are not here.
    without_file: Vec<DependencyNode>,
}

impl TaskBoard {
    /// Reads the records of all tasks in a folder. Writes nothing: a task without a record has that of an earlier place (`earlier`, read
    /// only where it is needed), else the status of its file, else the first status; one that its file calls taken has no worker.
    ///
    /// # Errors
    /// Fails if a record cannot be read.
    pub fn read_tasks(
        store: Arc<dyn TaskStore>,
        folder: &TaskFolder,
        earlier: impl FnOnce() -> Result<Vec<StoredTask>, StoreError>,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut stored: BTreeMap<String, (StoredTask, bool)> = store
            .tasks()?
            .into_iter()
            .map(|task| (task.id.clone(), (task, true)))
            .collect();
        if folder
            .tasks
            .iter()
            .any(|loaded| !stored.contains_key(&loaded.task.id))
        {
            for task in earlier()? {
                let record = of_earlier(task.record);
                stored.entry(task.id.clone()).or_insert((
                    StoredTask {
                        record,
                        id: task.id,
                        is_held: false,
                    },
                    false,
                ));
            }
        }
        let mut entries = BTreeMap::new();
        for loaded in &folder.tasks {
            let id = loaded.task.id.clone();
            let (record, is_recorded, is_held) = match stored.remove(&id) {
                Some((task, is_recorded)) => (task.record, is_recorded, task.is_held),
                None => (first_record(loaded, now), false, false),
            };
            entries.insert(
                id,
                BoardTask {
                    loaded: loaded.clone(),
                    record,
                    gone: false,
                    is_recorded,
                    is_held,
                },
            );
        }
        // Deleting a task's file, or replacing it with another task's, does not complete the task.
        let root = folder.root.clone().unwrap_or_default();
        let mut without_file = Vec::new();
        for (id, (task, is_recorded)) in stored {
            if task.record.status == TaskStatus::Complete && task.record.depends_on.is_some() {
                without_file.push(DependencyNode {
                    id: id.clone(),
                    status: TaskStatus::Complete,
                    depends_on: Vec::new(),
                });
            }
            entries.extend(BoardTask::from_gone(task, is_recorded, &root).map(|entry| (id, entry)));
        }
        Ok(TaskBoard {
            store,
            entries,
            without_file,
        })
    }

    /// Pins the files of tasks that are not pinned yet, by the content that `effective` returns; the next [`TaskBoard::settle`] writes it.
    ///
    /// # Errors
    /// The errors of `effective`.
    pub fn pin<E>(
        &mut self,
        effective: impl Fn(&LoadedTask) -> Result<Vec<u8>, E>,
    ) -> Result<(), E> {
        for entry in self
            .entries
            .values_mut()
            .filter(|entry| entry.record.pinned.is_none())
        {
            let path = entry.loaded.relative.to_string_lossy().into_owned();
            let text = String::from_utf8(effective(&entry.loaded)?).ok();
            entry.record.pinned = text.map(|text| PinnedFile { path, text });
            entry.is_recorded &= entry.record.pinned.is_none();
        }
        Ok(())
    }

    /// The tasks by id.
    pub fn entries(&self) -> impl Iterator<Item = &BoardTask> {
        self.entries.values()
    }

    /// Returns a task.
    pub fn get(&self, id: &str) -> Option<&BoardTask> {
        self.entries.get(id)
    }

    /// All tasks as the queue sees them.
    pub fn list_queued(&self) -> Vec<QueuedTask> {
        self.entries()
            .map(BoardTask::to_queued)
            .chain(
                self.without_file
                    .iter()
                    .map(|link| complete_remotely(link.clone())),
            )
            .collect()
    }

    /// The dependencies of all tasks.
    pub fn dependencies(&self) -> DependencyGraph {
        DependencyGraph::new(
            self.without_file
                .iter()
                .cloned()
                .chain(self.entries().map(BoardTask::link)),
        )
    }

    /// The unmet dependencies of a task.
    pub fn blockers(&self, id: &str) -> Vec<BlockedBy> {
        self.dependencies().blockers(id)
    }

    /// Updates the records: adds new tasks, resets tasks without a lease, blocks tasks with unmet dependencies and
    /// unblocks the others.
    ///
    /// # Errors
    /// Fails if a record cannot be read or written; earlier writes stay.
    pub fn settle(&mut self, now: Timestamp) -> Result<Vec<TaskTransition>, StoreError> {
        let mut changes = Vec::new();
        let ids: Vec<String> = self.entries.keys().cloned().collect();
        for id in &ids {
            changes.extend(self.record_new(id, now)?);
            changes.extend(self.give_back_abandoned(id, now)?);
        }
        let dependencies = DependencyGraph::new(
            self.without_file
                .iter()
                .cloned()
                .chain(self.entries().map(BoardTask::settled_link)),
        );
        for id in &ids {
            let blockers = dependencies.blockers(id);
            changes.extend(self.settle_dependencies(id, &blockers, now)?);
        }
        Ok(changes)
    }

    fn record_new(
        &mut self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<TaskTransition>, StoreError> {
        let Some(entry) = self.entries.get_mut(id).filter(|entry| !entry.is_recorded) else {
            return Ok(None);
        };
        let text = entry
            .record
            .pinned
            .as_ref()
            .and_then(|pinned| parse_task(pinned.text.as_bytes(), &entry.loaded.relative).ok());
        let depends_on = Some(text.map_or_else(
            || entry.loaded.task.depends_on.clone(),
            |task| task.depends_on,
        ));
        let fresh = TaskRecord {
            depends_on,
            changed_at: now,
            ..entry.record.clone()
        };
        let done = self.store.change(id, &|stored| {
            Some(match stored {
                Some(record) if record.pinned.is_some() => record.clone(),
                Some(record) => TaskRecord {
                    pinned: fresh.pinned.clone(),
                    depends_on: fresh.depends_on.clone(),
                    ..record.clone()
                },
                None => fresh.clone(),
            })
        })?;
        (entry.record, entry.is_recorded) = (done.record, true);
        let status = entry.record.status;
        let new = done.is_written && done.from.is_none();
        Ok(new.then(|| TaskTransition {
            id: id.to_owned(),
            to: status,
            ..TaskTransition::default()
        }))
    }

    fn give_back_abandoned(
        &mut self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<TaskTransition>, StoreError> {
        let taken = |record: &TaskRecord| {
            matches!(record.status, TaskStatus::Assigned | TaskStatus::InProgress)
        };
        let Some(entry) = self
            .entries
            .get_mut(id)
            .filter(|entry| taken(&entry.record) && !entry.is_held)
        else {
            return Ok(None);
        };
        if entry.record.fence.is_none() {
            return Ok(None);
        }
        let done = self.store.give_back(id, &entry.record, &|stored| {
            stored
                .filter(|current| taken(current))
                .map(|before| TaskRecord {
                    status: TaskStatus::Pending,
                    fence: None,
                    reason: Some(LEASE_ENDED.into()),
                    message: Some(format!(
                        "{} stopped without a word",
                        before.agent.as_deref().unwrap_or("its worker")
                    )),
                    changed_at: now,
                    ..before.clone()
                })
        })?;
        let Some(done) = done else { return Ok(None) };
        entry.record = done.record.clone();
        Ok(to_transition(id, &done))
    }

    fn settle_dependencies(
        &mut self,
        id: &str,
        blockers: &[BlockedBy],
        now: Timestamp,
    ) -> Result<Option<TaskTransition>, StoreError> {
        self.write(id, now, |before| {
            let by_hand = before.reason.as_deref() == Some(BY_HAND);
            let status = settle_status(before.status, by_hand, blockers.is_empty());
            if status == before.status {
                return None;
            }
            let waits = || {
                format!(
                    "waits for {}",
                    blockers
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            };
            let message = (status == TaskStatus::Blocked).then(waits);
            Some(TaskRecord {
                status,
                fence: None,
                reason: Some(DEPENDENCIES.into()),
                message,
                ..before.clone()
            })
        })
    }

    /// Changes a record; `None` from `change` leaves it. The change as it was made is returned, and kept here.
    fn write(
        &mut self,
        id: &str,
        now: Timestamp,
        change: impl Fn(&TaskRecord) -> Option<TaskRecord>,
    ) -> Result<Option<TaskTransition>, StoreError> {
        let Some(entry) = self.entries.get_mut(id) else {
            return Ok(None);
        };
        // The record just read decides whether a write is needed.
        if change(&entry.record).is_none() {
            return Ok(None);
        }
        let done = self.store.change(id, &|stored| {
            apply_change(stored.unwrap_or(&entry.record), now, &change)
        })?;
        entry.record = done.record.clone();
        Ok(to_transition(id, &done))
    }

    /// A person's command: sets the status to `to`, if that transition is allowed and no agent works on the task.
    ///
    /// # Errors
    /// See [`TaskBoardError`].
    pub fn set_status(
        &mut self,
        id: &str,
        to: TaskStatus,
        why: Option<&str>,
        now: Timestamp,
    ) -> Result<Option<TaskTransition>, TaskBoardError> {
        let illegal = Cell::new(None);
        // A task without a file can only be closed; why is the person's to say.
        let closes_gone = to == TaskStatus::Complete
            && why.is_some()
            && self.get(id).is_some_and(|entry| entry.gone);
        let Some(entry) = self.entries.get_mut(id) else {
            return Ok(None);
        };
        let change = |before: &TaskRecord| {
            illegal.set(
                step_by_person(before.status, to, why)
                    .err()
                    .filter(|_| !closes_gone),
            );
            illegal.get().is_none().then(|| {
                let agent = before
                    .agent
                    .clone()
                    .filter(|_| !matches!(to, TaskStatus::Pending | TaskStatus::Blocked));
                let message = why.map(str::to_owned);
                TaskRecord {
                    status: to,
                    fence: None,
                    agent,
                    reason: Some(BY_HAND.into()),
                    message,
                    ..before.clone()
                }
            })
        };
        // So that no worker begins meanwhile.
        let holder = format!("a person, {}", watchdog_store::journal::event_id(now));
        let done = self.store.change_unheld(id, &holder, &|stored| {
            apply_change(stored.unwrap_or(&entry.record), now, &change)
        })?;
        let Some(done) = done else {
            return Err(TaskBoardError::Held {
                id: id.into(),
                agent: entry.record.agent.clone(),
            });
        };
        entry.record = done.record.clone();
        match illegal.get() {
            Some(step) => Err(TaskBoardError::Illegal {
                id: id.into(),
                step,
            }),
            None => Ok(to_transition(id, &done)),
        }
    }

    /// Takes a task for an agent: its lease for `ttl`, and with it the step that leads to work on
    /// it. Returns `None` if somebody else has it, or was faster.
    ///
    /// # Errors
    /// See [`TaskBoardError`]; a task that is complete or blocked is none to be taken.
    pub fn claim(
        &mut self,
        id: &str,
        taker: &TaskClaimant<'_>,
        now: Timestamp,
    ) -> Result<Option<ClaimedBoardTask>, TaskBoardError> {
        let Some(TaskRecord { status, fence, .. }) = self.get(id).map(|entry| &entry.record) else {
            return Ok(None);
        };
        let (status, is_leased) = (*status, fence.is_some());
        // A person reopens a task in review or failed, and works on it at once.
        if matches!(status, TaskStatus::Review | TaskStatus::Failed) {
            let from = &[TaskStatus::Review, TaskStatus::Failed];
            return Ok(self.take(&[id.to_owned()], from, TaskStatus::InProgress, taker, now)?);
        }
        if !is_leased {
            check_step(status, TaskStatus::Assigned).map_err(|step| TaskBoardError::Illegal {
                id: id.into(),
                step,
            })?;
        }
        Ok(self.claim_first(&[id.to_owned()], taker, now)?)
    }

    /// Takes the first of some tasks that are pending. Returns `None` if others were faster with
    /// all of them.
    ///
    /// # Errors
    /// Fails if a record cannot be read or written.
    pub fn claim_first(
        &mut self,
        ids: &[String],
        taker: &TaskClaimant<'_>,
        now: Timestamp,
    ) -> Result<Option<ClaimedBoardTask>, StoreError> {
        self.take(
            ids,
            &[TaskStatus::Pending],
            TaskStatus::Assigned,
            taker,
            now,
        )
    }

    fn take(
        &mut self,
        ids: &[String],
        from: &[TaskStatus],
        to: TaskStatus,
        taker: &TaskClaimant<'_>,
        now: Timestamp,
    ) -> Result<Option<ClaimedBoardTask>, StoreError> {
        let TaskClaimant { agent, holder, ttl } = *taker;
        let Some(claimed) = self.store.claim(&TaskClaim {
            ids,
            from,
            to,
            agent,
            holder,
            ttl,
            now,
        })?
        else {
            return Ok(None);
        };
        let id = claimed.lease.id.clone();
        let done = TaskWrite {
            from: Some(claimed.from),
            record: claimed.record.clone(),
            is_written: true,
        };
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.record = claimed.record;
        }
        let changes = to_transition(&id, &done).into_iter().collect();
        Ok(Some((
            LeasedTask::new(Arc::clone(&self.store), claimed.lease),
            changes,
        )))
    }

    /// Writes the status of a task into its file, and changes no other byte. `false` where the file has it already.
    ///
    /// # Errors
    /// Fails if the file changed meanwhile, has a format without a position for a status, or cannot
    /// be written.
    pub fn write_back(&self, id: &str) -> std::io::Result<bool> {
        let Some(entry) = self.entries.get(id) else {
            return Ok(false);
        };
        let (loaded, status) = (&entry.loaded, entry.record.status);
        if entry.gone || loaded.task.status == Some(status) {
            return Ok(false);
        }
        let Some(bytes) = with_status(&loaded.bytes, &loaded.task, status, &loaded.relative) else {
            return Err(std::io::Error::other(
                "there is no place for a status in front matter of this form; write one line for each key",
            ));
        };
        replace_file(&loaded.path, &loaded.bytes, &bytes)?;
        Ok(true)
    }
}

/// The claimant of a task.
#[derive(Debug, Clone, Copy)]
pub struct TaskClaimant<'a> {
    /// The agent's name.
    pub agent: &'a str,
    /// Names one life of one process.
    pub holder: &'a str,
    /// How long the lease lasts without renewal.
    pub ttl: Duration,
}

/// A task that was taken, and the steps that led to it.
pub type ClaimedBoardTask = (LeasedTask, Vec<TaskTransition>);

/// A change as an event has it; `None` where nothing was written.
fn to_transition(id: &str, done: &TaskWrite) -> Option<TaskTransition> {
    let TaskWrite {
        from,
        record,
        is_written,
    } = done;
    let TaskRecord {
        status,
        agent,
        reason,
        message,
        ..
    } = record.clone();
    is_written.then(|| TaskTransition {
        id: id.to_owned(),
        from: *from,
        to: status,
        agent,
        reason,
        message,
    })
}

/// Applies `change` to a record at that time.
fn apply_change(
    before: &TaskRecord,
    now: Timestamp,
    change: &impl Fn(&TaskRecord) -> Option<TaskRecord>,
) -> Option<TaskRecord> {
    change(before).map(|after| TaskRecord {
        changed_at: now,
        ..after
    })
}

/// The record of a task of an earlier place, where nobody works on it any more.
fn of_earlier(record: TaskRecord) -> TaskRecord {
    match record.status {
        TaskStatus::Assigned | TaskStatus::InProgress => TaskRecord {
            status: TaskStatus::Pending,
            fence: None,
            ..record
        },
        _ => TaskRecord {
            fence: None,
            ..record
        },
    }
}

/// A complete task whose file is not here, as the queue sees it.
fn complete_remotely(link: DependencyNode) -> QueuedTask {
    QueuedTask {
        link,
        priority: TaskPriority::default(),
        role: None,
        since: Timestamp::UNIX_EPOCH,
    }
}

/// The status of a new task.
fn first_record(loaded: &LoadedTask, now: Timestamp) -> TaskRecord {
    let status = match loaded.task.status {
        // If its file calls it taken, another program took it, or none did.
        None | Some(TaskStatus::Assigned | TaskStatus::InProgress) => TaskStatus::Pending,
        Some(status) => status,
    };
    let is_by_hand = loaded
        .task
        .status
        .is_some_and(|file_status| file_status == status && status != TaskStatus::Pending);
    TaskRecord {
        reason: is_by_hand.then(|| BY_HAND.to_owned()),
        ..TaskRecord::begin(status, now)
    }
}

/// Replaces `before` with `after` atomically, and only if no other process wrote meanwhile.
fn replace_file(path: &Path, before: &[u8], after: &[u8]) -> std::io::Result<()> {
    // Keeps a symbolic link: writes its target.
    let path = path.canonicalize()?;
    let mode = std::fs::metadata(&path)?.permissions();
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let draft = path.with_file_name(format!(".{name}.{}.draft", std::process::id()));
    let written = std::fs::write(&draft, after)
        .and_then(|()| std::fs::set_permissions(&draft, mode))
        .and_then(|()| {
            if read_regular_file(&path, before.len() as u64)
                .ok()
                .as_deref()
                != Some(before)
            {
                return Err(std::io::Error::other(
                    "it was changed meanwhile; nothing was written",
                ));
            }
            std::fs::rename(&draft, &path)
        });
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
#[path = "task_board_tests.rs"]
mod tests;

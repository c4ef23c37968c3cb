//! Files and records together: the status of each task, and every transition.
//!
//! The worker of a task holds its lease. The record has the fence of that lease, so that a worker that was too slow cannot overwrite the
//! record of its successor; and the next reader resets a record whose lease has expired to `pending`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::dependencies::{BlockedBy, DependencyGraph, DependencyNode};
use super::folder::{LoadedTask, TaskFolder};
use super::graph;
use super::queue::{QueuedTask, settled};
use super::status::{step, step_by_person};
use super::task_transition::{TaskBoardError, TaskTransition};
use super::write_back::with_status;
use watchdog_core::config::task_file::{TaskStatus, parse_task};
use watchdog_store::StoreError;
use watchdog_store::engine::{Lease, LeaseRenewal, SharedStore};
use watchdog_store::task::{self, PinnedFile, TaskRecord};

/// The word for a status that dependencies set.
pub const DEPENDENCIES: &str = "dependencies";
/// The word for a status that a person set.
pub const BY_HAND: &str = "by_hand";
/// The reason of a task that was reset because its lease expired.
pub const LEASE_ENDED: &str = "lease_ended";

/// How long the queue itself holds a lease while it gives a task back.
const MOMENT: Duration = Duration::from_secs(5);

/// A task: its file and its record.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardTask {
    /// Its file.
    pub loaded: LoadedTask,
    /// Its status.
    pub record: TaskRecord,
    /// Whether the file is gone, or no task any more: then the entry has the task as first seen.
    pub gone: bool,
}

impl BoardTask {
    /// The record to keep of a task without a file; `None` where it is complete, or has nothing to keep.
    fn gone(id: &str, record: TaskRecord, root: &Path) -> Option<Self> {
        let pinned = record.pinned.as_ref().filter(|_| record.status != TaskStatus::Complete)?;
        let relative = PathBuf::from(&pinned.path);
        let bytes = pinned.text.clone().into_bytes();
        let task = parse_task(&bytes, &relative).ok().filter(|task| task.id == id)?;
        let loaded = LoadedTask { path: root.join(&relative), relative, bytes, task };
        Some(BoardTask { loaded, record, gone: true })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.loaded.task.id
    }

    fn link(&self) -> DependencyNode {
        DependencyNode { id: self.id().to_owned(), status: self.record.status, depends_on: self.loaded.task.depends_on.clone() }
    }

    /// For the picture.
    pub fn node(&self) -> graph::TaskGraphNode {
        graph::TaskGraphNode { link: self.link(), title: self.loaded.task.title.clone() }
    }

    /// For the queue.
    pub fn queued(&self) -> QueuedTask {
        let task = &self.loaded.task;
        QueuedTask { link: self.link(), priority: task.priority, role: task.role.clone(), since: self.record.since }
    }
}

/// The tasks of a repository.
pub struct TaskBoard<'s> {
    store: &'s dyn SharedStore,
    repository_id: String,
    entries: BTreeMap<String, BoardTask>,
}

impl<'s> TaskBoard<'s> {
    /// Reads the records of all tasks in a folder. Writes nothing: a task without a record has the status of its file, else the first
    /// status; one that its file calls taken has no worker.
    ///
    /// # Errors
    /// Where a record cannot be read.
    pub fn read(store: &'s dyn SharedStore, repository_id: &str, folder: &TaskFolder, now: Timestamp) -> Result<Self, StoreError> {
        let mut entries = BTreeMap::new();
        for loaded in &folder.tasks {
            let record = match task::of(store, repository_id, &loaded.task.id)? {
                Some(record) => record,
                None => first_record(loaded, now),
            };
            entries.insert(loaded.task.id.clone(), BoardTask { loaded: loaded.clone(), record, gone: false });
        }
        // Deleting a task's file, or replacing it with another task's, does not complete the task.
        let missing = task::all(store, repository_id)?.into_iter().filter(|(id, _)| !entries.contains_key(id)).collect::<Vec<_>>();
        let root = folder.root.clone().unwrap_or_default();
        entries.extend(missing.into_iter().filter_map(|(id, record)| Some((id.clone(), BoardTask::gone(&id, record, &root)?))));
        Ok(TaskBoard { store, repository_id: repository_id.to_owned(), entries })
    }

    /// Pins the files of tasks that are not pinned yet, by the content that `effective` returns; the next [`TaskBoard::settle`] writes it.
    ///
    /// # Errors
    /// The errors of `effective`.
    pub fn pin<E>(&mut self, effective: impl Fn(&LoadedTask) -> Result<Vec<u8>, E>) -> Result<(), E> {
        for entry in self.entries.values_mut().filter(|entry| entry.record.pinned.is_none()) {
            let path = entry.loaded.relative.to_string_lossy().into_owned();
            let text = String::from_utf8(effective(&entry.loaded)?).ok();
            entry.record.pinned = text.map(|text| PinnedFile { path, text });
        }
        Ok(())
    }

    /// The tasks by id.
    pub fn entries(&self) -> impl Iterator<Item = &BoardTask> {
        self.entries.values()
    }

    /// One task.
    pub fn get(&self, id: &str) -> Option<&BoardTask> {
        self.entries.get(id)
    }

    /// All tasks as the queue sees them.
    pub fn queued(&self) -> Vec<QueuedTask> {
        self.entries().map(BoardTask::queued).collect()
    }

    /// The dependencies of all tasks.
    pub fn dependencies(&self) -> DependencyGraph {
        DependencyGraph::new(self.entries().map(BoardTask::link))
    }

    /// The unmet dependencies of a task.
    pub fn blockers(&self, id: &str) -> Vec<BlockedBy> {
        self.dependencies().blockers(id)
    }

    /// Updates the records: adds new tasks, resets tasks without a lease, blocks tasks with unmet dependencies and
    /// unblocks the others.
    ///
    /// # Errors
    /// Where a record cannot be read or written; earlier writes stay.
    pub fn settle(&mut self, now: Timestamp) -> Result<Vec<TaskTransition>, StoreError> {
        let mut changes = Vec::new();
        let ids: Vec<String> = self.entries.keys().cloned().collect();
        for id in &ids {
            changes.extend(self.record_new(id, now)?);
            changes.extend(self.give_back_abandoned(id, now)?);
        }
        let dependencies = self.dependencies();
        for id in &ids {
            let blockers = dependencies.blockers(id);
            changes.extend(self.settle_dependencies(id, &blockers, now)?);
        }
        Ok(changes)
    }

    fn record_new(&mut self, id: &str, now: Timestamp) -> Result<Option<TaskTransition>, StoreError> {
        let Some(entry) = self.entries.get_mut(id) else { return Ok(None) };
        let fresh = match &entry.record {
            record if record.pinned.is_some() => TaskRecord { pinned: record.pinned.clone(), ..first_record(&entry.loaded, now) },
            _ => first_record(&entry.loaded, now),
        };
        let (record, new) = task::update(self.store, &self.repository_id, id, |found| match found {
            Some(mut found) => {
                found.pinned = found.pinned.or_else(|| fresh.pinned.clone());
                (found.clone(), (found, false))
            }
            None => (fresh.clone(), (fresh.clone(), true)),
        })?;
        entry.record = record;
        let status = entry.record.status;
        Ok(new.then(|| TaskTransition { id: id.to_owned(), from: None, to: status, agent: None, reason: None }))
    }

    fn give_back_abandoned(&mut self, id: &str, now: Timestamp) -> Result<Option<TaskTransition>, StoreError> {
        let Some(record) = self.entries.get(id).map(|entry| entry.record.clone()) else { return Ok(None) };
        let taken = |record: &TaskRecord| matches!(record.status, TaskStatus::Assigned | TaskStatus::InProgress);
        if !taken(&record) || record.fence.is_none() {
            return Ok(None);
        }
        // Taking the lease proves that no worker holds it.
        let Some(lease) = task::lease(self.store, &self.repository_id, id, "watchdog: giving back", MOMENT)? else { return Ok(None) };
        let changed = self.write(id, now, |before| {
            (taken(before) && before.fence == record.fence).then(|| TaskRecord {
                status: TaskStatus::Pending,
                fence: None,
                reason: Some(LEASE_ENDED.into()),
                message: Some(format!("{} stopped without a word", before.agent.as_deref().unwrap_or("its worker"))),
                ..before.clone()
            })
        });
        // Its short time ends by itself where this fails.
        let _ = self.store.release(&lease);
        changed
    }

    fn settle_dependencies(&mut self, id: &str, blockers: &[BlockedBy], now: Timestamp) -> Result<Option<TaskTransition>, StoreError> {
        self.write(id, now, |before| {
            let by_hand = before.reason.as_deref() == Some(BY_HAND);
            let status = settled(before.status, by_hand, blockers.is_empty());
            if status == before.status {
                return None;
            }
            let waits = || format!("waits for {}", blockers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
            let message = (status == TaskStatus::Blocked).then(waits);
            Some(TaskRecord { status, fence: None, reason: Some(DEPENDENCIES.into()), message, ..before.clone() })
        })
    }

    /// Changes a record; `None` from `change` leaves it. The change as it was made is returned, and kept here.
    fn write(
        &mut self,
        id: &str,
        now: Timestamp,
        change: impl Fn(&TaskRecord) -> Option<TaskRecord>,
    ) -> Result<Option<TaskTransition>, StoreError> {
        let Some(entry) = self.entries.get_mut(id) else { return Ok(None) };
        let (record, from) = task::update(self.store, &self.repository_id, id, |found| {
            let before = found.unwrap_or_else(|| entry.record.clone());
            match change(&before) {
                Some(after) => {
                    let after = TaskRecord { changed_at: now, ..after };
                    (after.clone(), (after, Some(before.status)))
                }
                None => (before.clone(), (before, None)),
            }
        })?;
        entry.record = record.clone();
        Ok(from.map(|from| TaskTransition {
            id: id.to_owned(),
            from: Some(from),
            to: record.status,
            agent: record.agent,
            reason: record.reason,
        }))
    }

    /// A person's command: sets the status to `to`, if that transition is allowed and no agent works on the task.
    ///
    /// # Errors
    /// See [`TaskBoardError`].
    pub fn set(&mut self, id: &str, to: TaskStatus, why: Option<&str>, now: Timestamp) -> Result<Option<TaskTransition>, TaskBoardError> {
        // Under the task's own lease, so that no worker begins meanwhile.
        let lease = task::lease(self.store, &self.repository_id, id, "watchdog task set", MOMENT)?;
        let Some(lease) = lease else {
            return Err(TaskBoardError::Held { id: id.into(), agent: self.get(id).and_then(|entry| entry.record.agent.clone()) });
        };
        let illegal = std::cell::Cell::new(None);
        // A task without a file can only be closed; why is the person's to say.
        let closes_gone = to == TaskStatus::Complete && why.is_some() && self.get(id).is_some_and(|entry| entry.gone);
        let changed = self.write(id, now, |before| {
            illegal.set(step_by_person(before.status, to, why).err().filter(|_| !closes_gone));
            illegal.get().is_none().then(|| {
                let agent = before.agent.clone().filter(|_| !matches!(to, TaskStatus::Pending | TaskStatus::Blocked));
                let message = why.map(str::to_owned);
                TaskRecord { status: to, fence: None, agent, reason: Some(BY_HAND.into()), message, ..before.clone() }
            })
        });
        let _ = self.store.release(&lease);
        match illegal.get() {
            Some(step) => Err(TaskBoardError::Illegal { id: id.into(), step }),
            None => Ok(changed?),
        }
    }

    /// Takes a task for an agent: its lease for `ttl`, and with it the steps that lead to `in_progress`. `None` where somebody else has
    /// it, or was faster.
    ///
    /// # Errors
    /// See [`TaskBoardError`]; a task that is complete or blocked is none to be taken.
    pub fn claim(
        &mut self,
        id: &str,
        taker: &TaskClaimant<'_>,
        now: Timestamp,
    ) -> Result<Option<(LeasedTask, Vec<TaskTransition>)>, TaskBoardError> {
        let Some(lease) = task::lease(self.store, &self.repository_id, id, taker.holder, taker.ttl)? else { return Ok(None) };
        let illegal = std::cell::Cell::new(None);
        let mut changes = Vec::new();
        let mut take = |board: &mut Self, to: TaskStatus| {
            let changed = board.write(id, now, |before| {
                illegal.set(step(before.status, to).err());
                illegal.get().is_none().then(|| TaskRecord {
                    status: to,
                    agent: Some(taker.agent.to_owned()),
                    fence: Some(lease.fence),
                    reason: None,
                    message: None,
                    ..before.clone()
                })
            })?;
            changes.extend(changed);
            Ok::<_, StoreError>(illegal.get())
        };
        // A person reopens a task in review or failed, and works on it at once.
        let direct = self.get(id).is_some_and(|entry| matches!(entry.record.status, TaskStatus::Review | TaskStatus::Failed));
        let refused = if direct { None } else { take(self, TaskStatus::Assigned)? };
        if let Some(step) = refused {
            let _ = self.store.release(&lease);
            return Err(TaskBoardError::Illegal { id: id.into(), step });
        }
        if direct && let Some(step) = take(self, TaskStatus::InProgress)? {
            let _ = self.store.release(&lease);
            return Err(TaskBoardError::Illegal { id: id.into(), step });
        }
        Ok(Some((LeasedTask { lease, repository_id: self.repository_id.clone(), id: id.to_owned() }, changes)))
    }

    /// Writes the status of a task into its file, and changes no other byte. `false` where the file has it already.
    ///
    /// # Errors
    /// Where the file changed meanwhile, has a format without a position for a status, or cannot be written.
    pub fn write_back(&self, id: &str) -> std::io::Result<bool> {
        let Some(entry) = self.entries.get(id) else { return Ok(false) };
        let (loaded, status) = (&entry.loaded, entry.record.status);
        if entry.gone || loaded.task.status == Some(status) {
            return Ok(false);
        }
        let bytes = with_status(&loaded.bytes, &loaded.task, status);
        let as_meant = |task: &watchdog_core::config::task_file::TaskFile| task.status == Some(status) && task.id == loaded.task.id;
        if !parse_task(&bytes, &loaded.relative).is_ok_and(|task| as_meant(&task)) {
            return Err(std::io::Error::other("there is no place for a status in front matter of this form; write one line for each key"));
        }
        replace(&loaded.path, &loaded.bytes, &bytes)?;
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

/// A task that is ours while its lease is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedTask {
    lease: Lease,
    repository_id: String,
    id: String,
}

impl LeasedTask {
    /// Extends the lease to `ttl` from now; `false` = it has expired, and another agent may have the task.
    ///
    /// # Errors
    /// Where the store cannot say.
    pub fn renew(&self, store: &dyn SharedStore, ttl: Duration) -> Result<bool, StoreError> {
        Ok(matches!(store.renew(&self.lease, ttl)?, LeaseRenewal::Held(_)))
    }

    /// Writes down a step, with what else `change` sets.
    ///
    /// # Errors
    /// [`TaskBoardError::Lost`] where another agent has taken the task since; nothing is written then.
    pub fn step(
        &self,
        store: &dyn SharedStore,
        to: TaskStatus,
        now: Timestamp,
        change: impl Fn(&mut TaskRecord),
    ) -> Result<TaskTransition, TaskBoardError> {
        let lost = || TaskBoardError::Lost { id: self.id.clone() };
        let outcome = task::update(store, &self.repository_id, &self.id, |found| {
            let Some(before) = found else { return (TaskRecord::begin(TaskStatus::Pending, now), None) };
            if before.fence != Some(self.lease.fence) {
                return (before, None);
            }
            if let Err(step) = step(before.status, to) {
                return (before, Some(Err(step)));
            }
            let from = before.status;
            let mut after = TaskRecord { status: to, changed_at: now, ..before };
            change(&mut after);
            let change =
                TaskTransition { id: self.id.clone(), from: Some(from), to, agent: after.agent.clone(), reason: after.reason.clone() };
            (after, Some(Ok(change)))
        })?;
        match outcome {
            None => Err(lost()),
            Some(Err(step)) => Err(TaskBoardError::Illegal { id: self.id.clone(), step }),
            Some(Ok(change)) => Ok(change),
        }
    }

    /// Sets something of the record without a step. As [`LeasedTask::step`] otherwise.
    ///
    /// # Errors
    /// [`TaskBoardError::Lost`] as there.
    pub fn amend(
        &self,
        store: &dyn SharedStore,
        now: Timestamp,
        change: impl Fn(&mut TaskRecord),
    ) -> Result<TaskTransition, TaskBoardError> {
        let amended = task::update(store, &self.repository_id, &self.id, |found| {
            let Some(before) = found else { return (TaskRecord::begin(TaskStatus::Pending, now), None) };
            if before.fence != Some(self.lease.fence) {
                return (before, None);
            }
            let mut after = before;
            change(&mut after);
            let change = TaskTransition {
                id: self.id.clone(),
                from: Some(after.status),
                to: after.status,
                agent: after.agent.clone(),
                reason: None,
            };
            (after, Some(change))
        })?;
        amended.ok_or_else(|| TaskBoardError::Lost { id: self.id.clone() })
    }

    /// Gives the lease back. What the record says stays.
    pub fn release(self, store: &dyn SharedStore) {
        // Where this fails, it ends by itself.
        let _ = store.release(&self.lease);
    }
}

/// The status of a new task.
fn first_record(loaded: &LoadedTask, now: Timestamp) -> TaskRecord {
    let status = match loaded.task.status {
        // If its file calls it taken, another program took it, or none did.
        None | Some(TaskStatus::Assigned | TaskStatus::InProgress) => TaskStatus::Pending,
        Some(status) => status,
    };
    let said = loaded.task.status.is_some_and(|said| said == status && status != TaskStatus::Pending);
    TaskRecord { reason: said.then(|| BY_HAND.to_owned()), ..TaskRecord::begin(status, now) }
}

/// Replaces `before` with `after` atomically, and only if no other process wrote meanwhile.
fn replace(path: &Path, before: &[u8], after: &[u8]) -> std::io::Result<()> {
    // Keeps a symbolic link: writes its target.
    let path = path.canonicalize()?;
    let mode = std::fs::metadata(&path)?.permissions();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let draft = path.with_file_name(format!(".{name}.{}.draft", std::process::id()));
    let written = std::fs::write(&draft, after).and_then(|()| std::fs::set_permissions(&draft, mode)).and_then(|()| {
        if std::fs::read(&path)? != before {
            return Err(std::io::Error::other("it was changed meanwhile; nothing was written"));
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

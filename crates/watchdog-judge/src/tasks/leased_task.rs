//! A task that somebody works on: its lease, and what is written under it.
//!
//! The record has the fence of that lease, so that a worker that was too slow cannot overwrite the record of its successor.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::status::check_step;
use super::task_board_error::TaskBoardError;
use crate::wire::task_json::TaskTransition;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_store::StoreError;
use watchdog_store::task::TaskRecord;
use watchdog_store::task_store::{TaskLease, TaskStore, TaskWrite};

/// A task that is ours while its lease is valid.
#[derive(Clone)]
pub struct LeasedTask {
    store: Arc<dyn TaskStore>,
    lease: TaskLease,
}

impl LeasedTask {
    /// The task of a lease.
    pub(super) fn new(store: Arc<dyn TaskStore>, lease: TaskLease) -> Self {
        LeasedTask { store, lease }
    }

    /// The task.
    pub fn id(&self) -> &str {
        &self.lease.id
    }

    /// The number of this lease: larger than that of every earlier one of this task.
    pub fn fence(&self) -> i64 {
        self.lease.fence
    }

    /// Extends the lease to `ttl` from now; `false` = it has expired, and another agent may have the task.
    ///
    /// # Errors
    /// Fails if the store cannot say.
    pub fn renew(&self, ttl: Duration) -> Result<bool, StoreError> {
        self.store.renew(&self.lease, ttl)
    }

    /// Writes down a step, with what else `change` sets. Asked again, because its answer was lost, it changes nothing: whatever is written
    /// under a lease is its holder's.
    ///
    /// # Errors
    /// [`TaskBoardError::Lost`] where another agent has taken the task since; nothing is written then.
    pub fn step(
        &self,
        to: TaskStatus,
        now: Timestamp,
        change: impl Fn(&mut TaskRecord),
    ) -> Result<TaskTransition, TaskBoardError> {
        let illegal = Cell::new(None);
        let done = self.write_change(&|before| {
            let is_done = before.status == to && before.fence == Some(self.lease.fence);
            illegal.set(check_step(before.status, to).err().filter(|_| !is_done));
            (!is_done && illegal.get().is_none()).then(|| {
                let mut after = TaskRecord {
                    status: to,
                    changed_at: now,
                    ..before.clone()
                };
                change(&mut after);
                after
            })
        })?;
        match illegal.get() {
            Some(step) => Err(TaskBoardError::Illegal {
                id: self.lease.id.clone(),
                step,
            }),
            None => Ok(done),
        }
    }

    /// Sets something of the record without a step. As [`LeasedTask::step`] otherwise.
    ///
    /// # Errors
    /// [`TaskBoardError::Lost`] as there.
    pub fn amend(
        &self,
        now: Timestamp,
        change: impl Fn(&mut TaskRecord),
    ) -> Result<TaskTransition, TaskBoardError> {
        let done = self.write_change(&|before| {
            let mut after = TaskRecord {
                changed_at: now,
                ..before.clone()
            };
            change(&mut after);
            Some(after)
        })?;
        Ok(TaskTransition {
            reason: None,
            message: None,
            ..done
        })
    }

    fn write_change(
        &self,
        change: &dyn Fn(&TaskRecord) -> Option<TaskRecord>,
    ) -> Result<TaskTransition, TaskBoardError> {
        let done = self
            .store
            .step(&self.lease, &|stored| stored.and_then(change))?;
        let TaskWrite { from, record, .. } = done.ok_or_else(|| TaskBoardError::Lost {
            id: self.lease.id.clone(),
        })?;
        let TaskRecord {
            status,
            agent,
            reason,
            message,
            ..
        } = record;
        Ok(TaskTransition {
            id: self.lease.id.clone(),
            from,
            to: status,
            agent,
            reason,
            message,
        })
    }

    /// Gives the lease back. The record keeps its status.
    pub fn release(self) {
        // If this fails, it ends by itself.
        let _ = self.store.release(&self.lease);
    }
}

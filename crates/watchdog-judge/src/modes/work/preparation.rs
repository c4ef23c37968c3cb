//! Prepares a task that was taken: what is on the remote comes, its record says that it is begun, and its worktree is made.

use std::sync::Arc;

use super::options::TaskCheckout;
use super::own_worktree::{
    TaskDependency, TaskWorktree, TaskWorktreeError, TaskWorktreeRequest, branch_of, make_ready,
};
use super::task::{ClaimedWork, HeldWrite};
use super::travel::TaskTravel;
use crate::clock::now;
use crate::judge::spawn_io::spawn_io;
use crate::tasks::task_board::BoardTask;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::HistoryPoint;
use watchdog_store::task::TaskRecord;

impl ClaimedWork {
    /// Records that the task is begun, and makes its worktree.
    pub(super) async fn prepare(
        &self,
        travel: Option<&TaskTravel>,
    ) -> Result<TaskWorktree, Box<Verdict>> {
        let unreadable = |unreadable: UnreadableFact| {
            Box::new(Verdict::unreadable(
                unreadable.with_commands(&self.queue.open.commands),
            ))
        };
        let (mut wanted, dependencies) = self
            .plan_worktree(travel.is_some())
            .await
            .map_err(unreadable)?;
        let mut notes = Vec::new();
        let mut travelled = None;
        if let Some(travel) = travel {
            let has_own_worktree = wanted.is_some();
            let (way, mut made) = (travel.clone(), wanted.take());
            let (arrived, made) =
                spawn_io(move || (way.arrive(made.as_mut(), &dependencies), made)).await;
            let arrived =
                arrived.map_err(|error| Box::new(travel.not_arrived(&error, has_own_worktree)))?;
            wanted = made;
            notes = arrived.notes;
            travelled = Some(arrived.branch);
        }
        let baseline = self.baseline().as_str().to_owned();
        let own = wanted.as_ref().map(|wanted| wanted.branch.clone());
        let branch = travelled
            .or(own)
            .or_else(|| self.queue.open.worktree.branch());
        let begin = move |record: &mut TaskRecord| {
            record.attempts += 1;
            let unborn = if baseline == HistoryPoint::Unborn.as_str() {
                String::new()
            } else {
                baseline.clone()
            };
            record.baseline.get_or_insert(unborn);
            record.branch = branch.clone();
        };
        // A task that a person took out of review or failed is in progress already.
        let already = matches!(self.was, TaskStatus::Review | TaskStatus::Failed);
        let write: HeldWrite = Arc::new(move |leased_task| match already {
            true => leased_task.amend(now(), &begin),
            false => leased_task.step(TaskStatus::InProgress, now(), &begin),
        });
        let step = self.write_under_lease(write).await;
        let change =
            step.map_err(|error| Box::new(Verdict::new(Reason::StoreError, error.to_string())))?;
        self.queue.note(&[change]);
        let mut ready = match wanted {
            None => TaskWorktree {
                root: self.queue.open.root().to_owned(),
                notes: Vec::new(),
            },
            Some(wanted) => spawn_io(move || make_ready(&wanted))
                .await
                .map_err(|error| Box::new(not_ready(&error)))?,
        };
        notes.append(&mut ready.notes);
        ready.notes = notes;
        let (root, held) = (ready.root.clone(), self.held.clone());
        // For people; the branch is what counts.
        let _ = spawn_io(move || held.amend(now(), |record| record.worktree = Some(root.clone())))
            .await;
        Ok(ready)
    }

    /// The worktree to be made, `None` where work is done in that of the tasks; and the work of the
    /// dependencies. The commit at which each was completed travels.
    async fn plan_worktree(
        &self,
        travels: bool,
    ) -> Result<(Option<TaskWorktreeRequest>, Vec<TaskDependency>), UnreadableFact> {
        let board = self.queue.board_beside().await?;
        let own = branch_of(&self.options.id);
        let entries = self
            .governed
            .task
            .depends_on
            .iter()
            .filter_map(|id| board.get(id));
        let dependencies: Vec<TaskDependency> = entries
            .filter_map(|entry| {
                let head = entry.record.head.clone().filter(|_| travels);
                Some(TaskDependency {
                    branch: entry.record.branch.clone()?,
                    head,
                })
            })
            .filter(|dependency| dependency.branch != own)
            .collect();
        let TaskCheckout::Own(home) = &self.options.checkout else {
            return Ok((None, dependencies));
        };
        // It stays the same when the branch that was in the way is gone.
        let same = (self.entry.record.branch.clone()).filter(|name| *name == own.replace('/', "-"));
        let (branch, renamed) = match same {
            Some(branch) => (branch, None),
            None => self.queue.open.worktree.find_free_name(own.clone())?,
        };
        let taken = |entry: &&BoardTask| {
            matches!(
                entry.record.status,
                TaskStatus::Assigned | TaskStatus::InProgress
            )
        };
        let wanted = TaskWorktreeRequest {
            from: self.queue.open.root().to_owned(),
            home: home.clone(),
            taken: board
                .entries()
                .filter(taken)
                .map(|entry| branch_of(entry.id()))
                .filter(|branch| *branch != own)
                .collect(),
            begin_at: None,
            dependencies: dependencies.clone(),
            branch,
            renamed,
        };
        Ok((Some(wanted), dependencies))
    }
}

fn not_ready(error: &TaskWorktreeError) -> Verdict {
    let reason = match error {
        TaskWorktreeError::Conflict { .. }
        | TaskWorktreeError::CheckedOut { .. }
        | TaskWorktreeError::HalfDone { .. }
        | TaskWorktreeError::Unborn => Reason::Disputed,
        TaskWorktreeError::Git(_) => Reason::GitError,
    };
    Verdict::new(reason, error.to_string())
}

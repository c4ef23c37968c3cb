//! Moves a task's branch if a fleet shares its repository: it comes before the first session, and
//! goes before the task is complete.

use std::path::PathBuf;

use super::own_worktree::{TaskDependency, TaskWorktreeRequest, branch_of, keep_beside};
use super::task_remote::{RecalledRefs, RemoteBranch, TaskRemote, TaskRemoteError};
use crate::judge::command_env::CommandEnv;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::{HistoryPoint, Worktree};

/// The way of one task to the remote and from there.
#[derive(Debug, Clone)]
pub(super) struct TaskTravel {
    remote: TaskRemote,
    /// The worktree that the tasks are in.
    from: PathBuf,
}

/// The task as it came from the remote.
pub(super) struct ArrivedTask {
    /// The branch that its work goes to.
    pub branch: String,
    /// For a person.
    pub notes: Vec<String>,
}

impl TaskTravel {
    /// The way of a task; `None` where no fleet shares the repository. Connects to nothing.
    pub(super) fn find_for_task(
        command_env: &CommandEnv,
        repository_id: &str,
        (task, fence): (&str, i64),
        from: PathBuf,
    ) -> Result<Option<Self>, UnreadableFact> {
        let Some(fleet) = &command_env.fleet else {
            return Ok(None);
        };
        let address = fleet.find_shared_remote(&command_env.state, repository_id)?;
        Ok(address.map(|(name, url)| TaskTravel {
            remote: TaskRemote {
                name,
                url,
                task: task.to_owned(),
                fence,
                recalled: RecalledRefs::default(),
            },
            from,
        }))
    }

    /// Takes the task over on the remote, and gets what is there: its branch, and the commits at which its dependencies were completed.
    /// `wanted` is the worktree to be made, which then begins there; `None` = work goes on in the tasks' own worktree.
    pub(super) fn arrive(
        &self,
        wanted: Option<&mut TaskWorktreeRequest>,
        dependencies: &[TaskDependency],
    ) -> Result<ArrivedTask, TaskRemoteError> {
        let worktree = Worktree::open(&self.from).map_err(|error| self.unusable(&error))?;
        let HistoryPoint::Commit(head) = worktree.head().map_err(|error| self.unusable(&error))?
        else {
            return Err(TaskRemoteError::Unborn);
        };
        // HEAD in the middle of a rebase or a merge is no commit for others to begin at.
        let half_done = worktree
            .operation()
            .map_err(|error| self.unusable(&error))?
            .map(|operation| TaskRemoteError::HalfDone {
                operation: operation.as_str(),
                root: worktree.root().display().to_string(),
            });
        let base = match half_done {
            Some(half_done) if wanted.is_none() => return Err(half_done),
            Some(half_done) => Err(half_done),
            None => Ok(head.clone()),
        };
        let remote_branch = self.remote.take_over(&worktree, &base)?;
        let mut notes = Vec::new();
        let completed: Vec<(&str, &str)> = dependencies
            .iter()
            .filter_map(|dependency| {
                Some((dependency.branch.as_str(), dependency.head.as_deref()?))
            })
            .collect();
        if let Some((branch, commit)) = self.remote.fetch_commits(&worktree, &completed)? {
            let (branch, commit) = (branch.to_owned(), commit.to_owned());
            return Err(TaskRemoteError::NoDependency {
                branch,
                remote: self.remote.name.clone(),
                commit,
            });
        }
        match wanted {
            Some(wanted) => {
                notes.extend(
                    keep_beside(&worktree, &wanted.branch, &remote_branch.head)
                        .map_err(|error| self.unusable(&error))?,
                );
                wanted.begin_at = Some(remote_branch.head);
            }
            None if self
                .remote
                .leads_to(&worktree, &remote_branch.head, &head)? => {}
            None => {
                return Err(TaskRemoteError::NotHere {
                    branch: remote_branch.branch,
                    remote: self.remote.name.clone(),
                    head: remote_branch.head,
                });
            }
        }
        Ok(ArrivedTask {
            branch: remote_branch.branch,
            notes,
        })
    }

    /// Pushes a commit of the task.
    pub(super) fn push(&self, commit: &str) -> Result<RemoteBranch, TaskRemoteError> {
        let worktree = Worktree::open(&self.from).map_err(|error| self.unusable(&error))?;
        self.remote.push(&worktree, commit)
    }

    /// The verdict where nothing could come from the remote: what is away now may be there later.
    /// `has_own_worktree` says that the task has a worktree of its own.
    pub(super) fn not_arrived(&self, error: &TaskRemoteError, has_own_worktree: bool) -> Verdict {
        let task = &self.remote.task;
        match error {
            TaskRemoteError::Late { .. } => Verdict::new(Reason::Locked, error.to_string()),
            TaskRemoteError::Away { .. } | TaskRemoteError::Unborn => Verdict::new(
                Reason::Dependencies,
                format!("{task} cannot begin yet: {error}"),
            ),
            // The next task would meet the same, and another machine may begin this one.
            TaskRemoteError::HalfDone { .. } if has_own_worktree => Verdict::new(
                Reason::Dependencies,
                format!("{task} cannot begin yet, as its branch would begin there: {error}"),
            ),
            TaskRemoteError::HalfDone { .. } => {
                Verdict::new(Reason::Disputed, format!("{task} was not begun: {error}"))
            }
            TaskRemoteError::Uncompared { .. } => Verdict::new(Reason::GitError, error.to_string()),
            _ => Verdict::new(Reason::Disputed, error.to_string()),
        }
    }

    /// The verdict where the work is done and not on the remote: a person says how it goes on, and no machine begins it anew.
    /// `again` is the command line that runs the task once more.
    pub(super) fn not_pushed(&self, error: &TaskRemoteError, commit: &str, again: &str) -> Verdict {
        let (task, short) = (&self.remote.task, &commit[..commit.len().min(12)]);
        let again =
            format!("its work is committed on this machine ({short}); run it here again: {again}");
        let reason = match error {
            TaskRemoteError::Away { .. } | TaskRemoteError::Uncompared { .. } => Reason::GitError,
            _ => Reason::Disputed,
        };
        Verdict::new(
            reason,
            format!("{task} is done and was not pushed: {error}; {again}"),
        )
    }

    fn unusable(&self, error: &dyn std::fmt::Display) -> TaskRemoteError {
        TaskRemoteError::Unusable {
            branch: branch_of(&self.remote.task),
            why: error.to_string(),
        }
    }
}

//! A task travels by git as its branch, and with every push its fence, in one transaction of the
//! remote.
//!
//! A push is believed only when the remote itself says so afterwards. A latecomer, with a smaller
//! fence, pushes no commit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use watchdog_git::Worktree;

use super::fence_commit::{FenceMark, branch_of_fence, fence_of_branch, fence_ref};
use super::own_worktree::branch_of;
use super::remote_git::{RefUpdate, RemoteFailure, RemoteGit};
use watchdog_system::lock_mutex;

/// How often a push is tried while others move the same refs.
pub(super) const TRIES: u32 = 5;
/// Between two of them; it grows.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// The remote of a task.
#[derive(Debug, Clone)]
pub struct TaskRemote {
    /// Its name, for people.
    pub name: String,
    /// Its address, which may hold a password.
    pub url: String,
    /// The task.
    pub task: String,
    /// The fence of our lease.
    pub fence: i64,
    /// The refs there after the last push under this fence.
    pub(super) recalled: RecalledRefs,
}

/// The refs of the remote after our own push, shared by those who work on one task. The next push
/// expects it there: one that finds anything
/// else writes nothing, and asks the remote.
#[derive(Debug, Clone, Default)]
pub(super) struct RecalledRefs(Arc<Mutex<Option<RemoteRefs>>>);

impl RecalledRefs {
    pub(super) fn take(&self) -> Option<RemoteRefs> {
        lock_mutex(&self.0).take()
    }

    fn keep(&self, seen: RemoteRefs) {
        *lock_mutex(&self.0) = Some(seen);
    }
}

/// A task's branch on a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteBranch {
    /// Its name, without `refs/heads/`.
    pub branch: String,
    /// The commit that it names.
    pub head: String,
    /// Whether it was moved together with the fence.
    pub is_fenced: bool,
}

/// Why nothing was pushed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskRemoteError {
    /// Another machine took the task over.
    #[error(
        "{task} was taken over by another machine: {remote} has fence {remote_fence}, and this is {ours}; nothing was pushed"
    )]
    Late {
        task: String,
        remote: String,
        remote_fence: i64,
        ours: i64,
    },
    /// Somebody moved the branch to commits that ours do not follow.
    #[error(
        "{branch} on {remote} has commits ({remote_commit:.12}) that are not in {wanted:.12}; nothing was pushed"
    )]
    Diverged {
        branch: String,
        remote: String,
        remote_commit: String,
        wanted: String,
    },
    /// The fence of the remote is not one of watchdog's.
    #[error(
        "{name} on {remote} is no fence of watchdog; somebody else wrote it, so that nothing was pushed"
    )]
    ForeignFence { name: String, remote: String },
    /// A dependency was completed at a commit that cannot be had.
    #[error(
        "{branch} on {remote} does not have {commit:.12}, at which it was completed; push that commit there"
    )]
    NoDependency {
        branch: String,
        remote: String,
        commit: String,
    },
    /// The work of another machine is not in the worktree that is to go on.
    #[error(
        "{branch} on {remote} has work that is not here ({head:.12}); bring that commit into this branch first"
    )]
    NotHere {
        branch: String,
        remote: String,
        head: String,
    },
    /// There is nothing to begin from.
    #[error("the repository has no commit yet; make a first one")]
    Unborn,
    /// No branch may begin at a commit in the middle of an operation.
    #[error("a {operation} is in progress in {root}; finish or abort it")]
    HalfDone {
        operation: &'static str,
        root: String,
    },
    /// The order of two commits is unknown.
    #[error("cannot tell whether {new:.12} has the work of {old:.12}: {why}; nothing was pushed")]
    Uncompared {
        old: String,
        new: String,
        why: String,
    },
    /// The repository here is in no state for it.
    #[error("cannot bring {branch} to where the remote has it: {why}")]
    Unusable { branch: String, why: String },
    /// Git would go to another address than the one that was shared.
    #[error(
        "git goes to another address than the one that was shared as {remote} (url.*.insteadOf in the configuration of all repositories); \
         nothing was pushed; remove it there, or share the repository again"
    )]
    Redirected { remote: String },
    /// The remote cannot be reached, or refuses.
    #[error("cannot use remote {remote}: {why}")]
    Away { remote: String, why: String },
}

/// The refs of a task on the remote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RemoteRefs {
    /// The branch that goes with the fence.
    branch: Option<String>,
    /// The fence's commit.
    pub(super) fence_id: Option<String>,
    pub(super) mark: Option<FenceMark>,
    /// Branches of single fences, the greatest last.
    by_fence: BTreeMap<i64, String>,
}

impl RemoteRefs {
    fn largest_fence(&self) -> Option<i64> {
        let single = self.by_fence.keys().next_back().copied();
        self.mark.as_ref().map(|mark| mark.fence).max(single)
    }

    /// Returns the branch on which work goes on: that of the newest fence.
    fn newest(&self, task: &str) -> Option<RemoteBranch> {
        let fenced = self.branch.as_ref().map(|head| RemoteBranch {
            branch: branch_of(task),
            head: head.clone(),
            is_fenced: true,
        });
        let single = self.by_fence.iter().next_back().map(|(fence, head)| {
            (
                *fence,
                RemoteBranch {
                    branch: branch_of_fence(task, *fence),
                    head: head.clone(),
                    is_fenced: false,
                },
            )
        });
        match (single, &self.mark) {
            (Some((fence, _)), Some(mark)) if mark.fence > fence && fenced.is_some() => fenced,
            (Some((_, branch)), _) => Some(branch),
            (None, _) => fenced,
        }
    }
}

impl TaskRemote {
    /// Takes the task over on the remote before anything is begun: moves the fence, and makes the
    /// branch at `base` where there is none. Work goes on from the refs there afterwards; their
    /// commits are in the repository then.
    ///
    /// # Errors
    /// See [`TaskRemoteError`]; nothing is begun then.
    pub fn take_over(
        &self,
        worktree: &Worktree,
        base: &Result<String, TaskRemoteError>,
    ) -> Result<RemoteBranch, TaskRemoteError> {
        let git = self.git(worktree)?;
        self.move_to(&git, |seen| {
            seen.newest(&self.task)
                .map_or_else(|| base.clone(), |newest_branch| Ok(newest_branch.head))
        })
    }

    /// Pushes one commit of the task, and no other: what was judged. It must follow what the remote has.
    ///
    /// # Errors
    /// See [`TaskRemoteError`]; the remote is as it was then.
    pub fn push(&self, worktree: &Worktree, commit: &str) -> Result<RemoteBranch, TaskRemoteError> {
        let git = self.git(worktree)?;
        self.move_to(&git, |seen| match seen.newest(&self.task) {
            Some(newest_branch) if !is_same_or_ancestor(&git, &newest_branch.head, commit)? => {
                Err(TaskRemoteError::Diverged {
                    branch: newest_branch.branch,
                    remote: self.name.clone(),
                    remote_commit: newest_branch.head,
                    wanted: commit.to_owned(),
                })
            }
            _ => Ok(commit.to_owned()),
        })
    }

    /// Gets commits of branches of other tasks, such as those at which they were completed; each with its branch. The first that cannot be had.
    ///
    /// # Errors
    /// Fails if the remote cannot be reached or lacks such a branch.
    pub fn fetch_commits<'c>(
        &self,
        worktree: &Worktree,
        commits: &[(&'c str, &'c str)],
    ) -> Result<Option<(&'c str, &'c str)>, TaskRemoteError> {
        if commits.is_empty() {
            return Ok(None);
        }
        let git = self.git(worktree)?;
        let missing = |of: &[(&'c str, &'c str)]| -> Vec<(&'c str, &'c str)> {
            let missing = git.missing(&of.iter().map(|(_, commit)| *commit).collect::<Vec<_>>());
            of.iter()
                .copied()
                .filter(|(_, commit)| missing.contains(commit))
                .collect()
        };
        let wanted = missing(commits);
        if wanted.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = wanted
            .iter()
            .map(|(branch, _)| format!("refs/heads/{branch}"))
            .collect();
        git.fetch(&names.iter().map(String::as_str).collect::<Vec<_>>())
            .map_err(|failure| self.away(failure))?;
        Ok(missing(&wanted).first().copied())
    }

    /// Whether `old` is `new`, or one of its ancestors.
    ///
    /// # Errors
    /// Fails if the repository cannot be read, or its history is cut.
    pub fn leads_to(
        &self,
        worktree: &Worktree,
        old: &str,
        new: &str,
    ) -> Result<bool, TaskRemoteError> {
        is_same_or_ancestor(&self.git(worktree)?, old, new)
    }

    pub(super) fn git<'w>(&self, worktree: &'w Worktree) -> Result<RemoteGit<'w>, TaskRemoteError> {
        let git = RemoteGit::beside(worktree, &self.url).map_err(|failure| self.away(failure))?;
        if git.is_redirected().map_err(|failure| self.away(failure))? {
            return Err(TaskRemoteError::Redirected {
                remote: self.name.clone(),
            });
        }
        Ok(git)
    }

    pub(super) fn away(&self, failure: RemoteFailure) -> TaskRemoteError {
        TaskRemoteError::Away {
            remote: self.name.clone(),
            why: failure.said,
        }
    }

    /// Moves branch and fence to where `target` says, from what the remote has at that moment.
    fn move_to(
        &self,
        git: &RemoteGit<'_>,
        target: impl Fn(&RemoteRefs) -> Result<String, TaskRemoteError>,
    ) -> Result<RemoteBranch, TaskRemoteError> {
        let mut atomic = true;
        let mut last = None;
        let mut number = 0;
        let mut recalled = self.recalled.take().filter(|seen| {
            seen.mark
                .as_ref()
                .is_some_and(|mark| mark.fence == self.fence)
        });
        let mut tries = 0;
        while tries < TRIES {
            let is_recalled = recalled.is_some();
            let seen = match recalled.take() {
                Some(seen) => seen,
                None => {
                    std::thread::sleep(PAUSE * tries);
                    tries += 1;
                    self.read_refs(git)?
                }
            };
            let to = match target(&seen) {
                // It may be there by now.
                Err(_) if is_recalled => continue,
                to => to?,
            };
            number = seen.mark.as_ref().map_or(0, |mark| mark.push).max(number) + 1;
            let pushed = match atomic {
                true => self.push_fenced(git, &seen, &to, number),
                false => self.push_single(git, &seen, &to),
            };
            // Whatever the push said, or was made to say: the remote is asked.
            match (pushed, self.read_refs(git)) {
                (Ok(done), Ok(now)) if done.is_on(&now) => {
                    self.check_fence(&now)?;
                    self.recalled.keep(now);
                    return Ok(done.branch);
                }
                (Ok(_), Ok(now)) => {
                    self.check_fence(&now)?;
                    last = Some(RemoteFailure {
                        said: "the push ended well, and the remote does not have it".into(),
                    });
                }
                (Ok(_), Err(error)) => return Err(error),
                (Err(failure), _) if atomic && failure.is_not_atomic() => atomic = false,
                (Err(failure), now) => {
                    let now = now?;
                    self.check_fence(&now)?;
                    // No other machine was faster: the remote itself refuses.
                    if now == seen {
                        return Err(self.away(failure));
                    }
                    last = Some(failure);
                }
            }
        }
        Err(self.away(last.unwrap_or_else(|| RemoteFailure {
            said: "others moved the branch each time".into(),
        })))
    }

    fn push_fenced(
        &self,
        git: &RemoteGit<'_>,
        seen: &RemoteRefs,
        to: &str,
        push: u64,
    ) -> Result<MovedBranch, RemoteFailure> {
        let mark = FenceMark {
            task: self.task.clone(),
            fence: self.fence,
            push,
        };
        let fence_id = git.empty_commit(&mark.message())?;
        let (branch, name) = (branch_of(&self.task), fence_ref(&self.task));
        let updates = [
            RefUpdate {
                name: &format!("refs/heads/{branch}"),
                expected: seen.branch.as_deref(),
                to: Some(to),
            },
            RefUpdate {
                name: &name,
                expected: seen.fence_id.as_deref(),
                to: Some(&fence_id),
            },
        ];
        let branch = RemoteBranch {
            branch,
            head: to.to_owned(),
            is_fenced: true,
        };
        git.push(&updates, true).map(|()| MovedBranch {
            branch,
            fence_id: Some(fence_id),
            fence: self.fence,
        })
    }

    fn push_single(
        &self,
        git: &RemoteGit<'_>,
        seen: &RemoteRefs,
        to: &str,
    ) -> Result<MovedBranch, RemoteFailure> {
        let branch = branch_of_fence(&self.task, self.fence);
        let expected = seen.by_fence.get(&self.fence).map(String::as_str);
        let update = RefUpdate {
            name: &format!("refs/heads/{branch}"),
            expected,
            to: Some(to),
        };
        let branch = RemoteBranch {
            branch,
            head: to.to_owned(),
            is_fenced: false,
        };
        git.push(&[update], false).map(|()| MovedBranch {
            branch,
            fence_id: None,
            fence: self.fence,
        })
    }

    pub(super) fn check_fence(&self, seen: &RemoteRefs) -> Result<(), TaskRemoteError> {
        match seen.largest_fence() {
            Some(largest_fence) if largest_fence > self.fence => Err(TaskRemoteError::Late {
                task: self.task.clone(),
                remote: self.name.clone(),
                remote_fence: largest_fence,
                ours: self.fence,
            }),
            _ => Ok(()),
        }
    }

    /// Reads the refs of the remote, with their commits in the repository. Refuses a larger fence.
    pub(super) fn read_refs(&self, git: &RemoteGit<'_>) -> Result<RemoteRefs, TaskRemoteError> {
        let (branch, fence) = (
            format!("refs/heads/{}", branch_of(&self.task)),
            fence_ref(&self.task),
        );
        let by_fence = format!("{branch}-*");
        let mut last = None;
        for _ in 0..TRIES {
            let refs = git
                .refs(&[&branch, &fence, &by_fence])
                .map_err(|failure| self.away(failure))?;
            let singles: BTreeMap<i64, String> = refs
                .iter()
                .filter_map(|(name, id)| {
                    Some((
                        fence_of_branch(&self.task, name.strip_prefix("refs/heads/")?)?,
                        id.clone(),
                    ))
                })
                .collect();
            let newest = singles
                .keys()
                .next_back()
                .map(|fence| format!("refs/heads/{}", branch_of_fence(&self.task, *fence)));
            let on_branches: Vec<(&str, &str)> = [Some(&branch), newest.as_ref()]
                .into_iter()
                .flatten()
                .filter_map(|name| Some((name.as_str(), refs.get(name)?.as_str())))
                .collect();
            let heads: Vec<&str> = on_branches.iter().map(|(_, head)| *head).collect();
            let missing = git.missing(&heads);
            let mut wanted: Vec<&str> = on_branches
                .iter()
                .filter(|(_, head)| missing.contains(head))
                .map(|(name, _)| *name)
                .collect();
            let mut mark = self.mark(git, refs.get(&fence))?;
            if mark == FoundMark::NotHere {
                wanted.push(&fence);
            }
            if !wanted.is_empty() {
                if let Err(failure) = git.fetch(&wanted) {
                    // The remote may have lost one of them since.
                    last = Some(failure);
                    continue;
                }
                if !git.missing(&heads).is_empty() {
                    continue;
                }
                if mark == FoundMark::NotHere {
                    mark = self.mark(git, refs.get(&fence))?;
                }
            }
            let mark = match mark {
                FoundMark::NotHere => continue,
                FoundMark::NoFence => None,
                FoundMark::Fence(mark) => Some(mark),
            };
            let seen = RemoteRefs {
                branch: refs.get(&branch).cloned(),
                fence_id: refs.get(&fence).cloned(),
                mark,
                by_fence: singles,
            };
            self.check_fence(&seen)?;
            return Ok(seen);
        }
        Err(self.away(last.unwrap_or_else(|| RemoteFailure {
            said: "others moved the branch each time".into(),
        })))
    }

    /// Reads the mark in the fence's commit. Its bytes are checked against its name, and it has
    /// nothing but a message: nothing else need be here.
    fn mark(
        &self,
        git: &RemoteGit<'_>,
        fence_id: Option<&String>,
    ) -> Result<FoundMark, TaskRemoteError> {
        let Some(id) = fence_id else {
            return Ok(FoundMark::NoFence);
        };
        let Some(text) = git
            .empty_commit_text(id)
            .map_err(|failure| self.away(failure))?
        else {
            return Ok(FoundMark::NotHere);
        };
        let mark = text
            .as_deref()
            .and_then(FenceMark::of_commit)
            .filter(|mark| mark.task == self.task);
        let foreign = || TaskRemoteError::ForeignFence {
            name: fence_ref(&self.task),
            remote: self.name.clone(),
        };
        mark.map(FoundMark::Fence).ok_or_else(foreign)
    }
}

/// The state of a remote's fence.
#[derive(Debug, PartialEq, Eq)]
enum FoundMark {
    /// The remote has none.
    NoFence,
    /// Its commit is to be fetched.
    NotHere,
    /// It says this.
    Fence(FenceMark),
}

/// Whether `old` is `new`, or one of its ancestors. A shallow clone can say yes, and not no.
fn is_same_or_ancestor(git: &RemoteGit<'_>, old: &str, new: &str) -> Result<bool, TaskRemoteError> {
    let unknown = |why: String| TaskRemoteError::Uncompared {
        old: old.to_owned(),
        new: new.to_owned(),
        why,
    };
    match git.leads_to(old, new) {
        Ok(false) if git.is_shallow() => Err(unknown(
            "this clone is shallow; get the rest with: git fetch --unshallow".into(),
        )),
        Ok(leads) => Ok(leads),
        Err(failure) => Err(unknown(failure.said)),
    }
}

/// The intended result of a push.
struct MovedBranch {
    branch: RemoteBranch,
    fence_id: Option<String>,
    fence: i64,
}

impl MovedBranch {
    fn is_on(&self, seen: &RemoteRefs) -> bool {
        let head = Some(&self.branch.head);
        match &self.fence_id {
            Some(fence) => seen.fence_id.as_ref() == Some(fence) && seen.branch.as_ref() == head,
            None => seen.by_fence.get(&self.fence) == head,
        }
    }
}

#[cfg(test)]
#[path = "task_remote_tests.rs"]
mod tests;

//! The linked worktree and the branch that a task is worked on in.
//!
//! This module never removes a worktree or branch, and switches no worktree to another branch while
//! it holds work that no branch keeps. A worktree that does is left as it is, and the next task
//! gets a worktree beside it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use watchdog_git::{HistoryPoint, Worktree, WorktreeState, worktrees_of};
use watchdog_process::git_program::{describe_failure, new_git_run};
use watchdog_system::read_regular_file;

/// How long git may take for one step; making a worktree writes every file of it.
const DEADLINE: Duration = Duration::from_secs(900);

/// How many numbered folders are tried for a worktree.
const MOST: u32 = 50;

/// The shortest and the longest pause between two tries while another git works; all tries take two and a half seconds.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(1280);

/// The branch of a task, on a remote as well.
pub fn branch_of(id: &str) -> String {
    format!("watchdog/{id}")
}

/// A worktree on a task's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWorktree {
    /// Its top folder.
    pub root: PathBuf,
    /// Warnings for a person.
    pub notes: Vec<String>,
}

/// Why there is no worktree for a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskWorktreeError {
    /// The work of a dependency conflicts with the branch.
    #[error(
        "the work of {dependency} does not merge into {branch}; merge it by hand in {root}, then run the task again: {why}"
    )]
    Conflict {
        dependency: String,
        branch: String,
        root: String,
        why: String,
    },
    /// The branch is in use where the tasks themselves are.
    #[error("the branch {branch} is checked out in {root}; switch that to another branch first")]
    CheckedOut { branch: String, root: String },
    /// The branch is in the middle of an operation in another worktree.
    #[error("a {operation} is in progress on {branch} in {root}; finish or abort it there")]
    HalfDone {
        operation: &'static str,
        branch: String,
        root: String,
    },
    /// There is nothing to begin from.
    #[error("the repository has no commit yet; make a first one")]
    Unborn,
    /// git refused.
    #[error("failed to make the worktree of the task: {0}")]
    Git(String),
}

/// The purpose of a worktree.
#[derive(Debug, Clone)]
pub struct TaskWorktreeRequest {
    /// The worktree that the tasks are in: new branches begin at its HEAD.
    pub from: PathBuf,
    /// The folder of the agent, which may be there or not.
    pub home: PathBuf,
    /// The branch.
    pub branch: String,
    /// Why it has another name than [`branch_of`], for a person.
    pub renamed: Option<String>,
    /// The start of a new branch; without it, at HEAD of `from`.
    pub begin_at: Option<String>,
    /// The work of its dependencies.
    pub dependencies: Vec<TaskDependency>,
    /// Branches of tasks with a worker: their worktrees are left alone, however clean they are.
    pub taken: Vec<String>,
}

/// The work of a task that another one depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDependency {
    /// The branch that it is on.
    pub branch: String,
    /// The commit at which it was completed, where that counts and not what the branch names by now.
    pub head: Option<String>,
}

/// Makes or finds the worktree, and brings the work of the dependencies into its branch.
///
/// # Errors
/// See [`TaskWorktreeError`].
pub fn make_ready(wanted: &TaskWorktreeRequest) -> Result<TaskWorktree, TaskWorktreeError> {
    let from = Worktree::open(&wanted.from).map_err(git_error)?;
    let HistoryPoint::Commit(base) = from.head().map_err(git_error)? else {
        return Err(TaskWorktreeError::Unborn);
    };
    let base = wanted.begin_at.clone().unwrap_or(base);
    let mut notes = Vec::from_iter(wanted.renamed.clone());
    if let Some(half_done) = half_done(&from, &wanted.branch) {
        return Err(half_done);
    }
    let root = match checked_out(&from, &wanted.branch) {
        Some(root) if root == from.root() => {
            return Err(TaskWorktreeError::CheckedOut {
                branch: wanted.branch.clone(),
                root: root.display().to_string(),
            });
        }
        Some(root) => root,
        None => beside_others(|| settle_in(&from, wanted, &base, &mut notes))?,
    };
    bring_in(&root, wanted, &mut notes)?;
    Ok(TaskWorktree { root, notes })
}

/// Tries again where git met a worktree that another git was just making: it reads all of them first, and gives up at a half-made one.
fn beside_others<T>(
    mut make: impl FnMut() -> Result<T, TaskWorktreeError>,
) -> Result<T, TaskWorktreeError> {
    let mut pause = SHORTEST_PAUSE;
    loop {
        match make() {
            Err(TaskWorktreeError::Git(why))
                if pause <= LONGEST_PAUSE
                    && why.contains("failed to read")
                    && why.contains("/worktrees/") =>
            {
                std::thread::sleep(pause);
                pause *= 2;
            }
            made => return made,
        }
    }
}

/// Makes room for a branch of the remote: the local one of the same name goes on from `head`, or is kept under another name where it has
/// commits that `head` lacks, or uncommitted work. Says so. A branch that follows `head` stays: its
/// commits are pushed with the next ones.
pub(super) fn keep_beside(
    from: &Worktree,
    branch: &str,
    head: &str,
) -> Result<Option<String>, TaskWorktreeError> {
    let name = format!("refs/heads/{branch}");
    let Ok(HistoryPoint::Commit(local)) = from.resolve(&name) else {
        return Ok(None);
    };
    if local == head || from.is_ancestor(head, &local) {
        return Ok(None);
    }
    if from.is_ancestor(&local, head) {
        match checked_out(from, branch).map(|root| Worktree::open(&root)) {
            None => return run_git(from, &["update-ref", &name, head, &local]).map(|()| None),
            Some(Ok(there))
                if there
                    .changes()
                    .is_ok_and(|changes| !changes.any() && changes.operation.is_none()) =>
            {
                return run_git(&there, &["merge", "--quiet", "--ff-only", head]).map(|()| None);
            }
            Some(_) => {}
        }
    }
    if checked_out(from, branch).as_deref() == Some(from.root()) {
        return Err(TaskWorktreeError::CheckedOut {
            branch: branch.to_owned(),
            root: from.root().display().to_string(),
        });
    }
    for n in 1..=MOST {
        let kept_branch = format!(
            "{branch}-kept-{local:.8}{}",
            if n == 1 {
                String::new()
            } else {
                format!("-{n}")
            }
        );
        if has_branch(from, &kept_branch) {
            continue;
        }
        run_git(from, &["branch", "-m", branch, &kept_branch])?;
        return Ok(Some(format!(
            "{branch} goes on from {head:.12} of the remote; what was here is kept on {kept_branch} ({local:.12})"
        )));
    }
    Err(TaskWorktreeError::Git(format!(
        "{MOST} branches are kept of {branch} already; remove some"
    )))
}

/// The rebase of a branch that some worktree is in the middle of: HEAD names no branch there, and git lets nobody else have it.
pub(super) fn half_done(from: &Worktree, branch: &str) -> Option<TaskWorktreeError> {
    list_roots(from)
        .filter_map(|root| Worktree::open(&root).ok())
        .find_map(|worktree| {
            let operation = worktree.operation().ok().flatten()?;
            let heads = ["rebase-merge/head-name", "rebase-apply/head-name"]
                .map(|name| worktree.git_dir().join(name));
            let is_of = |head: &PathBuf| {
                read_regular_file(head, 4096).is_ok_and(|name| {
                    name.trim_ascii() == format!("refs/heads/{branch}").as_bytes()
                })
            };
            heads
                .iter()
                .any(is_of)
                .then(|| TaskWorktreeError::HalfDone {
                    operation: operation.as_str(),
                    branch: branch.to_owned(),
                    root: worktree.root().display().to_string(),
                })
        })
}

/// The worktree that has a branch checked out.
fn checked_out(from: &Worktree, branch: &str) -> Option<PathBuf> {
    list_roots(from).find(|root| {
        Worktree::open(root).is_ok_and(|worktree| worktree.branch().as_deref() == Some(branch))
    })
}

/// The top folders of the worktrees that are there.
fn list_roots(from: &Worktree) -> impl Iterator<Item = PathBuf> {
    let worktrees = worktrees_of(from.common_dir()).into_iter();
    let there = worktrees.filter(|listed| listed.standing == WorktreeState::There);
    there.map(|listed| listed.root)
}

fn has_branch(worktree: &Worktree, branch: &str) -> bool {
    let tip = worktree.resolve(&format!("refs/heads/{branch}"));
    matches!(tip, Ok(HistoryPoint::Commit(_)))
}

fn git_error(error: impl ToString) -> TaskWorktreeError {
    TaskWorktreeError::Git(error.to_string())
}

/// Puts the branch into the agent's folder, or into the first one beside it that is free.
fn settle_in(
    from: &Worktree,
    wanted: &TaskWorktreeRequest,
    base: &str,
    notes: &mut Vec<String>,
) -> Result<PathBuf, TaskWorktreeError> {
    let branch_exists = has_branch(from, &wanted.branch);
    for n in 1..=MOST {
        let folder = number_folder(&wanted.home, n);
        let text = folder
            .to_str()
            .ok_or_else(|| TaskWorktreeError::Git(format!("{} is not UTF-8", folder.display())))?;
        if !folder.exists() {
            if let Some(parent) = folder.parent() {
                std::fs::create_dir_all(parent).map_err(|error| {
                    TaskWorktreeError::Git(format!("{}: {error}", parent.display()))
                })?;
            }
            let new = [
                "worktree",
                "add",
                "--quiet",
                "--no-track",
                "-b",
                &wanted.branch,
                "--",
                text,
                base,
            ];
            let old = ["worktree", "add", "--quiet", "--", text, &wanted.branch];
            run_git(from, if branch_exists { &old } else { &new })?;
            return folder.canonicalize().map_err(git_error);
        }
        match why_not_free(from, &folder, &wanted.taken) {
            None => {
                let worktree = Worktree::open(&folder).map_err(git_error)?;
                let new = [
                    "checkout",
                    "--quiet",
                    "--no-track",
                    "-b",
                    &wanted.branch,
                    base,
                ];
                let old = ["checkout", "--quiet", &wanted.branch];
                run_git(&worktree, if branch_exists { &old } else { &new })?;
                return Ok(worktree.root().to_owned());
            }
            Some(why) => notes.push(format!("{} is left as it is: {why}", folder.display())),
        }
    }
    Err(TaskWorktreeError::Git(format!(
        "{} and {} folders beside it are in use; {}",
        wanted.home.display(),
        MOST - 1,
        notes.join("; ")
    )))
}

fn number_folder(home: &Path, n: u32) -> PathBuf {
    let name = home.file_name().unwrap_or_default().to_string_lossy();
    if n == 1 {
        home.to_owned()
    } else {
        home.with_file_name(format!("{name}-{n}"))
    }
}

/// Why a worktree may not be switched to another branch. Returns `None` if everything in it is kept
/// by the branch that it is on.
fn why_not_free(from: &Worktree, folder: &Path, taken: &[String]) -> Option<String> {
    let worktree = match Worktree::open(folder) {
        Ok(worktree) => worktree,
        Err(error) => return Some(error.to_string()),
    };
    let here = folder.canonicalize().ok();
    if here.as_deref() != Some(worktree.root())
        || worktree.common_dir() != from.common_dir()
        || worktree.root() == from.root()
    {
        return Some("it is no linked worktree of this repository".into());
    }
    let Some(branch) = worktree
        .branch()
        .map(|branch| branch.replacen("watchdog-", "watchdog/", 1))
        .filter(|branch| branch.starts_with("watchdog/"))
    else {
        return Some("it is on no branch of a task".into());
    };
    if taken.contains(&branch) {
        return Some(format!("somebody works on {branch} there"));
    }
    match worktree.changes() {
        Err(error) => Some(error.to_string()),
        Ok(changes) if changes.any() => Some(format!("it holds uncommitted work of {branch}")),
        Ok(changes) if changes.operation.is_some() => {
            Some(format!("something is half done on {branch} there"))
        }
        Ok(changes) => changes.degraded.first().map(|note| note.detail.clone()),
    }
}

/// Merges the dependencies' commits that the branch lacks. A worktree with unsaved work is left to its agent.
fn bring_in(
    root: &Path,
    wanted: &TaskWorktreeRequest,
    notes: &mut Vec<String>,
) -> Result<(), TaskWorktreeError> {
    let worktree = Worktree::open(root).map_err(git_error)?;
    for TaskDependency {
        branch: dependency,
        head,
    } in &wanted.dependencies
    {
        let rev = head.as_ref().unwrap_or(dependency);
        if head.is_none() && !has_branch(&worktree, dependency) {
            notes.push(format!(
                "the branch {dependency} is gone; its work is taken to be in the base branch"
            ));
            continue;
        }
        if is_in(&worktree, rev).map_err(git_error)? {
            continue;
        }
        let changes = worktree.changes().map_err(git_error)?;
        if changes.any() || changes.operation.is_some() {
            notes.push(format!(
                "{dependency} is not merged, as {} holds uncommitted work",
                root.display()
            ));
            continue;
        }
        let message = format!("Merge branch '{dependency}' into {}", wanted.branch);
        if let Err(why) = run_git(
            &worktree,
            &[
                "merge",
                "--quiet",
                "--no-edit",
                "--no-verify",
                "-m",
                &message,
                rev,
            ],
        ) {
            // Back to the state before: an agent must not start on a half-merged tree.
            let _ = run_git(&worktree, &["merge", "--abort"]);
            let is_shallow = worktree.common_dir().join("shallow").exists();
            let cut = if is_shallow {
                "; this clone is shallow, get the rest with: git fetch --unshallow"
            } else {
                ""
            };
            return Err(TaskWorktreeError::Conflict {
                dependency: dependency.clone(),
                branch: wanted.branch.clone(),
                root: root.display().to_string(),
                why: format!("{why}{cut}"),
            });
        }
    }
    Ok(())
}

/// Whether HEAD has a commit, or the one that a branch names, already.
fn is_in(worktree: &Worktree, rev: &str) -> Result<bool, watchdog_git::Error> {
    let HistoryPoint::Commit(head) = worktree.head()? else {
        return Ok(false);
    };
    match worktree.resolve(rev) {
        Ok(HistoryPoint::Commit(commit)) => Ok(worktree.is_ancestor(&commit, &head)),
        // The merge says why.
        Ok(HistoryPoint::Unborn) | Err(_) => Ok(false),
    }
}

/// Runs git in a worktree, without the repository's hooks and without the programs that its own configuration names.
fn run_git(worktree: &Worktree, args: &[&str]) -> Result<(), TaskWorktreeError> {
    let program = format!("git {}", args[0]);
    let args = [&["-c", "core.hooksPath=/dev/null"], args].concat();
    let overrides = worktree.without_local_programs().map_err(git_error)?;
    let finished = new_git_run(
        worktree.root(),
        &args,
        &[],
        worktree.has_identity(),
        DEADLINE,
    )
    .with_settings(&overrides)
    .run();
    let finished = finished.map_err(git_error)?;
    if finished.exit.success() {
        Ok(())
    } else {
        Err(TaskWorktreeError::Git(describe_failure(
            &program, &finished, DEADLINE,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::super::own_worktree::*;

    #[test]
    fn only_worktree_in_creation_by_git_is_awaited() {
        let half_made = || {
            TaskWorktreeError::Git(
                "fatal: failed to read .git/worktrees/agent-5/commondir: Success".into(),
            )
        };
        let mut tries = 0;
        let made = beside_others(|| {
            tries += 1;
            if tries < 4 {
                Err(half_made())
            } else {
                Ok(tries)
            }
        });
        assert_eq!(made, Ok(4));
        for refused in [
            TaskWorktreeError::Git("fatal: a branch named 'watchdog/T1' already exists".into()),
            TaskWorktreeError::Unborn,
        ] {
            let mut tries = 0;
            let made: Result<(), TaskWorktreeError> = beside_others(|| {
                tries += 1;
                Err(refused.clone())
            });
            assert_eq!((made, tries), (Err(refused), 1));
        }
    }
}

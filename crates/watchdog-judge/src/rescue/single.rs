//! Commits listed files on the current branch, by git as the user would do it.
//!
//! Files that git does not know yet are announced in the index, then `commit --only` takes exactly the listed paths: git prepares an
//! index of its own for that, runs the hooks on it, and replaces the real one only together with the commit. A crash at any point
//! leaves the old state, at most with new files staged, or the commit.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use super::index_lock::remove_killed_locks;
use super::selection::PathPatterns;
use crate::clock::now;
use watchdog_core::config::settings::RescueSettings;
use watchdog_facts::evidence::{LeftOut, LeftOutReason, ProcessExit};
use watchdog_git::{CommitReadiness, Error, IndexBackup, SnapshotPath, SnapshotPathKind, Worktree};
use watchdog_process::git_program::{describe_failure, new_git_run};

/// Takes paths of the standard input out of the index.
pub(super) const RESET: [&str; 4] = [
    "reset",
    "--quiet",
    "--pathspec-from-file=-",
    "--pathspec-file-nul",
];

/// Files that go into one commit.
#[derive(Debug, Clone)]
pub(super) struct CommitGroup<'p> {
    /// The whole message.
    pub message: String,
    /// In git's order.
    pub paths: Vec<&'p SnapshotPath>,
}

impl CommitGroup<'_> {
    pub fn names(&self) -> Vec<&[u8]> {
        self.paths.iter().map(|path| path.path.as_slice()).collect()
    }
}

/// How an attempt to commit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommitAttempt {
    /// This commit was made. A hook added more paths to it.
    Commit { commit: String, added: Vec<Vec<u8>> },
    /// This commit was made, and git ended with a complaint all the same, as where a hook after the commit hangs, or where
    /// git dies before the index follows.
    CommitWithComplaint { commit: String, why: String },
    /// The files no longer differ from HEAD.
    Nothing,
    /// A program that may veto commits refused, or did not answer by the deadline: a hook, a signature.
    Refused(String),
    /// git could not try: its lock is held, a file is gone.
    NotTried(String),
}

/// The obstacle to any commit, for a person.
pub(super) fn find_obstacle(state: &CommitReadiness) -> Option<String> {
    if let Some(operation) = state.operation {
        let article = if operation.as_str().starts_with(['a', 'e', 'i', 'o', 'u']) {
            "an"
        } else {
            "a"
        };
        return Some(format!(
            "{article} {} is in progress: finish or abort it first",
            operation.as_str()
        ));
    }
    if state.conflicted > 0 {
        return Some(format!(
            "{} paths are in conflict: resolve them first",
            state.conflicted
        ));
    }
    if state.branch.is_none() {
        return Some("HEAD is detached: a commit there would belong to no branch".into());
    }
    None
}

/// The obstacle to a commit on this branch.
pub(super) fn find_protection(
    state: &CommitReadiness,
    settings: &RescueSettings,
) -> Option<String> {
    let branch = state
        .branch
        .as_deref()
        .filter(|branch| PathPatterns::matches_branch(&settings.protect, branch))?;
    Some(format!(
        "the branch '{branch}' is protected by rescue.protect"
    ))
}

/// Commits exactly the group's files within `deadline`. Unless a commit is made, the index is left as it was.
///
/// # Errors
/// When git's data cannot be read.
pub(super) fn commit_group(
    worktree: &Worktree,
    group: &CommitGroup<'_>,
    deadline: Duration,
) -> Result<CommitAttempt, Error> {
    // git would work, and commit the files by the names that they have in another work tree.
    let fault = worktree.config_fault().map(|fault| fault.to_string());
    if let Some(fault) = fault.filter(|fault| fault.starts_with("core.worktree")) {
        return Ok(CommitAttempt::NotTried(fault));
    }
    // A hook may switch HEAD to another branch.
    let own = worktree.branch().unwrap_or_default();
    let read_tip = || {
        let tip = worktree.resolve(&format!("refs/heads/{own}"));
        tip.ok()?.to_commit()
    };
    let before = read_tip();
    // A hook may move the branch back to an older commit.
    let is_new = |tip: &String| (before.as_ref()).is_none_or(|b| !worktree.is_ancestor(tip, b));
    let saved = worktree.save_index()?;
    let begun = std::time::Instant::now();
    // The kernel stamps files by a coarser clock.
    let begun_at = now() - Duration::from_millis(10);
    let was_killed = Cell::new(false);
    let run = |args: &[&str], paths: &[&[u8]]| {
        let time_left = deadline
            .saturating_sub(begun.elapsed())
            .max(Duration::from_secs(1));
        let finished = new_git_run(
            worktree.root(),
            args,
            paths,
            worktree.has_identity(),
            time_left,
        )
        .run()
        .map_err(|error| error.to_string())?;
        if finished.timed_out || matches!(finished.exit, ProcessExit::Signal(_)) {
            was_killed.set(true);
        }
        match finished.exit.success() && !finished.timed_out {
            true => Ok(()),
            false => Err(describe_failure(
                &format!("git {}", args[0]),
                &finished,
                deadline,
            )),
        }
    };
    let untracked = |p: &&&SnapshotPath| p.untracked && p.kind != SnapshotPathKind::Deleted;
    let new: Vec<&[u8]> = group
        .paths
        .iter()
        .filter(untracked)
        .map(|p| p.path.as_slice())
        .collect();
    let all = group.names();
    let mut announcing = Ok(());
    if !new.is_empty() {
        let add = ["update-index", "--add", "--remove", "--replace", "-z"];
        announcing = run(&[&add[..], &["--stdin"]].concat(), &new);
    }
    let announced = worktree.save_index()?;
    let why = match announcing {
        Err(why) => what_stopped(&why),
        Ok(()) => {
            let args = [
                "commit",
                "--quiet",
                "--only",
                "--cleanup=whitespace",
                "-m",
                &group.message,
            ];
            let pathspecs = worktree.shorten_pathspecs(&all);
            let pathspecs = pathspecs.as_deref().unwrap_or(&all);
            match run(&[&args[..], &RESET[2..]].concat(), pathspecs) {
                Ok(()) => {
                    let commit = match read_tip().filter(is_new) {
                        None => worktree.head_commit()?.filter(is_new),
                        own => own,
                    };
                    let Some(commit) = commit else {
                        let why = "the repository's hooks took the commit back";
                        return Ok(CommitAttempt::Refused(why.into()));
                    };
                    let added = update_index(worktree, &all, run)?;
                    return Ok(CommitAttempt::Commit { commit, added });
                }
                Err(why) => match what_stopped(&why) {
                    // A hook may have used the same words.
                    CommitAttempt::Nothing if !is_clean(worktree, group)? => {
                        CommitAttempt::Refused(why.trim_end().to_owned())
                    }
                    made => made,
                },
            }
        }
    };
    if was_killed.get() {
        remove_killed_locks(worktree, begun_at);
    }
    // A commit stays valid, even if a hook after it failed.
    if let Some(commit) = read_tip().filter(is_new) {
        return Ok(match why {
            CommitAttempt::Refused(why) | CommitAttempt::NotTried(why) => {
                CommitAttempt::CommitWithComplaint { commit, why }
            }
            other => other,
        });
    }
    remove_announced(worktree, &saved, &announced, &new, run)?;
    Ok(why)
}

/// Whether none of the group's files is uncommitted any more.
fn is_clean(worktree: &Worktree, group: &CommitGroup<'_>) -> Result<bool, Error> {
    let changes = worktree.changes()?;
    let whole = changes.paths.len() < watchdog_facts::evidence::Changes::LISTED;
    Ok(whole
        && !group
            .paths
            .iter()
            .any(|path| changes.paths.contains(&path.text)))
}

/// Distinguishes git's own errors before hooks ran from refusals by them.
fn what_stopped(why: &str) -> CommitAttempt {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    let why = why.trim_end().to_owned();
    if says(&[
        "nothing to commit",
        "nothing added to commit",
        "no changes added to commit",
    ]) {
        CommitAttempt::Nothing
    } else if says(&[
        "index.lock': File exists",
        "must be run in a work tree",
        "did not match any file(s) known to git",
        "cannot lock ref",
        "No space left on device",
    ]) {
        CommitAttempt::NotTried(why)
    } else {
        CommitAttempt::Refused(why)
    }
}

/// Updates the index to the commit. A hook that adds files does so in the index that git prepared for the
/// commit; without this the user's own index would still have the files from before the hook. Returns the paths that a hook added.
fn update_index(
    worktree: &Worktree,
    committed: &[&[u8]],
    run: impl Fn(&[&str], &[&[u8]]) -> Result<(), String>,
) -> Result<Vec<Vec<u8>>, Error> {
    let after = worktree.after_commit(committed)?;
    let behind: Vec<&[u8]> = after.behind.iter().map(Vec::as_slice).collect();
    if !behind.is_empty() {
        // A later step checks the paths that git cannot settle.
        run(&RESET, &behind).ok();
    }
    Ok(after.added)
}

/// Drops deleted files whose place a folder took, or whose folder's place a link took: git commits their deletion along with the
/// replacement, and fails or skips it when the command names them. Without the replacement, the deletion is left out.
pub(super) fn without_replaced<'p>(
    mut paths: Vec<&'p SnapshotPath>,
    root: &Path,
    left_out: &mut Vec<LeftOut>,
) -> Vec<&'p SnapshotPath> {
    let all: BTreeSet<&[u8]> = paths.iter().map(|path| path.path.as_slice()).collect();
    let on_disk = |path: &[u8]| root.join(OsStr::from_bytes(path)).symlink_metadata();
    let has_below = |path: &[u8]| {
        let below = [path, b"/"].concat();
        let mut later = all.range(below.as_slice()..);
        later.next().is_some_and(|p| p.starts_with(&below))
    };
    paths.retain(|path| {
        let name = path.path.as_slice();
        let mut folders = (0..name.len())
            .filter(|&at| name[at] == b'/')
            .map(|at| &name[..at]);
        let is_link = |folder: &&[u8]| on_disk(folder).is_ok_and(|m| m.is_symlink());
        let is_replaced = if path.kind != SnapshotPathKind::Deleted {
            return true;
        } else if let Some(link) = folders.find(is_link) {
            all.contains(link)
        } else if on_disk(name).is_ok_and(|m| m.is_dir()) {
            has_below(name)
        } else {
            return true;
        };
        if !is_replaced {
            left_out.push(LeftOut {
                path: path.text.clone(),
                why: LeftOutReason::Excluded,
            });
        }
        false
    });
    paths
}

/// Takes the announced files out of the index again.
fn remove_announced(
    worktree: &Worktree,
    saved: &IndexBackup,
    announced: &IndexBackup,
    new: &[&[u8]],
    run: impl Fn(&[&str], &[&[u8]]) -> Result<(), String>,
) -> Result<(), Error> {
    if worktree.put_index_back(saved, announced)? || new.is_empty() {
        return Ok(());
    }
    // Another process wrote the index meanwhile: only our own names are reset, and an entry that git cannot reset does no harm.
    run(&RESET, new).ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::config::settings::ConfigSettings;
    use watchdog_facts::evidence::GitOperation;

    #[test]
    fn obstacles_are_told_the_strongest_first() {
        let free = CommitReadiness {
            head: None,
            branch: Some("main".into()),
            operation: None,
            conflicted: 0,
        };
        assert_eq!(find_obstacle(&free), None);
        let rebase = CommitReadiness {
            operation: Some(GitOperation::Rebase),
            branch: None,
            conflicted: 1,
            ..free.clone()
        };
        assert_eq!(
            find_obstacle(&rebase).unwrap(),
            "a rebase is in progress: finish or abort it first"
        );
        assert!(
            find_obstacle(&CommitReadiness {
                conflicted: 2,
                ..free.clone()
            })
            .unwrap()
            .starts_with("2 paths are in conflict")
        );
        assert!(
            find_obstacle(&CommitReadiness {
                branch: None,
                ..free.clone()
            })
            .unwrap()
            .starts_with("HEAD is detached")
        );
        let settings = RescueSettings {
            protect: vec!["release/*".into()],
            ..ConfigSettings::default().rescue
        };
        assert_eq!(find_protection(&free, &settings), None);
        assert!(
            find_protection(
                &CommitReadiness {
                    branch: Some("release/1".into()),
                    ..free
                },
                &settings
            )
            .unwrap()
            .contains("protected")
        );
    }

    #[test]
    fn refusal_is_distinguished_from_untried_commit() {
        for (last_lines, want) in [
            (
                "git commit ended with exit code 1\nOn branch main\nnothing to commit, working tree clean",
                "nothing",
            ),
            (
                "git commit ended with exit code 128\nfatal: Unable to create '/x/.git/index.lock': File exists.",
                "not tried",
            ),
            ("git commit ended with exit code 1\nlint: no", "refused"),
            ("git commit did not end within 3 s", "refused"),
            (
                "git commit ended with exit code 128\nerror: gpg failed to sign the data",
                "refused",
            ),
        ] {
            let kind = match what_stopped(last_lines) {
                CommitAttempt::Nothing => "nothing",
                CommitAttempt::NotTried(_) => "not tried",
                CommitAttempt::Refused(_) => "refused",
                CommitAttempt::Commit { .. } | CommitAttempt::CommitWithComplaint { .. } => "made",
            };
            assert_eq!(kind, want, "{last_lines}");
        }
    }
}

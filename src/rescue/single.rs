//! One commit of everything on the current branch, made by git as the user would make it.
//!
//! The real index is never filled by us. Files that git does not know yet are announced without content
//! (`add --intent-to-add`), then `commit --only` takes exactly the listed paths: git prepares an index of its own
//! for that, runs the hooks on it, and replaces the real one only together with the commit. A crash at any point
//! leaves the old state, at most with announced names in the index, or the commit.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::carry_out::Request;
use super::git_program::{git, tail};
use super::message;
use super::selection::{Patterns, select};
use crate::config::settings::RescueSettings;
use crate::decision::evidence::{LeftOut, RescueOutcome};
use crate::git::{CommitState, Error, SavedIndex, SnapshotKind, SnapshotPath, Worktree};

/// What stands against a commit on the current branch, for a person.
pub(super) fn obstacle(state: &CommitState, settings: &RescueSettings) -> Option<String> {
    if let Some(operation) = state.operation {
        let article = if operation.as_str().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        return Some(format!("{article} {} is in progress: finish or abort it first", operation.as_str()));
    }
    if state.conflicted > 0 {
        return Some(format!("{} paths are in conflict: resolve them first", state.conflicted));
    }
    let Some(branch) = &state.branch else {
        return Some("HEAD is detached: a commit there would belong to no branch".into());
    };
    let protected = Patterns::matches_branch(&settings.protect, branch);
    protected.then(|| format!("the branch '{branch}' is protected by rescue.protect"))
}

/// Commits what may be committed, or says in `outcome` why not.
pub(super) fn commit(worktree: &Worktree, request: &Request<'_>, state: &CommitState, outcome: &mut RescueOutcome) -> Result<(), Error> {
    if let Some(obstacle) = obstacle(state, request.settings) {
        outcome.failed = Some(obstacle);
        return Ok(());
    }
    let paths = worktree.snapshot_paths(&request.snapshot.commit)?;
    let selection = select(&paths, request.settings);
    outcome.left_out.extend(selection.left_out);
    if let Some(many) = selection.too_many {
        outcome.failed =
            Some(format!("{many} files are to be committed, more than rescue.max_files ({}) allows", request.settings.max_files));
    }
    let commit = without_replaced(selection.commit, worktree.root(), &mut outcome.left_out);
    if commit.is_empty() {
        return Ok(());
    }

    let saved = worktree.save_index()?;
    let run = |args: &[&str], paths: &[&[u8]]| {
        let program = git(worktree.root(), args, paths, worktree.has_identity(), request.settings.timeout);
        let finished = program.run().map_err(|error| error.to_string())?;
        let line = || format!("git {}", args[0]);
        if finished.timed_out {
            return Err(format!("{} did not end within {} s\n{}", line(), request.settings.timeout.as_secs(), tail(&finished)));
        }
        match finished.exit.success() {
            true => Ok(()),
            false => Err(format!("{} ended with {}\n{}", line(), finished.exit, tail(&finished))),
        }
    };
    let new: Vec<&[u8]> = commit.iter().filter(|p| p.untracked && p.kind != SnapshotKind::Deleted).map(|p| p.path.as_slice()).collect();
    let all: Vec<&[u8]> = commit.iter().map(|p| p.path.as_slice()).collect();
    let from_stdin = ["--pathspec-from-file=-", "--pathspec-file-nul"];
    let mut done = Ok(());
    if !new.is_empty() {
        done = run(&[&["add", "--intent-to-add", "--force", "--sparse"][..], &from_stdin].concat(), &new);
    }
    let announced = worktree.save_index()?;
    if done.is_ok() {
        let text = message::single(request.spec, request.snapshot, &commit);
        let args = ["commit", "--quiet", "--only", "--cleanup=whitespace", "-m", &text];
        done = run(&[&args[..], &from_stdin].concat(), &all);
    }
    if let Err(why) = done {
        let moved = worktree.head_commit()? != state.head;
        // A commit that was made stays made, whatever a hook after it said.
        if !moved {
            undo(worktree, &saved, &announced, &new, run)?;
        }
        outcome.failed = Some(why.trim_end().to_owned());
    }
    Ok(())
}

/// Drops deleted files whose place a folder took: git commits their end along with the folder's files, and fails
/// when it is asked for it by name. Where nothing in the folder is committed, the deletion is left out.
fn without_replaced<'p>(paths: Vec<&'p SnapshotPath>, root: &Path, left_out: &mut Vec<LeftOut>) -> Vec<&'p SnapshotPath> {
    let all: BTreeSet<&[u8]> = paths.iter().map(|path| path.path.as_slice()).collect();
    let stays = |path: &&SnapshotPath| {
        if path.kind != SnapshotKind::Deleted || !root.join(OsStr::from_bytes(&path.path)).symlink_metadata().is_ok_and(|m| m.is_dir()) {
            return true;
        }
        let below = [path.path.as_slice(), b"/"].concat();
        if !all.range(below.as_slice()..).next().is_some_and(|p| p.starts_with(&below)) {
            left_out.push(LeftOut { path: path.text.clone(), why: "excluded" });
        }
        false
    };
    let mut paths = paths;
    paths.retain(stays);
    paths
}

/// Takes the announced names out of the index again.
fn undo(
    worktree: &Worktree,
    saved: &SavedIndex,
    announced: &SavedIndex,
    new: &[&[u8]],
    run: impl Fn(&[&str], &[&[u8]]) -> Result<(), String>,
) -> Result<(), Error> {
    if saved == announced || worktree.put_index_back(saved, announced)? || new.is_empty() {
        return Ok(());
    }
    // Somebody wrote the index meanwhile: only our own names go, and what git cannot undo is harmless.
    run(&["reset", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"], new).ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::Settings;
    use crate::decision::evidence::Operation;

    #[test]
    fn obstacles_are_told_the_strongest_first() {
        let free = CommitState { head: None, branch: Some("main".into()), operation: None, conflicted: 0 };
        let settings = RescueSettings { protect: vec!["release/*".into()], ..Settings::default().rescue };
        let check = |state: CommitState| obstacle(&state, &settings);
        assert_eq!(check(free.clone()), None);
        let rebase = CommitState { operation: Some(Operation::Rebase), branch: None, conflicted: 1, ..free.clone() };
        assert_eq!(check(rebase).unwrap(), "a rebase is in progress: finish or abort it first");
        assert!(check(CommitState { conflicted: 2, ..free.clone() }).unwrap().starts_with("2 paths are in conflict"));
        assert!(check(CommitState { branch: None, ..free.clone() }).unwrap().starts_with("HEAD is detached"));
        assert!(check(CommitState { branch: Some("release/1".into()), ..free }).unwrap().contains("protected"));
    }
}

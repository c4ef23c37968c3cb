//! Finds a git operation that was left half done in a worktree.

use std::fs;
use std::path::Path;

use super::error::Error;
use super::open::Worktree;
use super::path_text::escape_path;
use watchdog_facts::evidence::{Commits, GitOperation};

impl Worktree {
    /// The unfinished operation here, and paths in conflict (percent-escaped where not UTF-8, at most [`Commits::LISTED`]).
    ///
    /// # Errors
    /// [`Error::Read`] where the index cannot be read.
    pub fn half_done(&self) -> Result<(Option<GitOperation>, Vec<String>), Error> {
        let index = self.index().map_err(|e| Error::read(format!("read the index of {}", self.root().display()), e))?;
        let mut conflicts: Vec<String> =
            index.entries().iter().filter(|entry| entry.stage_raw() != 0).map(|entry| escape_path(entry.path(&index))).collect();
        conflicts.dedup();
        conflicts.truncate(Commits::LISTED);
        Ok((self.operation(), conflicts))
    }

    /// The unfinished operation, if any; of several the one that git would continue first.
    pub fn operation(&self) -> Option<GitOperation> {
        match &self.served {
            // Some of the marks are refs.
            Some(served) => in_git_dir(served.folder()),
            None => in_git_dir(self.git_dir()),
        }
    }
}

fn in_git_dir(git_dir: &Path) -> Option<GitOperation> {
    let has = |name: &str| git_dir.join(name).exists();
    if has("rebase-apply") {
        return Some(if has("rebase-apply/applying") { GitOperation::ApplyMailbox } else { GitOperation::Rebase });
    }
    if has("rebase-merge") {
        return Some(GitOperation::Rebase);
    }
    for (name, operation) in
        [("MERGE_HEAD", GitOperation::Merge), ("CHERRY_PICK_HEAD", GitOperation::CherryPick), ("REVERT_HEAD", GitOperation::Revert)]
    {
        if has(name) {
            return Some(operation);
        }
    }
    // Between two picks of a series only the todo list shows the operation.
    if let Ok(todo) = fs::read(git_dir.join("sequencer/todo")) {
        let word = todo.trim_ascii_start().split(|b| b.is_ascii_whitespace()).next().unwrap_or_default();
        match word {
            b"pick" | b"p" => return Some(GitOperation::CherryPick),
            b"revert" => return Some(GitOperation::Revert),
            _ => {}
        }
    }
    has("BISECT_LOG").then_some(GitOperation::Bisect)
}

//! Finds a git operation that was left half done in a worktree.

use std::io;
use std::path::Path;

use super::error::{Error, ReadContext as _};
use super::open::Worktree;
use super::path_text::escape_path;
use watchdog_facts::evidence::{Commits, GitOperation};
use watchdog_system::{is_missing, read_regular_file};

impl Worktree {
    /// The unfinished operation here, and paths in conflict (percent-escaped where not UTF-8, at most [`Commits::LISTED`]).
    ///
    /// # Errors
    /// [`Error::Read`] where the index, or what marks an operation, cannot be read.
    pub fn half_done(&self) -> Result<(Option<GitOperation>, Vec<String>), Error> {
        let index = self.index()?;
        let mut conflicts: Vec<String> = index
            .entries()
            .iter()
            .filter(|entry| entry.stage_raw() != 0)
            .map(|entry| escape_path(entry.path(&index)))
            .collect();
        conflicts.dedup();
        conflicts.truncate(Commits::LISTED);
        Ok((self.operation()?, conflicts))
    }

    /// The unfinished operation, if any; of several the one that git would continue first.
    ///
    /// # Errors
    /// [`Error::Read`] where the system does not say whether one is marked: that it is not would be a guess.
    pub fn operation(&self) -> Result<Option<GitOperation>, Error> {
        let git_dir = match &self.served {
            // Some of the marks are refs.
            Some(served) => served.folder(),
            None => self.git_dir(),
        };
        in_git_dir(git_dir).with_context(|| {
            format!(
                "look for an operation that is half done in {}",
                git_dir.display()
            )
        })
    }
}

fn in_git_dir(git_dir: &Path) -> io::Result<Option<GitOperation>> {
    let has = |name: &str| git_dir.join(name).try_exists();
    if has("rebase-apply")? {
        return Ok(Some(if has("rebase-apply/applying")? {
            GitOperation::ApplyMailbox
        } else {
            GitOperation::Rebase
        }));
    }
    if has("rebase-merge")? {
        return Ok(Some(GitOperation::Rebase));
    }
    for (name, operation) in [
        ("MERGE_HEAD", GitOperation::Merge),
        ("CHERRY_PICK_HEAD", GitOperation::CherryPick),
        ("REVERT_HEAD", GitOperation::Revert),
    ] {
        if has(name)? {
            return Ok(Some(operation));
        }
    }
    // Between two picks of a series only the todo list shows the operation.
    match read_regular_file(&git_dir.join("sequencer/todo"), 16 << 20) {
        Ok(todo) => match todo
            .trim_ascii_start()
            .split(|b| b.is_ascii_whitespace())
            .next()
            .unwrap_or_default()
        {
            b"pick" | b"p" => return Ok(Some(GitOperation::CherryPick)),
            b"revert" => return Ok(Some(GitOperation::Revert)),
            _ => {}
        },
        Err(e) if is_missing(&e) => {}
        Err(e) => return Err(e),
    }
    Ok(has("BISECT_LOG")?.then_some(GitOperation::Bisect))
}

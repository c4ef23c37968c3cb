//! Watches the directories where git leaves traces of a commit.
//!
//! Directories are watched, never files, because git replaces files by renaming.

use std::path::PathBuf;

use notify::RecursiveMode;

use super::watching::{WatchError, Watching};

/// Where a worktree's git data lives.
#[derive(Debug, Clone)]
pub struct GitDirs {
    /// The worktree's own git directory: HEAD, index, logs.
    pub git_dir: PathBuf,
    /// The repository's: branches, packed refs. The same folder in a main worktree.
    pub common_dir: PathBuf,
}

impl GitDirs {
    /// Calls `moved` whenever something changes in these directories. The callback runs on
    /// notify's own thread and must return at once.
    pub fn watch(&self, moved: impl Fn() + Send + 'static) -> Result<Watching, WatchError> {
        let mut watching = Watching::start(&self.git_dir, moved)?;
        for (path, recursive) in self.targets() {
            if path.is_dir() {
                watching.add(&path, recursive)?;
            }
        }
        Ok(watching)
    }

    /// HEAD and index, the reflog of HEAD, branches that others move, and the tables of reftable.
    fn targets(&self) -> Vec<(PathBuf, RecursiveMode)> {
        let mut targets = vec![
            (self.git_dir.clone(), RecursiveMode::NonRecursive),
            (self.git_dir.join("logs"), RecursiveMode::NonRecursive),
            (self.common_dir.join("refs/heads"), RecursiveMode::Recursive),
            (self.common_dir.join("reftable"), RecursiveMode::NonRecursive),
        ];
        if self.common_dir != self.git_dir {
            targets.push((self.common_dir.clone(), RecursiveMode::NonRecursive));
            targets.push((self.git_dir.join("reftable"), RecursiveMode::NonRecursive));
        }
        targets
    }
}

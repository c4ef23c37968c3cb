//! Watches the directories where git leaves traces of a commit.
//!
//! Events are hints: they are not counted, told apart or trusted, they only say "look again".
//! Directories are watched, never files, because git replaces files by renaming.

use std::path::{Path, PathBuf};

use notify::{EventKind, RecursiveMode, Watcher as _};

/// Where a worktree's git data lives.
#[derive(Debug, Clone)]
pub struct GitDirs {
    /// The worktree's own git directory: HEAD, index, logs.
    pub git_dir: PathBuf,
    /// The repository's: branches, packed refs. The same folder in a main worktree.
    pub common_dir: PathBuf,
}

/// Why nothing can be watched. Never fatal: whoever waits simply waits the whole pause.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The system's limit is reached.
    #[error("the system's limit of watched folders is reached (raise fs.inotify.max_user_watches or max_user_instances)")]
    Limit,
    /// Anything else.
    #[error("failed to watch {path}: {why}")]
    Watch { path: PathBuf, why: String },
}

/// A running watch; ends when dropped.
#[must_use = "the watch ends when this is dropped"]
pub struct Watching {
    _watcher: notify::RecommendedWatcher,
}

impl GitDirs {
    /// Calls `moved` whenever something changes in these directories. The callback runs on
    /// notify's own thread and must return at once.
    pub fn watch(&self, moved: impl Fn() + Send + 'static) -> Result<Watching, WatchError> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // An overflow or an error may hide a commit, so both mean "look again". Opening and reading files does not:
            // watchdog's own looks would wake it for ever.
            if event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                return;
            }
            moved();
        })
        .map_err(|error| explain(&self.git_dir, error))?;
        for (path, recursive) in self.targets() {
            if path.is_dir() {
                watcher.watch(&path, recursive).map_err(|error| explain(&path, error))?;
            }
        }
        Ok(Watching { _watcher: watcher })
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

fn explain(path: &Path, error: notify::Error) -> WatchError {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => WatchError::Limit,
        // inotify_init says EMFILE when max_user_instances is reached.
        notify::ErrorKind::Io(ref io) if io.raw_os_error() == Some(24) => WatchError::Limit,
        _ => WatchError::Watch { path: path.to_owned(), why: error.to_string() },
    }
}

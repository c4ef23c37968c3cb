//! A running watch on some folders, and why there may be none.
//!
//! Events are hints: they are not counted or trusted, they only say where to look again.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use notify::{EventKind, RecursiveMode, Watcher as _};

/// The pause after an event that could not be read: notify tries again at once, and as often as that fails.
const AFTER_AN_ERROR: Duration = Duration::from_secs(1);

/// Why a folder cannot be watched. Never fatal: the caller waits for its whole pause.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The system's limit is reached.
    #[error(
        "the system's limit of watched folders is reached (raise fs.inotify.max_user_watches or max_user_instances)"
    )]
    Limit,
    /// Anything else.
    #[error("failed to watch {path}: {why}")]
    Watch {
        /// The directory that was to be watched.
        path: PathBuf,
        /// The operating system's error.
        why: String,
    },
}

/// The place of a movement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FsMovement {
    /// At these paths.
    At(Vec<PathBuf>),
    /// Unknown: so many events came that the system dropped some.
    Anywhere,
}

/// How much of a folder is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchDepth {
    /// The folder itself, not its subfolders.
    Folder,
    /// All that is below it as well, folders that come later included.
    Tree,
}

/// A running watch; ends when dropped.
#[must_use = "the watch ends when this is dropped"]
pub struct FolderWatch {
    watcher: notify::RecommendedWatcher,
}

impl FolderWatch {
    /// A watch on nothing yet. `on_row` is called on notify's own thread and must return at once.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn start(on_row: impl Fn(FsMovement) + Send + 'static) -> Result<Self, WatchError> {
        let watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| match event {
                // Opening and reading files moves nothing: watchdog's own scans would wake it without end.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => {}
                Ok(event) if !event.need_rescan() && !event.paths.is_empty() => {
                    on_row(FsMovement::At(event.paths))
                }
                // An overflow or an error may hide a commit, so both mean "look again".
                Ok(_) => on_row(FsMovement::Anywhere),
                Err(_) => {
                    on_row(FsMovement::Anywhere);
                    sleep(AFTER_AN_ERROR);
                }
            })
            .map_err(|error| to_watch_error(Path::new("anything"), error))?;
        Ok(FolderWatch { watcher })
    }

    /// Watches one more folder.
    ///
    /// # Errors
    /// Fails if the folder is not there, or the system refuses; those that were added before stay
    /// watched.
    pub fn add(&mut self, folder: &Path, depth: WatchDepth) -> Result<(), WatchError> {
        let mode = if depth == WatchDepth::Tree {
            RecursiveMode::Recursive
        } else {
            RecursiveMode::NonRecursive
        };
        self.watcher
            .watch(folder, mode)
            .map_err(|error| to_watch_error(folder, error))
    }

    /// Watches a folder no longer. A folder that was not watched, or is gone, needs no removal.
    pub fn remove(&mut self, folder: &Path) {
        let _ = self.watcher.unwatch(folder);
    }
}

fn to_watch_error(path: &Path, error: notify::Error) -> WatchError {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => WatchError::Limit,
        // inotify_init says EMFILE when max_user_instances is reached.
        notify::ErrorKind::Io(ref io) if io.raw_os_error() == Some(24) => WatchError::Limit,
        _ => WatchError::Watch {
            path: path.to_owned(),
            why: error.to_string(),
        },
    }
}

//! A running watch on some folders, and why there may be none.
//!
//! Events are hints: they are not counted, told apart or trusted, they only say "look again".

use std::path::{Path, PathBuf};

use notify::{EventKind, RecursiveMode, Watcher as _};

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
    watcher: notify::RecommendedWatcher,
}

impl Watching {
    /// A watch on nothing yet, which calls `moved`. `named` stands in the error.
    pub(super) fn start(named: &Path, moved: impl Fn() + Send + 'static) -> Result<Self, WatchError> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // An overflow or an error may hide a commit, so both mean "look again". Opening and reading files does not:
            // watchdog's own looks would wake it for ever.
            if event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                return;
            }
            moved();
        })
        .map_err(|error| explain(named, error))?;
        Ok(Watching { watcher })
    }

    /// Watches one more folder.
    pub(super) fn add(&mut self, folder: &Path, recursive: RecursiveMode) -> Result<(), WatchError> {
        self.watcher.watch(folder, recursive).map_err(|error| explain(folder, error))
    }
}

/// A failure of notify in our words.
pub(super) fn explain(path: &Path, error: notify::Error) -> WatchError {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => WatchError::Limit,
        // inotify_init says EMFILE when max_user_instances is reached.
        notify::ErrorKind::Io(ref io) if io.raw_os_error() == Some(24) => WatchError::Limit,
        _ => WatchError::Watch { path: path.to_owned(), why: error.to_string() },
    }
}

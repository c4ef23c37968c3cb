//! Watches one folder: something appeared, changed or went away in it, though not below it.

use std::path::Path;

use super::watching::{FolderWatch, WatchDepth, WatchError};

/// Calls `moved` whenever something changes in `folder` itself. The callback runs on notify's own thread and must return at once.
///
/// # Errors
/// Fails if the system refuses; the caller can poll then.
pub fn watch_folder(
    folder: &Path,
    moved: impl Fn() + Send + 'static,
) -> Result<FolderWatch, WatchError> {
    let mut watching = FolderWatch::start(move |_| moved())?;
    watching.add(folder, WatchDepth::Folder)?;
    Ok(watching)
}

//! Watches one folder: something appeared, changed or went away in it, though not below it.

use std::path::Path;

use super::watching::{Depth, WatchError, Watching};

/// Calls `moved` whenever something changes in `folder` itself. The callback runs on notify's own thread and must return at once.
///
/// # Errors
/// Where the system refuses; whoever waits then looks from time to time.
pub fn watch_folder(folder: &Path, moved: impl Fn() + Send + 'static) -> Result<Watching, WatchError> {
    let mut watching = Watching::start(move |_| moved())?;
    watching.add(folder, Depth::Folder)?;
    Ok(watching)
}

//! Only notify. Says that something moved in a folder; what moved is for others to tell.

mod folder;
mod git_dirs;
mod watching;

pub use folder::watch_folder;
pub use git_dirs::{GitDirs, Trace};
pub use watching::{Depth, Moved, WatchError, Watching};

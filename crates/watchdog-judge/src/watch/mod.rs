//! Only notify. Reports that something moved in a folder, and not what.

mod git_dirs;
mod last_change;
mod watching;

pub use git_dirs::{GitDirs, HeadFingerprint};
pub use last_change::{LastChange, last_change};
pub use watching::{FolderWatch, FsMovement, WatchDepth, WatchError};

//! Only notify. Says that something moved in a git directory; what moved is for git to tell.

mod git_dirs;

pub use git_dirs::{GitDirs, WatchError, Watching};

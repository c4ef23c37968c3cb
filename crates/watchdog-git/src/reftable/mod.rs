//! Repositories whose refs gix cannot read (reftable): git itself is asked, and a folder of our own shows gix what it said.
//!
//! Everything else of such a repository (objects, index, configuration, work tree) is read as usual. Refs are written by
//! `git update-ref` alone, and read back before they count.

mod listing;
mod logs;
mod mirror;
mod served_worktree;
mod writing;

pub use served_worktree::{GitAnswer, GitRunner, serve_with};
pub(super) use served_worktree::{REFTABLE, ServedWorktree, is_served};

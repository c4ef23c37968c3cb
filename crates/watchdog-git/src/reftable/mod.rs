//! Repositories whose refs gix cannot read (reftable): git itself reads them, and a folder of our own shows gix the result.
//!
//! Everything else of such a repository (objects, index, configuration, work tree) is read as usual. Refs are written by
//! `git update-ref` alone, and read back before they count.

mod fresh_refs;
mod git_server;
mod listing;
mod logs;
mod mirror;
mod served_worktree;
mod writing;

pub use git_server::{GitProcessOutput, GitRunner, serve_with};
pub(super) use git_server::{REFTABLE, get_git_server, is_served};
pub use served_worktree::TABLES;
pub(super) use served_worktree::{ServedWorktree, ref_store_options};

//! The real `Capabilities` of checks: processes, git, files of the worktree, models.

mod at_begin;
mod check_cache;
mod check_run;
mod edited_tests;
mod granted;
mod judge;
mod scratch;
mod typescript;
mod worktree_files;

pub use granted::{SystemCapabilities, run_below};
pub use worktree_files::read as read_worktree_file;

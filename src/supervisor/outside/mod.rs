//! The outside of checks for real: processes, git, files of the worktree, models.

mod capabilities;
mod judge_program;
mod worktree_files;

pub use capabilities::Outside;

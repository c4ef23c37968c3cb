//! The outside of checks for real: processes, git, files of the worktree, models.

mod capabilities;
mod earlier_passes;
mod judge;
mod line_checkers;
mod worktree_files;

pub use capabilities::Outside;
pub use line_checkers::LineCheckers;

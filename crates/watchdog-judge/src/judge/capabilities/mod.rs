//! The real `Capabilities` of checks: processes, git, files of the worktree, models.

mod check_run;
mod copied_dependencies;
mod earlier_results;
mod granted;
mod judge;
mod mixed_trees;
mod own_path;
mod reruns;
mod scratch_checkout;
mod typescript;
mod worktree_files;

pub(super) use copied_dependencies::{CopyRoom, copy_tree};
pub use granted::{SystemCapabilities, run_below};
pub(super) use scratch_checkout::ScratchCheckout;
pub use worktree_files::read_file as read_worktree_file;

//! `watchdog sweep`: judges every worktree of repositories and folders once, each under its own lock.
//!
//! [`sweep_worktrees`] finds them and runs a pool of threads over them, with one probe budget. `scan` judges one, and `sweep_cache` reuses the
//! verdict where nothing changed since the last sweep. A failure in one worktree does not affect the others.

mod pool;
mod report;
mod scan;
mod sweep_cache;

pub use pool::sweep_worktrees;
pub use report::{SweepReport, SweepRequest, SweepRow, SweepTableRow};

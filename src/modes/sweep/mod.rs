//! `watchdog sweep`: judges every worktree of repositories and folders once, each under its own lock.
//!
//! [`sweep`] finds them and runs a pool of threads over them. `scan` judges one,
//! `probe_budget` decides whether another probe is allowed, and `sweep_cache` reuses the verdict where nothing changed since the last
//! sweep. A failure in one worktree does not affect the others.

mod pool;
mod probe_budget;
mod report;
mod request;
mod scan;
mod sweep_cache;

pub use pool::sweep;
pub use report::{SweepReport, SweepRow, SweepTableRow};
pub use request::SweepRequest;

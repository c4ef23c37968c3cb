//! `watchdog sweep`: looks once at every worktree of repositories and folders, each under its own lock.
//!
//! [`sweep`] finds them and sends a crew over them; `scan` judges one, `sweep_pace` has its machine driven without waiting,
//! `probe_budget` says who may still be asked, and `sweep_cache` spares the look where nothing moved since the last sweep. Whatever becomes of one worktree, the others do not notice.

mod pool;
mod probe_budget;
mod report;
mod request;
mod scan;
mod sweep_cache;
mod sweep_pace;

pub use pool::sweep;
pub use report::{SweepLine, SweepReport, SweepRow};
pub use request::SweepRequest;

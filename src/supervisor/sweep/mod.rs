//! `watchdog sweep`: looks once at every worktree of repositories and folders, each under its own lock.
//!
//! [`sweep`] finds them and sends a crew over them; `look` judges one, `drive` moves its machine without waiting, `ration`
//! says who may still be asked, and `remembered` spares the look where nothing moved since the last sweep. Whatever becomes of one worktree, the others do not notice.

mod crew;
mod drive;
mod look;
mod ration;
mod remembered;
mod report;
mod request;

pub use crew::sweep;
pub use report::{SweepLine, SweepOutcome, SweepReport, SweepRow};
pub use request::{OnRow, SweepRequest};

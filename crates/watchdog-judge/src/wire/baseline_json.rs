//! A recorded baseline as JSON: the output of `watchdog snapshot`.

use jiff::Timestamp;
use serde::Serialize;

/// A baseline that was recorded just now, for `watchdog snapshot --json`.
#[derive(Serialize)]
pub struct NewBaseline<'a> {
    /// The commit, or `unborn`.
    pub baseline: &'a str,
    /// The worktree's top folder.
    pub worktree: String,
    /// The name of the work.
    pub spec: &'a str,
    /// The branch, where HEAD is on one.
    pub branch: Option<&'a str>,
    /// How many refs are recorded with it.
    pub refs: usize,
    /// How many uncommitted changes are not the spec's work.
    pub inherited: usize,
    /// When it was recorded.
    pub at: Timestamp,
}

//! A recorded baseline as JSON: the output of `watchdog snapshot`.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_git::HistoryPoint;

/// A baseline that was recorded just now.
pub struct NewBaseline<'a> {
    /// The commit.
    pub point: &'a HistoryPoint,
    /// The worktree's top folder.
    pub worktree: &'a Path,
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

/// `watchdog snapshot --json`.
pub fn new_baseline_json(recorded: &NewBaseline<'_>) -> Value {
    json!({
        "schema": 1,
        "baseline": recorded.point.as_str(),
        "worktree": recorded.worktree.display().to_string(),
        "spec": recorded.spec,
        "branch": recorded.branch,
        "refs": recorded.refs,
        "inherited": recorded.inherited,
        "at": recorded.at.to_string(),
    })
}

//! The scans that are due, by worktree: when, since when, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::scan::ScanCause;

struct DueScan {
    at: Instant,
    since: Instant,
    cause: ScanCause,
}

/// At most one scan for each worktree.
#[derive(Default)]
pub struct DueScans(BTreeMap<String, DueScan>);

impl DueScans {
    /// Schedules a scan of a worktree.
    pub fn add(&mut self, id: String, cause: ScanCause, pause: Duration) {
        let at = Instant::now() + pause;
        let due = self.0.entry(id).or_insert(DueScan { at, since: Instant::now(), cause });
        if cause > due.cause {
            *due = DueScan { at: due.at.min(at), cause, ..*due };
        }
    }

    /// Schedules another scan of a worktree that was due `since` then, unless an event made it due already.
    pub fn add_again(&mut self, id: String, cause: ScanCause, since: Instant, pause: Duration) {
        self.0.entry(id).or_insert(DueScan { at: Instant::now() + pause, since, cause });
    }

    /// The same for a locked worktree: no scan begins before the pause is over, despite further events.
    pub fn add_again_after(&mut self, id: String, cause: ScanCause, since: Instant, pause: Duration) {
        let at = Instant::now() + pause;
        let due = self.0.entry(id).or_insert(DueScan { at, since, cause });
        due.cause = due.cause.max(cause);
        due.at = due.at.max(at);
    }

    /// Puts a scan off.
    pub fn put_off(&mut self, id: &str, pause: Duration) {
        if let Some(due) = self.0.get_mut(id) {
            due.at = Instant::now() + pause;
        }
    }

    /// How many worktrees are due.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a scan of a worktree is due.
    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// Removes the scan of a worktree, because it begins or is not needed.
    pub fn remove(&mut self, id: &str) {
        self.0.remove(id);
    }

    /// When the next scan is due; worktrees that are being scanned do not count.
    pub fn next(&self, under_way: &BTreeSet<String>) -> Option<Instant> {
        self.0.iter().filter(|(id, _)| !under_way.contains(*id)).map(|(_, due)| due.at).min()
    }

    /// The scans that are due by `time`, the one that waits longest first; worktrees that are being scanned do not count.
    pub fn ready(&self, time: Instant, under_way: &BTreeSet<String>) -> Vec<(String, ScanCause, Instant)> {
        let ready = self.0.iter().filter(|(id, due)| due.at <= time && !under_way.contains(*id));
        let mut ready: Vec<(String, ScanCause, Instant)> = ready.map(|(id, due)| (id.clone(), due.cause, due.since)).collect();
        ready.sort_by_key(|(_, _, since)| *since);
        ready
    }
}

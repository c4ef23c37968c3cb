//! The scans that are due, by worktree: when, since when, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::scan::ScanCause;

/// How soon after a look for movements the next one may begin: a branch that moves two hundred times in a second is looked at four times, and
/// once more after its last movement.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

struct DueScan {
    at: Instant,
    since: Instant,
    cause: ScanCause,
}

/// At most one scan for each worktree.
#[derive(Default)]
pub struct DueScans {
    due: BTreeMap<String, DueScan>,
    /// When the last scan of a worktree began, where that is not long ago.
    begun: BTreeMap<String, Instant>,
}

impl DueScans {
    /// Schedules a scan of a worktree; one for its HEAD not right after another scan, however often HEAD moves.
    pub fn add(&mut self, id: String, cause: ScanCause, pause: Duration) {
        self.add_at(Instant::now(), id, cause, pause);
    }

    fn add_at(&mut self, now: Instant, id: String, cause: ScanCause, pause: Duration) {
        let soon = now + pause;
        let rested = self.begun.get(&id).filter(|_| cause == ScanCause::Head).map(|begun| *begun + BETWEEN_LOOKS);
        let at = rested.map_or(soon, |rested| soon.max(rested));
        let due = self.due.entry(id).or_insert(DueScan { at, since: now, cause });
        if cause > due.cause {
            *due = DueScan { at: due.at.min(at), cause, ..*due };
        }
    }

    /// Schedules another scan of a worktree that was due `since` then, unless an event made it due already.
    pub fn add_again(&mut self, id: String, cause: ScanCause, since: Instant, pause: Duration) {
        self.due.entry(id).or_insert(DueScan { at: Instant::now() + pause, since, cause });
    }

    /// The same for a locked worktree: no scan begins before the pause is over, despite further events.
    pub fn add_again_after(&mut self, id: String, cause: ScanCause, since: Instant, pause: Duration) {
        let at = Instant::now() + pause;
        let due = self.due.entry(id).or_insert(DueScan { at, since, cause });
        due.cause = due.cause.max(cause);
        due.at = due.at.max(at);
    }

    /// Puts a scan off.
    pub fn put_off(&mut self, id: &str, pause: Duration) {
        if let Some(due) = self.due.get_mut(id) {
            due.at = Instant::now() + pause;
        }
    }

    /// How many worktrees are due.
    pub fn len(&self) -> usize {
        self.due.len()
    }

    /// Whether a scan of a worktree is due.
    pub fn has(&self, id: &str) -> bool {
        self.due.contains_key(id)
    }

    /// Removes the scan of a worktree, because it begins.
    pub fn begin(&mut self, id: &str) {
        self.begin_at(Instant::now(), id);
    }

    fn begin_at(&mut self, now: Instant, id: &str) {
        self.due.remove(id);
        self.begun.retain(|_, begun| now.saturating_duration_since(*begun) < BETWEEN_LOOKS);
        self.begun.insert(id.to_owned(), now);
    }

    /// Removes the scan of a worktree, because it is not needed.
    pub fn remove(&mut self, id: &str) {
        self.due.remove(id);
    }

    /// When the next scan is due; worktrees that are being scanned do not count.
    pub fn next(&self, under_way: &BTreeSet<String>) -> Option<Instant> {
        self.due.iter().filter(|(id, _)| !under_way.contains(*id)).map(|(_, due)| due.at).min()
    }

    /// The scans that are due by `time`, the one that waits longest first; worktrees that are being scanned do not count.
    pub fn ready(&self, time: Instant, under_way: &BTreeSet<String>) -> Vec<(String, ScanCause, Instant)> {
        let ready = self.due.iter().filter(|(id, due)| due.at <= time && !under_way.contains(*id));
        let mut ready: Vec<(String, ScanCause, Instant)> = ready.map(|(id, due)| (id.clone(), due.cause, due.since)).collect();
        ready.sort_by_key(|(_, _, since)| *since);
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTLE: Duration = Duration::from_millis(4);

    /// Plays movements of one worktree at these milliseconds, with scans that take so long, and returns when the scans began.
    fn begun_at(movements: &[u64], scan: u64) -> Vec<u64> {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let (mut due, mut begun, mut ends) = (DueScans::default(), Vec::new(), 0);
        for now in 0..=movements.last().copied().unwrap_or_default() + 2 * scan + 1_000 {
            if movements.contains(&now) {
                due.add_at(at(now), "a".into(), ScanCause::Head, SETTLE);
            }
            let under_way = if now < ends { BTreeSet::from(["a".to_owned()]) } else { BTreeSet::new() };
            if !due.ready(at(now), &under_way).is_empty() {
                due.begin_at(at(now), "a");
                begun.push(now);
                ends = now + scan;
            }
        }
        begun
    }

    #[test]
    fn looks_are_apart_while_movements_go_on_and_one_follows_the_last_of_them() {
        let lone: &[u64] = &[4];
        for (movements, scan, expected) in [
            (&[0][..], 5, lone),
            (&[0, 1, 2], 5, lone),
            // During the look: exactly one more.
            (&[0, 6, 7, 8], 5, &[4, 254]),
            (&[0, 6, 100, 253], 5, &[4, 254]),
            (&[0, 255], 5, &[4, 259]),
            (&[0, 300], 5, &[4, 304]),
            // A look that takes long is not begun twice at a time.
            (&[0, 6, 7, 8], 700, &[4, 704]),
        ] {
            assert_eq!(begun_at(movements, scan), expected, "{movements:?}, {scan} ms each");
        }
    }

    #[test]
    fn a_thousand_movements_in_a_second_are_five_looks_the_last_of_them_after_the_last_movement() {
        let begun = begun_at(&(0..=1_000).collect::<Vec<_>>(), 5);
        assert_eq!(begun, [4, 254, 504, 754, 1004]);
    }

    #[test]
    fn the_end_of_a_session_and_another_worktree_wait_for_no_look_before() {
        let now = Instant::now();
        let mut due = DueScans::default();
        due.begin_at(now, "a");
        due.add_at(now, "a".into(), ScanCause::Head, SETTLE);
        due.add_at(now, "b".into(), ScanCause::Head, SETTLE);
        let ready = |due: &DueScans| due.ready(now + SETTLE, &BTreeSet::new()).into_iter().map(|(id, _, _)| id).collect::<Vec<_>>();
        assert_eq!(ready(&due), ["b"]);
        due.add_at(now, "a".into(), ScanCause::Ended, SETTLE);
        assert_eq!(ready(&due), ["a", "b"]);
    }
}

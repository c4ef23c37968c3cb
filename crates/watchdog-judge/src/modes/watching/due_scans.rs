//! The scans that are due, by worktree: when, since when, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::scan::ScanCause;

/// How soon after a look for movements the next one may begin, and how soon after the first of those that came right after it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// The longest pause between two looks at a worktree that moves all the time.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Such a worktree is looked at sooner where it has not moved for this long.
const QUIET: Duration = Duration::from_millis(100);

/// While a worktree moves all the time, at most one part in so many is spent on looks, as far as the longest pause allows.
const SHARE: u32 = 8;

struct DueScan {
    /// Not sooner than this.
    at: Instant,
    since: Instant,
    /// The last movement.
    moved: Instant,
    cause: ScanCause,
}

/// The last look at a worktree, where that is not long ago.
struct LastScan {
    begun: Instant,
    /// How long it took; `None` while it goes on.
    took: Option<Duration>,
    /// How many looks in a row had a movement right after the one before.
    in_a_row: u32,
}

impl LastScan {
    /// Whether a movement came so soon after it that it must wait.
    fn is_followed_by(&self, movement: Instant) -> bool {
        movement < self.begun + BETWEEN_LOOKS
    }

    /// When the next look for movements may begin: the more looks followed each other and the more the last one cost, the later, but soon
    /// after the last movement.
    fn calculate_next_scan(&self, due: &DueScan) -> Instant {
        let soonest = self.begun + BETWEEN_LOOKS;
        if !self.is_followed_by(due.since) || self.in_a_row == 0 {
            return soonest;
        }
        let affordable =
            (self.took.unwrap_or_default() * SHARE).clamp(BETWEEN_LOOKS, LONGEST_PAUSE);
        let pause = (BETWEEN_LOOKS * 2_u32.pow(self.in_a_row.min(3))).min(LONGEST_PAUSE);
        (self.begun + pause)
            .min(due.moved + QUIET)
            .max(self.begun + affordable)
    }
}

/// At most one scan for each worktree.
#[derive(Default)]
pub struct DueScans {
    due: BTreeMap<String, DueScan>,
    last_scans: BTreeMap<String, LastScan>,
}

impl DueScans {
    /// Schedules a scan of a worktree; one for its HEAD not right after another scan, however often HEAD moves.
    pub fn add(&mut self, id: String, cause: ScanCause, pause: Duration) {
        self.add_at(Instant::now(), id, cause, pause);
    }

    fn add_at(&mut self, now: Instant, id: String, cause: ScanCause, pause: Duration) {
        let at = now + pause;
        let due = self.due.entry(id).or_insert(DueScan {
            at,
            since: now,
            moved: now,
            cause,
        });
        due.moved = now;
        if cause > due.cause {
            *due = DueScan {
                at: due.at.min(at),
                cause,
                ..*due
            };
        }
    }

    /// Schedules another scan of a worktree that was due `since` then, unless an event made it due already.
    pub fn add_again(&mut self, id: String, cause: ScanCause, since: Instant, pause: Duration) {
        self.due.entry(id).or_insert(DueScan {
            at: Instant::now() + pause,
            since,
            moved: since,
            cause,
        });
    }

    /// The same for a locked worktree: no scan begins before the pause is over, despite further events.
    pub fn add_again_after(
        &mut self,
        id: String,
        cause: ScanCause,
        since: Instant,
        pause: Duration,
    ) {
        let at = Instant::now() + pause;
        let due = self.due.entry(id).or_insert(DueScan {
            at,
            since,
            moved: since,
            cause,
        });
        due.cause = due.cause.max(cause);
        due.at = due.at.max(at);
    }

    /// Puts a scan off.
    pub fn put_off(&mut self, id: &str, pause: Duration) {
        if let Some(due) = self.due.get_mut(id) {
            due.at = Instant::now() + pause;
        }
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
        let due = self.due.remove(id);
        let before = self
            .last_scans
            .get(id)
            .filter(|last| due.is_some_and(|due| last.is_followed_by(due.since)));
        let in_a_row = before.map_or(0, |last| last.in_a_row + 1);
        self.last_scans
            .retain(|_, last| now.saturating_duration_since(last.begun) < LONGEST_PAUSE);
        self.last_scans.insert(
            id.to_owned(),
            LastScan {
                begun: now,
                took: None,
                in_a_row,
            },
        );
    }

    /// Notes that the scan of a worktree ended.
    pub fn end(&mut self, id: &str) {
        self.end_at(Instant::now(), id);
    }

    fn end_at(&mut self, now: Instant, id: &str) {
        if let Some(last) = self.last_scans.get_mut(id) {
            last.took = Some(now.saturating_duration_since(last.begun));
        }
    }

    /// Removes the scan of a worktree, because it is not needed.
    pub fn remove(&mut self, id: &str) {
        self.due.remove(id);
    }

    fn begins_at(&self, id: &str, due: &DueScan) -> Instant {
        let last = self
            .last_scans
            .get(id)
            .filter(|_| due.cause == ScanCause::Head);
        last.map_or(due.at, |last| due.at.max(last.calculate_next_scan(due)))
    }

    /// When the next scan is due; worktrees that are being scanned do not count.
    pub fn next(&self, under_way: &BTreeSet<String>) -> Option<Instant> {
        self.due
            .iter()
            .filter(|(id, _)| !under_way.contains(*id))
            .map(|(id, due)| self.begins_at(id, due))
            .min()
    }

    /// The scans that are due by `time`, the one that waits longest first; worktrees that are being scanned do not count.
    pub fn ready(
        &self,
        time: Instant,
        under_way: &BTreeSet<String>,
    ) -> Vec<(String, ScanCause, Instant)> {
        let ready = self
            .due
            .iter()
            .filter(|(id, due)| !under_way.contains(*id) && self.begins_at(id, due) <= time);
        let mut ready: Vec<(String, ScanCause, Instant)> = ready
            .map(|(id, due)| (id.clone(), due.cause, due.since))
            .collect();
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
        for now in 0..=movements.last().copied().unwrap_or_default() + 2 * scan + 3_000 {
            if movements.binary_search(&now).is_ok() {
                due.add_at(at(now), "a".into(), ScanCause::Head, SETTLE);
            }
            if now == ends {
                due.end_at(at(now), "a");
            }
            let under_way = if now < ends {
                BTreeSet::from(["a".to_owned()])
            } else {
                BTreeSet::new()
            };
            if !due.ready(at(now), &under_way).is_empty() {
                due.begin_at(at(now), "a");
                begun.push(now);
                ends = now + scan;
            }
        }
        begun
    }

    #[test]
    fn scans_are_spaced_with_a_final_one() {
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
            assert_eq!(
                begun_at(movements, scan),
                expected,
                "{movements:?}, {scan} ms each"
            );
        }
    }

    #[test]
    fn constant_movement_makes_scans_rarer() {
        let all_the_time =
            |millis: u64, step: usize| (0..=millis).step_by(step).collect::<Vec<_>>();
        assert_eq!(begun_at(&all_the_time(1_000, 1), 5), [4, 254, 754, 1_100]);
        assert_eq!(
            begun_at(&all_the_time(10_000, 5), 5),
            [4, 254, 754, 1_754, 3_754, 5_754, 7_754, 9_754, 10_100]
        );
        // Where it falls quiet in between, it is looked at then.
        assert_eq!(
            begun_at(&all_the_time(900, 150), 5),
            [4, 254, 550, 850, 1_100]
        );
        // What moves now and then does not wait.
        assert_eq!(
            begun_at(&all_the_time(1_500, 500), 5),
            [4, 504, 1_004, 1_504]
        );
        let mut after_many = all_the_time(3_000, 5);
        after_many.push(3_500);
        assert_eq!(begun_at(&after_many, 5), [4, 254, 754, 1_754, 3_100, 3_504]);
    }

    #[test]
    fn expensive_scans_are_spaced_further_apart() {
        for (scan, longest) in [(5, 250), (100, 800), (700, 2_000)] {
            let begun = begun_at(
                &(0..=20_000)
                    .step_by(5)
                    .chain([20_150, 20_300])
                    .collect::<Vec<_>>(),
                scan,
            );
            let last = begun.last().copied().unwrap_or_default();
            assert!(
                last > 20_300 && last <= 20_304 + longest.max(scan),
                "{scan}: {begun:?}"
            );
            assert!(
                begun.len() as u64 * scan <= 20_000 * 9 / 20,
                "{scan}: {begun:?}"
            );
        }
    }

    #[test]
    fn session_end_and_other_worktrees_skip_the_wait() {
        let now = Instant::now();
        let mut due = DueScans::default();
        due.begin_at(now, "a");
        due.add_at(now, "a".into(), ScanCause::Head, SETTLE);
        due.add_at(now, "b".into(), ScanCause::Head, SETTLE);
        let ready = |due: &DueScans| {
            due.ready(now + SETTLE, &BTreeSet::new())
                .into_iter()
                .map(|(id, _, _)| id)
                .collect::<Vec<_>>()
        };
        assert_eq!(ready(&due), ["b"]);
        due.add_at(now, "a".into(), ScanCause::Ended, SETTLE);
        assert_eq!(ready(&due), ["a", "b"]);
    }
}

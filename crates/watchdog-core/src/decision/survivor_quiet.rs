//! How long the processes that a session left running hold its verdict: until they are idle, and at most for a limited time. Pure.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Processes without CPU time or writes for this long are idle.
pub const QUIET: Duration = Duration::from_secs(300);

/// Since when nothing was seen of what runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietPeriod {
    /// Their last known activity.
    pub since: Timestamp,
    /// Processor time that it had used by then.
    #[serde(with = "watchdog_facts::millis")]
    pub used: Duration,
}

/// A sample of those processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivitySample {
    /// When.
    pub at: Timestamp,
    /// The CPU time that they have used; `None` where the system does not show it, which counts as work.
    pub used: Option<Duration>,
    /// When something was last written in the worktree.
    pub written: Option<Timestamp>,
}

/// Adds a sample. The first one only starts the count; a time in the future counts as now.
pub fn after_sample(before: Option<QuietPeriod>, sample: ActivitySample) -> QuietPeriod {
    let used = sample.used.unwrap_or_default();
    let since = match before {
        Some(before) if sample.used == Some(before.used) => before.since.min(sample.at),
        _ => sample.at,
    };
    let written = sample.written.unwrap_or(since).min(sample.at);
    QuietPeriod {
        since: since.max(written),
        used,
    }
}

/// Whether it still holds the verdict of a session that ended at `ended`.
pub fn is_verdict_held(
    ended: Timestamp,
    at_most: Duration,
    quiet: QuietPeriod,
    at: Timestamp,
) -> bool {
    let passed =
        |since: Timestamp| Duration::try_from(at.duration_since(since)).unwrap_or_default();
    passed(ended) < at_most && passed(quiet.since) < QUIET
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("an instant")
    }

    fn sample(seconds: i64, used: Option<u64>, written: Option<i64>) -> ActivitySample {
        ActivitySample {
            at: at(seconds),
            used: used.map(Duration::from_millis),
            written: written.map(at),
        }
    }

    /// The result of several samples, and whether the last one holds.
    fn looks(all: &[ActivitySample]) -> bool {
        let quiet = all
            .iter()
            .fold(None, |quiet, sample| Some(after_sample(quiet, *sample)));
        let last = all.last().expect("a look");
        is_verdict_held(
            at(0),
            Duration::from_secs(1800),
            quiet.expect("a look"),
            last.at,
        )
    }

    #[test]
    fn survivor_holds_until_idle_for_five_minutes() {
        for (name, all, expected) in [
            (
                "one look alone proves nothing",
                vec![sample(900, Some(0), Some(0))],
                true,
            ),
            (
                "nothing for less than that",
                vec![sample(0, Some(70), Some(0)), sample(299, Some(70), Some(0))],
                true,
            ),
            (
                "nothing for so long",
                vec![sample(0, Some(70), Some(0)), sample(300, Some(70), Some(0))],
                false,
            ),
            (
                "processor time",
                vec![sample(0, Some(70), None), sample(300, Some(80), None)],
                true,
            ),
            (
                "a process of it ended",
                vec![sample(0, Some(70), None), sample(300, Some(60), None)],
                true,
            ),
            (
                "a file",
                vec![sample(0, Some(70), None), sample(300, Some(70), Some(200))],
                true,
            ),
            (
                "a file of the future",
                vec![sample(0, Some(70), None), sample(300, Some(70), Some(9000))],
                true,
            ),
            (
                "nothing since work",
                vec![
                    sample(0, Some(1), None),
                    sample(200, Some(2), None),
                    sample(500, Some(2), None),
                ],
                false,
            ),
            (
                "processes that cannot be seen",
                vec![sample(0, None, None), sample(400, None, None)],
                true,
            ),
            (
                "at most for so long",
                vec![sample(1790, Some(1), None), sample(1800, Some(2), None)],
                false,
            ),
            (
                "a clock that was set back",
                vec![sample(900, Some(1), None), sample(0, Some(1), None)],
                true,
            ),
        ] {
            assert_eq!(looks(&all), expected, "{name}");
        }
    }
}

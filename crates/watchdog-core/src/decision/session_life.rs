//! Whether a session still works in a worktree, and for how long its work has stood still (rule 11 of the contract). Pure.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The life of a judged session, as it bears on questions and rescues.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionLife {
    /// No sign of life.
    #[default]
    Absent,
    /// It works: nothing is judged.
    Busy {
        /// A clause for a person: the session and what it does.
        words: String,
    },
    /// Its turn is over: commits and checks decide, watchdog sends no probe.
    Idle {
        /// The same, with the time since when.
        words: String,
    },
    /// No process shows it, but the work moves from look to look.
    Moved {
        /// The same.
        words: String,
    },
}

/// Whether a live session works on its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTurn {
    /// It does, or that is unknown.
    Busy,
    /// Its turn ended at this instant.
    Over {
        /// When.
        since: Timestamp,
    },
}

/// A session that lives: its recorded process, or an agent's process in the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    /// Its name for a person, such as `claude (process 12)`.
    pub name: String,
    /// The state of its turn.
    pub turn: SessionTurn,
}

/// The place of the turn that decides among several live sessions: a busy one, else the one that ended last.
pub fn deciding_turn(turns: &[SessionTurn]) -> Option<usize> {
    let ended = |turn: &SessionTurn| match turn {
        SessionTurn::Busy => Timestamp::MAX,
        SessionTurn::Over { since } => *since,
    };
    (0..turns.len()).max_by_key(|at| ended(&turns[*at]))
}

/// A reading of the clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The wall clock.
    #[serde(rename = "at")]
    pub wall: Timestamp,
    /// The name of this boot; `None` where the system has none.
    pub boot: Option<String>,
    /// The time since boot in which the machine was awake.
    #[serde(rename = "awake_ms", with = "watchdog_facts::millis")]
    pub awake: Duration,
    /// The time since boot with suspends.
    #[serde(rename = "since_boot_ms", with = "watchdog_facts::millis")]
    pub since_boot: Duration,
}

/// A recorded look at the work of a session whose end is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedState {
    /// A hash of the work, the index, HEAD with its branch, and the transcripts.
    pub state: String,
    /// When that state was first seen.
    #[serde(flatten)]
    pub seen: ClockReading,
    /// Whether the work had moved then, since the look before.
    pub moved: bool,
}

/// For how long of waking time the work is known to have stood still. `newest_change` is the newest change time of all files that the
/// state is made of; it counts at a first look only, and `None` is unknown.
pub fn still_for(
    now: &ClockReading,
    state: &str,
    recorded: Option<&RecordedState>,
    newest_change: Option<Timestamp>,
) -> Duration {
    match recorded {
        Some(recorded) if recorded.state == state => awake_since(now, &recorded.seen),
        Some(_) => Duration::ZERO,
        None => newest_change.map_or(Duration::ZERO, |changed| awake_after(now, changed)),
    }
}

/// The waking time since an earlier reading.
fn awake_since(now: &ClockReading, then: &ClockReading) -> Duration {
    match (&now.boot, &then.boot) {
        (Some(boot), Some(before)) if boot == before => now.awake.saturating_sub(then.awake),
        // The machine was awake at least since its boot.
        (Some(_), Some(_)) => now.awake,
        _ => awake_after(now, then.wall),
    }
}

/// The waking time that has certainly passed since an instant of the wall clock: every suspend of this boot may lie after it.
fn awake_after(now: &ClockReading, instant: Timestamp) -> Duration {
    let passed = Duration::try_from(now.wall.duration_since(instant)).unwrap_or_default();
    passed
        .min(now.since_boot)
        .saturating_sub(now.since_boot.saturating_sub(now.awake))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("an instant")
    }

    /// A machine that booted at second 0.
    fn clock(wall: i64, suspended: u64) -> ClockReading {
        let since_boot = Duration::from_secs(wall.unsigned_abs());
        ClockReading {
            wall: at(wall),
            boot: Some("one".into()),
            awake: since_boot - Duration::from_secs(suspended),
            since_boot,
        }
    }

    fn recorded(state: &str, seen: ClockReading) -> RecordedState {
        RecordedState {
            state: state.into(),
            seen,
            moved: false,
        }
    }

    #[test]
    fn stillness_counts_waking_time_only() {
        let other_boot = |reading: ClockReading| ClockReading {
            boot: Some("before".into()),
            ..reading
        };
        let no_boot = |reading: ClockReading| ClockReading {
            boot: None,
            ..reading
        };
        for (name, now, recorded, changed, seconds) in [
            (
                "the same state as recorded",
                clock(1600, 0),
                Some(recorded("s", clock(1000, 0))),
                Some(at(1599)),
                600,
            ),
            (
                "another state than recorded",
                clock(1600, 0),
                Some(recorded("t", clock(100, 0))),
                Some(at(100)),
                0,
            ),
            (
                "a suspend since the record",
                clock(9000, 8000),
                Some(recorded("s", clock(900, 0))),
                None,
                100,
            ),
            (
                "a suspend before the record",
                clock(9000, 8000),
                Some(recorded("s", clock(8800, 8000))),
                None,
                200,
            ),
            (
                "a boot since the record",
                clock(700, 0),
                Some(recorded("s", other_boot(clock(900_000, 0)))),
                None,
                700,
            ),
            (
                "a system without names of boots",
                no_boot(clock(1600, 0)),
                Some(recorded("s", no_boot(clock(1000, 0)))),
                None,
                600,
            ),
            (
                "a first look, by change times",
                clock(1600, 0),
                None,
                Some(at(1000)),
                600,
            ),
            ("a first look without them", clock(1600, 0), None, None, 0),
            (
                "a first look after a suspend",
                clock(9000, 8000),
                None,
                Some(at(900)),
                100,
            ),
            (
                "a first look, changed before a suspend of that length",
                clock(9000, 8000),
                None,
                Some(at(1100)),
                0,
            ),
            (
                "a change before the boot",
                clock(700, 0),
                None,
                Some(at(-5000)),
                700,
            ),
            (
                "a change in the future",
                clock(700, 0),
                None,
                Some(at(5000)),
                0,
            ),
            (
                "a clock that was set back since the record",
                clock(700, 0),
                Some(recorded("s", clock(900, 0))),
                None,
                0,
            ),
        ] {
            assert_eq!(
                still_for(&now, "s", recorded.as_ref(), changed),
                Duration::from_secs(seconds),
                "{name}"
            );
        }
    }

    #[test]
    fn a_busy_session_decides_before_idle_ones() {
        let over = |second| SessionTurn::Over { since: at(second) };
        assert_eq!(deciding_turn(&[]), None);
        assert_eq!(
            deciding_turn(&[over(1), SessionTurn::Busy, over(9)]),
            Some(1)
        );
        assert_eq!(deciding_turn(&[over(7), over(2)]), Some(0));
    }
}

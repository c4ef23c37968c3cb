//! Detects time that the loop missed: the machine was suspended, the process was stopped, or the clock was set. Reads no clock.
//!
//! During a suspend, the clock of timers stops and the wall clock advances; for a stopped process both have advanced. Either may have
//! missed events: a network file system keeps none for an absent client.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// No turn of the loop takes longer, as it polls the journal every two seconds.
const STILL: Duration = Duration::from_secs(5);

/// When the loop last turned, by either clock.
#[derive(Debug)]
pub struct SuspendDetector {
    own: Instant,
    wall: Timestamp,
}

impl SuspendDetector {
    /// Begins now.
    pub fn new(own: Instant, wall: Timestamp) -> Self {
        SuspendDetector { own, wall }
    }

    /// Takes another turn: returns whether the loop missed time since the last one. A wall clock
    /// that was set back counts as well, since it may have
    /// been wrong for any time.
    pub fn stood_still(&mut self, own: Instant, wall: Timestamp) -> bool {
        let before = std::mem::replace(self, SuspendDetector { own, wall });
        own.duration_since(before.own) > STILL
            || wall.duration_since(before.wall).unsigned_abs() > STILL
    }
}

#[cfg(test)]
mod tests {
    use super::super::suspend_detector::*;

    #[test]
    fn time_that_nobody_saw_pass_is_noticed_once() {
        for (own, wall, noticed, what) in [
            (0, 0, false, "at once"),
            (2_000, 2_000, false, "an ordinary turn"),
            (2_000, 1_000, false, "the wall clock is slowed down"),
            (4_500, 5_000, false, "a machine that is busy"),
            (2_000, 3_600_000, true, "slept for an hour"),
            (5_001, 5_001, true, "stopped for five seconds"),
            (60_000, 0, true, "the wall clock was set back meanwhile"),
            (10, -3_600_000, true, "the wall clock was set back"),
        ] {
            let (begin, at) = (Instant::now(), Timestamp::UNIX_EPOCH);
            let mut suspend_detector = SuspendDetector::new(begin, at);
            let (own, wall) = (
                begin + Duration::from_millis(own),
                at + jiff::SignedDuration::from_millis(wall),
            );
            assert_eq!(suspend_detector.stood_still(own, wall), noticed, "{what}");
            assert!(
                !suspend_detector
                    .stood_still(own + Duration::from_secs(2), wall + Duration::from_secs(2)),
                "{what}, and then an ordinary turn"
            );
        }
    }
}

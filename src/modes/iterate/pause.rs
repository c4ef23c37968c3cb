//! The pauses of a loop: how long they are, and waiting for their end, or for a signal.

use std::time::Duration;

use jiff::Timestamp;

use crate::clock::pauses;
use crate::clock::{now, since};
use crate::judge::signals::{SignalState, SignalUrgency};
use watchdog_core::decision::iteration::next::PauseLength;

/// The longest time between two readings of the wall clock: after a suspend, timers fire too late.
const POLL: Duration = Duration::from_secs(20);

/// The time between two messages about the rest of a pause.
const TELL: Duration = Duration::from_secs(600);

/// When a pause that begins now is over.
pub fn end_of(length: PauseLength, from: Timestamp) -> Timestamp {
    let length = match length {
        PauseLength::Until(until) => return until,
        PauseLength::For(length) => length,
        PauseLength::Backoff { attempt, at_most } => pauses::pause(attempt, at_most),
    };
    let length = jiff::SignedDuration::try_from(length).unwrap_or(jiff::SignedDuration::MAX);
    from.checked_add(length).unwrap_or(Timestamp::MAX)
}

/// Waits until then, and shows now and then how long that still is; `false` if a signal came first.
pub async fn wait_until(
    until: Timestamp,
    signals: &mut SignalState,
    tell: impl Fn(Duration),
) -> bool {
    let begun = now();
    let length = Duration::try_from(until.duration_since(begun)).unwrap_or_default();
    let mut reported_after = Duration::ZERO;
    loop {
        // A clock that is set meanwhile makes no pause shorter or longer.
        let waited = since(begun);
        let time_left = length.saturating_sub(waited);
        if time_left.is_zero() {
            return true;
        }
        if waited.saturating_sub(reported_after) >= TELL {
            reported_after = waited;
            tell(time_left);
        }
        tokio::select! {
            () = tokio::time::sleep(time_left.min(POLL)) => {}
            () = signals.reached(SignalUrgency::Interrupted) => return false,
        }
    }
}

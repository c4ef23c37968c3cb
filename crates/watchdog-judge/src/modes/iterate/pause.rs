//! The pauses of a loop, and the wait for a session that a killed watchdog left behind.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::clock::{measure_since, now, pauses};
use crate::judge::command_env::CommandEnv;
use crate::judge::signals::SignalState;
use crate::modes::pid_wait;
use watchdog_core::decision::iteration::next::PauseLength;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_process::{PidWaitOutcome, started_by_a_watchdog};
use watchdog_store::{LocalStore, RecordType, session::SessionRecord};

/// The longest time between two readings of the wall clock: after a suspend, timers fire too late.
const POLL: Duration = Duration::from_secs(20);

/// The time between two messages about the rest of a pause.
const TELL: Duration = Duration::from_secs(600);

/// When a pause that begins now is over.
pub fn end_of(length: PauseLength, from: Timestamp) -> Timestamp {
    let length = match length {
        PauseLength::Until(until) => return until,
        PauseLength::For(length) => length,
        PauseLength::Backoff { attempt, at_most } => pauses::calculate_pause(attempt, at_most),
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
        let waited = measure_since(begun);
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
            () = signals.wait_for_interrupt() => return false,
        }
    }
}

/// Waits until the recorded session of a spec has ended, if it still runs. The verdict to end with where it does not end in time.
pub async fn wait_for_its_end(
    command_env: &CommandEnv,
    store: &Arc<dyn LocalStore>,
    worktree_id: &str,
    spec: &str,
    timeout: Option<Duration>,
    signals: &mut SignalState,
) -> Result<(), Box<Verdict>> {
    let recorded = SessionRecord::read_row(store.as_ref(), worktree_id, spec)
        .ok()
        .flatten();
    let Some(pid) = recorded
        .filter(|session| session.ended_at.is_none())
        .and_then(|session| session.pid)
    else {
        return Ok(());
    };
    // The system reuses pids: a process without a watchdog's mark is not that session.
    if !started_by_a_watchdog(pid) {
        return Ok(());
    }
    command_env.tell(&format!(
        "the session of a watchdog that was killed still runs (process {pid}): waiting for its end"
    ));
    match pid_wait::end_of(pid, timeout, signals).await {
        Ok(PidWaitOutcome::Ended | PidWaitOutcome::NotRunning) => Ok(()),
        Ok(PidWaitOutcome::Cancelled) => Err(Box::new(Verdict::new(
            Reason::Interrupted,
            format!(
                "interrupted while an earlier session still runs (process {pid}); nothing was started"
            ),
        ))),
        Ok(PidWaitOutcome::TimedOut) | Err(_) => Err(Box::new(Verdict::new(
            Reason::SessionActive,
            format!(
                "the session of a watchdog that was killed still runs (process {pid}); end it, then start the loop again"
            ),
        ))),
    }
}

//! Waits for the end of a process that somebody else started, until a signal asks for an end.

use std::time::Duration;

use watchdog_process::{CancelFlag, PidEnd, WaitPidError, wait_for_pid};

use super::signals::{SignalState, SignalUrgency};

/// Waits in a thread of its own. A first signal ends the waiting, not the process.
///
/// # Errors
/// When the process cannot be looked at.
pub async fn end_of(pid: u32, timeout: Option<Duration>, signals: &mut SignalState) -> Result<PidEnd, WaitPidError> {
    let cancel = CancelFlag::new();
    let waiting = {
        let cancel = cancel.clone();
        tokio::task::spawn_blocking(move || wait_for_pid(pid, &cancel, timeout))
    };
    tokio::pin!(waiting);
    let ended = tokio::select! {
        ended = &mut waiting => ended,
        () = signals.reached(SignalUrgency::Interrupted) => {
            cancel.cancel();
            waiting.await
        }
    };
    ended.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

//! Waits for the end of a process that somebody else started, until a signal asks for an end.

use std::time::Duration;

use crate::agent::{Cancel, PidEnd, WaitPidError, wait_for_pid};

use super::signals::{Signals, Urgency};

/// Waits in a thread of its own. A first signal ends the waiting, not the process.
///
/// # Errors
/// When the process cannot be looked at.
pub async fn end_of(pid: u32, timeout: Option<Duration>, signals: &mut Signals) -> Result<PidEnd, WaitPidError> {
    let cancel = Cancel::new();
    let waiting = {
        let cancel = cancel.clone();
        tokio::task::spawn_blocking(move || wait_for_pid(pid, &cancel, timeout))
    };
    tokio::pin!(waiting);
    let ended = tokio::select! {
        ended = &mut waiting => ended,
        () = signals.reached(Urgency::Interrupted) => {
            cancel.cancel();
            waiting.await
        }
    };
    ended.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}

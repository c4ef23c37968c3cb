//! Waits for the end of a process that another program started, until a signal asks for an end.

use std::time::Duration;

use watchdog_process::{CancelFlag, PidWaitOutcome, WaitPidError, wait_for_pid};

use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;

/// Waits in a thread of its own. A first signal ends the waiting, not the process.
///
/// # Errors
/// When the process table cannot be read.
pub async fn end_of(
    pid: u32,
    timeout: Option<Duration>,
    signals: &mut SignalState,
) -> Result<PidWaitOutcome, WaitPidError> {
    let cancel = CancelFlag::new();
    let waiting = {
        let cancel = cancel.clone();
        spawn_io(move || wait_for_pid(pid, &cancel, timeout))
    };
    signals.cancelling(&cancel, waiting).await
}

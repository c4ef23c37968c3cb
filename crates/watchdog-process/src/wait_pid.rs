//! Waits for the end of a process that another process started.
//!
//! On systems with handles of processes it opens one first: the handle names that very process,
//! even if its pid is reused. Elsewhere, and in sandboxes without them, it polls the pid, and takes
//! a process that reuses it between two polls for the first one.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use watchdog_system::{hold_process, wait_for_held};

use super::cancel::CancelFlag;

/// How a wait for a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PidWaitOutcome {
    /// It ran, and ended.
    Ended,
    /// There was no such process to begin with.
    NotRunning,
    /// It still ran when the time was over.
    TimedOut,
    /// It still ran when the wait was cancelled.
    Cancelled,
}

/// Why a process cannot be waited for.
#[derive(Debug, thiserror::Error)]
pub enum WaitPidError {
    /// Not a number that names a process.
    #[error("{pid} is not a process id")]
    NotAPid {
        /// As the caller gave it.
        pid: u32,
    },
    /// The own process does not end while it waits.
    #[error("{pid} is this process itself, which cannot wait for its own end")]
    Own {
        /// As the caller gave it.
        pid: u32,
    },
    /// A thread's id, say.
    #[error("failed to wait for process {pid}: {source}")]
    System {
        /// As the caller gave it.
        pid: u32,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// How often a pid is polled where there are no such handles.
const POLL: Duration = Duration::from_millis(100);

/// Waits until process `pid` has ended, be it a child or not, of any user.
/// [`PidWaitOutcome::NotRunning`] if it had ended before and only was not reaped yet.
///
/// # Errors
/// When `pid` cannot name a process, is this one, or the system refuses access.
pub fn wait_for_pid(
    pid: u32,
    cancel: &CancelFlag,
    timeout: Option<Duration>,
) -> Result<PidWaitOutcome, WaitPidError> {
    let target = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(WaitPidError::NotAPid { pid })?;
    if pid == std::process::id() {
        return Err(WaitPidError::Own { pid });
    }
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    match hold_process(target) {
        Ok(process) => {
            let mut seen = false;
            return Ok(poll_until_end(until, cancel, |limit| {
                let end = if seen {
                    PidWaitOutcome::Ended
                } else {
                    PidWaitOutcome::NotRunning
                };
                seen = true;
                wait_for_held(&process, None, limit).then_some(end)
            }));
        }
        Err(Errno::SRCH) => return Ok(PidWaitOutcome::NotRunning),
        Err(Errno::NOSYS | Errno::PERM) => {}
        Err(errno) => {
            return Err(WaitPidError::System {
                pid,
                source: errno.into(),
            });
        }
    }
    let mut seen = false;
    Ok(poll_until_end(until, cancel, |limit| {
        // Not being allowed to signal it proves that it is there.
        if test_kill_process(target) == Err(Errno::SRCH) {
            return Some(if seen {
                PidWaitOutcome::Ended
            } else {
                PidWaitOutcome::NotRunning
            });
        }
        seen = true;
        std::thread::sleep(limit);
        None
    }))
}

/// Calls `poll` with the time that it may take, first none at all, until it knows the end.
fn poll_until_end(
    until: Option<Instant>,
    cancel: &CancelFlag,
    mut poll: impl FnMut(Duration) -> Option<PidWaitOutcome>,
) -> PidWaitOutcome {
    let mut limit = Duration::ZERO;
    loop {
        if let Some(end) = poll(limit) {
            return end;
        }
        if cancel.is_cancelled() {
            return PidWaitOutcome::Cancelled;
        }
        limit = until.map_or(POLL, |until| {
            until.saturating_duration_since(Instant::now()).min(POLL)
        });
        if limit.is_zero() {
            return PidWaitOutcome::TimedOut;
        }
    }
}

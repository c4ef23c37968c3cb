//! A process that is held by a pidfd.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::ProcessHandle;

/// Holds the process that has this number now.
///
/// # Errors
/// `ESRCH` where there is none; `ENOSYS` or `EPERM` where the system has no such handles.
pub fn hold_process(pid: Pid) -> rustix::io::Result<ProcessHandle> {
    pidfd_open(pid, PidfdFlags::empty()).map(ProcessHandle)
}

/// Signals it.
///
/// # Errors
/// If it has ended, or is another user's.
pub fn signal_held(process: &ProcessHandle, signal: Signal) -> rustix::io::Result<()> {
    pidfd_send_signal(&process.0, signal)
}

/// Waits until it has ended; false if the time was over first, a signal came, or `alarm` became readable.
pub fn wait_for_held(
    process: &ProcessHandle,
    alarm: Option<BorrowedFd<'_>>,
    limit: Duration,
) -> bool {
    let time = Timespec::try_from(limit).unwrap_or(Timespec {
        tv_sec: 3600,
        tv_nsec: 0,
    });
    let ended = PollFd::new(&process.0, PollFlags::IN);
    let alarm = alarm.map(|alarm| PollFd::from_borrowed_fd(alarm, PollFlags::IN));
    let mut awaited: Vec<_> = [ended].into_iter().chain(alarm).collect();
    poll(&mut awaited, Some(&time)).is_ok() && !awaited[0].revents().is_empty()
}

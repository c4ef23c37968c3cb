//! Writes the log to stderr without ever being stuck there: a reader that is slow is waited for briefly, one that is gone not at all.

use std::io;
use std::sync::Mutex;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, write};
use watchdog_system::{PIPE_PIECE, lock_mutex};

/// How long a full stderr is waited for, once until it takes something again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Our stderr, for whole lines.
#[derive(Default)]
pub(super) struct LogWriter(Mutex<WriterState>);

#[derive(Default)]
struct WriterState {
    /// It was full when it was written to last.
    full: bool,
    /// A line was cut off.
    within_a_line: bool,
}

impl LogWriter {
    /// Writes lines; `false` where they could not be written, or not all of them.
    ///
    /// Not through the lock of [`io::stderr`]: whoever waits there for a slow reader must not make others wait for the log.
    pub(super) fn write(&self, lines: &[u8]) -> bool {
        let mut state = lock_mutex(&self.0);
        let begun = if state.within_a_line {
            [b"\n", lines].concat()
        } else {
            lines.to_vec()
        };
        let mut unwritten = begun.as_slice();
        while !unwritten.is_empty() {
            let patience = if state.full { Duration::ZERO } else { PATIENCE };
            let written = if is_ready(patience) {
                write(io::stderr(), &unwritten[..unwritten.len().min(PIPE_PIECE)])
            } else {
                Err(Errno::AGAIN)
            };
            match written {
                Ok(0) => return false,
                Ok(count) => {
                    state.full = false;
                    state.within_a_line = unwritten[count - 1] != b'\n';
                    unwritten = &unwritten[count..];
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    state.full = error == Errno::AGAIN;
                    return false;
                }
            }
        }
        true
    }
}

/// Whether stderr takes something within a time. A pipe without a reader is never ready.
fn is_ready(within: Duration) -> bool {
    let Ok(timeout) = Timespec::try_from(within) else {
        return false;
    };
    let stderr = io::stderr();
    let mut ends = [PollFd::new(&stderr, PollFlags::OUT)];
    loop {
        match poll(&mut ends, Some(&timeout)) {
            Err(Errno::INTR) => {}
            ready => {
                return ready.is_ok_and(|ready| ready > 0)
                    && ends[0].revents().contains(PollFlags::OUT);
            }
        }
    }
}

//! Tells of signals on a thread of its own. The event loop's own way reads a pipe and panics where that read fails, so that a watchdog on a
//! broken system could only be killed. Here the pipe does nothing but wake: what came is in flags, which are looked at even if no read works.

use std::io::{self, ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::{flag, low_level::pipe};

/// Between two looks at the flags where nothing else can wake this thread.
const WITHOUT_THE_PIPE: Duration = Duration::from_millis(100);

/// Calls `on_signal` for each of these signals from now on, until the process ends. A signal that comes again before that counts once.
///
/// # Errors
/// Where a handler, a descriptor or a thread cannot be had.
pub fn listen_to(
    signals: &[i32],
    mut on_signal: impl FnMut(i32) + Send + 'static,
) -> io::Result<()> {
    let (mut woken, wakes) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    let mut came = Vec::new();
    for &signal in signals {
        let flag = Arc::new(AtomicBool::new(false));
        // Handlers run in this order: what wakes the thread finds the flag set.
        flag::register(signal, Arc::clone(&flag))?;
        pipe::register(signal, wakes.try_clone()?)?;
        came.push((signal, flag));
    }
    let wait = move || loop {
        let is_woken = wait_for(&mut woken).is_ok();
        for (signal, came) in &came {
            if came.swap(false, Ordering::SeqCst) {
                on_signal(*signal);
            }
        }
        if !is_woken {
            sleep(WITHOUT_THE_PIPE);
        }
    };
    Builder::new().name("signals".into()).spawn(wait).map(drop)
}

/// Waits until a handler wrote, and takes what it wrote, so that the next wait is one.
fn wait_for(woken: &mut UnixStream) -> io::Result<()> {
    match poll(&mut [PollFd::new(woken, PollFlags::IN)], None) {
        Err(rustix::io::Errno::INTR) => return Ok(()),
        polled => polled?,
    };
    match woken.read(&mut [0; 64]) {
        Ok(1..) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(())
        }
        Ok(_) => Err(ErrorKind::UnexpectedEof.into()),
        Err(error) => Err(error),
    }
}

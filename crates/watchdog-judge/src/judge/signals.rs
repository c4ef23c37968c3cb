//! Handles signals to watchdog itself: the first asks for an end, the second ends the session at once, the third ends watchdog.
//!
//! A thread of its own tells of them. The event loop's own way reads a pipe and panics where that read fails, so that a watchdog on a
//! broken system could only be killed. Here the pipe only wakes: flags hold the signals, and are read even if no read of the pipe works.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;
use tokio::sync::watch;

use watchdog_process::CancelFlag;

/// How urgently signals asked for an end. Ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalUrgency {
    /// No signal came.
    None,
    /// End the session, judge and record its work so far.
    Interrupted,
    /// The same, without a grace period.
    Hurry,
}

/// The signals that were received so far.
#[derive(Debug, Clone)]
pub struct SignalState {
    urgency: watch::Receiver<SignalUrgency>,
    last: Arc<AtomicI32>,
}

impl SignalState {
    /// Listens from now on to INT, TERM, HUP and QUIT.
    ///
    /// # Errors
    /// Fails if a handler, a descriptor or a thread cannot be had.
    pub fn listen() -> std::io::Result<Self> {
        let (sender, urgency) = watch::channel(SignalUrgency::None);
        let last = Arc::new(AtomicI32::new(0));
        let seen = Arc::clone(&last);
        listen_to(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT], move |signal| {
            seen.store(signal, Ordering::Relaxed);
            let mut enough = false;
            sender.send_modify(|urgency| match *urgency {
                SignalUrgency::None => *urgency = SignalUrgency::Interrupted,
                SignalUrgency::Interrupted => *urgency = SignalUrgency::Hurry,
                SignalUrgency::Hurry => enough = true,
            });
            if enough {
                // A third signal asks for the prompt rather than a verdict.
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the sessions are killed already; nothing is left to drop"
                )]
                std::process::exit(128 + signal);
            }
        })?;
        Ok(SignalState { urgency, last })
    }

    /// A source that never fires, for embedders that handle signals themselves.
    pub fn none() -> Self {
        let (sender, urgency) = watch::channel(SignalUrgency::None);
        // The sender must outlive the receivers, or waiting for a change would end at once.
        std::mem::forget(sender);
        SignalState {
            urgency,
            last: Arc::new(AtomicI32::new(0)),
        }
    }

    /// The same signals, and one more reason to end: `other`, once it completes. Must be called inside the runtime.
    pub fn also(&self, end_signal: impl Future<Output = ()> + Send + 'static) -> SignalState {
        let (sender, urgency) = watch::channel(self.urgency());
        let mut own = self.urgency.clone();
        tokio::spawn(async move {
            tokio::pin!(end_signal);
            let (mut own_may_change, mut other_may_come) = (true, true);
            loop {
                let least = tokio::select! {
                    changed = own.changed(), if own_may_change => {
                        own_may_change = changed.is_ok();
                        *own.borrow()
                    }
                    () = &mut end_signal, if other_may_come => {
                        other_may_come = false;
                        SignalUrgency::Interrupted
                    }
                    () = sender.closed() => return,
                };
                sender.send_modify(|urgency| *urgency = least.max(*urgency));
            }
        });
        SignalState {
            urgency,
            last: Arc::clone(&self.last),
        }
    }

    /// The most urgent signal so far.
    pub fn urgency(&self) -> SignalUrgency {
        *self.urgency.borrow()
    }

    /// Whether a signal asked for an end.
    pub fn is_interrupted(&self) -> bool {
        self.urgency() >= SignalUrgency::Interrupted
    }

    /// The last signal's number; 0 if there was none.
    pub fn last(&self) -> i32 {
        self.last.load(Ordering::Relaxed)
    }

    /// Waits for a signal of at least this urgency.
    pub async fn wait_for_urgency(&mut self, at_least: SignalUrgency) {
        if self
            .urgency
            .wait_for(|urgency| *urgency >= at_least)
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the first signal that asks for an end.
    pub async fn wait_for_interrupt(&mut self) {
        self.wait_for_urgency(SignalUrgency::Interrupted).await;
    }

    /// Passes signals on to a running program: the first cancels it, the second takes its grace period away. Never ends.
    pub async fn escalate(&mut self, cancel: &CancelFlag) -> Infallible {
        self.wait_for_interrupt().await;
        cancel.cancel();
        self.wait_for_urgency(SignalUrgency::Hurry).await;
        cancel.cancel_now();
        std::future::pending().await
    }

    /// Waits for `work`, and cancels it once signals ask for an end at least this urgently.
    pub async fn cancelling<T>(&mut self, cancel: &CancelFlag, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        tokio::select! {
            done = &mut work => done,
            () = self.wait_for_interrupt() => {
                cancel.cancel();
                work.await
            }
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn first_signal_cancels_and_second_ends_grace() {
        let (sender, urgency) = watch::channel(SignalUrgency::None);
        let mut signals = SignalState {
            urgency,
            last: Arc::default(),
        };
        let cancel = CancelFlag::new();
        let mut escalation = Box::pin(signals.escalate(&cancel));
        for (urgency, cancelled, urgent) in [
            (SignalUrgency::None, false, false),
            (SignalUrgency::Interrupted, true, false),
            (SignalUrgency::Hurry, true, true),
        ] {
            sender.send_replace(urgency);
            tokio::select! {
                biased;
                never = &mut escalation => match never {},
                () = tokio::task::yield_now() => {}
            }
            assert_eq!(
                (cancel.is_cancelled(), cancel.is_urgent()),
                (cancelled, urgent),
                "{urgency:?}"
            );
        }
    }

    #[tokio::test]
    async fn work_that_is_cancelled_is_waited_for() {
        let (sender, urgency) = watch::channel(SignalUrgency::None);
        let mut signals = SignalState {
            urgency,
            last: Arc::default(),
        };
        let cancel = CancelFlag::new();
        assert_eq!(signals.cancelling(&cancel, async { 1 }).await, 1);
        assert!(!cancel.is_cancelled());
        sender.send_replace(SignalUrgency::Interrupted);
        let raised = cancel.clone();
        let work = async move {
            while !raised.is_cancelled() {
                tokio::task::yield_now().await;
            }
            2
        };
        assert_eq!(signals.cancelling(&cancel, work).await, 2);
    }
}

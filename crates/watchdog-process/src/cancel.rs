//! A flag that ends a wait early, shared between the source of a reason (a signal, a caller) and the waiting thread.

use std::io::{PipeReader, PipeWriter, Write as _, pipe};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

const WANTED: u8 = 1;
const URGENT: u8 = 2;

/// A flag that is raised once and never lowered. Clones share it. Waits poll it at least every 100 ms, or wait for its alarm.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    raised: AtomicU8,
    /// The ends of a pipe that is readable once the flag is raised; made for the first wait.
    alarm: OnceLock<Option<(PipeReader, PipeWriter)>>,
}

impl CancelFlag {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every wait that polls this flag; processes get their grace period.
    pub fn cancel(&self) {
        self.raise(WANTED);
    }

    /// The same without the grace period: kills the remaining processes. For a second signal.
    pub fn cancel_now(&self) {
        self.raise(URGENT);
    }

    fn raise(&self, to: u8) {
        self.0.raised.fetch_max(to, Ordering::SeqCst);
        if let Some(Some((_, writer))) = self.0.alarm.get() {
            let _ = (&mut &*writer).write_all(&[0]);
        }
    }

    /// A descriptor that is readable once the flag is raised. A wait takes it first, and then looks at the flag. A system may
    /// give no pipe.
    pub(super) fn alarm(&self) -> Option<BorrowedFd<'_>> {
        let (reader, _) = self.0.alarm.get_or_init(|| pipe().ok()).as_ref()?;
        Some(reader.as_fd())
    }

    /// Whether it was raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst) >= WANTED
    }

    /// Whether the grace period is to be skipped.
    pub fn is_urgent(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst) >= URGENT
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    #[test]
    fn cancel_flag_reaches_clones_and_keeps_its_urgency() {
        let flag = CancelFlag::new();
        let flag_clone = flag.clone();
        let alarm = flag_clone.alarm().expect("the system has a pipe");
        let rings = || {
            let mut alarm = [PollFd::from_borrowed_fd(alarm, PollFlags::IN)];
            poll(&mut alarm, Some(&Timespec::default())) == Ok(1)
        };
        assert!(!flag_clone.is_cancelled() && !rings());
        flag.cancel();
        assert!(flag_clone.is_cancelled() && !flag_clone.is_urgent() && rings());
        flag_clone.cancel_now();
        flag.cancel();
        assert!(flag.is_urgent());
    }
}

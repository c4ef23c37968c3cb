//! A flag that ends a wait early, shared between the source of a reason (a signal, a caller) and the waiting thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const WANTED: u8 = 1;
const URGENT: u8 = 2;

/// A flag that is raised once and never lowered. Clones share it. Waits poll it at least every 100 ms.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicU8>);

impl CancelFlag {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every wait that polls this flag; processes get their grace period.
    pub fn cancel(&self) {
        self.0.fetch_max(WANTED, Ordering::SeqCst);
    }

    /// The same without the grace period: kills the remaining processes. For a second signal.
    pub fn cancel_now(&self) {
        self.0.fetch_max(URGENT, Ordering::SeqCst);
    }

    /// Whether it was raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= WANTED
    }

    /// Whether the grace period is to be skipped.
    pub fn is_urgent(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= URGENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancel_flag_reaches_clones_and_keeps_its_urgency() {
        let flag = CancelFlag::new();
        let flag_clone = flag.clone();
        assert!(!flag_clone.is_cancelled());
        flag.cancel();
        assert!(flag_clone.is_cancelled() && !flag_clone.is_urgent());
        flag_clone.cancel_now();
        flag.cancel();
        assert!(flag.is_urgent());
    }
}

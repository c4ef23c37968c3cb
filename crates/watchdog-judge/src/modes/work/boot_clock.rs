//! The clock that leases are judged by here: time since boot, which nobody can set and which counts while the machine sleeps.

use std::time::Duration;

/// A moment since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootMoment(Duration);

impl BootMoment {
    /// Now.
    pub fn now() -> Self {
        BootMoment(watchdog_system::time_since_boot())
    }

    /// This long after it.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        BootMoment(self.0.saturating_add(duration))
    }

    /// How long until then; zero where it is past.
    pub fn remaining(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }

    /// Whether it is past.
    pub fn is_past(self) -> bool {
        self.remaining().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn future_moment_is_reached_and_then_past() {
        let soon = BootMoment::now().after(Duration::from_millis(30));
        assert!(!soon.is_past() && soon.remaining() <= Duration::from_millis(30));
        std::thread::sleep(soon.remaining());
        while !soon.is_past() {
            std::thread::yield_now();
        }
        assert!(BootMoment::now() >= soon);
        assert!(
            !BootMoment::now().after(Duration::MAX).is_past(),
            "the end of time is no overflow"
        );
    }
}

//! The clock of leases: time since boot, which no process can set.
//!
//! A lease of an earlier boot has expired, because no process of that boot is left. The clock counts during a suspend, too, and is the
//! same for every process. Without it, the wall clock replaces it.

use std::time::{SystemTime, UNIX_EPOCH};

use watchdog_system::BootReading;

use super::engine::EngineTime;

/// Now, and the boot that it counts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BootInstant {
    /// Names the boot; empty with the wall clock.
    pub boot: String,
    /// Milliseconds since then.
    pub at: EngineTime,
}

/// Reads the clock.
pub(super) fn boot_time() -> BootInstant {
    instant_of(watchdog_system::boot_reading())
}

fn instant_of(reading: Option<BootReading>) -> BootInstant {
    match reading {
        Some(BootReading { boot, milliseconds }) => BootInstant {
            boot,
            at: EngineTime(milliseconds),
        },
        None => BootInstant {
            boot: String::new(),
            at: EngineTime(wall_micros() / 1000),
        },
    }
}

/// Wall-clock microseconds since 1970.
pub(super) fn wall_micros() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let (first, second) = (boot_time(), boot_time());
        assert_eq!(first.boot, second.boot);
        assert!(second.at >= first.at);
    }

    #[test]
    fn system_without_boot_clock_uses_wall_clock_milliseconds() {
        let milliseconds = || {
            i64::try_from(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap()
                    .as_millis(),
            )
            .unwrap()
        };
        let before = milliseconds();
        let read = instant_of(None);
        assert_eq!(read.boot, "");
        assert!((before..=milliseconds()).contains(&read.at.0), "{read:?}");
    }
}

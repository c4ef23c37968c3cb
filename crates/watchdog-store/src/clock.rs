//! The clock of leases: time since boot, which no process can set.
//!
//! A lease of an earlier boot has expired, because no process of that boot is left. `/proc/uptime` counts during a suspend, too, and is the
//! same for every process. Without it, the wall clock replaces it.

use std::time::{SystemTime, UNIX_EPOCH};

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
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let uptime = std::fs::read_to_string("/proc/uptime").ok().and_then(|text| milliseconds(&text));
    match (boot, uptime) {
        (Ok(boot), Some(at)) => BootInstant { boot: boot.trim().to_string(), at: EngineTime(at) },
        _ => BootInstant { boot: String::new(), at: EngineTime(wall_micros() / 1000) },
    }
}

/// Wall-clock microseconds since 1970.
pub(super) fn wall_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX / 2)
}

/// `12.34 56.78` as milliseconds of the first number.
fn milliseconds(uptime: &str) -> Option<i64> {
    let (seconds, fraction) = uptime.split_whitespace().next()?.split_once('.')?;
    let fraction: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    seconds.parse::<i64>().ok()?.checked_mul(1000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_is_read_to_the_millisecond_and_nonsense_is_no_time() {
        for (text, expected) in
            [("12.34 5.6\n", Some(12_340)), ("0.01 0", Some(10)), ("7.5", Some(7_500)), ("", None), ("12", None), ("x.y", None)]
        {
            assert_eq!(milliseconds(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_clock_never_goes_back() {
        let (first, second) = (boot_time(), boot_time());
        assert_eq!(first.boot, second.boot);
        assert!(second.at >= first.at);
    }
}

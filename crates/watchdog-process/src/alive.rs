//! Whether a recorded process still runs, by the system's process table.

use std::time::Duration;

use jiff::Timestamp;

/// A recorded process began at most this long after the instant of its record.
#[cfg(target_os = "linux")]
const SLACK: Duration = Duration::from_secs(120);

/// Whether the process `pid`, written down at `recorded`, still runs. One that only waits to be reaped does not, and one
/// that began well after the record is another with the same number.
#[cfg(target_os = "linux")]
pub fn still_runs(pid: u32, recorded: Timestamp) -> bool {
    let Some(row) = super::process_table::read_one(pid).filter(|row| !row.dead) else { return false };
    let began = boot().and_then(|boot| {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        boot.checked_add(Duration::from_millis(row.started.saturating_mul(1000) / ticks)).ok()
    });
    // Without a boot time nothing speaks against it.
    began.is_none_or(|began| recorded.checked_add(SLACK).is_ok_and(|latest| began <= latest))
}

/// When this system was started, by its wall clock.
#[cfg(target_os = "linux")]
fn boot() -> Option<Timestamp> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

/// Whether the process `pid` runs. The system does not show since when.
#[cfg(not(target_os = "linux"))]
pub fn still_runs(pid: u32, _recorded: Timestamp) -> bool {
    let target = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    target.is_some_and(|target| rustix::process::test_kill_process(target) != Err(rustix::io::Errno::SRCH))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_one_that_was_recorded_long_before_it_began_does_not() {
        let own = std::process::id();
        assert!(still_runs(own, Timestamp::now()));
        assert!(!still_runs(own, Timestamp::UNIX_EPOCH), "another process had this number then");
        assert!(!still_runs(u32::MAX, Timestamp::now()));
    }
}

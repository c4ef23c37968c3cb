//! Whether a recorded process still runs, by the system's process table.

use std::time::Duration;

use jiff::Timestamp;
use watchdog_system::{ProcessLife, process_life};

/// A recorded process began at most this long after the instant of its record.
const SLACK: Duration = Duration::from_secs(120);

/// Whether the process `pid`, written down at `recorded`, still runs. A process that only waits to
/// be reaped does not, and one that began well after the record is another with the same number.
pub fn still_runs(pid: u32, recorded: Timestamp) -> bool {
    let ProcessLife::Running { began } = process_life(pid) else {
        return false;
    };
    let began = began.and_then(|began| Timestamp::UNIX_EPOCH.checked_add(began).ok());
    // Without a boot time nothing speaks against it.
    began.is_none_or(|began| {
        recorded
            .checked_add(SLACK)
            .is_ok_and(|latest| began <= latest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_runs_but_not_its_earlier_namesake() {
        let own = std::process::id();
        assert!(still_runs(own, Timestamp::now()));
        let shows_begin = watchdog_system::read_all().is_ok();
        assert_eq!(
            still_runs(own, Timestamp::UNIX_EPOCH),
            !shows_begin,
            "another process had this number then"
        );
        assert!(!still_runs(u32::MAX, Timestamp::now()));
    }
}

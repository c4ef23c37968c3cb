//! The hour. Everything else takes the time as a parameter.

use std::time::Duration;

use jiff::{Timestamp, Zoned};

/// The wall clock.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The wall clock in the zone of this machine: that of `TZ`, or the system's.
pub fn local_now() -> Zoned {
    Zoned::now()
}

/// Wall time since an instant; zero where the clock was set back.
pub fn since(at: Timestamp) -> Duration {
    Duration::try_from(now().duration_since(at)).unwrap_or_default()
}

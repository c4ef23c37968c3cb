//! The hour. Everything else takes the time as a parameter.

use jiff::Timestamp;

/// The wall clock.
pub fn now() -> Timestamp {
    Timestamp::now()
}

//! Durations in JSON: whole milliseconds, saturating.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer};

/// Whole milliseconds, saturating.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Writes whole milliseconds.
///
/// # Errors
/// Those of the format.
pub fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(millis(*duration))
}

/// Reads whole milliseconds.
///
/// # Errors
/// Where there is no such number.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

/// The same where there may be none.
pub mod optional {
    use super::{Deserialize, Deserializer, Duration, Serializer, millis};

    /// Writes whole milliseconds.
    ///
    /// # Errors
    /// Those of the format.
    pub fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => to.serialize_some(&millis(*duration)),
            None => to.serialize_none(),
        }
    }

    /// Reads whole milliseconds.
    ///
    /// # Errors
    /// Where there is another value.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(from)?.map(Duration::from_millis))
    }
}

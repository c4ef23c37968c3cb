//! Reads a time span, or a beginning, as a person writes it on the command line.

use std::time::Duration;

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinceTime {
    /// So long before now.
    Ago(Duration),
    /// An instant.
    At(jiff::Timestamp),
}

/// Reads a time span or an instant.
pub(super) fn parse_since(text: &str) -> Result<SinceTime, String> {
    let instant = || text.parse().map(SinceTime::At).map_err(|_| ());
    parse_duration(text)
        .map(SinceTime::Ago)
        .or_else(|_| instant())
        .map_err(|()| format!("'{text}' is neither a time span nor an instant; write 90s, 2h or 2026-03-04T05:06:07Z"))
}

/// Reads `90`, `90s`, `1.5m`, `1h30m` or `2 days` as a time span; a bare number is seconds.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let unreadable = || format!("'{text}' is not a time span; write 90s, 5m or 1h30m");
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| unreadable());
    }
    let signed: jiff::SignedDuration = text.parse().map_err(|_| unreadable())?;
    Duration::try_from(signed).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_is_time_span_or_instant() {
        assert_eq!(
            parse_since("2h"),
            Ok(SinceTime::Ago(Duration::from_secs(7200)))
        );
        for text in ["2026-03-04T05:06:07Z", "2026-03-04T07:06:07+02:00"] {
            assert_eq!(
                parse_since(text),
                Ok(SinceTime::At("2026-03-04T05:06:07Z".parse().unwrap())),
                "{text}"
            );
        }
        for text in ["", "yesterday", "-5s", "2026-03-04", "2026-13-04T05:06:07Z"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn time_spans_parse_with_or_without_unit() {
        for (text, millis) in [
            ("90", 90_000),
            ("90s", 90_000),
            ("1.5", 1500),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("0", 0),
            ("250ms", 250),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        for text in ["", "-5", "soon", "-5s", "1e400", "NaN"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}

//! Ages and sizes in words, for people. Pure.

use jiff::Timestamp;

pub use watchdog_facts::display::format_size;
use watchdog_facts::display::plural;

/// How long ago an instant was: `12 minutes ago`. Never more than one unit, as nobody needs the rest.
pub fn format_age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    let (count, unit) = match seconds {
        ..0 => return "in the future".into(),
        0..60 => return "just now".into(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        86_400..1_209_600 => (seconds / 86_400, "day"),
        1_209_600..5_184_000 => (seconds / 604_800, "week"),
        5_184_000..63_072_000 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    format!("{} ago", plural(count.unsigned_abs(), unit))
}

/// A count with its thousands apart: `1,234,567`.
pub fn group_thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let now: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
        for (seconds, want) in [
            (-5, "in the future"),
            (0, "just now"),
            (59, "just now"),
            (60, "1 minute ago"),
            (3599, "59 minutes ago"),
            (7200, "2 hours ago"),
            (86_400, "1 day ago"),
            (86_400 * 13, "13 days ago"),
            (86_400 * 14, "2 weeks ago"),
            (86_400 * 61, "2 months ago"),
            (86_400 * 800, "2 years ago"),
        ] {
            assert_eq!(
                format_age(now - jiff::SignedDuration::from_secs(seconds), now),
                want,
                "{seconds}"
            );
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (count, want) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(group_thousands(count), want);
        }
    }
}

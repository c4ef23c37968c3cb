//! The figures of everything that goes on, said alike in the live view, below a session and above a loop. Pure.

use std::time::Duration;

use jiff::Timestamp;
use watchdog_core::decision::termination::SpentUsage;

/// A length of time as a clock shows it: `0:07`, `12:03`, `1:02:03`.
pub fn format_clock(length: Duration) -> String {
    let seconds = length.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A length of time with its limit: `12:03 of 30:00`.
pub fn format_elapsed(elapsed: Duration, limit: Option<Duration>) -> String {
    let of = limit.map(|limit| format!(" of {}", format_clock(limit)));
    format_clock(elapsed) + &of.unwrap_or_default()
}

/// The time between two instants; zero where the clock was set back.
pub fn measure_elapsed(since: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(since)).unwrap_or_default()
}

/// US dollars: `$1.23`.
pub fn format_dollars(cost: f64) -> String {
    format!("${cost:.2}")
}

/// `950`, `12.3k`, `4.5M`.
pub fn format_thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// The cost and the tokens; empty where none was told.
pub fn format_spent(spent: &SpentUsage) -> [String; 2] {
    let cost = (spent.cost_usd > 0.0).then(|| format_dollars(spent.cost_usd));
    let tokens = (spent.tokens > 0).then(|| format!("{} tokens", format_thousands(spent.tokens)));
    [cost, tokens].map(Option::unwrap_or_default)
}

/// The parts of a line of progress, those that say nothing left out.
pub fn progress_line(parts: impl IntoIterator<Item = String>) -> String {
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_shows_hours_only_when_present() {
        for (seconds, shown) in [
            (0, "0:00"),
            (7, "0:07"),
            (723, "12:03"),
            (3600, "1:00:00"),
            (36_061, "10:01:01"),
        ] {
            assert_eq!(format_clock(Duration::from_secs(seconds)), shown);
        }
    }

    #[test]
    fn figures_are_short_and_empty_parts_omitted() {
        assert_eq!(
            [950, 45_120, 4_560_000].map(format_thousands),
            ["950", "45.1k", "4.5M"]
        );
        assert_eq!(
            progress_line(["1:00".into(), String::new(), format_dollars(1.234)]),
            "1:00 · $1.23"
        );
    }
}

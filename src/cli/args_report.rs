//! The words of `watchdog report`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jiff::tz::TimeZone;

use super::time_span::{SinceTime, parse_since};
use watchdog_facts::page_address;

const AFTER_HELP: &str = concat!(
    "\
Figures of whole days, by UTC; they are kept for a year and outlive the events that they came from. What was not told by \
every session, such as its cost, says by how many it was not. `watchdog events` has what happened, one by one.

  watchdog report  the last 7 days, every worktree
  watchdog report ~/projects --since 4w
  watchdog report --since 2026-03-04 --json
  watchdog report --fleet  every machine of the fleet; 16: server away
  watchdog report --since 52w --html report.html  a page with charts and filters

`watchdog schema report` describes the JSON. The definition of each measure:
",
    page_address!("report.md")
);

/// Arguments of `watchdog report`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ReportArgs {
    /// Only worktrees at or below these paths, or else the one that a path is in [default: every worktree, or those at or below -C]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// How far back: 7d, 4w, or a start date (2026-03-04)
    #[arg(long, value_name = "WHEN", default_value = "7d", value_parser = parse_report_start)]
    pub since: SinceTime,
    /// Of every machine of the fleet, from what they share
    #[arg(long, conflicts_with = "paths")]
    pub fleet: bool,
    /// Write a page for browsers to FILE, which loads nothing from elsewhere; - is stdout
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub html: Option<PathBuf>,
}

/// Reads a number of days, or a day.
fn parse_report_start(text: &str) -> Result<SinceTime, String> {
    let of_days = |days: &str, each: u64| {
        days.parse::<u64>()
            .ok()
            .and_then(|days| days.checked_mul(each * 86_400))
            .map(|seconds| SinceTime::Ago(Duration::from_secs(seconds)))
    };
    let days = text
        .strip_suffix('d')
        .and_then(|days| of_days(days, 1))
        .or_else(|| text.strip_suffix('w').and_then(|weeks| of_days(weeks, 7)));
    let day = || {
        Some(SinceTime::At(
            text.parse::<jiff::civil::Date>()
                .ok()?
                .to_zoned(TimeZone::UTC)
                .ok()?
                .timestamp(),
        ))
    };
    days.or_else(day)
        .map_or_else(|| parse_since(text), Ok)
        .map_err(|_| {
            format!("'{text}' is neither a time span nor a day; write 7d, 4w or 2026-03-04")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_begins_at_day_count_or_day() {
        let days = |days: u64| SinceTime::Ago(Duration::from_secs(days * 86_400));
        let at = |text: &str| SinceTime::At(text.parse().unwrap());
        for (text, expected) in [
            ("7d", days(7)),
            ("4w", days(28)),
            ("48h", days(2)),
            ("2026-03-04", at("2026-03-04T00:00:00Z")),
            ("2026-03-04T05:06:07Z", at("2026-03-04T05:06:07Z")),
        ] {
            assert_eq!(parse_report_start(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "-7d",
            "2026-13-04",
            "99999999999999999999d",
            "d",
        ] {
            assert!(
                parse_report_start(text).is_err_and(|why| why.contains("write 7d")),
                "{text}"
            );
        }
    }
}

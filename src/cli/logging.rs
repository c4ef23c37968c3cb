//! Whether and what is logged: `-v`, or `WATCHDOG_LOG` where no `-v` is given. Without either no subscriber is installed, and logging costs nothing.

use std::ffi::{OsStr, OsString};

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use watchdog_core::config::nearest_hint;

use super::args_global::GlobalArgs;
use super::failure::CommandFailure;
use super::log_lines::LogLines;

/// The variable with a filter.
pub const FILTER_VARIABLE: &str = "WATCHDOG_LOG";

/// Every target, without the `watchdog::` that they have in common. docs/logs.md says what each is for.
pub const TARGETS: [&str; 12] = [
    "decision", "git", "agent", "checks", "store", "rescue", "session", "sweep", "watch", "task",
    "notify", "fleet",
];

/// The levels, for people.
const LEVELS: &str = "off, error, warn, info, debug or trace";

/// Begins to log, where that is asked for.
///
/// # Errors
/// Fails if the environment's filter cannot be understood. Logging stays off then.
pub fn start_logging(global: &GlobalArgs) -> Result<(), CommandFailure> {
    let Some(filter) = filter_of(global.verbose, std::env::var_os(FILTER_VARIABLE))? else {
        return Ok(());
    };
    // Only an embedder that set its own subscriber makes this fail, and then that one is used.
    let _ = Registry::default()
        .with(LogLines::new(filter, global.log_format))
        .try_init();
    Ok(())
}

/// Chooses the log levels; `None` logs no event. The flag wins.
fn filter_of(verbose: u8, variable: Option<OsString>) -> Result<Option<Targets>, CommandFailure> {
    let level = match (verbose, variable.filter(|filter| !filter.is_empty())) {
        (0, None) => return Ok(None),
        (0, Some(filter)) => {
            return parse_filter(&filter)
                .map(Some)
                .map_err(|why| refuse_filter(&filter, &why));
        }
        (1, _) => Level::INFO,
        (2, _) => Level::DEBUG,
        (_, _) => Level::TRACE,
    };
    Ok(Some(Targets::new().with_target("watchdog", level)))
}

/// Reads levels and `target=level`, separated by commas. The longest target that fits an event counts.
fn parse_filter(filter: &OsStr) -> Result<Targets, String> {
    let filter = filter.to_str().ok_or("it is not UTF-8")?;
    let mut targets = Targets::new();
    for part in filter
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let (target, level) = match part.split_once('=') {
            Some((target, word)) => (Some(target.trim()), Some(word.trim())),
            None if level_of(part).is_some() => (None, Some(part)),
            None => (Some(part), None),
        };
        // A target alone means all of it.
        let level = match level {
            Some(word) => {
                level_of(word).ok_or_else(|| format!("'{word}' is no level; write {LEVELS}"))?
            }
            None => LevelFilter::TRACE,
        };
        targets = match target {
            None => targets.with_target("watchdog", level),
            Some(target) => targets.with_target(full_name(target)?, level),
        };
    }
    Ok(targets)
}

fn level_of(word: &str) -> Option<LevelFilter> {
    // Numbers are levels, too, for `tracing`; nobody would know which.
    word.parse()
        .ok()
        .filter(|_| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic()))
}

/// A target by its full name. `watchdog::git` and `git` are the same.
fn full_name(target: &str) -> Result<String, String> {
    let short = target.strip_prefix("watchdog::").unwrap_or(target);
    match short {
        "watchdog" => Ok(short.to_owned()),
        _ if TARGETS.contains(&short) => Ok(format!("watchdog::{short}")),
        _ => {
            let near = nearest_hint(short, TARGETS.iter().copied());
            Err(format!(
                "'{target}' is neither a level ({LEVELS}) nor a target ({}){near}",
                TARGETS.join(", ")
            ))
        }
    }
}

fn refuse_filter(filter: &OsStr, why: &str) -> CommandFailure {
    let filter = filter.to_string_lossy();
    CommandFailure::usage(format!("cannot read {FILTER_VARIABLE}='{filter}': {why}")).hint(format!(
        "write a level, or targets with levels, such as {FILTER_VARIABLE}=debug or {FILTER_VARIABLE}=watchdog::git=trace,info"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(verbose: u8, filter: &str, target: &str, level: Level) -> bool {
        let read = filter_of(verbose, Some(filter.into()))
            .unwrap_or_else(|failure| panic!("{}", failure.message));
        read.is_some_and(|targets| targets.would_enable(target, &level))
    }

    #[test]
    fn flags_name_levels_and_win_over_the_variable() {
        for (verbose, level, more) in [
            (1, Level::INFO, Level::DEBUG),
            (2, Level::DEBUG, Level::TRACE),
        ] {
            assert!(
                logs(verbose, "trace", "watchdog::git", level)
                    && !logs(verbose, "trace", "watchdog::git", more),
                "{verbose}"
            );
        }
        for verbose in [3, 4, 255] {
            assert!(logs(verbose, "off", "watchdog::store", Level::TRACE));
            assert!(
                !logs(verbose, "trace", "hyper::client", Level::ERROR),
                "others are not watchdog's own"
            );
        }
        assert!(filter_of(0, None).is_ok_and(|filter| filter.is_none()));
        assert!(filter_of(0, Some("".into())).is_ok_and(|filter| filter.is_none()));
        assert!(
            filter_of(1, Some("nonsense".into())).is_ok(),
            "it is not even read"
        );
    }

    #[test]
    fn a_filter_names_levels_and_targets() {
        for (filter, target, level, logged) in [
            ("debug", "watchdog::git", Level::DEBUG, true),
            ("DEBUG", "watchdog::git", Level::TRACE, false),
            (
                "watchdog::git=trace,info",
                "watchdog::git",
                Level::TRACE,
                true,
            ),
            (
                "watchdog::git=trace,info",
                "watchdog::store",
                Level::DEBUG,
                false,
            ),
            (" git = trace , ", "watchdog::git", Level::TRACE, true),
            ("git=trace", "watchdog::decision", Level::INFO, false),
            ("store", "watchdog::store", Level::TRACE, true),
            ("watchdog", "watchdog::store", Level::TRACE, true),
            ("trace,store=off", "watchdog::store", Level::INFO, false),
        ] {
            assert_eq!(
                logs(0, filter, target, level),
                logged,
                "{filter} {target} {level}"
            );
        }
    }

    #[test]
    fn invalid_filter_names_a_valid_filter() {
        for (filter, named) in [
            ("loud", "'loud' is neither a level (off,"),
            ("gti=debug", "`git`"),
            ("watchdog::gi=debug", "`git`"),
            ("git=loud", "'loud' is no level"),
            ("git=", "'' is no level"),
            ("=debug", "'' is neither a level"),
            ("3", "'3' is neither"),
            ("git=debug=x", "'debug=x' is no level"),
        ] {
            let failure = filter_of(0, Some(filter.into())).expect_err(filter);
            assert!(failure.message.contains(named), "{}", failure.message);
            assert!(
                failure
                    .hint
                    .is_some_and(|hint| hint.contains("WATCHDOG_LOG=watchdog::git=trace,info"))
                    && failure.code == 2
            );
        }
    }
}

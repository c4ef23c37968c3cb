//! A loop in words for people.

use std::time::Duration;

use watchdog_core::decision::iteration::next::PauseReason;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_facts::display::time_span;

/// The result of an iteration, in one line.
pub fn in_words(record: &IterationRecord, message: &str) -> String {
    let crash = record
        .crash
        .as_deref()
        .map(|why| format!("; the session ended badly: {why}"))
        .unwrap_or_default();
    let (number, seconds) = (record.number, record.duration.as_secs());
    format!(
        "iteration {number} after {seconds} s: {} ({}): {message}{crash}",
        record.reason.status().as_str(),
        record.reason.as_str()
    )
}

/// The handling of silent sessions, in words.
pub fn about_silence(idle_timeout: Option<Duration>) -> String {
    match idle_timeout {
        Some(limit) => format!(
            "ends a session that is silent for {} (--idle-timeout)",
            time_span(limit)
        ),
        None => "ends no session for its silence (--idle-timeout 30m would)".to_string(),
    }
}

/// The reason for a pause, in words.
pub fn why_in_words(why: PauseReason) -> &'static str {
    match why {
        PauseReason::Cooldown => "cooldown",
        PauseReason::UsageLimit => "a usage limit was met",
        PauseReason::Overload => "no room for the session",
        PauseReason::Crash => "the session ended badly",
        PauseReason::BackgroundWork => "work goes on elsewhere",
    }
}

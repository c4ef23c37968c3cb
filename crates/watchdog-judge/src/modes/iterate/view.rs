//! A loop for people: its status for a live view, and its messages.

use std::time::Duration;

use jiff::Timestamp;

use watchdog_agent::stream::StreamTap;
use watchdog_core::decision::breaker::BreakerView;
use watchdog_core::decision::iteration::next::PauseReason;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::display::time_span;

/// The present status of a loop.
#[derive(Debug, Clone)]
pub struct LoopStatus {
    /// The name of the work.
    pub spec: String,
    /// The iteration that runs or ran last, from 1; 0 before the first.
    pub iteration: u32,
    /// The cap.
    pub max_iterations: u32,
    /// When this process began with it.
    pub since: Timestamp,
    /// Its phase.
    pub phase: LoopPhase,
    /// The usage of the sessions that ended.
    pub spent: SpentUsage,
    /// The breaker, where it is known.
    pub breaker: Option<BreakerView>,
    /// The output of the session that runs.
    pub tap: Option<StreamTap>,
}

/// The phase of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopPhase {
    /// A session runs.
    Session {
        /// Since then.
        since: Timestamp,
        /// How long it may run at most.
        limit: Option<Duration>,
    },
    /// Its session is being judged.
    Judging,
    /// The loop idles until then.
    Pause {
        /// When the pause ends.
        until: Timestamp,
        /// The reason of the pause.
        why: PauseReason,
    },
}

/// Shows the state of a loop. Called often; must not block.
pub trait LoopView: Send + Sync {
    /// Something changed.
    fn show(&self, status: &LoopStatus);
}

/// Shows nothing; the lines of progress remain.
impl LoopView for () {
    fn show(&self, _status: &LoopStatus) {}
}

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

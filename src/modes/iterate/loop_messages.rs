//! A loop in words for people, and in JSON for programs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::wire::verdict_json::millis;
use watchdog_core::decision::iteration::next::PauseFor;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_store::looped::LoopRecord;

/// What an iteration came to, in one line.
pub fn in_words(record: &IterationRecord, message: &str) -> String {
    let crash = record.crash.as_deref().map(|why| format!("; the session ended badly: {why}")).unwrap_or_default();
    let (number, seconds) = (record.number, record.duration.as_secs());
    format!("iteration {number} after {seconds} s: {} ({}): {message}{crash}", record.reason.status().as_str(), record.reason.as_str())
}

/// An iteration, as in `loop.history` of a verdict and in the journal.
pub fn record_json(record: &IterationRecord) -> Value {
    json!({
        "iteration": record.number,
        "at": record.at.to_string(),
        "duration_ms": millis(record.duration),
        "status": record.reason.status().as_str(),
        "reason": record.reason.as_str(),
        "message": record.message,
        "crash": record.crash,
        "commits": record.commits,
        "log": record.log,
    })
}

/// A loop, as in `loop` of a verdict.
pub fn loop_json(record: &LoopRecord, spent: &SpentUsage, first_baseline: &str, resumed: bool, over: bool) -> Value {
    let SpentUsage { turns, tokens, cost_usd, wall_seconds, untold } = *spent;
    json!({
        "id": record.id,
        "begun_at": record.begun_at.to_string(),
        "first_baseline": first_baseline,
        "resumed": resumed,
        "over": over,
        "spent": {
            // A sum of which nothing was told is unknown, not zero.
            "turns": (turns > 0 || !untold.turns).then_some(turns),
            "tokens": (tokens > 0 || !untold.tokens).then_some(tokens),
            "cost_usd": (cost_usd > 0.0 || !untold.cost).then_some(cost_usd),
            "wall_seconds": wall_seconds,
        },
        "history": record.records.iter().map(record_json).collect::<Vec<_>>(),
    })
}

/// What becomes of a session that falls silent.
pub fn about_silence(idle_timeout: Option<Duration>) -> String {
    match idle_timeout {
        Some(limit) => format!("ends a session that is silent for {} s (--idle-timeout)", limit.as_secs_f64()),
        None => "ends no session for its silence (--idle-timeout 30m would)".to_string(),
    }
}

/// What a pause is for.
pub fn why_in_words(why: PauseFor) -> &'static str {
    match why {
        PauseFor::Cooldown => "cooldown",
        PauseFor::UsageLimit => "a usage limit was met",
        PauseFor::Overload => "no room for the session",
        PauseFor::Crash => "the session ended badly",
        PauseFor::BackgroundWork => "work goes on elsewhere",
    }
}

//! A breaker as JSON: in a verdict, in the journal, in the status, and for `watchdog breaker --json`.

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_core::decision::breaker::{BreakerState, BreakerView};

/// A breaker whose configuration may be unknown.
pub struct BreakerFields<'a> {
    /// The three states.
    pub state: BreakerState,
    /// Strikes since the last `complete`.
    pub strikes: u32,
    /// Strikes that open it, where that is known.
    pub limit: Option<u64>,
    /// When one trial is let through, where that is known; only while it is open.
    pub open_until: Option<Timestamp>,
    /// When it opened.
    pub since: Option<Timestamp>,
    /// Why the last strike was one.
    pub why: Option<&'a str>,
}

/// The object of every place that has a breaker.
pub fn breaker_fields_json(breaker: &BreakerFields<'_>) -> Value {
    json!({
        "state": breaker.state.as_str(),
        "strikes": breaker.strikes,
        "limit": breaker.limit,
        "open_until": breaker.open_until.map(|at| at.to_string()),
        "since": breaker.since.map(|at| at.to_string()),
        "why": breaker.why,
    })
}

/// A breaker as its configuration has it now.
pub fn breaker_json(view: &BreakerView) -> Value {
    breaker_fields_json(&BreakerFields {
        state: view.state,
        strikes: view.strikes,
        limit: Some(view.limit.into()),
        open_until: view.open_until,
        since: view.since,
        why: view.why.as_deref(),
    })
}

/// The breaker of a worktree, for `watchdog breaker --json`.
pub fn shown_breaker_json(worktree: &str, spec: &str, view: &BreakerView) -> Value {
    json!({"schema": 1, "worktree": worktree, "spec": spec, "breaker": breaker_json(view)})
}

/// A breaker that a person closed, as an event has it.
pub fn breaker_reset_data() -> Value {
    json!({"state": BreakerState::Closed.as_str(), "strikes": 0, "why": "reset by hand"})
}

//! A breaker as JSON: for `watchdog breaker --json`, and the event of its reset.

use serde_json::{Value, json};

use watchdog_core::decision::breaker::{BreakerState, BreakerView};

/// The breaker of a worktree, for `watchdog breaker --json`.
pub fn shown_breaker_json(worktree: &str, spec: &str, view: &BreakerView) -> Value {
    json!({"schema": 1, "worktree": worktree, "spec": spec, "breaker": view})
}

/// A breaker that a person closed, as an event has it.
pub fn breaker_reset_data() -> Value {
    json!({"state": BreakerState::Closed, "strikes": 0, "why": "reset by hand"})
}

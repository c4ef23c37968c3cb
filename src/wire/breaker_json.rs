//! A breaker as JSON: in a verdict, in the journal, in the status, and for `watchdog breaker --json`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use watchdog_core::decision::breaker::{BreakerState, BreakerView};

/// A breaker as every place has it. Limit and cooldown are the configuration's, which not every place reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerFields {
    /// Strikes that open it, where that is known.
    pub limit: Option<u64>,
    /// When one trial is let through, where that is known; only while it is open.
    pub open_until: Option<Timestamp>,
    /// When it opened.
    pub since: Option<Timestamp>,
    /// The three states.
    pub state: BreakerState,
    /// Strikes since the last `complete`.
    pub strikes: u32,
    /// Why the last strike was one.
    pub why: Option<String>,
}

impl From<&BreakerView> for BreakerFields {
    fn from(view: &BreakerView) -> Self {
        BreakerFields {
            limit: Some(view.limit.into()),
            open_until: view.open_until,
            since: view.since,
            state: view.state,
            strikes: view.strikes,
            why: view.why.clone(),
        }
    }
}

/// The breaker of a worktree, for `watchdog breaker --json`.
pub fn shown_breaker_json(worktree: &str, spec: &str, view: &BreakerView) -> Value {
    json!({"schema": 1, "worktree": worktree, "spec": spec, "breaker": BreakerFields::from(view)})
}

/// A breaker that a person closed, as an event has it.
pub fn breaker_reset_data() -> Value {
    json!({"state": BreakerState::Closed, "strikes": 0, "why": "reset by hand"})
}

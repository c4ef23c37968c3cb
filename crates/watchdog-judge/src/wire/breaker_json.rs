//! A breaker as JSON: in a verdict, in the journal, in the status, and for `watchdog breaker --json`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use watchdog_core::decision::breaker::{Breaker, BreakerState, BreakerView};

/// A breaker as every place has it. Limit and cooldown are the configuration's, which not every place reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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

impl BreakerFields {
    /// As it is recorded. Its limit and cooldown are the configuration's, which nobody reads here: the last verdict (`judged`) told them.
    pub fn from_record(breaker: Breaker, judged: Option<&Self>, now: Timestamp) -> Self {
        let until = judged.and_then(|breaker| breaker.open_until);
        let (state, since, why) = match &breaker {
            Breaker::Closed { why, .. } => (BreakerState::Closed, None, why.clone()),
            // As `watchdog breaker` shows it: once the cooldown is over.
            Breaker::Open { since, why, .. }
                if until.is_some_and(|until| *since < until && until <= now) =>
            {
                (BreakerState::HalfOpen, Some(*since), Some(why.clone()))
            }
            Breaker::Open { since, why, .. } => {
                (BreakerState::Open, Some(*since), Some(why.clone()))
            }
            Breaker::HalfOpen { since, why, .. } => {
                (BreakerState::HalfOpen, Some(*since), Some(why.clone()))
            }
        };
        BreakerFields {
            state,
            strikes: breaker.strikes(),
            limit: judged.and_then(|breaker| breaker.limit),
            open_until: until.filter(|until| state == BreakerState::Open && now < *until),
            since,
            why,
        }
    }

    /// Closed, and without a strike.
    pub fn is_clean(&self) -> bool {
        self.state == BreakerState::Closed && self.strikes == 0
    }
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

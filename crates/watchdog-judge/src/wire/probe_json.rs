//! The answer to one question as JSON: the output of `watchdog probe`.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_facts::evidence::ProbeOutcome;
use watchdog_facts::verdict::ProbeUsage;

use super::verdict_json::{retry_at_of, shown_reply};

/// The session that was probed.
#[derive(Serialize)]
pub struct ProbedSession<'a> {
    /// The agent's own name for it, where it is known.
    pub id: Option<&'a str>,
    /// How it is known.
    pub known_by: &'static str,
}

/// `watchdog probe --json`. Without a session where the answer was read from a file.
pub fn probe_answer_json(
    outcome: &ProbeOutcome,
    disputed: Option<&str>,
    session: Option<ProbedSession<'_>>,
    usage: &ProbeUsage,
) -> Value {
    json!({
        "schema": 1,
        "outcome": outcome.as_str(),
        "reply": shown_reply(outcome),
        "disputed": disputed,
        "why": outcome.why(),
        "retry_at": retry_at_of(outcome),
        "session": session,
        "usage": usage,
    })
}

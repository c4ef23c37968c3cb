//! The `data` of the events that hooks of the agent write: a session's beginning and end, and the answer to a stop. See `docs/events.md`.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_facts::verdict::{Reason, Status};

/// A session that begins or goes on, as its hook says. `inner` = inside of another one that watchdog knows.
pub fn hook_session_started_data(
    pid: Option<u32>,
    session_id: Option<&str>,
    source: Option<&str>,
    inner: bool,
) -> Value {
    json!({"pid": pid, "session_id": session_id, "source": source, "by": "hook", "inner": inner})
}

/// A session that ends, as its hook says.
pub fn hook_session_ended_data(end: Option<&str>, session_id: Option<&str>, inner: bool) -> Value {
    json!({"end": end, "session_id": session_id, "by": "hook", "inner": inner})
}

/// The answer to an agent that wants to stop, or that gives its output, as an event has it.
#[derive(Serialize)]
pub struct StopAnswer<'a> {
    /// The hook, as it is called on the command line.
    pub event: &'a str,
    /// The session that asks.
    pub session_id: Option<&'a str>,
    /// The helper of that session that asks, where it is one.
    pub agent_id: Option<&'a str>,
    /// Why the agent stops, in its own words.
    pub stop_reason: Option<&'a str>,
    /// `held` where it may not stop, else `let_go`.
    pub answer: &'static str,
    /// The status of what was decided.
    pub status: Option<Status>,
    /// The reason of the decision; without it, there was no decision.
    pub reason: Option<Reason>,
    /// The message to the agent, or its user.
    pub message: &'a str,
    /// How often it was held in a row; `None` where that could not be read.
    #[serde(rename = "held")]
    pub times_held: Option<u32>,
    /// How often that may be at most.
    pub most: u32,
}

//! The `data` of the events about a session: its beginning, its end, and the limit that ended it. See `docs/events.md`.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_facts::context::SessionUsage;
use watchdog_facts::evidence::SessionEnd;
use watchdog_facts::verdict::Reason;

/// A session that watchdog started, by its process, its command line and its agent.
pub fn session_started_data(pid: u32, argv: &[String], agent: Option<&str>) -> Value {
    json!({"pid": pid, "argv": argv, "agent": agent})
}

/// A session that watchdog saw end.
#[derive(Serialize)]
pub struct SeenSessionEnd<'a> {
    /// How it ended, in a word or two.
    pub end: String,
    /// The agent's own name for it.
    pub session_id: Option<&'a str>,
    /// The agent that it was, where that is known.
    pub agent: Option<&'a str>,
    /// How many processes outlived it.
    pub survivors: usize,
    /// The usage that it spent.
    pub usage: SeenUsage<'a>,
    /// How the agent's program says that it ended.
    pub ended: Option<&'a str>,
    /// How often the agent's service was asked again; `None` where its program does not print that.
    pub retries: Option<u64>,
}

/// The usage of a run of a session. A figure that is `None` is unknown.
#[derive(Serialize)]
pub struct SeenUsage<'a> {
    /// Of this run alone.
    #[serde(flatten)]
    pub of_run: &'a SessionUsage,
    /// US dollars of the session, earlier runs of it included.
    pub session_cost_usd: Option<f64>,
    /// Tokens that the session's program counts as read for the whole session, earlier runs of it included.
    pub session_input_tokens: Option<u64>,
    /// The same, written.
    pub session_output_tokens: Option<u64>,
}

/// Reads the cost of a session in US dollars from the event of its end; `None` if its program did
/// not tell that.
pub fn ended_session_cost(data: &Value) -> Option<f64> {
    data["usage"]["cost_usd"].as_f64()
}

/// The agent that ran a session, by the name or path of its preset, by the event of its end; `None` where that is unknown.
pub fn ran_by(data: &Value) -> Option<String> {
    data["agent"].as_str().map(str::to_owned)
}

/// Tokens of the whole session, read and written, by the event of its end; `None` where its program counts each run on its own.
pub fn session_tokens_of(data: &Value) -> Option<(u64, u64)> {
    let usage = &data["usage"];
    Some((
        usage["session_input_tokens"].as_u64()?,
        usage["session_output_tokens"].as_u64()?,
    ))
}

/// The limit that ended a session; `None` where none did.
pub fn session_limit_data(end: Option<&SessionEnd>) -> Option<Value> {
    let (reason, why, retry_at) = match end? {
        SessionEnd::OverLimit { stop } => (stop.reason, &stop.why, None),
        SessionEnd::RateLimited { why, retry_at } => (Reason::RateLimited, why, *retry_at),
        _ => return None,
    };
    Some(json!({"reason": reason, "why": why, "retry_at": retry_at}))
}

/// How a session ended, in a word or two.
pub fn end_word(end: Option<&SessionEnd>) -> String {
    match end {
        Some(SessionEnd::Ended { exit } | SessionEnd::CutShort { exit, .. }) => exit.to_string(),
        Some(SessionEnd::TimedOut { .. }) => "timed out".into(),
        Some(SessionEnd::Idle { .. }) => "silent".into(),
        Some(SessionEnd::RateLimited { .. }) => "usage limit".into(),
        Some(SessionEnd::OverLimit { stop }) => stop.reason.as_str().into(),
        Some(SessionEnd::LeftWork { exit, .. }) => exit.to_string(),
        Some(SessionEnd::Unrunnable { .. }) => "agent unrunnable".into(),
        Some(SessionEnd::NotStarted { .. } | SessionEnd::NotKept { .. }) | None => {
            "not started".into()
        }
    }
}

//! The part of an answer in one event: the events of all known programs in the same few forms, which
//! [`crate::envelope`] folds.
//!
//! Each program's file reads its own events, for sessions and for answers; Antigravity's for sessions only.

use serde_json::Value;

use super::fields::{cut_middle, error_message, get_list, get_text};
use super::{claude, codex, copilot, gemini, opencode};

/// The members of an event that are read here; the others need not be kept.
pub(crate) const REPLY_MEMBERS: &[&str] = &[
    "type",
    "subtype",
    "is_error",
    "result",
    "structured_output",
    "structured_result",
    "session_id",
    "thread_id",
    "sessionID",
    "sessionId",
    "conversation_id",
    "api_error_status",
    "terminal_reason",
    "errors",
    "error",
    "message",
    "item",
    "part",
    "response",
    "status",
    "parent_tool_use_id",
    "is_api_error_message",
    "msg",
    "data",
    "exitCode",
];

/// The part of an answer in one event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReplyEvent {
    /// An event of a known program without meaning here.
    Other,
    /// The service answered: an earlier error does not count once the turn continues.
    Recovered,
    /// The agent said this, or its program said in its place what went wrong.
    Said {
        text: String,
        /// Whether it is a synthetic message that carries an error.
        is_error: bool,
        api_error_status: Option<u64>,
    },
    /// Something failed, which the turn may survive.
    Failed {
        message: Option<String>,
        api_error_status: Option<u64>,
    },
    /// The session failed: earlier texts of the agent are no part of it.
    Aborted {
        message: Option<String>,
        api_error_status: Option<u64>,
    },
    /// A turn is over.
    Finished(FinalResult),
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FinalResult {
    /// The answer; `None` where the agent's last text is the answer.
    pub text: Option<String>,
    /// The answer that followed a requested schema.
    pub structured_output: Option<Value>,
    /// Whether the program calls it an error.
    pub is_error: bool,
    /// Whether its subtype is an error, so that the agent's last text is no answer.
    pub cut_short: bool,
    /// The messages of the error.
    pub errors: Vec<String>,
    /// The HTTP status of the service, where that was the error.
    pub api_error_status: Option<u64>,
    /// Why the run ended, in the program's own word.
    pub terminal_reason: Option<String>,
}

/// The kind of an event; older versions of Codex wrap the object with it.
pub(crate) fn event_kind(event: &Value) -> Option<&str> {
    get_text(event, "type").or_else(|| get_text(event.get("msg")?, "type"))
}

/// The part of an answer in an event of any known program; `None` for unknown events.
pub(crate) fn reply_event(event: &Value) -> Option<ReplyEvent> {
    let programs = [
        copilot::read_copilot_reply,
        claude::read_claude_reply,
        codex::read_codex_reply,
        opencode::read_opencode_reply,
        gemini::read_gemini_reply,
    ];
    programs
        .into_iter()
        .find_map(|program| program(event_kind(event), event))
        .or_else(|| read_failure(event))
}

/// An error, which the programs report in much the same way.
fn read_failure(event: &Value) -> Option<ReplyEvent> {
    match event_kind(event) {
        Some("turn.failed" | "error") => {}
        // A `status` member makes it an answer, whatever its other members.
        None if event.get("error").is_some() && event.get("status").is_none() => {}
        _ => return None,
    }
    let error = event
        .get("error")
        .or_else(|| event.get("msg"))
        .or_else(|| event.get("message"));
    let api_error_status =
        error.and_then(|error| error.get("code").or_else(|| error.get("status"))?.as_u64());
    Some(ReplyEvent::Failed {
        message: error_message(event)
            .map(|message| message.to_owned() + &error.map_or(String::new(), join_waits)),
        api_error_status,
    })
}

/// The members of an error that say when to try again: its message may not.
fn join_waits(error: &Value) -> String {
    let members = std::iter::once(error)
        .chain(get_list(error, "details"))
        .filter_map(Value::as_object)
        .flatten();
    let is_wait = |name: &str| {
        ["retry", "reset"]
            .iter()
            .any(|word| name.to_lowercase().contains(word))
    };
    members
        .filter(|(name, value)| is_wait(name) && (value.is_number() || value.is_string()))
        .take(2)
        .map(|(name, value)| format!(" ({name}: {})", cut_middle(&value.to_string(), 60)))
        .collect()
}

/// A text of the agent; nothing where there is none.
pub(super) fn reply_from_text(text: Option<&str>) -> ReplyEvent {
    text.map_or(ReplyEvent::Other, |text| ReplyEvent::Said {
        text: text.to_owned(),
        is_error: false,
        api_error_status: None,
    })
}

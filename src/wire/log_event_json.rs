//! What a session's log says happened, as JSON: one object a line. See `docs/logs.md`.

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_facts::secret_members::mask_value;
use watchdog_facts::session_event::SessionEvent;

/// The object of one event, without secrets.
pub fn log_event_json(event: &SessionEvent) -> Value {
    let mut object = match event {
        SessionEvent::Named { session_id } => json!({"event": "session", "session_id": session_id}),
        SessionEvent::Said { text } => json!({"event": "text", "text": text, "continues": false}),
        SessionEvent::SaidPart { text } => {
            json!({"event": "text", "text": text, "continues": true})
        }
        SessionEvent::Message { role, text } => {
            json!({"event": "message", "role": role, "text": text})
        }
        SessionEvent::Called { tool, input } => {
            json!({"event": "tool_call", "tool": tool, "input": input})
        }
        SessionEvent::Returned {
            tool,
            content,
            is_error,
        } => {
            json!({"event": "tool_result", "tool": tool, "content": content, "is_error": is_error})
        }
        SessionEvent::Refused { tool } => json!({"event": "tool_refused", "tool": tool}),
        SessionEvent::Retried { why } => json!({"event": "retry", "why": why}),
        SessionEvent::TaskBegan { what } => json!({"event": "background_began", "what": what}),
        SessionEvent::TaskEnded { what } => json!({"event": "background_ended", "what": what}),
        SessionEvent::Fault { message } => json!({"event": "error", "message": message}),
        SessionEvent::Ended { how, error, usage } => json!({
            "event": "end",
            "how": how,
            "error": error,
            "turns": usage.turns,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
        }),
        SessionEvent::Line { text } => json!({"event": "line", "text": text}),
        SessionEvent::Unread { what } => json!({"event": "unread", "what": what}),
        SessionEvent::Gap { bytes } => json!({"event": "gap", "bytes": bytes}),
    };
    mask_value(&mut object);
    object["schema"] = json!(1);
    object
}

/// A log in a list, and what is known of its session.
#[derive(Debug, Clone)]
pub struct ListedLog {
    /// Its name.
    pub id: String,
    /// The name of the work.
    pub spec: Option<String>,
    /// When the session began.
    pub began: Option<Timestamp>,
    /// Bytes.
    pub size: u64,
    /// The status of the verdict, or `running`.
    pub end: Option<String>,
    /// The file.
    pub path: String,
}

/// The logs of a worktree.
pub fn logs_json(worktree: &str, logs: &[ListedLog]) -> Value {
    let of = |listed: &ListedLog| {
        let ListedLog {
            id,
            spec,
            began,
            size,
            end,
            path,
        } = listed;
        json!({"id": id, "spec": spec, "began_at": began.map(|at| at.to_string()), "size": size, "end": end, "path": path})
    };
    json!({"schema": 1, "worktree": worktree, "logs": logs.iter().map(of).collect::<Vec<_>>()})
}

//! Takes an event by the reader of its dialect, or finds the dialect whose event it is.

use serde_json::Value;

use super::dialect::StreamDialect;
use super::session_fold::SessionFold;
use super::{antigravity, claude, codex, copilot, cursor, fields, gemini, opencode};

/// Every dialect, in the order in which an unknown event is offered to them. Qwen's events are Claude Code's.
const ALL: [StreamDialect; 6] = [
    StreamDialect::Claude,
    StreamDialect::Codex,
    StreamDialect::Opencode,
    StreamDialect::Gemini,
    StreamDialect::Antigravity,
    StreamDialect::Copilot,
];

/// Takes an event; says whether it is one of this dialect.
pub(super) fn apply_dialect_event(
    dialect: StreamDialect,
    gathered: &mut SessionFold,
    event: &Value,
) -> bool {
    event.is_object()
        && match dialect {
            StreamDialect::Claude | StreamDialect::Qwen => {
                claude::apply_claude_event(gathered, event)
                    || cursor::apply_cursor_event(gathered, event)
            }
            StreamDialect::Codex => codex::apply_codex_event(gathered, event),
            StreamDialect::Gemini => gemini::apply_gemini_event(gathered, event),
            StreamDialect::Opencode => opencode::apply_opencode_event(gathered, event),
            StreamDialect::Copilot => copilot::apply_copilot_event(gathered, event),
            StreamDialect::Antigravity => antigravity::apply_antigravity_event(gathered, event),
        }
}

/// Takes an event of any dialect, and says whose it is.
pub(super) fn take_any(gathered: &mut SessionFold, event: &Value) -> Option<StreamDialect> {
    let taken = ALL
        .into_iter()
        .find(|dialect| apply_dialect_event(*dialect, gathered, event))?;
    Some(
        if taken == StreamDialect::Claude && claude::is_qwen(event) {
            StreamDialect::Qwen
        } else {
            taken
        },
    )
}

/// Whether only a program that begins a session prints such an event.
pub(super) fn opens_a_session(event: &Value) -> bool {
    let kind = fields::get_text(event, "type").or_else(|| fields::get_text(event, "event"));
    match kind {
        Some("system") => {
            fields::get_text(event, "subtype") == Some("init") && event.get("session_id").is_some()
        }
        Some("thread.started") => event.get("thread_id").is_some(),
        Some("init") => event.get("session_id").is_some() || event.get("conversation_id").is_some(),
        Some("step_start") => event.get("sessionID").is_some(),
        Some(kind) => {
            kind.starts_with("session.")
                && ["data", "id", "timestamp"]
                    .iter()
                    .all(|key| event.get(key).is_some())
        }
        None => false,
    }
}

//! Events of Cursor's command line that Claude Code does not print, by their documentation: untested with the program itself.

use serde_json::Value;

use super::fields::{content_text, get_text};
use super::session_fold::SessionFold;

/// Takes one event; says whether it is one of Cursor's.
pub(super) fn apply_cursor_event(gathered: &mut SessionFold, event: &Value) -> bool {
    match get_text(event, "type") {
        Some("thinking") => return event.get("subtype").is_some(),
        Some("tool_call") => {}
        _ => return false,
    }
    // A single member, named after the tool: `shellToolCall`, `writeToolCall`.
    let Some((name, call)) = event
        .get("tool_call")
        .and_then(Value::as_object)
        .and_then(|calls| calls.iter().next())
    else {
        return false;
    };
    let tool = name.strip_suffix("ToolCall").unwrap_or(name);
    let id = get_text(event, "call_id").unwrap_or_default();
    match get_text(event, "subtype") {
        Some("started") => gathered.calls(id, tool, call.get("args").unwrap_or(&Value::Null)),
        Some("completed") => {
            let result = call.get("result").unwrap_or(&Value::Null);
            let failed = ["error", "failure", "rejected", "permissionDenied"]
                .into_iter()
                .find(|word| result.get(word).is_some());
            if matches!(failed, Some("rejected" | "permissionDenied")) {
                gathered.refuses(tool);
            }
            gathered.returns(id, &content_text(result), failed.is_some(), None);
        }
        _ => return false,
    }
    gathered.session(get_text(event, "session_id"));
    true
}

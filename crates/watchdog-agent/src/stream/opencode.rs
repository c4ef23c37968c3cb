//! Events of `opencode run --format json`.

use serde_json::Value;

use super::fields::{content_text, cut_middle, error_text, get_amount, get_number, get_text};
use super::figures::TokenCounts;
use super::reply_event::{ReplyEvent, reply_from_text};
use super::session_fold::SessionFold;
use watchdog_facts::refused_tool::RefusalCause;

/// Takes one event; says whether it is one of opencode's.
pub(super) fn apply_opencode_event(gathered: &mut SessionFold, event: &Value) -> bool {
    let part = event.get("part");
    match (get_text(event, "type"), part) {
        (Some("step_start"), _) => gathered.figures.turn(),
        (Some("text"), Some(part)) => gathered.says(
            get_text(part, "text").unwrap_or_default(),
            get_text(part, "id"),
        ),
        (Some("tool_use"), Some(part)) => apply_tool(gathered, part),
        (Some("step_finish"), Some(part)) => {
            if let Some(tokens) = part.get("tokens").and_then(read_tokens) {
                gathered.figures.step(tokens, get_amount(part, "cost"));
            }
            if let Some(reason) = get_text(part, "reason") {
                gathered.reported.stop_reason = Some(cut_middle(reason, 100));
                finish_step(gathered, reason);
            }
        }
        (Some("reasoning"), Some(_)) => {}
        (Some("error"), _) if event.get("sessionID").is_some() => {
            gathered.fails(read_failure(event), read_http_status(event));
            gathered.reported.ended = Some("error".into());
        }
        _ => return false,
    }
    gathered.session(get_text(event, "sessionID"));
    true
}

/// The part of an answer in one of opencode's events.
pub(super) fn read_opencode_reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    match kind? {
        "step_start" => Some(ReplyEvent::Other),
        "text" => Some(reply_from_text(get_text(event.get("part")?, "text"))),
        "error" if event.get("sessionID").is_some() => Some(ReplyEvent::Failed {
            message: Some(read_failure(event)),
            api_error_status: read_http_status(event),
        }),
        _ => None,
    }
}

/// The message of an error behind its name, which may be all that tells its kind.
fn read_failure(event: &Value) -> String {
    let message = error_text(event);
    match event.get("error").and_then(|error| get_text(error, "name")) {
        Some(name) if name.len() < 60 && name != "APIError" && !message.contains(name) => {
            format!("{name}: {message}")
        }
        _ => message,
    }
}

/// The HTTP status of the service, where that was the error.
fn read_http_status(event: &Value) -> Option<u64> {
    get_number(event.get("error")?.get("data")?, "statusCode")
}

/// A step is over: the session, too, where the model says `stop`. After `tool-calls` a further step follows, unless a permission was refused.
fn finish_step(gathered: &mut SessionFold, reason: &str) {
    gathered.reported.ended = match reason {
        "stop" => Some("completed".into()),
        "length" | "content-filter" => Some(reason.into()),
        _ => None,
    };
    match reason {
        "length" => gathered.fails(
            "the answer was cut at the model's limit of output tokens (length)".into(),
            None,
        ),
        "content-filter" => gathered.fails(
            "the answer was blocked by the provider's content filter".into(),
            None,
        ),
        _ => gathered.recovers(),
    }
}

fn apply_tool(gathered: &mut SessionFold, part: &Value) {
    let Some(state) = part.get("state") else {
        return;
    };
    let id = get_text(part, "callID").unwrap_or_default();
    gathered.calls(
        id,
        get_text(part, "tool").unwrap_or_default(),
        state.get("input").unwrap_or(&Value::Null),
    );
    let failed = get_text(state, "status") == Some("error");
    let content = state
        .get("output")
        .or_else(|| state.get("error"))
        .map(content_text)
        .unwrap_or_default();
    if let Some(cause) = read_refusal_cause(&content).filter(|_| failed) {
        gathered.refuses_call(id, cause);
    }
    gathered.returns(id, &content, failed, None);
}

fn read_refusal_cause(error: &str) -> Option<RefusalCause> {
    if error.starts_with("The user rejected permission to use") {
        return Some(RefusalCause::Permission);
    }
    error
        .starts_with("Model tried to call unavailable tool")
        .then_some(RefusalCause::NotOffered)
}

/// Cached tokens and those of reasoning are separate from the others.
fn read_tokens(reported: &Value) -> Option<TokenCounts> {
    let cache = reported.get("cache");
    let cached = |key| cache.and_then(|cache| get_number(cache, key)).unwrap_or(0);
    let input = get_number(reported, "input")?
        .saturating_add(cached("read"))
        .saturating_add(cached("write"));
    Some(TokenCounts {
        input,
        output: get_number(reported, "output")
            .unwrap_or(0)
            .saturating_add(get_number(reported, "reasoning").unwrap_or(0)),
    })
}

//! Events of `opencode run --format json`.

use serde_json::Value;

use super::fields::{amount, content_text, cut, error_message, error_text, number, text};
use super::figures::TokenCounts;
use super::reply_event::{ReplyEvent, said};
use super::session_fold::SessionFold;
use watchdog_facts::refused_tool::RefusalCause;

/// Takes one event; says whether it is one of opencode's.
pub(super) fn take(gathered: &mut SessionFold, event: &Value) -> bool {
    let part = event.get("part");
    match (text(event, "type"), part) {
        (Some("step_start"), _) => gathered.figures.turn(),
        (Some("text"), Some(part)) => {
            gathered.says(text(part, "text").unwrap_or_default(), text(part, "id"))
        }
        (Some("tool_use"), Some(part)) => tool(gathered, part),
        (Some("step_finish"), Some(part)) => {
            if let Some(tokens) = part.get("tokens").and_then(tokens) {
                gathered.figures.step(tokens, amount(part, "cost"));
            }
            if let Some(reason) = text(part, "reason") {
                gathered.stop_reason = Some(cut(reason, 100));
                finished(gathered, reason);
            }
        }
        (Some("reasoning"), Some(_)) => {}
        (Some("error"), _) if event.get("sessionID").is_some() => {
            gathered.fails(error_text(event), status(event));
            gathered.ended = Some("error".into());
        }
        _ => return false,
    }
    gathered.session(text(event, "sessionID"));
    true
}

/// The part of an answer in one of opencode's events.
pub(super) fn reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    match kind? {
        "step_start" => Some(ReplyEvent::Other),
        "text" => Some(said(text(event.get("part")?, "text"))),
        "error" if event.get("sessionID").is_some() => Some(ReplyEvent::Failed {
            message: error_message(event).map(str::to_owned),
            api_error_status: status(event),
        }),
        _ => None,
    }
}

/// The HTTP status of the service, where that was the error.
fn status(event: &Value) -> Option<u64> {
    number(event.get("error")?.get("data")?, "statusCode")
}

/// A step is over: the session, too, where the model says `stop`. After `tool-calls` a further step follows, unless a permission was refused.
fn finished(gathered: &mut SessionFold, reason: &str) {
    gathered.ended = match reason {
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

fn tool(gathered: &mut SessionFold, part: &Value) {
    let Some(state) = part.get("state") else {
        return;
    };
    let id = text(part, "callID").unwrap_or_default();
    gathered.calls(
        id,
        text(part, "tool").unwrap_or_default(),
        state.get("input").unwrap_or(&Value::Null),
    );
    let failed = text(state, "status") == Some("error");
    let content = state
        .get("output")
        .or_else(|| state.get("error"))
        .map(content_text)
        .unwrap_or_default();
    if let Some(cause) = refusal(&content).filter(|_| failed) {
        gathered.refuses_call(id, cause);
    }
    gathered.returns(id, &content, failed, None);
}

fn refusal(error: &str) -> Option<RefusalCause> {
    if error.starts_with("The user rejected permission to use") {
        return Some(RefusalCause::Permission);
    }
    error
        .starts_with("Model tried to call unavailable tool")
        .then_some(RefusalCause::NotOffered)
}

/// Cached tokens and those of reasoning are separate from the others.
fn tokens(reported: &Value) -> Option<TokenCounts> {
    let cache = reported.get("cache");
    let cached = |key| cache.and_then(|cache| number(cache, key)).unwrap_or(0);
    let input = number(reported, "input")?
        .saturating_add(cached("read"))
        .saturating_add(cached("write"));
    Some(TokenCounts {
        input,
        output: number(reported, "output")
            .unwrap_or(0)
            .saturating_add(number(reported, "reasoning").unwrap_or(0)),
    })
}

//! Events of `opencode run --format json`.

use serde_json::Value;

use super::fields::{amount, content_text, cut, error_text, number, text};
use super::figures::TokenCounts;
use super::reply_event::{ReplyEvent, said};
use super::session_fold::SessionFold;

/// Takes one event; says whether it is one of opencode's.
pub(super) fn take(gathered: &mut SessionFold, event: &Value) -> bool {
    let part = event.get("part");
    match (text(event, "type"), part) {
        (Some("step_start"), _) => gathered.figures.turn(),
        (Some("text"), Some(part)) => gathered.says(text(part, "text").unwrap_or_default(), text(part, "id")),
        (Some("tool_use"), Some(part)) => tool(gathered, part),
        (Some("step_finish"), Some(part)) => {
            if let Some(tokens) = part.get("tokens").and_then(tokens) {
                gathered.figures.step(tokens, amount(part, "cost"));
            }
            if let Some(reason) = text(part, "reason") {
                gathered.stop_reason = Some(cut(reason, 100));
                gathered.ended = (reason == "stop").then(|| "completed".into());
            }
        }
        (Some("reasoning"), Some(_)) => {}
        (Some("error"), _) if event.get("sessionID").is_some() => {
            gathered.error = Some(error_text(event));
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
        _ => None,
    }
}

fn tool(gathered: &mut SessionFold, part: &Value) {
    let Some(state) = part.get("state") else { return };
    let id = text(part, "callID").unwrap_or_default();
    gathered.calls(id, text(part, "tool").unwrap_or_default(), state.get("input").unwrap_or(&Value::Null));
    let failed = text(state, "status") == Some("error");
    let content = state.get("output").or_else(|| state.get("error")).map(content_text).unwrap_or_default();
    gathered.returns(id, &content, failed, None);
}

/// Cached tokens and those of reasoning are separate from the others.
fn tokens(reported: &Value) -> Option<TokenCounts> {
    let cache = reported.get("cache");
    let cached = |key| cache.and_then(|cache| number(cache, key)).unwrap_or(0);
    let input = number(reported, "input")?.saturating_add(cached("read")).saturating_add(cached("write"));
    Some(TokenCounts { input, output: number(reported, "output").unwrap_or(0).saturating_add(number(reported, "reasoning").unwrap_or(0)) })
}

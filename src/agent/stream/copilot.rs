//! Events of `copilot --output-format json`: reads the answer from them, and what happened.

use serde_json::Value;

use super::fields::{content_text, cut, number, text};
use super::reply_event::{ReplyEvent, said};
use super::session_fold::SessionFold;

/// The part of an answer in one of Copilot's events.
pub(super) fn reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    let data = event.get("data");
    Some(match kind? {
        "result" => match event.get("exitCode")?.as_i64() {
            Some(0) => ReplyEvent::Recovered,
            _ => ReplyEvent::Failed { message: None, api_error_status: None },
        },
        "assistant.message" => said(data.and_then(|data| text(data, "content"))),
        "session.error" => ReplyEvent::Aborted {
            message: data.and_then(|data| text(data, "message")).map(str::to_owned),
            api_error_status: data.and_then(|data| number(data, "statusCode")),
        },
        _ => return None,
    })
}

/// Takes one event for a record of what happened; says whether it is one of Copilot's. Figures of a running session are not read from it.
pub(super) fn record(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(kind) = text(event, "type") else { return false };
    let Some(data) = event.get("data").filter(|data| data.is_object()) else {
        let is_result = kind == "result" && event.get("exitCode").is_some();
        if is_result {
            gathered.session(text(event, "sessionId"));
            let code = event.get("exitCode").and_then(Value::as_i64).unwrap_or_default();
            gathered.ended = Some(if code == 0 { "success".into() } else { format!("exit code {code}") });
        }
        return is_result;
    };
    match kind {
        "user.message" => gathered.add_message("user", text(data, "content").unwrap_or_default()),
        "assistant.message" => gathered.says(text(data, "content").unwrap_or_default(), None),
        "tool.execution_start" => {
            let input = data.get("arguments").unwrap_or(&Value::Null);
            gathered.calls(text(data, "toolCallId").unwrap_or_default(), text(data, "toolName").unwrap_or_default(), input);
        }
        "tool.execution_complete" => {
            let result = data.get("result").or_else(|| data.get("error")).map(|result| {
                let content = ["content", "message"].into_iter().find_map(|key| result.get(key)).unwrap_or(result);
                content_text(content)
            });
            let failed = data.get("success").and_then(Value::as_bool) == Some(false);
            gathered.returns(text(data, "toolCallId").unwrap_or_default(), &result.unwrap_or_default(), failed, None);
        }
        "assistant.turn_retry" => gathered.retries_for(cut(text(data, "reason").unwrap_or("unknown error"), 200)),
        "session.error" => gathered.error = Some(cut(text(data, "message").unwrap_or("unknown error"), 4000)),
        _ => return is_kind_of_copilot(kind) && event.get("timestamp").is_some(),
    }
    true
}

fn is_kind_of_copilot(kind: &str) -> bool {
    ["session.", "assistant.", "user.", "tool.", "model.", "agent.", "abort"].iter().any(|prefix| kind.starts_with(prefix))
}

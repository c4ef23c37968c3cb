//! Events of `copilot --output-format json`, for sessions and for answers.
//!
//! They have neither tokens nor money, and the session is named by the last one only.

use serde_json::Value;

use super::fields::{content_text, cut_middle, get_number, get_text};
use super::reply_event::{ReplyEvent, reply_from_text};
use super::session_fold::SessionFold;
use watchdog_facts::refused_tool::RefusalCause;

/// Why a session that was stopped ended.
const ABORTED: &str = "aborted";

/// The part of an answer in one of Copilot's events.
pub(super) fn read_copilot_reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    let data = event.get("data");
    Some(match kind? {
        "result" => match event.get("exitCode")?.as_i64() {
            Some(0) => ReplyEvent::Recovered,
            _ => ReplyEvent::Failed {
                message: None,
                api_error_status: None,
            },
        },
        // Stopped: what it said before is no answer, whatever exit code its last event names.
        "abort" => ReplyEvent::Aborted {
            message: Some("it was stopped".into()),
            api_error_status: None,
        },
        "assistant.message" => reply_from_text(data.and_then(|data| get_text(data, "content"))),
        "session.error" => ReplyEvent::Aborted {
            message: data
                .and_then(|data| get_text(data, "message"))
                .map(str::to_owned),
            api_error_status: data.and_then(read_http_status),
        },
        _ => return None,
    })
}

/// The HTTP status of an error; its type stands for one where none is told.
fn read_http_status(data: &Value) -> Option<u64> {
    let by_type = || match get_text(data, "errorType")? {
        "authentication" => Some(401),
        "rate_limit" => Some(429),
        _ => None,
    };
    get_number(data, "statusCode").or_else(by_type)
}

/// Takes one event; says whether it is one of Copilot's.
pub(super) fn apply_copilot_event(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(kind) = get_text(event, "type") else {
        return false;
    };
    let Some(data) = event.get("data").filter(|data| data.is_object()) else {
        return kind == "result" && apply_result(gathered, event);
    };
    match kind {
        "user.message" => {
            gathered.add_message("user", get_text(data, "content").unwrap_or_default())
        }
        "assistant.turn_start" => {
            gathered.reported.stop_reason = None;
            gathered.figures.turn();
        }
        "assistant.message" => gathered.says(
            get_text(data, "content").unwrap_or_default(),
            get_text(data, "messageId"),
        ),
        "tool.execution_start" => {
            let input = data.get("arguments").unwrap_or(&Value::Null);
            gathered.calls(
                get_text(data, "toolCallId").unwrap_or_default(),
                get_text(data, "toolName").unwrap_or_default(),
                input,
            );
        }
        "tool.execution_complete" => tool_result(gathered, data),
        "assistant.turn_retry" => gathered.retries_for(cut_middle(
            get_text(data, "reason").unwrap_or("unknown error"),
            200,
        )),
        "session.error" => {
            gathered.fails(
                cut_middle(get_text(data, "message").unwrap_or("unknown error"), 4000),
                read_http_status(data),
            );
        }
        // The error of a request is the session's only where its last event says so.
        "abort" => {
            gathered.reported.stop_reason = Some(ABORTED.into());
            gathered.fails("it was stopped".into(), None);
        }
        _ => return is_kind_of_copilot(kind) && event.get("timestamp").is_some(),
    }
    true
}

fn apply_result(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(code) = event.get("exitCode").and_then(Value::as_i64) else {
        return false;
    };
    gathered.session(get_text(event, "sessionId"));
    // Ended by TERM, it prints a last event with the exit code 0 all the same.
    let aborted = gathered.reported.stop_reason.as_deref() == Some(ABORTED);
    gathered.reported.ended = Some(match code {
        0 if aborted => ABORTED.into(),
        0 => "success".into(),
        _ => format!("exit code {code}"),
    });
    if code == 0 && !aborted {
        gathered.recovers();
    } else if gathered.reported.error.is_none() {
        gathered.fails(format!("exit code {code}"), None);
    }
    true
}

fn tool_result(gathered: &mut SessionFold, data: &Value) {
    let result = data
        .get("result")
        .or_else(|| data.get("error"))
        .map(|result| {
            let content = ["content", "message"]
                .into_iter()
                .find_map(|key| result.get(key))
                .unwrap_or(result);
            content_text(content)
        });
    let failed = data.get("success").and_then(Value::as_bool) == Some(false);
    let id = get_text(data, "toolCallId").unwrap_or_default();
    let content = result.unwrap_or_default();
    let code = data.get("error").and_then(|error| get_text(error, "code"));
    let cause = match code.filter(|_| failed) {
        Some("denied") => Some(RefusalCause::Permission),
        Some(_) if content.starts_with("Tool '") && content.ends_with("does not exist.") => {
            Some(RefusalCause::NotOffered)
        }
        _ => None,
    };
    if let Some(cause) = cause {
        gathered.refuses_call(id, cause);
    }
    gathered.returns(id, &content, failed, None);
}

fn is_kind_of_copilot(kind: &str) -> bool {
    [
        "session.",
        "assistant.",
        "user.",
        "tool.",
        "model.",
        "agent.",
    ]
    .iter()
    .any(|prefix| kind.starts_with(prefix))
}

//! Events of `copilot --output-format json`: reads the answer from them.

use serde_json::Value;

use super::fields::{number, text};
use super::reply_event::{ReplyEvent, said};

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

//! A scripted reply as bytes of HTTP, in the form of each protocol. Pure.

use serde_json::Value;

use super::api_script::{ApiFault, ScriptedReply};
use super::http_reply::{HttpBody, HttpReply, ModelAnswer, ToolCall};
use super::model_request::ModelRequest;
use super::{chat_shape, gemini_shape, messages_shape, responses_shape};
use watchdog_agent::local_api::{ApiProtocol, ShellTool};

/// What a reply reads to be made.
#[derive(Debug, Clone, Copy)]
pub struct ReplyInputs<'a> {
    /// The request.
    pub request: &'a ModelRequest,
    /// The agent's shell tool.
    pub shell_tool: &'a ShellTool,
    /// The number of the request.
    pub number: usize,
    /// Now, in seconds since 1970.
    pub now: i64,
}

/// The reply to one request.
pub fn http_reply(reply: &ScriptedReply, inputs: ReplyInputs<'_>) -> HttpReply {
    let (text, call) = match reply {
        ScriptedReply::Fault(fault) => return fault_reply(*fault, inputs),
        ScriptedReply::Text(text) => (Some(text.clone()), None),
        ScriptedReply::Command(line) => (
            Some("I run a command.".into()),
            Some(ToolCall {
                name: inputs.shell_tool.name.clone(),
                input: inputs.shell_tool.input(line),
            }),
        ),
        ScriptedReply::Answer(value) => match inputs.request.answer_tool() {
            Some(tool) => (
                None,
                Some(ToolCall {
                    name: tool.to_owned(),
                    input: value.clone(),
                }),
            ),
            None => (Some(value.to_string()), None),
        },
    };
    let answer = ModelAnswer {
        number: inputs.number,
        model: inputs.request.model.clone(),
        text,
        call,
        created: inputs.now,
    };
    let (whole, events) = match inputs.request.protocol {
        ApiProtocol::Responses => responses_shape::answer(&answer),
        ApiProtocol::Chat => chat_shape::answer(&answer),
        ApiProtocol::Gemini => gemini_shape::answer(&answer),
        ApiProtocol::Messages => messages_shape::answer(&answer),
    };
    let body = if inputs.request.streams {
        HttpBody::Events(events)
    } else {
        HttpBody::Json(whole.to_string())
    };
    HttpReply {
        status: 200,
        headers: Vec::new(),
        body,
    }
}

fn fault_reply(fault: ApiFault, inputs: ReplyInputs<'_>) -> HttpReply {
    match inputs.request.protocol {
        ApiProtocol::Responses => responses_shape::fault(fault, inputs.now),
        ApiProtocol::Chat => chat_shape::fault(fault),
        ApiProtocol::Gemini => gemini_shape::fault(fault),
        ApiProtocol::Messages => messages_shape::fault(fault, inputs.now),
    }
}

/// The reply to what asks for no answer: counts of tokens, lists of models, and nothing else.
pub fn other_reply(method: &str, path: &str, length: usize) -> HttpReply {
    let plain = path.split('?').next().unwrap_or_default();
    let tokens = (length / 4).max(1);
    match plain {
        _ if plain.ends_with(":countTokens") => {
            HttpReply::json(200, &gemini_shape::token_count(tokens))
        }
        _ if plain.ends_with("/count_tokens") => {
            HttpReply::json(200, &messages_shape::token_count(tokens))
        }
        _ if plain.ends_with("/models") => HttpReply::json(200, &chat_shape::no_models()),
        _ if method == "HEAD" || plain == "/" => {
            HttpReply::json(200, &Value::Object(serde_json::Map::new()))
        }
        _ => HttpReply::json(404, &chat_shape::not_found(plain)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reply_to(path: &str, mut body: Value, reply: &ScriptedReply) -> HttpReply {
        body["model"] = "m".into();
        let request = ModelRequest::read(path, &body).unwrap();
        let shell_tool = ShellTool {
            name: "sh".into(),
            command: "cmd".into(),
            with: serde_json::Map::new(),
        };
        http_reply(
            reply,
            ReplyInputs {
                request: &request,
                shell_tool: &shell_tool,
                number: 1,
                now: 1_000,
            },
        )
    }

    #[test]
    fn command_is_a_shell_tool_call_everywhere() {
        for path in [
            "/responses",
            "/chat/completions",
            "/models/m:generateContent",
            "/messages",
        ] {
            let reply = reply_to(
                path,
                json!({}),
                &ScriptedReply::Command("echo hello".into()),
            );
            let HttpBody::Json(body) = reply.body else {
                panic!("{path} streams")
            };
            assert!(
                body.contains("echo hello") && body.contains("\"sh\"") && body.contains("20"),
                "{path}: {body}"
            );
        }
        for (path, last) in [
            ("/responses", "response.completed"),
            ("/chat/completions", "[DONE]"),
            ("/models/m:streamGenerateContent", "usageMetadata"),
            ("/messages", "message_stop"),
        ] {
            let reply = reply_to(
                path,
                json!({"stream": true}),
                &ScriptedReply::Command("echo hello".into()),
            );
            let HttpBody::Events(events) = reply.body else {
                panic!("{path} does not stream")
            };
            assert!(
                events.last().unwrap().text().contains(last),
                "{path}: {events:?}"
            );
            assert!(
                events.iter().any(|event| event.data.contains("echo hello")),
                "{path}: {events:?}"
            );
        }
    }

    #[test]
    fn answer_uses_the_offered_answer_tool() {
        let answer = ScriptedReply::Answer(json!({"status": "complete"}));
        let with = json!({"tools": [{"name": "StructuredOutput"}]});
        let body = |reply: HttpReply| match reply.body {
            HttpBody::Json(body) => serde_json::from_str::<Value>(&body).unwrap(),
            HttpBody::Events(_) => Value::Null,
        };
        assert_eq!(
            body(reply_to("/messages", with, &answer))["content"][0]["input"],
            json!({"status": "complete"})
        );
        assert_eq!(
            body(reply_to("/messages", json!({}), &answer))["content"][0]["text"],
            "{\"status\":\"complete\"}"
        );
    }

    #[test]
    fn each_fault_has_status_and_reason() {
        use std::time::Duration;
        for (path, limit, word, overloaded) in [
            ("/responses", 429, "usage_limit_reached", 503),
            ("/chat/completions", 429, "insufficient_quota", 503),
            ("/models/m:generateContent", 429, "PerDay", 503),
            ("/messages", 429, "limit", 529),
        ] {
            let status = |fault| reply_to(path, json!({}), &ScriptedReply::Fault(fault));
            let limited = status(ApiFault::UsageLimit(Some(Duration::from_secs(3600))));
            assert_eq!(limited.status, limit, "{path}");
            assert!(
                matches!(&limited.body, HttpBody::Json(body) if body.contains(word)),
                "{path}: {limited:?}"
            );
            assert_eq!(status(ApiFault::Overloaded).status, overloaded, "{path}");
            assert_eq!(status(ApiFault::NotLoggedIn).status, 401, "{path}");
        }
    }

    #[test]
    fn side_requests_get_harmless_replies() {
        for (method, path, status) in [
            ("POST", "/v1/messages/count_tokens", 200),
            ("GET", "/v1/models", 200),
            ("HEAD", "/x", 200),
            ("GET", "/v1/threads", 404),
        ] {
            assert_eq!(other_reply(method, path, 40).status, status, "{path}");
        }
    }
}

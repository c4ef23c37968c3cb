//! Answers and faults of OpenAI's Chat Completions, which opencode, Qwen Code and Copilot read. Pure.

use serde_json::{Value, json};

use super::api_script::ApiFault;
use super::http_reply::{HttpReply, INPUT_TOKENS, ModelAnswer, OUTPUT_TOKENS, StreamedEvent};

/// The whole answer, and the events of which it comes as a stream.
pub fn answer(answer: &ModelAnswer) -> (Value, Vec<StreamedEvent>) {
    let usage = json!({
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": 0},
    });
    let finish = if answer.call.is_some() {
        "tool_calls"
    } else {
        "stop"
    };
    let call = answer.call.as_ref().map(|call| {
        json!({
            "id": format!("call_{}", answer.number), "type": "function",
            "function": {"name": call.name, "arguments": call.input.to_string()},
        })
    });
    let mut message = json!({"role": "assistant", "content": answer.text});
    if let Some(call) = &call {
        message["tool_calls"] = json!([call]);
    }
    let head = |object: &str| json!({"id": format!("chatcmpl-{}", answer.number), "object": object, "created": answer.created, "model": answer.model});
    let mut whole = head("chat.completion");
    whole["choices"] = json!([{"index": 0, "message": message, "finish_reason": finish}]);
    whole["usage"] = usage.clone();

    let chunk = |delta: Value, finish: Option<&str>| {
        let mut chunk = head("chat.completion.chunk");
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        StreamedEvent::plain(chunk)
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    if let Some(text) = &answer.text {
        events.push(chunk(json!({"content": text}), None));
    }
    if let Some(mut call) = call {
        call["index"] = 0.into();
        events.push(chunk(json!({"tool_calls": [call]}), None));
    }
    events.push(chunk(json!({}), Some(finish)));
    let mut last = head("chat.completion.chunk");
    last["choices"] = json!([]);
    last["usage"] = usage;
    events.push(StreamedEvent::plain(last));
    events.push(StreamedEvent::plain("[DONE]"));
    (whole, events)
}

/// A fault.
pub fn fault(fault: ApiFault) -> HttpReply {
    let error = |status: u16, code: &str, kind: &str, text: &str| {
        HttpReply::json(
            status,
            &json!({"error": {"message": text, "type": kind, "param": null, "code": code}}),
        )
    };
    match fault {
        ApiFault::UsageLimit(left) => {
            let text =
                "You exceeded your current quota, please check your plan and billing details.";
            let mut reply = error(429, "insufficient_quota", "insufficient_quota", text);
            reply
                .headers
                .extend(left.map(|left| ("retry-after", left.as_secs().to_string())));
            reply
        }
        ApiFault::Overloaded => error(
            503,
            "server_is_overloaded",
            "server_error",
            "The server is overloaded. Please try again later.",
        ),
        ApiFault::NotLoggedIn => error(
            401,
            "invalid_api_key",
            "invalid_request_error",
            "Incorrect API key provided.",
        ),
    }
}

/// The list of models: none.
pub fn no_models() -> Value {
    json!({"object": "list", "data": [], "models": []})
}

/// What is answered where nothing is.
pub fn not_found(path: &str) -> Value {
    json!({"error": {"message": format!("nothing is at {path}"), "type": "not_found_error", "code": 404}})
}

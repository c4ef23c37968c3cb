//! Answers and faults of Anthropic's Messages API, as Claude Code reads them. Pure.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api_script::ApiFault;
use super::http_reply::{HttpReply, INPUT_TOKENS, ModelAnswer, OUTPUT_TOKENS, StreamedEvent};

/// The whole answer, and the events of which it comes as a stream.
pub fn answer(answer: &ModelAnswer) -> (Value, Vec<StreamedEvent>) {
    let mut blocks: Vec<Value> = answer
        .text
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    let call = |call: &super::http_reply::ToolCall| json!({"type": "tool_use", "id": format!("toolu_{}", answer.number), "name": call.name, "input": call.input});
    blocks.extend(answer.call.iter().map(call));
    let stop = if answer.call.is_some() {
        "tool_use"
    } else {
        "end_turn"
    };
    let usage = |output: u64| {
        json!({
            "input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": output,
        })
    };
    let whole = json!({
        "id": format!("msg_{}", answer.number), "type": "message", "role": "assistant", "model": answer.model, "content": blocks,
        "stop_reason": stop, "stop_sequence": null, "usage": usage(OUTPUT_TOKENS),
    });
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun["usage"] = usage(1);
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    for (index, block) in blocks.iter().enumerate() {
        let (empty, delta) = if block["type"] == "text" {
            (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": block["text"]}),
            )
        } else {
            let mut empty = block.clone();
            empty["input"] = json!({});
            (
                empty,
                json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
            )
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": empty}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.push(
        json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": OUTPUT_TOKENS}}),
    );
    events.push(json!({"type": "message_stop"}));
    (whole, events.iter().map(StreamedEvent::typed).collect())
}

/// A fault.
pub fn fault(fault: ApiFault, now: i64) -> HttpReply {
    let error = |status: u16, kind: &str, message: &str| {
        let mut reply = HttpReply::json(
            status,
            &json!({"type": "error", "error": {"type": kind, "message": message}}),
        );
        // The client would try again for minutes.
        reply.headers.push(("x-should-retry", "false".into()));
        reply
    };
    match fault {
        ApiFault::UsageLimit(Some(left)) => {
            let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
            // The clock time is all that Claude Code is told of it.
            let reset = Timestamp::from_second(now.saturating_add(seconds))
                .unwrap_or_default()
                .strftime("%-I:%M%P");
            error(
                429,
                "rate_limit_error",
                &format!("You've hit your session limit · resets {reset} (UTC)"),
            )
        }
        ApiFault::UsageLimit(None) => {
            error(429, "rate_limit_error", "You've hit your session limit")
        }
        ApiFault::Overloaded => error(529, "overloaded_error", "Overloaded"),
        ApiFault::NotLoggedIn => error(401, "authentication_error", "invalid x-api-key"),
    }
}

/// The answer to a request that counts tokens.
pub fn token_count(tokens: usize) -> Value {
    json!({"input_tokens": tokens})
}

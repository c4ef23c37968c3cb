//! Answers and faults of OpenAI's Responses API, as Codex reads them. Pure.

use serde_json::{Value, json};

use super::api_script::ApiFault;
use super::http_reply::{HttpReply, INPUT_TOKENS, ModelAnswer, OUTPUT_TOKENS, StreamedEvent};

/// The whole answer, and the events of which it comes as a stream.
pub fn answer(answer: &ModelAnswer) -> (Value, Vec<StreamedEvent>) {
    let number = answer.number;
    let head = json!({
        "id": format!("resp_{number}"), "object": "response", "created_at": answer.created, "model": answer.model,
        "status": "in_progress", "output": [], "usage": null,
    });
    let mut events = vec![json!({"type": "response.created", "response": head})];
    let mut output = Vec::new();
    if let Some(text) = &answer.text {
        let item = json!({
            "id": format!("msg_{number}"), "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        });
        let mut begun = item.clone();
        begun["content"] = json!([]);
        begun["status"] = "in_progress".into();
        let within = |mut event: Value| {
            event["output_index"] = 0.into();
            event["item_id"] = item["id"].clone();
            event["content_index"] = 0.into();
            event
        };
        events
            .push(json!({"type": "response.output_item.added", "output_index": 0, "item": begun}));
        events.push(within(json!({"type": "response.content_part.added", "part": {"type": "output_text", "text": "", "annotations": []}})));
        events.push(within(
            json!({"type": "response.output_text.delta", "delta": text}),
        ));
        events.push(within(
            json!({"type": "response.output_text.done", "text": text}),
        ));
        events.push(within(
            json!({"type": "response.content_part.done", "part": item["content"][0]}),
        ));
        events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
        output.push(item);
    }
    if let Some(call) = &answer.call {
        let item = json!({
            "id": format!("fc_{number}"), "type": "function_call", "call_id": format!("call_{number}"), "name": call.name,
            "arguments": call.input.to_string(), "status": "completed",
        });
        events.push(json!({"type": "response.output_item.added", "output_index": output.len(), "item": item}));
        events.push(json!({"type": "response.output_item.done", "output_index": output.len(), "item": item}));
        output.push(item);
    }
    let mut whole = head;
    whole["status"] = "completed".into();
    whole["output"] = output.into();
    whole["usage"] = json!({
        "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    });
    events.push(json!({"type": "response.completed", "response": whole}));
    for (sequence, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = sequence.into();
    }
    (whole, events.iter().map(StreamedEvent::typed).collect())
}

/// A fault.
pub fn fault(fault: ApiFault, now: i64) -> HttpReply {
    let error = |status: u16, error: Value| HttpReply::json(status, &json!({"error": error}));
    match fault {
        ApiFault::UsageLimit(Some(left)) => {
            let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
            let resets_at = now.saturating_add(seconds);
            let text = "The usage limit has been reached";
            let limit = json!({
                "type": "usage_limit_reached", "message": text, "plan_type": "plus", "resets_at": resets_at, "resets_in_seconds": seconds,
            });
            error(429, limit)
        }
        ApiFault::UsageLimit(None) => {
            let text =
                "You exceeded your current quota, please check your plan and billing details.";
            error(
                429,
                json!({"type": "insufficient_quota", "code": "insufficient_quota", "message": text}),
            )
        }
        ApiFault::Overloaded => {
            let text = "The server is overloaded. Please try again later.";
            error(
                503,
                json!({"type": "server_error", "code": "server_is_overloaded", "message": text}),
            )
        }
        ApiFault::NotLoggedIn => error(
            401,
            json!({"type": "invalid_request_error", "code": "invalid_api_key", "message": "Incorrect API key provided."}),
        ),
    }
}

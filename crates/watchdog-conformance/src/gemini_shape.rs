//! Answers and faults of Google's generateContent and streamGenerateContent, as the Gemini CLI reads them. Pure.

use serde_json::{Value, json};

use super::api_script::ApiFault;
use super::http_reply::{HttpReply, INPUT_TOKENS, ModelAnswer, OUTPUT_TOKENS, StreamedEvent};

/// The whole answer, and the events of which it comes as a stream.
pub fn answer(answer: &ModelAnswer) -> (Value, Vec<StreamedEvent>) {
    let mut parts: Vec<Value> = answer
        .text
        .iter()
        .map(|text| json!({"text": text}))
        .collect();
    parts.extend(
        answer
            .call
            .iter()
            .map(|call| json!({"functionCall": {"name": call.name, "args": call.input}})),
    );
    let part_of = |parts: &[Value], last: bool| {
        let mut part = json!({
            "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
            "modelVersion": answer.model, "responseId": format!("r{}", answer.number),
        });
        if last {
            part["candidates"][0]["finishReason"] = "STOP".into();
            part["usageMetadata"] = json!({
                "promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS, "cachedContentTokenCount": 0,
                "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
            });
        }
        part
    };
    let last = parts.len().saturating_sub(1);
    let events = (0..parts.len())
        .map(|at| StreamedEvent::plain(part_of(&parts[at..=at], at == last)))
        .collect();
    (part_of(&parts, true), events)
}

/// A fault.
pub fn fault(fault: ApiFault) -> HttpReply {
    let error = |code: u16, status: &str, message: &str, details: Value| {
        HttpReply::json(
            code,
            &json!({"error": {"code": code, "message": message, "status": status, "details": details}}),
        )
    };
    match fault {
        ApiFault::UsageLimit(left) => {
            let quota = json!({
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
            });
            let retry =
                left.map(|left| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{}s", left.as_secs())}));
            let details: Vec<Value> = std::iter::once(quota).chain(retry).collect();
            error(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota.",
                details.into(),
            )
        }
        ApiFault::Overloaded => error(
            503,
            "UNAVAILABLE",
            "The model is overloaded. Please try again later.",
            json!([]),
        ),
        ApiFault::NotLoggedIn => error(
            401,
            "UNAUTHENTICATED",
            "API key not valid. Please pass a valid API key.",
            json!([]),
        ),
    }
}

/// The answer to a request that counts tokens.
pub fn token_count(tokens: usize) -> Value {
    json!({"totalTokens": tokens})
}

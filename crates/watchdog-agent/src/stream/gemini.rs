//! Events of `gemini -o stream-json`, and the one object of `gemini -o json`.

use serde_json::Value;

use super::fields::{content_text, cut, error_text, is_true, number, text};
use super::figures::{ResultUsage, TokenCounts};
use super::reply_event::{ReplyEvent, said};
use super::session_fold::SessionFold;
use watchdog_facts::refused_tool::RefusalCause;

/// Takes one event; says whether it is one of Gemini's.
pub(super) fn take(gathered: &mut SessionFold, event: &Value) -> bool {
    match text(event, "type") {
        Some("init") if event.get("session_id").is_some() => {
            gathered.session(text(event, "session_id"))
        }
        Some("message") if event.get("role").is_some() => message(gathered, event),
        Some("tool_use") if event.get("tool_name").is_some() => {
            let id = text(event, "tool_id").unwrap_or_default();
            gathered.calls(
                id,
                text(event, "tool_name").unwrap_or_default(),
                event.get("parameters").unwrap_or(&Value::Null),
            );
        }
        Some("tool_result") if event.get("tool_id").is_some() => {
            let failed = text(event, "status") == Some("error");
            let content = event
                .get("output")
                .or_else(|| event.get("error"))
                .map(content_text)
                .unwrap_or_default();
            let id = text(event, "tool_id").unwrap_or_default();
            match event.get("error").and_then(|error| text(error, "type")) {
                Some("tool_not_registered") => gathered.refuses_call(id, RefusalCause::NotOffered),
                Some("policy_violation") => gathered.refuses_call(id, RefusalCause::Permission),
                _ => {}
            }
            gathered.returns(id, &content, failed, None);
        }
        Some("error") if event.get("severity").is_some() => {
            let message = text(event, "message").unwrap_or_default();
            gathered.add_message("system", message);
            // A result that says `error` and not which means this one.
            if text(event, "severity") == Some("error") {
                gathered.fails(cut(message, 4000), None);
            }
        }
        Some("result") if event.get("status").is_some() => {
            let status = text(event, "status").unwrap_or_default();
            gathered.ended = Some(cut(status, 100));
            match (
                status == "success",
                gathered.error.is_some() && event.get("error").is_none(),
            ) {
                (true, _) => gathered.recovers(),
                (false, true) => {}
                (false, false) => gathered.fails(error_text(event), status_in(event)),
            }
            gathered.said_it();
            if let Some(tokens) = event.get("stats").and_then(streamed) {
                gathered.figures.settle(&ResultUsage {
                    tokens: Some(tokens),
                    ..ResultUsage::default()
                });
            }
        }
        None if event.get("response").is_some()
            || (event.get("error").is_some() && event.get("stats").is_some()) =>
        {
            whole(gathered, event)
        }
        _ => return false,
    }
    true
}

/// The part of an answer in Gemini's one object. With a `status` member it is an answer itself, whatever its other members.
pub(super) fn reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    let is_whole = kind.is_none() && event.get("status").is_none();
    text(event, "response")
        .filter(|_| is_whole)
        .map(|answer| said(Some(answer)))
}

fn message(gathered: &mut SessionFold, event: &Value) {
    let said = event.get("content").map(content_text).unwrap_or_default();
    match text(event, "role") {
        Some("assistant") if is_true(event, "delta") => gathered.says_more(&said),
        Some("assistant") => gathered.says(&said, None),
        Some(role) => {
            if role == "user" {
                gathered.prompt = Some(cut(&said, 64 << 10));
            }
            gathered.add_message(role, &said);
        }
        None => {}
    }
}

fn whole(gathered: &mut SessionFold, event: &Value) {
    gathered.session(text(event, "session_id"));
    gathered.says(text(event, "response").unwrap_or_default(), None);
    match event.get("error") {
        Some(_) => gathered.fails(error_text(event), status_in(event)),
        None => gathered.recovers(),
    }
    gathered.ended = Some(
        if gathered.error.is_some() {
            "error"
        } else {
            "success"
        }
        .into(),
    );
    let models = event
        .get("stats")
        .and_then(|stats| stats.get("models"))
        .and_then(Value::as_object);
    let mut settled = ResultUsage::default();
    for model in models.into_iter().flat_map(|models| models.values()) {
        if let Some(requests) = model
            .get("api")
            .and_then(|api| number(api, "totalRequests"))
        {
            settled.turns = Some(settled.turns.unwrap_or(0).saturating_add(requests));
        }
        if let Some(tokens) = model.get("tokens").and_then(of_model) {
            let sum = settled.tokens.get_or_insert_default();
            (sum.input, sum.output) = (
                sum.input.saturating_add(tokens.input),
                sum.output.saturating_add(tokens.output),
            );
        }
    }
    if settled.turns.is_some() || settled.tokens.is_some() {
        gathered.figures.settle(&settled);
    }
}

/// The HTTP status of the service: the error's own code, or that in the answer which its message quotes.
fn status_in(event: &Value) -> Option<u64> {
    let error = event.get("error")?;
    let quoted = || {
        let message = text(error, "message")?;
        let mut answers =
            serde_json::Deserializer::from_str(&message[message.find("{\"error\"")?..])
                .into_iter::<Value>();
        answers
            .next()?
            .ok()?
            .get("error")
            .and_then(|error| number(error, "code"))
    };
    number(error, "code").or_else(quoted)
}

fn streamed(stats: &Value) -> Option<TokenCounts> {
    let input = number(stats, "input_tokens")?;
    Some(written(
        input,
        number(stats, "total_tokens"),
        number(stats, "output_tokens").unwrap_or(0),
    ))
}

fn of_model(tokens: &Value) -> Option<TokenCounts> {
    let prompt = number(tokens, "prompt").or_else(|| {
        Some(number(tokens, "input")?.saturating_add(number(tokens, "cached").unwrap_or(0)))
    })?;
    let candidates = number(tokens, "candidates")
        .unwrap_or(0)
        .saturating_add(number(tokens, "thoughts").unwrap_or(0));
    Some(written(prompt, number(tokens, "total"), candidates))
}

/// Thoughts are in the total only, in some versions.
fn written(input: u64, total: Option<u64>, output: u64) -> TokenCounts {
    TokenCounts {
        input,
        output: output.max(total.unwrap_or(0).saturating_sub(input)),
    }
}

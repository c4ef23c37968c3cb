//! Events of `gemini -o stream-json`, and the one object of `gemini -o json`.

use serde_json::Value;

use super::fields::{content_text, cut_middle, error_text, get_number, get_text, is_true};
use super::figures::{ResultUsage, TokenCounts};
use super::reply_event::{ReplyEvent, reply_from_text};
use super::session_fold::SessionFold;
use watchdog_facts::refused_tool::RefusalCause;

/// Takes one event; says whether it is one of Gemini's.
pub(super) fn apply_gemini_event(gathered: &mut SessionFold, event: &Value) -> bool {
    match get_text(event, "type") {
        Some("init") if event.get("session_id").is_some() => {
            gathered.session(get_text(event, "session_id"))
        }
        Some("message") if event.get("role").is_some() => apply_message(gathered, event),
        Some("tool_use") if event.get("tool_name").is_some() => {
            let id = get_text(event, "tool_id").unwrap_or_default();
            gathered.calls(
                id,
                get_text(event, "tool_name").unwrap_or_default(),
                event.get("parameters").unwrap_or(&Value::Null),
            );
        }
        Some("tool_result") if event.get("tool_id").is_some() => {
            let failed = get_text(event, "status") == Some("error");
            let content = event
                .get("output")
                .or_else(|| event.get("error"))
                .map(content_text)
                .unwrap_or_default();
            let id = get_text(event, "tool_id").unwrap_or_default();
            match event.get("error").and_then(|error| get_text(error, "type")) {
                Some("tool_not_registered") => gathered.refuses_call(id, RefusalCause::NotOffered),
                Some("policy_violation") => gathered.refuses_call(id, RefusalCause::Permission),
                _ => {}
            }
            gathered.returns(id, &content, failed, None);
        }
        Some("error") if event.get("severity").is_some() => {
            let message = get_text(event, "message").unwrap_or_default();
            gathered.add_message("system", message);
            // A result that says `error` and not which means this one.
            if get_text(event, "severity") == Some("error") {
                gathered.fails(cut_middle(message, 4000), None);
            }
        }
        Some("result") if event.get("status").is_some() => {
            let status = get_text(event, "status").unwrap_or_default();
            gathered.reported.ended = Some(cut_middle(status, 100));
            match (
                status == "success",
                gathered.reported.error.is_some() && event.get("error").is_none(),
            ) {
                (true, _) => gathered.recovers(),
                (false, true) => {}
                (false, false) => gathered.fails(error_text(event), status_in(event)),
            }
            gathered.said_it();
            if let Some(tokens) = event.get("stats").and_then(read_streamed_tokens) {
                gathered.figures.settle(&ResultUsage {
                    tokens: Some(tokens),
                    ..ResultUsage::default()
                });
            }
        }
        None if event.get("response").is_some()
            || (event.get("error").is_some() && event.get("stats").is_some()) =>
        {
            apply_whole_object(gathered, event)
        }
        _ => return false,
    }
    true
}

/// The part of an answer in Gemini's one object. With a `status` member it is an answer itself, whatever its other members.
pub(super) fn read_gemini_reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    let is_whole = kind.is_none() && event.get("status").is_none();
    get_text(event, "response")
        .filter(|_| is_whole)
        .map(|answer| reply_from_text(Some(answer)))
}

fn apply_message(gathered: &mut SessionFold, event: &Value) {
    let message_text = event.get("content").map(content_text).unwrap_or_default();
    match get_text(event, "role") {
        Some("assistant") if is_true(event, "delta") => gathered.says_more(&message_text),
        Some("assistant") => gathered.says(&message_text, None),
        Some(role) => {
            if role == "user" {
                gathered.reported.prompt = Some(cut_middle(&message_text, 64 << 10));
            }
            gathered.add_message(role, &message_text);
        }
        None => {}
    }
}

fn apply_whole_object(gathered: &mut SessionFold, event: &Value) {
    gathered.session(get_text(event, "session_id"));
    gathered.says(get_text(event, "response").unwrap_or_default(), None);
    match event.get("error") {
        Some(_) => gathered.fails(error_text(event), status_in(event)),
        None => gathered.recovers(),
    }
    gathered.reported.ended = Some(
        if gathered.reported.error.is_some() {
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
            .and_then(|api| get_number(api, "totalRequests"))
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
        let message = get_text(error, "message")?;
        let mut answers =
            serde_json::Deserializer::from_str(&message[message.find("{\"error\"")?..])
                .into_iter::<Value>();
        answers
            .next()?
            .ok()?
            .get("error")
            .and_then(|error| get_number(error, "code"))
    };
    get_number(error, "code").or_else(quoted)
}

/// The tokens of a result; thoughts may be in the total only.
pub(super) fn read_streamed_tokens(stats: &Value) -> Option<TokenCounts> {
    let input = get_number(stats, "input_tokens")?;
    Some(count_written_tokens(
        input,
        get_number(stats, "total_tokens"),
        get_number(stats, "output_tokens").unwrap_or(0),
    ))
}

fn of_model(tokens: &Value) -> Option<TokenCounts> {
    let prompt = get_number(tokens, "prompt").or_else(|| {
        Some(get_number(tokens, "input")?.saturating_add(get_number(tokens, "cached").unwrap_or(0)))
    })?;
    let candidates = get_number(tokens, "candidates")
        .unwrap_or(0)
        .saturating_add(get_number(tokens, "thoughts").unwrap_or(0));
    Some(count_written_tokens(
        prompt,
        get_number(tokens, "total"),
        candidates,
    ))
}

/// Thoughts are in the total only, in some versions.
fn count_written_tokens(input: u64, total: Option<u64>, output: u64) -> TokenCounts {
    TokenCounts {
        input,
        output: output.max(total.unwrap_or(0).saturating_sub(input)),
    }
}

//! Events of Claude Code: `stream-json`, the result of `json`, and the lines of its transcripts, which are much the same.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::dialect::StreamDialect;
use super::fields::{amount, content_text, cut, is_true, list, number, text};
use super::figures::{ResultUsage, TokenCounts};
use super::reply_event::{FinalResult, ReplyEvent};
use super::session_fold::SessionFold;

/// Takes one event; says whether it is one of Claude Code's.
pub(super) fn take(gathered: &mut SessionFold, event: &Value) -> bool {
    let known = match text(event, "type") {
        Some("system") => system(gathered, event),
        Some("assistant") => assistant(gathered, event),
        Some("user") => user(gathered, event),
        Some("result") => result(gathered, event),
        Some("stream_event") => partial(gathered, event),
        Some("rate_limit_event") => rate_limit(gathered, event),
        Some("cost-state") => {
            let tokens = event
                .get("modelUsage")
                .and_then(models)
                .map(|(tokens, _)| tokens);
            let session_cost = amount(event, "totalCostUSD");
            gathered.figures.settle(&ResultUsage {
                session_tokens: tokens,
                session_cost,
                ..ResultUsage::default()
            });
            true
        }
        _ => false,
    };
    if known {
        gathered.session(text(event, "session_id").or_else(|| text(event, "sessionId")));
    }
    known
}

/// The part of an answer in one of Claude Code's events.
pub(super) fn reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    match kind? {
        "system" => Some(ReplyEvent::Other),
        "assistant" => {
            let text = event
                .get("message")
                .filter(|_| is_main(event))
                .map(texts)
                .unwrap_or_default();
            // Cut off before its result: a synthetic message carries the error.
            let is_error = is_true(event, "is_api_error_message");
            let api_error_status = number(event, "api_error_status");
            Some(if text.is_empty() {
                ReplyEvent::Other
            } else {
                ReplyEvent::Said {
                    text,
                    is_error,
                    api_error_status,
                }
            })
        }
        "result" => Some(ReplyEvent::Finished(final_result(event))),
        _ => None,
    }
}

/// Whether this begins a session of Qwen Code, which prints the same events.
pub(super) fn is_qwen(event: &Value) -> bool {
    text(event, "subtype") == Some("init") && event.get("qwen_code_version").is_some()
}

fn system(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(subtype) = text(event, "subtype") else {
        return false;
    };
    match subtype {
        "api_retry" => {
            let status = number(event, "error_status")
                .map(|status| format!(" ({status})"))
                .unwrap_or_default();
            gathered.retries_for(format!(
                "{}{status}",
                cut(text(event, "error").unwrap_or("unknown error"), 200)
            ));
        }
        // Qwen Code's word for the same.
        "retry" => {
            let reason = event.get("data").and_then(|data| text(data, "reason"));
            gathered.retries_for(cut(reason.unwrap_or("unknown error"), 200));
        }
        "background_tasks_changed" => gathered.runs(list(event, "tasks").map(task)),
        "task_started" if is_true(event, "is_backgrounded") => gathered.runs_too(task(event)),
        "task_updated" => {
            let status = event.get("patch").and_then(|patch| text(patch, "status"));
            ended_task(gathered, event, status);
        }
        "task_notification" => ended_task(gathered, event, text(event, "status")),
        _ => {}
    }
    true
}

fn ended_task(gathered: &mut SessionFold, event: &Value, status: Option<&str>) {
    if matches!(
        status,
        Some("completed" | "failed" | "killed" | "stopped" | "cancelled")
    ) && let Some(id) = text(event, "task_id")
    {
        gathered.ran(id);
    }
}

/// A background task in the form that Claude Code's hooks have.
fn task(reported: &Value) -> Value {
    let kind = match text(reported, "task_type") {
        Some("local_bash") => "shell",
        Some("local_agent") => "subagent",
        Some(other) => other,
        None => "unknown",
    };
    json!({
        "id": cut(text(reported, "task_id").unwrap_or_default(), 100),
        "type": cut(kind, 100),
        "status": "running",
        "description": cut(text(reported, "description").unwrap_or_default(), 500),
    })
}

/// A command that runs in the background, in the same form.
pub(super) fn shell_task(id: &str, command: &str) -> Value {
    json!({"id": cut(id, 100), "type": "shell", "status": "running", "description": cut(command, 500)})
}

fn assistant(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(message) = event.get("message").filter(|message| message.is_object()) else {
        return false;
    };
    let main = is_main(event);
    // A message of the program itself: no turn, no tokens.
    let synthetic = text(message, "model") == Some("<synthetic>");
    let id = text(message, "id");
    if let Some(id) = id.filter(|_| !synthetic) {
        gathered
            .figures
            .message(id, message.get("usage").and_then(tokens), main);
    }
    if !main {
        return true;
    }
    gathered.says(&texts(message), id);
    for block in list(message, "content").filter(|block| text(block, "type") == Some("tool_use")) {
        if let (Some(id), Some(name)) = (text(block, "id"), text(block, "name")) {
            gathered.calls(id, name, block.get("input").unwrap_or(&Value::Null));
        }
    }
    if let Some(reason) = text(message, "stop_reason") {
        gathered.stop_reason = Some(cut(reason, 100));
    }
    true
}

/// The text of a message, without its tool calls.
fn texts(message: &Value) -> String {
    list(message, "content")
        .filter(|block| text(block, "type") == Some("text"))
        .filter_map(|block| text(block, "text"))
        .collect()
}

fn user(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(content) = event
        .get("message")
        .and_then(|message| message.get("content"))
    else {
        return false;
    };
    if !is_main(event) {
        return true;
    }
    let reported = event
        .get("tool_use_result")
        .or_else(|| event.get("toolUseResult"));
    let mut texts = Vec::new();
    if let Some(text) = content.as_str() {
        texts.push(text);
    }
    for block in content.as_array().into_iter().flatten() {
        match (text(block, "type"), text(block, "tool_use_id")) {
            (Some("tool_result"), Some(id)) => {
                let content = block.get("content").map(content_text).unwrap_or_default();
                gathered.returns(id, &content, is_true(block, "is_error"), reported);
            }
            (Some("text"), _) => texts.extend(text(block, "text")),
            _ => {}
        }
    }
    let texts = texts.join("\n");
    if !texts.is_empty() && !is_true(event, "isMeta") {
        if event.get("promptId").is_some() {
            gathered.prompt = Some(cut(&texts, 64 << 10));
        }
        gathered.add_message("user", &texts);
    }
    true
}

/// Subagents speak in the same stream, and in side chains of a transcript.
fn is_main(event: &Value) -> bool {
    text(event, "parent_tool_use_id").is_none() && !is_true(event, "isSidechain")
}

/// There is one result for each turn that background work led to; the last one counts.
fn result(gathered: &mut SessionFold, event: &Value) -> bool {
    let subtype = text(event, "subtype");
    if subtype.is_none() && event.get("result").is_none() && event.get("is_error").is_none() {
        return false;
    }
    // Qwen's usage is the session's, earlier runs and its own memory's included.
    if gathered.dialect == Some(StreamDialect::Qwen) {
        gathered.figures.settle_turns(number(event, "num_turns"));
        if let Some(tokens) = event.get("usage").and_then(tokens_with_cached) {
            gathered.figures.so_far(tokens);
        }
    } else {
        settle(gathered, event, subtype);
    }
    for denial in list(event, "permission_denials") {
        gathered.refuses(text(denial, "tool_name").unwrap_or_default());
    }
    let FinalResult {
        text: answer,
        structured_output,
        is_error,
        errors,
        api_error_status,
        ..
    } = final_result(event);
    match &answer {
        Some(answer) => gathered.answers(answer),
        None => gathered.said_it(),
    }
    gathered.structured_output = structured_output;
    if let Some(reason) = text(event, "stop_reason") {
        gathered.stop_reason = Some(cut(reason, 100));
    }
    let error_subtype = subtype.filter(|subtype| subtype.starts_with("error"));
    let ended = error_subtype
        .or(text(event, "terminal_reason"))
        .or(subtype)
        .unwrap_or("result");
    gathered.ended = Some(cut(ended, 100));
    if !is_error {
        gathered.recovers();
        return true;
    }
    let message = match text(event, "result") {
        _ if !errors.is_empty() => cut(&errors.join("\n"), 4000),
        Some(answer) if !answer.is_empty() => cut(answer, 4000),
        _ => cut(ended, 100),
    };
    gathered.fails(message, api_error_status);
    true
}

fn settle(gathered: &mut SessionFold, event: &Value, subtype: Option<&str>) {
    let since = event.get("model_usage_since_last_result").and_then(models);
    let session = event.get("modelUsage").and_then(models);
    let own = event.get("usage").and_then(tokens);
    let forgotten = own.is_none() || subtype == Some("error_max_budget_usd");
    gathered.figures.settle(&ResultUsage {
        turns: number(event, "num_turns"),
        tokens: own,
        // If its own budget ended it, the result reports no tokens, though they were paid.
        tokens_of_all: since
            .or(session.filter(|_| forgotten))
            .map(|(tokens, _)| tokens),
        cost: since.map(|(_, cost)| cost),
        session_tokens: session.map(|(tokens, _)| tokens),
        session_cost: amount(event, "total_cost_usd"),
    });
}

/// The result of a turn, for sessions and answers alike.
fn final_result(event: &Value) -> FinalResult {
    let error_subtype = text(event, "subtype").filter(|subtype| subtype.starts_with("error"));
    // Qwen Code has one error in the place of a list, and Gemini a status in the place of a subtype.
    let one = event
        .get("error")
        .and_then(|error| error.get("message").unwrap_or(error).as_str());
    FinalResult {
        text: match event.get("result") {
            Some(Value::String(answer)) => Some(answer.clone()),
            Some(Value::Null) | None => None,
            Some(other) => Some(other.to_string()),
        },
        // The second is Qwen's.
        structured_output: ["structured_output", "structured_result"]
            .into_iter()
            .find_map(|key| event.get(key).filter(|value| !value.is_null()))
            .cloned(),
        is_error: error_subtype.is_some()
            || is_true(event, "is_error")
            || text(event, "status") == Some("error"),
        cut_short: error_subtype.is_some(),
        errors: list(event, "errors")
            .filter_map(Value::as_str)
            .chain(one)
            .map(str::to_owned)
            .collect(),
        api_error_status: number(event, "api_error_status"),
        terminal_reason: text(event, "terminal_reason")
            .or(error_subtype)
            .map(str::to_owned),
    }
}

/// `--include-partial-messages`: the partial events give the cost of a message sooner and more precisely.
fn partial(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(inner) = event.get("event") else {
        return false;
    };
    let main = is_main(event);
    match text(inner, "type") {
        Some("message_start") => {
            if let Some((message, id)) = inner
                .get("message")
                .and_then(|message| Some((message, text(message, "id")?)))
            {
                gathered
                    .figures
                    .message(id, message.get("usage").and_then(tokens), main);
            }
        }
        Some("message_delta") => {
            if let (Some(id), Some(usage)) = (
                text(event, "api_message_id"),
                inner.get("usage").and_then(tokens),
            ) {
                gathered.figures.message(id, Some(usage), main);
            }
        }
        _ => {}
    }
    true
}

fn rate_limit(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(info) = event.get("rate_limit_info") else {
        return false;
    };
    let ends = info
        .get("resetsAt")
        .and_then(Value::as_i64)
        .and_then(|seconds| Timestamp::from_second(seconds).ok());
    gathered.limit_ends = ends.filter(|_| text(info, "status") == Some("rejected"));
    true
}

fn tokens(usage: &Value) -> Option<TokenCounts> {
    let input = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ]
    .map(|key| number(usage, key));
    let output = number(usage, "output_tokens");
    if input.iter().chain([&output]).all(Option::is_none) {
        return None;
    }
    let input = input.into_iter().flatten().fold(0, u64::saturating_add);
    Some(TokenCounts {
        input,
        output: output.unwrap_or(0),
    })
}

/// Qwen's cached tokens are among those read.
fn tokens_with_cached(usage: &Value) -> Option<TokenCounts> {
    Some(TokenCounts {
        input: number(usage, "input_tokens")?,
        output: number(usage, "output_tokens").unwrap_or(0),
    })
}

/// Tokens and US dollars of all models together.
fn models(usage: &Value) -> Option<(TokenCounts, f64)> {
    let mut sum = (TokenCounts::default(), 0.0);
    for model in usage.as_object()?.values() {
        let input = [
            "inputTokens",
            "cacheReadInputTokens",
            "cacheCreationInputTokens",
        ]
        .into_iter()
        .filter_map(|key| number(model, key));
        sum.0.input = input.fold(sum.0.input, u64::saturating_add);
        sum.0.output = sum
            .0
            .output
            .saturating_add(number(model, "outputTokens").unwrap_or(0));
        sum.1 += amount(model, "costUSD")?;
    }
    Some(sum)
}

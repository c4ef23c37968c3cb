//! Events of Claude Code: `stream-json`, the result of `json`, and the lines of its transcripts, which are much the same.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::dialect::StreamDialect;
use super::fields::{
    content_text, cut_middle, get_amount, get_list, get_number, get_text, is_true,
};
use super::figures::{ResultUsage, TokenCounts};
use super::reply_event::{FinalResult, ReplyEvent};
use super::session_fold::SessionFold;

/// Takes one event; says whether it is one of Claude Code's.
pub(super) fn apply_claude_event(gathered: &mut SessionFold, event: &Value) -> bool {
    let is_known = match get_text(event, "type") {
        Some("system") => apply_system(gathered, event),
        Some("assistant") => apply_assistant(gathered, event),
        Some("user") => apply_user(gathered, event),
        Some("result") => apply_result(gathered, event),
        Some("stream_event") => apply_partial(gathered, event),
        Some("rate_limit_event") => rate_limit(gathered, event),
        Some("cost-state") => {
            let tokens = event
                .get("modelUsage")
                .and_then(sum_models)
                .map(|(tokens, _)| tokens);
            let session_cost = get_amount(event, "totalCostUSD");
            gathered.figures.settle(&ResultUsage {
                session_tokens: tokens,
                session_cost,
                ..ResultUsage::default()
            });
            true
        }
        _ => false,
    };
    if is_known {
        gathered.session(get_text(event, "session_id").or_else(|| get_text(event, "sessionId")));
    }
    is_known
}

/// The part of an answer in one of Claude Code's events.
pub(super) fn read_claude_reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    match kind? {
        "system" => Some(ReplyEvent::Other),
        "assistant" => {
            let text = event
                .get("message")
                .filter(|_| is_main(event))
                .map(join_texts)
                .unwrap_or_default();
            // Cut off before its result: a synthetic message carries the error.
            let is_error = is_true(event, "is_api_error_message");
            let api_error_status = get_number(event, "api_error_status");
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
    get_text(event, "subtype") == Some("init") && event.get("qwen_code_version").is_some()
}

fn apply_system(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(subtype) = get_text(event, "subtype") else {
        return false;
    };
    match subtype {
        "api_retry" => {
            let status = get_number(event, "error_status")
                .map(|status| format!(" ({status})"))
                .unwrap_or_default();
            gathered.retries_for(format!(
                "{}{status}",
                cut_middle(get_text(event, "error").unwrap_or("unknown error"), 200)
            ));
        }
        // Qwen Code's word for the same.
        "retry" => {
            let reason = event.get("data").and_then(|data| get_text(data, "reason"));
            gathered.retries_for(cut_middle(reason.unwrap_or("unknown error"), 200));
        }
        "background_tasks_changed" => gathered.runs(get_list(event, "tasks").map(convert_task)),
        "task_started" if is_true(event, "is_backgrounded") => {
            gathered.runs_too(convert_task(event))
        }
        "task_updated" => {
            let status = event
                .get("patch")
                .and_then(|patch| get_text(patch, "status"));
            ended_task(gathered, event, status);
        }
        "task_notification" => ended_task(gathered, event, get_text(event, "status")),
        _ => {}
    }
    true
}

fn ended_task(gathered: &mut SessionFold, event: &Value, status: Option<&str>) {
    if matches!(
        status,
        Some("completed" | "failed" | "killed" | "stopped" | "cancelled")
    ) && let Some(id) = get_text(event, "task_id")
    {
        gathered.ran(id);
    }
}

/// A background task in the form that Claude Code's hooks have.
fn convert_task(reported: &Value) -> Value {
    let kind = match get_text(reported, "task_type") {
        Some("local_bash") => "shell",
        Some("local_agent") => "subagent",
        Some(other_type) => other_type,
        None => "unknown",
    };
    json!({
        "id": cut_middle(get_text(reported, "task_id").unwrap_or_default(), 100),
        "type": cut_middle(kind, 100),
        "status": "running",
        "description": cut_middle(get_text(reported, "description").unwrap_or_default(), 500),
    })
}

/// A command that runs in the background, in the same form.
pub(super) fn shell_task(id: &str, command: &str) -> Value {
    json!({"id": cut_middle(id, 100), "type": "shell", "status": "running", "description": cut_middle(command, 500)})
}

fn apply_assistant(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(message) = event.get("message").filter(|message| message.is_object()) else {
        return false;
    };
    let main = is_main(event);
    // A message of the program itself: no turn, no tokens.
    let synthetic = get_text(message, "model") == Some("<synthetic>");
    let id = get_text(message, "id");
    if let Some(id) = id.filter(|_| !synthetic) {
        gathered
            .figures
            .message(id, message.get("usage").and_then(read_tokens), main);
    }
    if !main {
        return true;
    }
    gathered.says(&join_texts(message), id);
    for block in
        get_list(message, "content").filter(|block| get_text(block, "type") == Some("tool_use"))
    {
        if let (Some(id), Some(name)) = (get_text(block, "id"), get_text(block, "name")) {
            gathered.calls(id, name, block.get("input").unwrap_or(&Value::Null));
        }
    }
    if let Some(reason) = get_text(message, "stop_reason") {
        gathered.reported.stop_reason = Some(cut_middle(reason, 100));
    }
    true
}

/// The text of a message, without its tool calls.
fn join_texts(message: &Value) -> String {
    get_list(message, "content")
        .filter(|block| get_text(block, "type") == Some("text"))
        .filter_map(|block| get_text(block, "text"))
        .collect()
}

fn apply_user(gathered: &mut SessionFold, event: &Value) -> bool {
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
        match (get_text(block, "type"), get_text(block, "tool_use_id")) {
            (Some("tool_result"), Some(id)) => {
                let content = block.get("content").map(content_text).unwrap_or_default();
                gathered.returns(id, &content, is_true(block, "is_error"), reported);
            }
            (Some("text"), _) => texts.extend(get_text(block, "text")),
            _ => {}
        }
    }
    let texts = texts.join("\n");
    if !texts.is_empty() && !is_true(event, "isMeta") {
        if event.get("promptId").is_some() {
            gathered.reported.prompt = Some(cut_middle(&texts, 64 << 10));
        }
        gathered.add_message("user", &texts);
    }
    true
}

/// Subagents speak in the same stream, and in side chains of a transcript.
fn is_main(event: &Value) -> bool {
    get_text(event, "parent_tool_use_id").is_none() && !is_true(event, "isSidechain")
}

/// There is one result for each turn that background work led to; the last one counts.
fn apply_result(gathered: &mut SessionFold, event: &Value) -> bool {
    let subtype = get_text(event, "subtype");
    if subtype.is_none() && event.get("result").is_none() && event.get("is_error").is_none() {
        return false;
    }
    // Qwen's usage is the session's, earlier runs and its own memory's included.
    if gathered.reported.dialect == Some(StreamDialect::Qwen) {
        gathered
            .figures
            .settle_turns(get_number(event, "num_turns"));
        if let Some(tokens) = event.get("usage").and_then(tokens_with_cached) {
            gathered.figures.so_far(tokens);
        }
    } else {
        apply_result_usage(gathered, event, subtype);
    }
    for denial in get_list(event, "permission_denials") {
        gathered.refuses(get_text(denial, "tool_name").unwrap_or_default());
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
    gathered.reported.structured_output = structured_output;
    if let Some(reason) = get_text(event, "stop_reason") {
        gathered.reported.stop_reason = Some(cut_middle(reason, 100));
    }
    let error_subtype = subtype.filter(|subtype| subtype.starts_with("error"));
    let ended = error_subtype
        .or(get_text(event, "terminal_reason"))
        .or(subtype)
        .unwrap_or("result");
    gathered.reported.ended = Some(cut_middle(ended, 100));
    if !is_error {
        gathered.recovers();
        return true;
    }
    let message = match get_text(event, "result") {
        _ if !errors.is_empty() => cut_middle(&errors.join("\n"), 4000),
        Some(answer) if !answer.is_empty() => cut_middle(answer, 4000),
        _ => cut_middle(ended, 100),
    };
    gathered.fails(message, api_error_status);
    true
}

fn apply_result_usage(gathered: &mut SessionFold, event: &Value, subtype: Option<&str>) {
    let since = event
        .get("model_usage_since_last_result")
        .and_then(sum_models);
    let session = event.get("modelUsage").and_then(sum_models);
    let own = event.get("usage").and_then(read_tokens);
    let forgotten = own.is_none() || subtype == Some("error_max_budget_usd");
    gathered.figures.settle(&ResultUsage {
        turns: get_number(event, "num_turns"),
        tokens: own,
        // If its own budget ended it, the result reports no tokens, though they were paid.
        tokens_of_all: since
            .or(session.filter(|_| forgotten))
            .map(|(tokens, _)| tokens),
        cost: since.map(|(_, cost)| cost),
        session_tokens: session.map(|(tokens, _)| tokens),
        session_cost: get_amount(event, "total_cost_usd"),
    });
}

/// The result of a turn, for sessions and answers alike.
fn final_result(event: &Value) -> FinalResult {
    let error_subtype = get_text(event, "subtype").filter(|subtype| subtype.starts_with("error"));
    // Qwen Code has one error in the place of a list, and Gemini a status in the place of a subtype.
    let single_error = event
        .get("error")
        .and_then(|error| error.get("message").unwrap_or(error).as_str());
    FinalResult {
        text: match event.get("result") {
            Some(Value::String(answer)) => Some(answer.clone()),
            Some(Value::Null) | None => None,
            Some(other_value) => Some(other_value.to_string()),
        },
        // The second is Qwen's.
        structured_output: ["structured_output", "structured_result"]
            .into_iter()
            .find_map(|key| event.get(key).filter(|value| !value.is_null()))
            .cloned(),
        is_error: error_subtype.is_some()
            || is_true(event, "is_error")
            || get_text(event, "status") == Some("error"),
        cut_short: error_subtype.is_some(),
        errors: get_list(event, "errors")
            .filter_map(Value::as_str)
            .chain(single_error)
            .map(str::to_owned)
            .collect(),
        api_error_status: get_number(event, "api_error_status"),
        terminal_reason: get_text(event, "terminal_reason")
            .or(error_subtype)
            .map(str::to_owned),
    }
}

/// `--include-partial-messages`: the partial events give the cost of a message sooner and more precisely.
fn apply_partial(gathered: &mut SessionFold, event: &Value) -> bool {
    let Some(inner) = event.get("event") else {
        return false;
    };
    let main = is_main(event);
    match get_text(inner, "type") {
        Some("message_start") => {
            if let Some((message, id)) = inner
                .get("message")
                .and_then(|message| Some((message, get_text(message, "id")?)))
            {
                gathered
                    .figures
                    .message(id, message.get("usage").and_then(read_tokens), main);
            }
        }
        Some("message_delta") => {
            if let (Some(id), Some(usage)) = (
                get_text(event, "api_message_id"),
                inner.get("usage").and_then(read_tokens),
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
    gathered.reported.limit_ends = ends.filter(|_| get_text(info, "status") == Some("rejected"));
    true
}

fn read_tokens(usage: &Value) -> Option<TokenCounts> {
    let input = [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ]
    .map(|key| get_number(usage, key));
    let output = get_number(usage, "output_tokens");
    if input.iter().chain([&output]).all(Option::is_none) {
        return None;
    }
    let input = input.into_iter().flatten().fold(0, u64::saturating_add);
    Some(TokenCounts {
        input,
        output: output.unwrap_or(0),
    })
}

/// The tokens of Qwen and Codex: cached ones are among those read.
pub(super) fn tokens_with_cached(usage: &Value) -> Option<TokenCounts> {
    Some(TokenCounts {
        input: get_number(usage, "input_tokens")?,
        output: get_number(usage, "output_tokens").unwrap_or(0),
    })
}

/// Tokens and US dollars of all models together.
fn sum_models(usage: &Value) -> Option<(TokenCounts, f64)> {
    let mut sum = (TokenCounts::default(), 0.0);
    for model in usage.as_object()?.values() {
        let input = [
            "inputTokens",
            "cacheReadInputTokens",
            "cacheCreationInputTokens",
        ]
        .into_iter()
        .filter_map(|key| get_number(model, key));
        sum.0.input = input.fold(sum.0.input, u64::saturating_add);
        sum.0.output = sum
            .0
            .output
            .saturating_add(get_number(model, "outputTokens").unwrap_or(0));
        sum.1 += get_amount(model, "costUSD")?;
    }
    Some(sum)
}

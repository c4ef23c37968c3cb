//! Events of `codex exec --json`.

use serde_json::Value;

use super::claude::{shell_task, tokens_with_cached};
use super::fields::{content_text, cut_middle, error_text, get_list, get_text};
use super::refused::read_only_cause;
use super::reply_event::{ReplyEvent, reply_from_text};
use super::session_fold::SessionFold;
use super::tool_input::input_summary;
use watchdog_facts::session_event::SessionEvent;

/// Takes one event; says whether it is one of Codex's.
pub(super) fn apply_codex_event(gathered: &mut SessionFold, event: &Value) -> bool {
    match get_text(event, "type") {
        Some("thread.started") => gathered.session(get_text(event, "thread_id")),
        Some("turn.started") => {
            gathered.figures.turn();
            gathered.reported.ended = None;
            gathered.recovers();
        }
        Some("turn.completed") => {
            // Told for the thread so far, not for the turn.
            if let Some(tokens) = event.get("usage").and_then(tokens_with_cached) {
                gathered.figures.so_far(tokens);
            }
            gathered.reported.ended = Some("completed".into());
            gathered.recovers();
            gathered.leaves_commands();
        }
        Some("turn.failed") => {
            gathered.reported.ended = Some("turn.failed".into());
            gathered.fails(error_text(event), None);
            gathered.leaves_commands();
        }
        // Gemini's have a severity.
        Some("error") if event.get("message").is_some() && event.get("severity").is_none() => {
            match retry_reason(event) {
                Some(why) => gathered.retries_for(cut_middle(why, 200)),
                // A turn that is completed after all takes it back.
                None => gathered.fails(error_text(event), None),
            }
        }
        Some(kind @ ("item.started" | "item.updated" | "item.completed")) => {
            let Some(item) = event.get("item") else {
                return false;
            };
            take_item(gathered, item, kind == "item.completed");
        }
        _ => return false,
    }
    true
}

/// The part of an answer in one of Codex's events, in the format of older versions as well.
pub(super) fn read_codex_reply(kind: Option<&str>, event: &Value) -> Option<ReplyEvent> {
    match kind? {
        "thread.started" | "turn.started" => Some(ReplyEvent::Other),
        "turn.completed" => Some(ReplyEvent::Recovered),
        "item.completed" | "agent_message" => {
            Some(match event.get("item").or_else(|| event.get("msg")) {
                Some(item) => reply_of_item(item),
                None => ReplyEvent::Other,
            })
        }
        _ => None,
    }
}

fn reply_of_item(item: &Value) -> ReplyEvent {
    match get_text(item, "type") {
        Some("agent_message") => reply_from_text(
            item.get("text")
                .or_else(|| item.get("message"))
                .and_then(Value::as_str),
        ),
        // The service answered again: the agent works on.
        Some("command_execution" | "file_change" | "mcp_tool_call" | "reasoning") => {
            ReplyEvent::Recovered
        }
        _ => ReplyEvent::Other,
    }
}

fn take_item(gathered: &mut SessionFold, item: &Value, completed: bool) {
    // Older versions name the kind otherwise.
    match get_text(item, "type").or_else(|| get_text(item, "item_type")) {
        Some("todo_list") => gathered.todo.replace(item),
        Some("agent_message" | "assistant_message") if completed => {
            gathered.says(
                get_text(item, "text").unwrap_or_default(),
                get_text(item, "id"),
            );
        }
        Some("command_execution") if completed => {
            let failed = item
                .get("exit_code")
                .and_then(Value::as_i64)
                .is_some_and(|code| code != 0);
            let output = get_text(item, "aggregated_output").unwrap_or_default();
            // A denial has no mark of its own: the sandbox lets a command fail.
            if let Some(cause) = read_only_cause(output).filter(|_| failed) {
                gathered.refuses_for("command_execution", cause);
            }
            record_tool_result(gathered, item, ("command_execution", item), output, failed);
        }
        Some("command_execution") => {
            let id = get_text(item, "id").unwrap_or_default();
            gathered.calls(id, "command_execution", item);
            gathered.begins_command(
                id,
                shell_task(id, get_text(item, "command").unwrap_or_default()),
            );
        }
        Some("mcp_tool_call") if completed => {
            let result = item
                .get("result")
                .map(|result| content_text(result.get("content").unwrap_or(result)));
            let failed = get_text(item, "status") == Some("failed");
            let input = item.get("arguments").unwrap_or(&Value::Null);
            record_tool_result(
                gathered,
                item,
                (get_text(item, "tool").unwrap_or("mcp_tool_call"), input),
                &result.unwrap_or_default(),
                failed,
            );
        }
        Some("file_change") if completed => {
            let paths: Vec<&str> = get_list(item, "changes")
                .filter_map(|change| get_text(change, "path"))
                .collect();
            gathered.note(|| SessionEvent::Called {
                tool: "file_change".into(),
                input: cut_middle(&paths.join(" "), 4000),
            });
        }
        Some("web_search") if completed => {
            gathered.note(|| SessionEvent::Called {
                tool: "web_search".into(),
                input: input_summary(item),
            });
        }
        Some("error") => {
            gathered.add_message("system", get_text(item, "message").unwrap_or_default())
        }
        _ => {}
    }
}

fn record_tool_result(
    gathered: &mut SessionFold,
    item: &Value,
    (tool, input): (&str, &Value),
    content: &str,
    failed: bool,
) {
    let id = get_text(item, "id").unwrap_or_default();
    if !gathered.waits_for(id) {
        gathered.calls(id, tool, input);
    }
    gathered.returns(id, content, failed, None);
}

/// Why it connects again, as `Reconnecting... 2/5 (why)` says it.
fn retry_reason(event: &Value) -> Option<&str> {
    let after_prefix = get_text(event, "message")?
        .strip_prefix("Reconnecting...")?
        .trim();
    Some(
        after_prefix
            .split_once('(')
            .map_or(after_prefix, |(_, why)| {
                why.strip_suffix(')').unwrap_or(why)
            }),
    )
}

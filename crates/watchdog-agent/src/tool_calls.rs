//! The calls of tools in a line of a transcript, and their results: of Claude Code, Codex, Gemini CLI (and opencode, by our plugin), Qwen Code and Copilot CLI. Pure.

use std::path::Path;

use serde_json::Value;

use super::claim_words::read_entry;
use super::session_history::{Call, CommandCall};

/// Texts without one of which a line has none of these, no last words of its own form, and no stop of Copilot CLI.
pub(super) const MARKS: [&str; 9] = [
    "\"tool_use",
    "\"functionCall\"",
    "\"functionResponse\"",
    "\"type\":\"gemini\"",
    "\"tool.execution_",
    "\"assistant.message\"",
    "\"agentStop\"",
    "\"function_call",
    "\"custom_tool_call",
];

/// The lines of a patch that name a file, up to its name.
const PATCHED: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];

/// The result of a call.
#[derive(Default)]
pub(super) struct CallResult {
    pub has_failed: bool,
    /// The exit code of a command, where it failed and tells it.
    pub code: Option<u32>,
    /// Whether it is the end of the call, and not one that goes on in the background.
    pub is_over: bool,
    pub output: String,
}

/// A call or a result, with the id of the call.
pub(super) enum CallEntry<'v> {
    Call(&'v str, Option<Call>),
    Result(&'v str, CallResult),
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The number at the begin of a text.
fn read_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// The entries of an event, in order. Paths are taken from `folder`.
pub(super) fn list_entries<'v>(event: &'v Value, folder: &Path) -> Vec<CallEntry<'v>> {
    let call = |id, name, input| CallEntry::Call(text(id), read_call(text(name), input, folder));
    let mut entries = Vec::new();
    // Claude Code
    for block in each(&event["message"]["content"]) {
        match text(&block["type"]) {
            "tool_use" => entries.push(call(&block["id"], &block["name"], &block["input"])),
            "tool_result" => {
                let content = &block["content"];
                let output = content.as_str().unwrap_or(text(&content[0]["text"]));
                let result = CallResult {
                    has_failed: block["is_error"] == true,
                    code: output.strip_prefix("Exit code ").and_then(read_number),
                    is_over: event["toolUseResult"]["backgroundTaskId"].is_null(),
                    output: output.to_owned(),
                };
                entries.push(CallEntry::Result(text(&block["tool_use_id"]), result));
            }
            _ => {}
        }
    }
    // Qwen Code
    for part in each(&event["message"]["parts"]) {
        let (request, response_part) = (&part["functionCall"], &part["functionResponse"]);
        if request.is_object() {
            entries.push(call(&request["id"], &request["name"], &request["args"]));
        } else if response_part.is_object() {
            let (response, result) = (&response_part["response"], &event["toolCallResult"]);
            let output = text(&response["output"]).to_owned() + text(&response["error"]);
            let code = &result["resultDisplay"]["exitCode"];
            let result = end_by_code(code, result["status"] == "error", output);
            entries.push(CallEntry::Result(text(&response_part["id"]), result));
        }
    }
    // Gemini CLI, which has both in one event
    for tool in each(&event["toolCalls"]) {
        let response = &tool["result"][0]["functionResponse"]["response"];
        let output = text(&response["output"]).to_owned() + text(&response["error"]);
        let code = output.rsplit_once("\nExit Code: ");
        let code = code.and_then(|(_, code)| read_number(code));
        let is_over = tool["args"]["is_background"] != true
            && !["cancelled", "\nSignal: "]
                .iter()
                .any(|word| output.contains(word));
        let result = CallResult {
            has_failed: tool["status"] != "success" || code.is_some(),
            code,
            is_over,
            output,
        };
        entries.push(call(&tool["id"], &tool["name"], &tool["args"]));
        entries.push(CallEntry::Result(text(&tool["id"]), result));
    }
    let (data, payload) = (&event["data"], &event["payload"]);
    match (text(&event["type"]), text(&payload["type"])) {
        // Copilot CLI
        ("tool.execution_start", _) => entries.push(call(
            &data["toolCallId"],
            &data["toolName"],
            &data["arguments"],
        )),
        ("tool.execution_complete", _) => {
            let code = &data["shellExecution"]["exitCode"];
            let output = text(&data["result"]["content"]).to_owned();
            let result = end_by_code(code, data["success"] == false, output);
            entries.push(CallEntry::Result(text(&data["toolCallId"]), result));
        }
        // Codex
        (_, "function_call") => {
            let input = serde_json::from_str(text(&payload["arguments"])).unwrap_or_default();
            entries.push(call(&payload["call_id"], &payload["name"], &input));
        }
        (_, "custom_tool_call") => entries.push(call(
            &payload["call_id"],
            &payload["name"],
            &payload["input"],
        )),
        (_, "function_call_output" | "custom_tool_call_output") => {
            let (output, mut code) = (text(&payload["output"]), None);
            let head = output.split("\nOutput:").next().unwrap_or_default();
            if let Some((_, number)) = head.split_once("Process exited with code ") {
                code = read_number(number);
            }
            let has_failed = code.map_or(!output.contains("Success"), |code| code != 0);
            let result = CallResult {
                has_failed,
                code,
                is_over: true,
                output: output.to_owned(),
            };
            entries.push(CallEntry::Result(text(&payload["call_id"]), result));
        }
        _ => {}
    }
    entries
}

/// The last command, or file that is edited, in an event.
pub(super) fn describe_last_call(event: &Value, folder: &Path) -> Option<String> {
    let describe = |entry| match entry {
        CallEntry::Call(_, Some(Call::Command(command))) => Some(command.describe()),
        CallEntry::Call(_, Some(Call::Edit(paths))) => Some(format!(
            "edits {}",
            paths
                .first()?
                .strip_prefix(folder)
                .unwrap_or(paths.first()?)
                .display()
        )),
        _ => None,
    };
    let mut entries = list_entries(event, folder).into_iter().rev();
    entries.find_map(describe)
}

/// The result of a call whose event has an exit code where it ran a command to its end.
fn end_by_code(code: &Value, has_failed: bool, output: String) -> CallResult {
    let code = code.as_u64().and_then(|code| u32::try_from(code).ok());
    CallResult {
        has_failed: has_failed || code.is_some_and(|code| code != 0),
        code,
        is_over: code.is_some(),
        output,
    }
}

/// The words of an agent in an event of a transcript whose hooks do not tell the last ones alone.
pub(super) fn read_last_words(event: &Value) -> Option<&str> {
    let words = match text(&event["type"]) {
        "gemini" => &event["content"],
        "assistant.message" => &event["data"]["content"],
        _ => return None,
    };
    words.as_str().filter(|words| !words.trim().is_empty())
}

/// A call; `None` of one that changes no file.
fn read_call(name: &str, input: &Value, folder: &Path) -> Option<Call> {
    let is_in = |tools: &str| read_entry(tools).split(' ').any(|listed| listed == name);
    let first = |keys: [&str; 4]| keys.into_iter().find_map(|key| input[key].as_str());
    let line = first(["command", "cmd", "patchText", ""]);
    if let Some(patch) = line.or(input.as_str())
        && ["apply_patch", "*** Begin Patch"]
            .iter()
            .any(|word| patch.starts_with(word))
    {
        let named = patch
            .lines()
            .filter_map(|line| PATCHED.iter().find_map(|word| line.strip_prefix(word)));
        return Some(Call::Edit(named.map(|path| folder.join(path)).collect()));
    }
    if is_in("tools run") {
        let below = first(["workdir", "directory", "dir_path", ""]).unwrap_or_default();
        // Joined with nothing, a folder would end in a slash.
        let folder = if below.is_empty() {
            folder.to_owned()
        } else {
            folder.join(below)
        };
        return Some(Call::Command(CommandCall::new(line?, folder)));
    }
    let path =
        first(["file_path", "path", "absolute_path", "filePath"]).filter(|_| is_in("tools write"));
    let call = path.map_or(Call::Unknown, |path| Call::Edit(vec![folder.join(path)]));
    (!is_in("tools read")).then_some(call)
}

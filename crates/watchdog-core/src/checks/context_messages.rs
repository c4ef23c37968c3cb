//! The messages of a context: in watchdog's own form, in Anthropic's blocks, in OpenAI's (Chat Completions and the items of Responses), and
//! in spore-core's, whose content is one block. A kind that is not known is an error: what it says could be what a check looks for.

use std::collections::HashMap;

use serde_json::Value;

use watchdog_facts::context::{ContextMessage, ToolResult};

use super::context_reader::{
    ContextResult, ObjectKeys, block_text, message_text, read_id, read_text, reject_value,
    wrong_kind,
};

/// Blocks and items without a text that the agent says: its thinking, pictures, files.
const WITHOUT_TEXT: [&str; 12] = [
    "thinking",
    "redacted_thinking",
    "reasoning",
    "image",
    "image_url",
    "input_image",
    "input_audio",
    "audio",
    "file",
    "input_file",
    "document",
    "search_result",
];
/// Blocks that are a text.
const TEXTS: [&str; 3] = ["text", "input_text", "output_text"];
/// Calls of a tool.
const CALLS: [&str; 5] = [
    "tool_use",
    "tool_call",
    "function_call",
    "server_tool_use",
    "custom_tool_call",
];
/// Kinds of a tool's answer.
const RESULTS: [&str; 4] = [
    "tool_result",
    "function_call_output",
    "custom_tool_call_output",
    "web_search_tool_result",
];

/// The names of tools by the ids of their calls.
type CalledTools = HashMap<String, String>;

/// The messages; one with several results of tools becomes several. A result without the name of its tool gets it from its call.
pub(super) fn read_messages(top: &ObjectKeys<'_>) -> ContextResult<Vec<ContextMessage>> {
    let Some((key, value)) = top.get("messages") else {
        return Ok(Vec::new());
    };
    let Value::Array(items) = value else {
        return wrong_kind(&key, "a list", value);
    };
    let mut called = CalledTools::new();
    let mut messages = Vec::with_capacity(items.len());
    for (n, item) in items.iter().enumerate() {
        read_message(&format!("{key}[{n}]"), item, &mut called, &mut messages)?;
    }
    Ok(messages)
}

fn read_message(
    key: &str,
    item: &Value,
    called: &mut CalledTools,
    messages: &mut Vec<ContextMessage>,
) -> ContextResult<()> {
    let keys = ObjectKeys::read_object(key, item)?;
    let role = keys.text("role")?.unwrap_or_default();
    let mut results = Vec::new();
    let mut message_text_so_far = keys.text("text")?;
    // An item of Responses is a message, or has its kind beside no role.
    if keys.get("type").is_some_and(|(_, kind)| kind != "message") && role.is_empty() {
        read_content_block(key, item, called, &mut results)?;
        messages.extend(results.into_iter().map(|result| ContextMessage {
            role: "tool".into(),
            text: None,
            tool_result: Some(result),
        }));
        return Ok(());
    }
    for name in ["tool_call", "tool_calls", "function_call"] {
        match keys.get(name) {
            None => {}
            Some((key, Value::Array(calls))) => {
                calls
                    .iter()
                    .enumerate()
                    .try_for_each(|(n, call)| note_call(&format!("{key}[{n}]"), call, called))?;
            }
            Some((key, call)) => note_call(&key, call, called)?,
        }
    }
    if let Some((key, value)) = keys.get("tool_result") {
        results.push(tool_result(&key, value, called)?);
    }
    match keys.get("content") {
        None => {}
        // OpenAI's result of a tool is the message itself.
        Some(_) if keys.get("tool_call_id").is_some() || role == "function" => {
            results.push(tool_result(key, item, called)?)
        }
        Some((key, content)) => {
            match content {
                Value::Array(blocks) => blocks.iter().enumerate().try_for_each(|(n, one)| {
                    // A text among blocks is one.
                    if one.is_string() {
                        Ok(())
                    } else {
                        read_content_block(&format!("{key}[{n}]"), one, called, &mut results)
                    }
                })?,
                Value::Object(_) => read_content_block(&key, content, called, &mut results)?,
                _ => {}
            }
            let content_text = match content {
                Value::Object(_) => block_text(content).unwrap_or_default().to_owned(),
                _ => message_text(&key, content)?,
            };
            if !content_text.is_empty() || content.is_string() {
                message_text_so_far.get_or_insert(content_text);
            }
        }
    }
    // A refusal of the model counts as its text.
    if message_text_so_far.is_none() {
        message_text_so_far = keys.text("refusal")?;
    }
    if message_text_so_far.is_some() || results.is_empty() {
        messages.push(ContextMessage {
            role: role.clone(),
            text: message_text_so_far,
            tool_result: None,
        });
    }
    messages.extend(results.into_iter().map(|result| ContextMessage {
        role: role.clone(),
        text: None,
        tool_result: Some(result),
    }));
    Ok(())
}

/// A block of a content: notes a call, keeps a result. Texts are read with the whole content.
fn read_content_block(
    key: &str,
    value: &Value,
    called: &mut CalledTools,
    results: &mut Vec<ToolResult>,
) -> ContextResult<()> {
    let keys = ObjectKeys::read_object(key, value)?;
    match keys.text("type")?.as_deref() {
        None if keys.get("text").is_some() => Ok(()),
        Some(kind) if TEXTS.contains(&kind) => keys
            .get("text")
            .map_or(Ok(()), |(key, value)| read_text(&key, value).map(drop)),
        Some("refusal") => keys
            .get("refusal")
            .map_or(Ok(()), |(key, value)| read_text(&key, value).map(drop)),
        Some(kind) if WITHOUT_TEXT.contains(&kind) => Ok(()),
        Some(kind) if CALLS.contains(&kind) => note_call(key, value, called),
        Some(kind) if RESULTS.contains(&kind) => {
            results.push(tool_result(key, value, called)?);
            Ok(())
        }
        Some(kind) => reject_value(
            &format!("{key}.type"),
            format!(
                "'{kind}' is no kind of block that this program knows (text, tool_use, tool_result, ...)"
            ),
        ),
        None => reject_value(key, "expected a block with a type or a text".into()),
    }
}

fn note_call(key: &str, value: &Value, called: &mut CalledTools) -> ContextResult<()> {
    let keys = ObjectKeys::read_object(key, value)?;
    let call = keys
        .first(&["call_id", "id"])
        .map(|(key, value)| read_id(&key, value))
        .transpose()?;
    // OpenAI's call has its name one level deeper.
    let inner = ["function", "custom"]
        .into_iter()
        .find_map(|name| keys.get(name));
    let name = match inner {
        Some((key, inner)) => ObjectKeys::read_object(&key, inner)?.text("name")?,
        None => keys.text("name")?,
    };
    if let (Some(call), Some(name)) = (call, name) {
        called.insert(call, name);
    }
    Ok(())
}

fn tool_result(key: &str, value: &Value, called: &CalledTools) -> ContextResult<ToolResult> {
    let keys = ObjectKeys::read_object(key, value)?;
    let call = keys
        .first(&["tool_use_id", "tool_call_id", "call_id", "id"])
        .map(|(key, value)| read_id(&key, value))
        .transpose()?;
    let name = keys
        .text("name")?
        .or_else(|| called.get(call.as_ref()?).cloned());
    let content = match keys.first(&["content", "output"]) {
        None => String::new(),
        Some((_, Value::Array(blocks)))
            if blocks.iter().all(|block| block_text(block).is_some()) =>
        {
            blocks
                .iter()
                .filter_map(block_text)
                .collect::<Vec<_>>()
                .join("\n")
        }
        Some((_, Value::String(text))) => text.clone(),
        // The result itself, not yet as text.
        Some((_, other)) => other.to_string(),
    };
    Ok(ToolResult {
        id: call,
        name,
        content,
        is_error: keys.flag("is_error")?.unwrap_or(false),
    })
}

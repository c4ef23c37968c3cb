//! The context of the contract's section 5 as JSON, read: tolerant of keys that it does not know, strict about the types of those that
//! it does. An absent or null key is unknown.

use std::collections::HashMap;

use serde_json::{Map, Value};

use watchdog_facts::context::{AgentTodoPlan, ContextMessage, IterationSummary, PlanStep, SessionContext, SessionUsage, ToolResult};

/// A context may be so long, in bytes.
pub const MAX_CONTEXT_BYTES: usize = 64 << 20;

/// Why a text is no context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", if .key.is_empty() { String::new() } else { format!("{}: ", .key) })]
pub struct ContextError {
    /// The key's path, such as `messages[2].role`; empty for the whole.
    pub key: String,
    /// The mistake, without a final period.
    pub why: String,
}

type ContextResult<T> = Result<T, ContextError>;

/// Reads a context. `content` may be a text or a list of blocks, and ids may be numbers or texts.
///
/// # Errors
/// The first thing that is wrong, with its key.
pub fn context_from_json(text: &str) -> Result<SessionContext, ContextError> {
    if text.len() > MAX_CONTEXT_BYTES {
        return wrong("", format!("the context is {} bytes long; at most {MAX_CONTEXT_BYTES} are read", text.len()));
    }
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| ContextError { key: String::new(), why: format!("the context is not valid JSON: {error}") })?;
    context_from_value(&value)
}

/// As [`context_from_json`], of a value that was read already.
///
/// # Errors
/// The first thing that is wrong, with its key.
pub fn context_from_value(value: &Value) -> Result<SessionContext, ContextError> {
    let top = ObjectKeys::of("", value)?;
    match top.get("schema") {
        None => {}
        Some((_, Value::Number(version))) if version.as_u64() == Some(1) => {}
        Some((key, other)) => return wrong(&key, format!("this program reads schema 1 of the context, found {other}")),
    }
    Ok(SessionContext {
        worktree: top.text("worktree")?,
        spec: top.text("spec")?,
        baseline: top.text("baseline")?,
        head: top.text("head")?,
        iteration: top.whole("iteration")?,
        claims_done: top.flag("claims_done")?,
        stop_reason: top.text("stop_reason")?,
        tentative_output: top.get("tentative_output").map(|(_, value)| value.clone()),
        output: top.get("output").map(|(key, value)| message_text(&key, value)).transpose()?,
        prompt: top.get("prompt").map(|(key, value)| message_text(&key, value)).transpose()?,
        summaries: top.each("summaries", summary)?,
        plan: top.get("plan").map(|(key, value)| plan(&key, value)).transpose()?,
        messages: messages(&top)?,
        usage: top.get("usage").map(|(key, value)| usage(&key, value)).transpose()?.unwrap_or_default(),
        background_tasks: top.each("background_tasks", |_, value| Ok(value.clone()))?,
        // The caller knows the source.
        from_host: false,
    })
}

fn wrong<T>(key: &str, why: String) -> ContextResult<T> {
    Err(ContextError { key: key.to_owned(), why })
}

fn expected<T>(key: &str, what: &str, found: &Value) -> ContextResult<T> {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    wrong(key, format!("expected {what}, found {found}"))
}

/// An object and its path.
struct ObjectKeys<'a> {
    path: String,
    members: &'a Map<String, Value>,
}

impl<'a> ObjectKeys<'a> {
    fn of(path: &str, value: &'a Value) -> ContextResult<Self> {
        match value {
            Value::Object(members) => Ok(ObjectKeys { path: path.to_owned(), members }),
            other => expected(path, "an object", other),
        }
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A value and its path, where it is given and not null.
    fn get(&self, name: &str) -> Option<(String, &'a Value)> {
        self.members.get(name).filter(|value| !value.is_null()).map(|value| (self.key(name), value))
    }

    fn first(&self, names: &[&str]) -> Option<(String, &'a Value)> {
        names.iter().find_map(|name| self.get(name))
    }

    fn text(&self, name: &str) -> ContextResult<Option<String>> {
        self.get(name).map(|(key, value)| text(&key, value)).transpose()
    }

    fn flag(&self, name: &str) -> ContextResult<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(*flag)),
            Some((key, other)) => expected(&key, "true or false", other),
        }
    }

    fn whole(&self, name: &str) -> ContextResult<Option<u64>> {
        let Some((key, value)) = self.get(name) else { return Ok(None) };
        // Some languages write every number with a fraction.
        let whole = value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0 && *n < 1e15 && n.fract() == 0.0).map(|n| n as u64));
        match whole {
            Some(whole) => Ok(Some(whole)),
            None if value.is_number() => wrong(&key, format!("expected a whole number of at least 0, found {value}")),
            None => expected(&key, "a whole number of at least 0", value),
        }
    }

    fn amount(&self, name: &str) -> ContextResult<Option<f64>> {
        let Some((key, value)) = self.get(name) else { return Ok(None) };
        match value.as_f64() {
            Some(amount) if amount.is_finite() && amount >= 0.0 => Ok(Some(amount)),
            Some(amount) => wrong(&key, format!("expected a number of at least 0, found {amount}")),
            None => expected(&key, "a number of at least 0", value),
        }
    }

    fn each<T>(&self, name: &str, read: impl Fn(&str, &Value) -> ContextResult<T>) -> ContextResult<Vec<T>> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some((key, value)) => each(&key, value, read),
        }
    }
}

fn each<T>(key: &str, value: &Value, read: impl Fn(&str, &Value) -> ContextResult<T>) -> ContextResult<Vec<T>> {
    match value {
        Value::Array(items) => items.iter().enumerate().map(|(n, item)| read(&format!("{key}[{n}]"), item)).collect(),
        other => expected(key, "a list", other),
    }
}

fn text(key: &str, value: &Value) -> ContextResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => expected(key, "a text", other),
    }
}

/// The text of a message: a text, or a list of blocks of which those with text count.
fn message_text(key: &str, value: &Value) -> ContextResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Array(blocks) => Ok(blocks.iter().filter_map(block_text).collect::<Vec<_>>().join("\n")),
        other => expected(key, "a text or a list of blocks", other),
    }
}

fn block_text(block: &Value) -> Option<&str> {
    match block {
        Value::String(text) => Some(text),
        Value::Object(members) if members.get("type").is_none_or(|kind| kind == "text") => members.get("text")?.as_str(),
        _ => None,
    }
}

/// A number or a text, as text.
fn id(key: &str, value: &Value) -> ContextResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => expected(key, "a number or a text", other),
    }
}

fn summary(key: &str, value: &Value) -> ContextResult<IterationSummary> {
    let keys = ObjectKeys::of(key, value)?;
    let known = ["iteration", "assistant_responses", "detected_actions"];
    Ok(IterationSummary {
        iteration: keys.whole("iteration")?,
        assistant_responses: keys.each("assistant_responses", message_text)?,
        detected_actions: keys.each("detected_actions", |_, value| Ok(value.clone()))?,
        more: keys.members.iter().filter(|(name, _)| !known.contains(&name.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect(),
    })
}

/// Reads a plan: an object with `steps`, or a list of steps alone. Also for plan files.
pub(super) fn plan(key: &str, value: &Value) -> ContextResult<AgentTodoPlan> {
    if value.is_array() {
        return Ok(AgentTodoPlan { steps: each(key, value, step)?, ..AgentTodoPlan::default() });
    }
    let keys = ObjectKeys::of(key, value)?;
    Ok(AgentTodoPlan { objective: keys.text("objective")?, status: keys.text("status")?, steps: keys.each("steps", step)? })
}

fn step(key: &str, value: &Value) -> ContextResult<PlanStep> {
    let keys = ObjectKeys::of(key, value)?;
    let title = keys.first(&["title", "content", "step", "description", "name"]);
    Ok(PlanStep {
        id: keys.first(&["step_id", "id"]).map(|(key, value)| id(&key, value)).transpose()?,
        title: title.map(|(key, value)| text(&key, value)).transpose()?.unwrap_or_default(),
        status: keys.text("status")?.unwrap_or_default(),
    })
}

/// The messages; one with several results of tools becomes several. A result without the name of its tool gets it from its call.
fn messages(top: &ObjectKeys<'_>) -> ContextResult<Vec<ContextMessage>> {
    let Some((key, value)) = top.get("messages") else { return Ok(Vec::new()) };
    let Value::Array(items) = value else { return expected(&key, "a list", value) };
    let mut called: HashMap<String, String> = HashMap::new();
    let mut messages = Vec::with_capacity(items.len());
    for (n, item) in items.iter().enumerate() {
        message(&ObjectKeys::of(&format!("{key}[{n}]"), item)?, &mut called, &mut messages)?;
    }
    Ok(messages)
}

fn message(keys: &ObjectKeys<'_>, called: &mut HashMap<String, String>, messages: &mut Vec<ContextMessage>) -> ContextResult<()> {
    let role = keys.text("role")?.unwrap_or_default();
    for name in ["tool_call", "tool_calls"] {
        match keys.get(name) {
            None => {}
            Some((key, Value::Array(calls))) => {
                calls.iter().enumerate().try_for_each(|(n, call)| note_call(&format!("{key}[{n}]"), call, called))?;
            }
            Some((key, call)) => note_call(&key, call, called)?,
        }
    }
    let mut results = Vec::new();
    if let Some((key, value)) = keys.get("tool_result") {
        results.push(tool_result(&key, value, called)?);
    }
    let mut said = keys.text("text")?;
    if let Some((key, content)) = keys.get("content") {
        if let Value::Array(blocks) = content {
            for (n, block) in blocks.iter().enumerate() {
                let key = format!("{key}[{n}]");
                match block.get("type").and_then(Value::as_str) {
                    Some("tool_use") => note_call(&key, block, called)?,
                    Some("tool_result") => results.push(tool_result(&key, block, called)?),
                    _ => {}
                }
            }
        }
        let message_text = message_text(&key, content)?;
        if !message_text.is_empty() || content.is_string() {
            said.get_or_insert(message_text);
        }
    }
    if said.is_some() || results.is_empty() {
        messages.push(ContextMessage { role: role.clone(), text: said, tool_result: None });
    }
    messages.extend(results.into_iter().map(|result| ContextMessage { role: role.clone(), text: None, tool_result: Some(result) }));
    Ok(())
}

fn note_call(key: &str, value: &Value, called: &mut HashMap<String, String>) -> ContextResult<()> {
    let keys = ObjectKeys::of(key, value)?;
    let id = keys.get("id").map(|(key, value)| id(&key, value)).transpose()?;
    if let (Some(id), Some(name)) = (id, keys.text("name")?) {
        called.insert(id, name);
    }
    Ok(())
}

fn tool_result(key: &str, value: &Value, called: &HashMap<String, String>) -> ContextResult<ToolResult> {
    let keys = ObjectKeys::of(key, value)?;
    let id = keys.first(&["id", "tool_use_id", "tool_call_id"]).map(|(key, value)| id(&key, value)).transpose()?;
    let name = keys.text("name")?.or_else(|| called.get(id.as_ref()?).cloned());
    let content = match keys.get("content") {
        None => String::new(),
        Some((_, Value::Array(blocks))) if blocks.iter().all(|block| block_text(block).is_some()) => {
            blocks.iter().filter_map(block_text).collect::<Vec<_>>().join("\n")
        }
        Some((_, Value::String(text))) => text.clone(),
        // The result itself, not yet as text.
        Some((_, other)) => other.to_string(),
    };
    Ok(ToolResult { id, name, content, is_error: keys.flag("is_error")?.unwrap_or(false) })
}

fn usage(key: &str, value: &Value) -> ContextResult<SessionUsage> {
    let keys = ObjectKeys::of(key, value)?;
    Ok(SessionUsage {
        turns: keys.whole("turns")?,
        input_tokens: keys.whole("input_tokens")?,
        output_tokens: keys.whole("output_tokens")?,
        cost_usd: keys.amount("cost_usd")?,
        wall_seconds: keys.amount("wall_seconds")?,
    })
}

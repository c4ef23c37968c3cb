//! The context of the contract's section 5 as JSON, read: tolerant of keys that it does not know, strict about the types of those that
//! it does. An absent or null key is unknown.

use serde_json::{Map, Value};

use watchdog_facts::context::{
    AgentTodoPlan, IterationSummary, PlanStep, SessionContext, SessionUsage,
};

use super::context_messages::read_messages;

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

pub(super) type ContextResult<T> = Result<T, ContextError>;

/// Reads a context. `content` may be a text or a list of blocks, and ids may be numbers or texts.
///
/// # Errors
/// The first thing that is wrong, with its key.
pub fn context_from_json(text: &str) -> Result<SessionContext, ContextError> {
    if text.len() > MAX_CONTEXT_BYTES {
        return reject_value(
            "",
            format!(
                "the context is {} bytes long; at most {MAX_CONTEXT_BYTES} are read",
                text.len()
            ),
        );
    }
    let value: Value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
            ContextError {
                key: String::new(),
                why: format!("the context is not valid JSON: {error}"),
            }
        })?;
    context_from_value(&value)
}

/// As [`context_from_json`], of a value that was read already.
///
/// # Errors
/// The first thing that is wrong, with its key.
pub fn context_from_value(value: &Value) -> Result<SessionContext, ContextError> {
    let top = ObjectKeys::read_object("", value)?;
    match top.get("schema") {
        None => {}
        Some((_, Value::Number(version))) if version.as_u64() == Some(1) => {}
        Some((key, other)) => {
            return reject_value(
                &key,
                format!("this program reads schema 1 of the context, found {other}"),
            );
        }
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
        output: top.read_member("output", message_text)?,
        prompt: top.read_member("prompt", message_text)?,
        summaries: top.each("summaries", read_summary)?,
        plan: top.read_member("plan", read_plan)?,
        messages: read_messages(&top)?,
        usage: top.read_member("usage", read_usage)?.unwrap_or_default(),
        background_tasks: top.each("background_tasks", |_, value| Ok(value.clone()))?,
        // The caller knows the source.
        from_host: false,
    })
}

pub(super) fn reject_value<T>(key: &str, why: String) -> ContextResult<T> {
    Err(ContextError {
        key: key.to_owned(),
        why,
    })
}

pub(super) fn wrong_kind<T>(key: &str, what: &str, value: &Value) -> ContextResult<T> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    reject_value(key, format!("expected {what}, found {kind}"))
}

/// An object and its path.
pub(super) struct ObjectKeys<'a> {
    path: String,
    members: &'a Map<String, Value>,
}

impl<'a> ObjectKeys<'a> {
    pub(super) fn read_object(path: &str, value: &'a Value) -> ContextResult<Self> {
        match value {
            Value::Object(members) => Ok(ObjectKeys {
                path: path.to_owned(),
                members,
            }),
            other => wrong_kind(path, "an object", other),
        }
    }

    fn key(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    /// A value and its path, where it is given and not null.
    pub(super) fn get(&self, name: &str) -> Option<(String, &'a Value)> {
        self.members
            .get(name)
            .filter(|value| !value.is_null())
            .map(|value| (self.key(name), value))
    }

    pub(super) fn first(&self, names: &[&str]) -> Option<(String, &'a Value)> {
        names.iter().find_map(|name| self.get(name))
    }

    fn read_member<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str, &Value) -> ContextResult<T>,
    ) -> ContextResult<Option<T>> {
        self.get(name)
            .map(|(key, value)| read(&key, value))
            .transpose()
    }

    pub(super) fn text(&self, name: &str) -> ContextResult<Option<String>> {
        self.read_member(name, read_text)
    }

    pub(super) fn flag(&self, name: &str) -> ContextResult<Option<bool>> {
        match self.get(name) {
            None => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(*flag)),
            Some((key, other)) => wrong_kind(&key, "true or false", other),
        }
    }

    fn whole(&self, name: &str) -> ContextResult<Option<u64>> {
        let Some((key, value)) = self.get(name) else {
            return Ok(None);
        };
        // Some languages write every number with a fraction.
        let whole = value.as_u64().or_else(|| {
            value
                .as_f64()
                .filter(|n| *n >= 0.0 && *n < 1e15 && n.fract() == 0.0)
                .map(|n| n as u64)
        });
        match whole {
            Some(whole) => Ok(Some(whole)),
            None if value.is_number() => reject_value(
                &key,
                format!("expected a whole number of at least 0, found {value}"),
            ),
            None => wrong_kind(&key, "a whole number of at least 0", value),
        }
    }

    fn amount(&self, name: &str) -> ContextResult<Option<f64>> {
        let Some((key, value)) = self.get(name) else {
            return Ok(None);
        };
        match value.as_f64() {
            Some(amount) if amount.is_finite() && amount >= 0.0 => Ok(Some(amount)),
            Some(amount) => reject_value(
                &key,
                format!("expected a number of at least 0, found {amount}"),
            ),
            None => wrong_kind(&key, "a number of at least 0", value),
        }
    }

    fn each<T>(
        &self,
        name: &str,
        read: impl Fn(&str, &Value) -> ContextResult<T>,
    ) -> ContextResult<Vec<T>> {
        let list = self.read_member(name, |key, value| read_list_items(key, value, read));
        Ok(list?.unwrap_or_default())
    }
}

fn read_list_items<T>(
    key: &str,
    value: &Value,
    read: impl Fn(&str, &Value) -> ContextResult<T>,
) -> ContextResult<Vec<T>> {
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(n, item)| read(&format!("{key}[{n}]"), item))
            .collect(),
        other => wrong_kind(key, "a list", other),
    }
}

pub(super) fn read_text(key: &str, value: &Value) -> ContextResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        other => wrong_kind(key, "a text", other),
    }
}

/// The text of a message: a text, or a list of blocks of which those with text count.
pub(super) fn message_text(key: &str, value: &Value) -> ContextResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Array(blocks) => Ok(blocks
            .iter()
            .filter_map(block_text)
            .collect::<Vec<_>>()
            .join("\n")),
        other => wrong_kind(key, "a text or a list of blocks", other),
    }
}

pub(super) fn block_text(block: &Value) -> Option<&str> {
    match block {
        Value::String(text) => Some(text),
        Value::Object(members) => match members.get("type").and_then(Value::as_str) {
            None if members.get("type").is_some() => None,
            None | Some("text" | "input_text" | "output_text") => members.get("text")?.as_str(),
            // A refusal of the model counts as its text.
            Some("refusal") => members.get("refusal")?.as_str(),
            Some(_) => None,
        },
        _ => None,
    }
}

/// A number or a text, as text.
pub(super) fn read_id(key: &str, value: &Value) -> ContextResult<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => wrong_kind(key, "a number or a text", other),
    }
}

fn read_summary(key: &str, value: &Value) -> ContextResult<IterationSummary> {
    let keys = ObjectKeys::read_object(key, value)?;
    let known_keys = ["iteration", "assistant_responses", "detected_actions"];
    Ok(IterationSummary {
        iteration: keys.whole("iteration")?,
        assistant_responses: keys.each("assistant_responses", message_text)?,
        detected_actions: keys.each("detected_actions", |_, value| Ok(value.clone()))?,
        more: keys
            .members
            .iter()
            .filter(|(name, _)| !known_keys.contains(&name.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
    })
}

/// Reads a plan: an object with `steps`, or a list of steps alone. Also for plan files.
pub(super) fn read_plan(key: &str, value: &Value) -> ContextResult<AgentTodoPlan> {
    if value.is_array() {
        return Ok(AgentTodoPlan {
            steps: read_list_items(key, value, read_plan_step)?,
            ..AgentTodoPlan::default()
        });
    }
    let keys = ObjectKeys::read_object(key, value)?;
    Ok(AgentTodoPlan {
        objective: keys.text("objective")?,
        status: keys.text("status")?,
        steps: keys.each("steps", read_plan_step)?,
    })
}

fn read_plan_step(key: &str, value: &Value) -> ContextResult<PlanStep> {
    let keys = ObjectKeys::read_object(key, value)?;
    let title = keys.first(&["title", "content", "step", "description", "name"]);
    Ok(PlanStep {
        id: keys
            .first(&["step_id", "id"])
            .map(|(key, value)| read_id(&key, value))
            .transpose()?,
        title: title
            .map(|(key, value)| read_text(&key, value))
            .transpose()?
            .unwrap_or_default(),
        status: keys.text("status")?.unwrap_or_default(),
    })
}

fn read_usage(key: &str, value: &Value) -> ContextResult<SessionUsage> {
    let keys = ObjectKeys::read_object(key, value)?;
    Ok(SessionUsage {
        turns: keys.whole("turns")?,
        input_tokens: keys.whole("input_tokens")?,
        output_tokens: keys.whole("output_tokens")?,
        cost_usd: keys.amount("cost_usd")?,
        wall_seconds: keys.amount("wall_seconds")?,
    })
}

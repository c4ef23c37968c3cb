//! What the scripted Messages API answers, and when: rules, tried in order, each used as often as it says.

use std::time::Duration;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value, json};

/// One rule: conditions that must all hold, and the answer that is then given.
#[derive(Debug, Clone)]
#[must_use = "a rule does nothing before it is given to `MessagesApi::start`"]
pub struct Rule {
    conditions: Vec<Condition>,
    /// Uses that are left; `None` = without end.
    left: Option<u32>,
    pub(super) answer: Answer,
    pub(super) headers: Vec<(String, String)>,
    /// Before the first byte.
    pub(super) delay: Duration,
    /// Streaming: after the first content block has started.
    pub(super) stall: Duration,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// Content blocks of an assistant message.
    Blocks(Vec<Value>),
    /// An API error.
    Error {
        status: u16,
        kind: String,
        message: String,
    },
    /// Any body.
    Raw { status: u16, body: String },
    /// The connection is dropped without a word.
    Close,
}

#[derive(Debug, Clone)]
enum Condition {
    LastUser(Regex),
    OffersTool(String),
}

impl Rule {
    fn answering(answer: Answer) -> Self {
        Rule {
            conditions: Vec::new(),
            left: Some(1),
            answer,
            headers: Vec::new(),
            delay: Duration::ZERO,
            stall: Duration::ZERO,
        }
    }

    /// The assistant says a text.
    pub fn text(text: &str) -> Self {
        Rule::answering(Answer::Blocks(vec![json!({"type": "text", "text": text})]))
    }

    /// The assistant calls a tool.
    pub fn tool(name: &str, input: Value) -> Self {
        Rule::answering(Answer::Blocks(vec![
            json!({"type": "tool_use", "name": name, "input": input}),
        ]))
    }

    /// The assistant runs a command line with the Bash tool.
    pub fn bash(command: &str) -> Self {
        Rule::tool("Bash", json!({"command": command, "description": "work"}))
    }

    /// An API error with its usual type.
    pub fn error(status: u16, message: &str) -> Self {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        Rule::answering(Answer::Error {
            status,
            kind: kind.to_string(),
            message: message.to_string(),
        })
    }

    /// Any body.
    pub fn raw(status: u16, body: &str) -> Self {
        Rule::answering(Answer::Raw {
            status,
            body: body.to_string(),
        })
    }

    /// The connection is dropped.
    pub fn close() -> Self {
        Rule::answering(Answer::Close)
    }

    /// Only if the pattern is found in the last user message (its texts and tool results, without the reminders
    /// that the client adds by itself).
    pub fn when_last_user(self, pattern: &str) -> Self {
        self.when(Condition::LastUser(compile(pattern)))
    }

    /// Only if this tool is offered.
    pub fn when_offered(self, tool: &str) -> Self {
        self.when(Condition::OffersTool(tool.to_string()))
    }

    fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// How often it may be used; once without.
    pub fn times(mut self, times: u32) -> Self {
        self.left = Some(times);
        self
    }

    /// It may be used without end.
    pub fn always(mut self) -> Self {
        self.left = None;
        self
    }

    /// Adds a response header.
    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }

    /// Waits before the first byte.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits in the middle of the stream.
    pub fn stall(mut self, stall: Duration) -> Self {
        self.stall = stall;
        self
    }

    /// Whether it applies to this request; if so, one use is spent.
    pub(super) fn take(&mut self, body: &Value) -> bool {
        if self.left == Some(0)
            || !self
                .conditions
                .iter()
                .all(|condition| condition.holds(body))
        {
            return false;
        }
        if let Some(left) = &mut self.left {
            *left -= 1;
        }
        true
    }

    /// The message that it answers with; `number` makes ids unique.
    pub(super) fn message(&self, blocks: &[Value], model: &str, number: usize) -> Value {
        let mut blocks = blocks.to_vec();
        for (i, block) in blocks.iter_mut().enumerate() {
            if block["type"] == "tool_use" && block["id"].is_null() {
                block["id"] = json!(format!("toolu_{number:016}{i:08}"));
            }
        }
        let calls = blocks.iter().any(|block| block["type"] == "tool_use");
        let stop = if calls { "tool_use" } else { "end_turn" };
        json!({
            "id": format!("msg_{number:024}"), "type": "message", "role": "assistant", "model": model, "content": blocks,
            "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5},
        })
    }
}

impl Condition {
    fn holds(&self, body: &Value) -> bool {
        match self {
            Condition::LastUser(pattern) => pattern.is_match(&last_user_text(body)),
            Condition::OffersTool(tool) => offered_tools(body).contains(&tool.as_str()),
        }
    }
}

fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .dot_matches_new_line(true)
        .build()
        .expect("a pattern in a test is a regular expression")
}

/// The names of the tools that a request offers to the model.
pub(super) fn offered_tools(body: &Value) -> Vec<&str> {
    body["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

/// The text of the last user message, tool results included.
pub(super) fn last_user_text(body: &Value) -> String {
    let messages = body["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let last = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "user");
    last.map(|message| text_of(&message["content"]))
        .unwrap_or_default()
}

fn text_of(content: &Value) -> String {
    let Some(blocks) = content.as_array() else {
        return content.as_str().unwrap_or_default().to_string();
    };
    let texts = blocks
        .iter()
        .filter_map(|block| match block["type"].as_str() {
            Some("text") => block["text"]
                .as_str()
                .filter(|text| !text.starts_with("<system-reminder>"))
                .map(str::to_string),
            Some("tool_result") => Some(text_of(&block["content"])),
            _ => None,
        });
    texts.collect::<Vec<_>>().join("\n")
}

/// The events that stream a message, by name.
pub(super) fn stream_events(message: &Value) -> Vec<(&'static str, Value)> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![("message_start", json!({"message": start}))];
    for (i, block) in message["content"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let (opened, delta) = match block["type"].as_str() {
            Some("text") => (
                json!({"type": "text", "text": ""}),
                Some(json!({"type": "text_delta", "text": block["text"]})),
            ),
            Some("tool_use") => {
                let mut opened = block.clone();
                opened["input"] = Value::Object(Map::new());
                (
                    opened,
                    Some(
                        json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
                    ),
                )
            }
            _ => (block.clone(), None),
        };
        events.push((
            "content_block_start",
            json!({"index": i, "content_block": opened}),
        ));
        events.extend(
            delta.map(|delta| ("content_block_delta", json!({"index": i, "delta": delta}))),
        );
        events.push(("content_block_stop", json!({"index": i})));
    }
    let stop = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    events.push((
        "message_delta",
        json!({"delta": stop, "usage": {"output_tokens": message["usage"]["output_tokens"]}}),
    ));
    events.push(("message_stop", json!({})));
    for (name, data) in &mut events {
        data["type"] = json!(name);
    }
    events
}

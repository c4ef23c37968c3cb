//! An answer of the model before it has a form, and the reply that is sent: what the shapes of all protocols are made of. Pure.

use serde_json::Value;

/// Tokens that each answer says it read.
pub const INPUT_TOKENS: u64 = 100;
/// Tokens that each answer says it wrote.
pub const OUTPUT_TOKENS: u64 = 20;

/// An answer of the model, before it has a form.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// A number that no other answer of this server has, for ids.
    pub number: usize,
    /// The model's name.
    pub model: String,
    /// What it says.
    pub text: Option<String>,
    /// The tool that it calls.
    pub call: Option<ToolCall>,
    /// Seconds since 1970.
    pub created: i64,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// Its input, an object.
    pub input: Value,
}

/// A reply before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: HttpBody,
}

/// The body of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpBody {
    /// One JSON document.
    Json(String),
    /// Server-sent events: the name, where the protocol gives one, and the data.
    Events(Vec<StreamedEvent>),
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamedEvent {
    /// Its name.
    pub name: Option<String>,
    /// Its data.
    pub data: String,
}

impl StreamedEvent {
    /// An event with a name, which its data has as `type`.
    pub fn typed(data: &Value) -> Self {
        StreamedEvent {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
        }
    }

    /// An event without a name.
    pub fn plain(data: impl ToString) -> Self {
        StreamedEvent {
            name: None,
            data: data.to_string(),
        }
    }

    /// Its bytes.
    pub fn text(&self) -> String {
        let name = self
            .name
            .as_ref()
            .map(|name| format!("event: {name}\n"))
            .unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}

impl HttpReply {
    /// A document with this status.
    pub fn json(status: u16, body: &Value) -> Self {
        HttpReply {
            status,
            headers: Vec::new(),
            body: HttpBody::Json(body.to_string()),
        }
    }
}

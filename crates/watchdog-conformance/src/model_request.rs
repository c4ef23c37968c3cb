//! What an agent asked a model API, whichever protocol it speaks: the part that scenes and scripts look at. Pure.

use serde_json::Value;

use watchdog_agent::local_api::ApiProtocol;

/// A request for an answer of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// The protocol, told by the path.
    pub protocol: ApiProtocol,
    /// The model's name.
    pub model: String,
    /// The newest input: texts of the user and results of tools since the model last spoke.
    pub newest: String,
    /// The whole body as JSON text: the history, the instructions, the tools.
    pub body: String,
    /// The names of the tools that are offered.
    pub tools: Vec<String>,
    /// Whether the answer is to come as a stream of events.
    pub streams: bool,
}

impl ModelRequest {
    /// Reads a request; `None` where it asks for something else than an answer.
    pub fn read(path: &str, body: &Value) -> Option<ModelRequest> {
        let protocol = protocol_of(path)?;
        let plain = plain_path(path);
        let (model, streams) = match protocol {
            ApiProtocol::Gemini => (
                gemini_model(plain).to_owned(),
                plain.ends_with(":streamGenerateContent"),
            ),
            _ => (
                body["model"].as_str().unwrap_or_default().to_owned(),
                body["stream"] == true,
            ),
        };
        Some(ModelRequest {
            protocol,
            model,
            newest: newest_input(protocol, body),
            body: body.to_string(),
            tools: offered_tools(protocol, body),
            streams,
        })
    }

    /// The tool by which an agent takes an answer that follows a schema, where one is offered.
    pub fn answer_tool(&self) -> Option<&str> {
        self.tools
            .iter()
            .map(String::as_str)
            .find(|tool| ["StructuredOutput", "structured_output"].contains(tool))
    }
}

fn plain_path(path: &str) -> &str {
    path.split('?')
        .next()
        .unwrap_or_default()
        .trim_end_matches('/')
}

/// The protocol of a path, whatever stands before it.
fn protocol_of(path: &str) -> Option<ApiProtocol> {
    let plain = plain_path(path);
    [
        (":generateContent", ApiProtocol::Gemini),
        (":streamGenerateContent", ApiProtocol::Gemini),
        ("/responses", ApiProtocol::Responses),
        ("/chat/completions", ApiProtocol::Chat),
        ("/messages", ApiProtocol::Messages),
    ]
    .into_iter()
    .find_map(|(end, protocol)| plain.ends_with(end).then_some(protocol))
}

fn gemini_model(path: &str) -> &str {
    path.rsplit('/')
        .next()
        .and_then(|last| last.split(':').next())
        .unwrap_or_default()
}

fn newest_input(protocol: ApiProtocol, body: &Value) -> String {
    let items = match protocol {
        ApiProtocol::Responses => &body["input"],
        ApiProtocol::Gemini => &body["contents"],
        ApiProtocol::Chat | ApiProtocol::Messages => &body["messages"],
    };
    if let Some(text) = items.as_str() {
        return text.to_owned();
    }
    let of_the_model = |item: &Value| {
        item["role"]
            .as_str()
            .is_some_and(|role| ["assistant", "model"].contains(&role))
            || item["type"].as_str().is_some_and(|kind| {
                ["function_call", "custom_tool_call", "reasoning"].contains(&kind)
            })
    };
    let instructs = |item: &Value| {
        item["role"]
            .as_str()
            .is_some_and(|role| ["system", "developer"].contains(&role))
    };
    let mut found = Vec::new();
    for item in items
        .as_array()
        .into_iter()
        .flatten()
        .rev()
        .take_while(|item| !of_the_model(item))
    {
        if !instructs(item) {
            found.push(texts(item).join("\n"));
        }
    }
    found.reverse();
    found.join("\n")
}

/// Every text within a message, of whichever protocol.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => {
            if let Some(result) = members.get("functionResponse") {
                return vec![result["response"].to_string()];
            }
            ["text", "content", "output", "parts"]
                .iter()
                .filter_map(|key| members.get(*key))
                .flat_map(texts)
                .collect()
        }
        _ => Vec::new(),
    }
}

fn offered_tools(protocol: ApiProtocol, body: &Value) -> Vec<String> {
    let name = |tool: &Value| -> Option<String> {
        let found = match protocol {
            ApiProtocol::Chat => &tool["function"]["name"],
            _ => &tool["name"],
        };
        found
            .as_str()
            .or_else(|| tool["type"].as_str())
            .map(str::to_owned)
    };
    let tools = body["tools"].as_array().into_iter().flatten();
    match protocol {
        ApiProtocol::Gemini => tools
            .flat_map(|tool| {
                tool["functionDeclarations"]
                    .as_array()
                    .into_iter()
                    .flatten()
            })
            .filter_map(name)
            .collect(),
        _ => tools.filter_map(name).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn path_identifies_protocol_and_its_members() {
        for (path, body, protocol, newest, tools, streams) in [
            (
                "/v1/responses",
                json!({"model": "m", "stream": true, "tools": [{"type": "function", "name": "exec"}, {"type": "web_search"}], "input": [
                    {"role": "developer", "content": [{"text": "rules"}]}, {"role": "user", "content": [{"text": "old"}]},
                    {"type": "function_call", "name": "exec"}, {"type": "function_call_output", "output": "new"}]}),
                ApiProtocol::Responses,
                "new",
                vec!["exec", "web_search"],
                true,
            ),
            (
                "/v1/chat/completions",
                json!({"model": "m", "tools": [{"type": "function", "function": {"name": "bash"}}], "messages": [
                    {"role": "system", "content": "rules"}, {"role": "user", "content": "do it"}]}),
                ApiProtocol::Chat,
                "do it",
                vec!["bash"],
                false,
            ),
            (
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                json!({"tools": [{"functionDeclarations": [{"name": "run"}]}], "contents": [
                    {"role": "user", "parts": [{"text": "old"}]}, {"role": "model", "parts": []},
                    {"role": "user", "parts": [{"functionResponse": {"response": {"output": "done"}}}]}]}),
                ApiProtocol::Gemini,
                "{\"output\":\"done\"}",
                vec!["run"],
                true,
            ),
            (
                "/v1/messages",
                json!({"model": "m", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": "out"}]}, {"type": "text", "text": "more"}]}]}),
                ApiProtocol::Messages,
                "out\nmore",
                vec!["Bash"],
                false,
            ),
        ] {
            let read = ModelRequest::read(path, &body).unwrap();
            assert_eq!(
                (read.protocol, read.model.as_str(), read.newest.as_str()),
                (protocol, "m", newest),
                "{path}"
            );
            assert_eq!(
                (
                    read.tools.iter().map(String::as_str).collect::<Vec<_>>(),
                    read.streams
                ),
                (tools, streams),
                "{path}"
            );
        }
        for path in [
            "/",
            "/v1/models",
            "/v1beta/models/m:countTokens",
            "/v1/messages/count_tokens",
        ] {
            assert_eq!(ModelRequest::read(path, &json!({})), None, "{path}");
        }
    }
}

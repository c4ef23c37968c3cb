//! How a CLI is pointed at a model API on this machine, so that it can be tried without tokens and without a login: the block
//! `local_api` of a preset. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The block `local_api` of a preset. In every text `{url}` is the address of the API without a path (`http://127.0.0.1:PORT`)
/// and `{home}` the scratch home folder.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalApi {
    /// The protocol that the CLI speaks there.
    pub protocol: ApiProtocol,
    /// Variables to set.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files to write first, by path: text as it is, anything else as JSON.
    #[serde(default)]
    pub files: BTreeMap<String, Value>,
    /// Arguments that a session needs beside those of the preset, so that it may run commands.
    #[serde(default)]
    pub session_args: Vec<String>,
    /// The setup for a session whose tools are refused; without it, no such session can be made.
    #[serde(default)]
    pub refusal: Option<RefusalSetup>,
    /// The variables whose absence means "no login"; without them the API says so.
    #[serde(default)]
    pub key_variables: Vec<String>,
    /// The tool that runs a command line.
    pub shell_tool: ShellTool,
}

/// A protocol of model APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiProtocol {
    /// `POST …/responses` of OpenAI.
    Responses,
    /// `POST …/chat/completions` of OpenAI and many others.
    Chat,
    /// `POST …/models/MODEL:generateContent` and `:streamGenerateContent` of Google.
    Gemini,
    /// `POST …/messages` of Anthropic.
    Messages,
}

/// How a session is started so that its tools are refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalSetup {
    /// Arguments in the place of `session_args`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables to set beside those of every session.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// The tool of an agent that runs a command line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellTool {
    /// Its name.
    pub name: String,
    /// The member of its input that takes the command line.
    pub command: String,
    /// Further members of its input.
    #[serde(default)]
    pub with: Map<String, Value>,
}

/// The values for the placeholders in the texts of a [`LocalApi`].
#[derive(Debug, Clone, Copy)]
pub struct LocalApiValues<'a> {
    /// The address of the API, without a slash at its end.
    pub url: &'a str,
    /// The scratch home folder.
    pub home: &'a str,
}

impl LocalApiValues<'_> {
    /// A text with its placeholders filled in.
    pub fn fill(&self, text: &str) -> String {
        text.replace("{url}", self.url).replace("{home}", self.home)
    }
}

impl LocalApi {
    /// The variables of a session, filled in.
    pub fn variables(&self, values: LocalApiValues<'_>) -> BTreeMap<String, String> {
        self.env
            .iter()
            .map(|(name, value)| (name.clone(), values.fill(value)))
            .collect()
    }

    /// The files to write, path and content, filled in.
    pub fn contents(&self, values: LocalApiValues<'_>) -> Vec<(String, String)> {
        let text = |content: &Value| match content {
            Value::String(text) => values.fill(text),
            other => format!("{}\n", filled_in(other, values)),
        };
        self.files
            .iter()
            .map(|(path, content)| (values.fill(path), text(content)))
            .collect()
    }
}

impl ShellTool {
    /// The input that makes the tool run this command line.
    pub fn input(&self, command_line: &str) -> Value {
        let mut input = self.with.clone();
        input.insert(self.command.clone(), command_line.into());
        Value::Object(input)
    }
}

/// A JSON value with the placeholders of its texts and keys filled in.
fn filled_in(value: &Value, values: LocalApiValues<'_>) -> Value {
    match value {
        Value::String(text) => values.fill(text).into(),
        Value::Array(items) => items.iter().map(|item| filled_in(item, values)).collect(),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, item)| (values.fill(key), filled_in(item, values)))
                .collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_are_filled_in_wherever_a_text_stands() {
        let block: LocalApi = serde_json::from_value(json!({
            "protocol": "responses",
            "env": {"BASE": "{url}/v1"},
            "files": {"{home}/a.toml": "base = \"{url}\"\n", "{home}/b.json": {"dirs": {"{home}": ["{url}", 1]}}},
            "shell_tool": {"name": "exec", "command": "cmd", "with": {"wait": 5}},
        }))
        .unwrap();
        let values = LocalApiValues {
            url: "http://127.0.0.1:1",
            home: "/h",
        };
        assert_eq!(
            block.variables(values),
            BTreeMap::from([("BASE".to_owned(), "http://127.0.0.1:1/v1".to_owned())])
        );
        assert_eq!(
            block.contents(values),
            [
                (
                    "/h/a.toml".to_owned(),
                    "base = \"http://127.0.0.1:1\"\n".to_owned()
                ),
                (
                    "/h/b.json".to_owned(),
                    "{\"dirs\":{\"/h\":[\"http://127.0.0.1:1\",1]}}\n".to_owned()
                ),
            ]
        );
        assert_eq!(
            block.shell_tool.input("ls"),
            json!({"cmd": "ls", "wait": 5})
        );
        assert_eq!(
            (
                block.session_args.len(),
                &block.refusal,
                block.key_variables.len()
            ),
            (0, &None, 0)
        );
    }

    #[test]
    fn unread_key_is_an_error_naming_it() {
        let shell = json!({"name": "sh", "command": "cmd"});
        for (block, named) in [
            (
                json!({"protocol": "chat", "shell_tool": shell, "envs": {}}),
                "envs",
            ),
            (json!({"protocol": "grpc", "shell_tool": shell}), "grpc"),
            (json!({"protocol": "chat"}), "shell_tool"),
            (
                json!({"protocol": "chat", "shell_tool": {"name": "sh"}}),
                "command",
            ),
        ] {
            let error = serde_json::from_value::<LocalApi>(block)
                .unwrap_err()
                .to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}

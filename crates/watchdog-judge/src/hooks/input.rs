//! Parses the stdin of a command hook: one JSON object in the words of the agent that calls, with lenient fields.
//!
//! A key that is missing, unknown or of another type than expected counts as absent: the host adds keys with every release,
//! and none of them may turn a hook into an obstacle.

use std::io::Read;
use std::path::PathBuf;

use serde_json::{Map, Value};

use watchdog_facts::context::running_tasks;

use super::dialect::HookDialect;

/// More than this is not read; a tool's input may hold a whole file.
const MOST: u64 = 32 * 1024 * 1024;

/// The events that watchdog answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// The agent is about to stop.
    Stop,
    /// A sub-agent is about to stop.
    SubagentStop,
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// A session starts, or resumes.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A person sent a prompt.
    PromptSubmit,
    /// A worktree is about to be removed.
    WorktreeRemove,
}

impl HookEvent {
    /// All of them.
    pub const ALL: [HookEvent; 8] = [
        HookEvent::SessionStart,
        HookEvent::PromptSubmit,
        HookEvent::PreToolUse,
        HookEvent::WorktreeRemove,
        HookEvent::PostToolUse,
        HookEvent::SubagentStop,
        HookEvent::Stop,
        HookEvent::SessionEnd,
    ];

    /// Claude Code's name for it, which most agents share.
    pub fn as_str(self) -> &'static str {
        match self {
            HookEvent::Stop => "Stop",
            HookEvent::SubagentStop => "SubagentStop",
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::SessionStart => "SessionStart",
            HookEvent::SessionEnd => "SessionEnd",
            HookEvent::PromptSubmit => "UserPromptSubmit",
            HookEvent::WorktreeRemove => "WorktreeRemove",
        }
    }

    /// Our own name for it, on the command line.
    pub fn command(self) -> &'static str {
        match self {
            HookEvent::Stop => "stop",
            HookEvent::SubagentStop => "subagent-stop",
            HookEvent::PreToolUse => "pre-tool-use",
            HookEvent::PostToolUse => "post-tool-use",
            HookEvent::SessionStart => "session-start",
            HookEvent::SessionEnd => "session-end",
            HookEvent::PromptSubmit => "prompt-submit",
            HookEvent::WorktreeRemove => "worktree-remove",
        }
    }
}

/// The input of a hook. An absent key gives `None`, or an empty list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookInput {
    /// The event, where the host names one that we know.
    pub event: Option<HookEvent>,
    /// The session's id.
    pub session_id: Option<String>,
    /// Its transcript.
    pub transcript_path: Option<PathBuf>,
    /// The folder that the agent is in: it may have changed it.
    pub cwd: Option<PathBuf>,
    /// The user's prompt that this turn answers, or the turn, by the host's name for it.
    pub prompt_id: Option<String>,
    /// Whether a stop hook has held the agent in this turn already.
    pub stop_hook_active: bool,
    /// Why the agent stops, in its own words.
    pub stop_reason: Option<String>,
    /// The agent's last words.
    pub last_message: Option<String>,
    /// The background tasks.
    pub background_tasks: Vec<Value>,
    /// The tool's name.
    pub tool_name: Option<String>,
    /// The tool's input.
    pub tool_input: Option<Value>,
    /// The call's id.
    pub tool_use_id: Option<String>,
    /// Of a session's start: `startup`, `resume`, `clear` or `compact`.
    pub source: Option<String>,
    /// Of a session's end: why.
    pub reason: Option<String>,
    /// The sub-agent's id.
    pub agent_id: Option<String>,
    /// The sub-agent's own transcript.
    pub agent_transcript_path: Option<PathBuf>,
    /// The whole object, for what else it may hold.
    pub fields: Map<String, Value>,
}

impl HookInput {
    /// Reads all of a pipe.
    ///
    /// # Errors
    /// When it breaks, is too large, or holds no JSON object.
    pub fn read_from(dialect: HookDialect, from: impl Read) -> Result<Self, String> {
        let mut bytes = Vec::new();
        from.take(MOST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("the hook's input could not be read: {error}"))?;
        if bytes.len() as u64 > MOST {
            Err(format!(
                "the hook's input is larger than {} MiB",
                MOST / 1024 / 1024
            ))
        } else {
            Self::parse(dialect, &bytes)
        }
    }

    /// Reads the object, in the words of an agent.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub fn parse(dialect: HookDialect, bytes: &[u8]) -> Result<Self, String> {
        // A person who tries a hook by hand has nothing to say, and means an empty object.
        if bytes.trim_ascii().is_empty() {
            return Ok(HookInput::default());
        }
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| format!("the hook's input is not JSON: {error}"))?;
        let Value::Object(fields) = value else {
            return Err("the hook's input is not a JSON object".into());
        };
        let text = |name: &str| {
            fields
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let event = text("hook_event_name").and_then(|name| {
            HookEvent::ALL
                .into_iter()
                .find(|event| dialect.event_name(*event) == Some(name.as_str()))
        });
        let (turn, words) = match dialect {
            HookDialect::Codex => (text("turn_id"), text("last_assistant_message")),
            // All that the agent said in this turn.
            HookDialect::Gemini => (None, text("prompt_response")),
            _ => (text("prompt_id"), text("last_assistant_message")),
        };
        Ok(HookInput {
            event,
            session_id: text("session_id"),
            transcript_path: text("transcript_path").map(Into::into),
            cwd: text("cwd").map(Into::into),
            prompt_id: turn,
            stop_hook_active: fields
                .get("stop_hook_active")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            stop_reason: text("stop_reason").or_else(|| text("stopReason")),
            last_message: words,
            background_tasks: fields
                .get("background_tasks")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            tool_name: text("tool_name"),
            tool_input: fields.get("tool_input").cloned(),
            tool_use_id: text("tool_use_id"),
            // Copilot says so, also where it runs the hooks of Claude Code's settings.
            source: text("source").map(|source| {
                if source == "new" {
                    "startup".into()
                } else {
                    source
                }
            }),
            reason: text("reason"),
            agent_id: text("agent_id"),
            agent_transcript_path: text("agent_transcript_path").map(Into::into),
            fields,
        })
    }

    /// The structured output that a call of the tool gives. A lone `output` is an envelope around it.
    pub fn structured_output(&self) -> Option<Value> {
        match self.tool_input.as_ref()? {
            Value::Object(fields) if fields.len() == 1 && fields.contains_key("output") => {
                fields.get("output").cloned()
            }
            whole => Some(whole.clone()),
        }
    }

    /// A text of the tool's input.
    pub fn tool_text(&self, name: &str) -> Option<&str> {
        self.tool_input.as_ref()?.get(name)?.as_str()
    }

    /// The background tasks that still run, in a few words each. A sub-agent that ends is still among the tasks of its session.
    pub fn running_tasks(&self) -> Vec<String> {
        running_tasks(&self.background_tasks, self.agent_id.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_value(value: &Value) -> HookInput {
        HookInput::parse(HookDialect::Claude, value.to_string().as_bytes()).expect("an object")
    }

    #[test]
    fn host_input_is_read_and_additions_are_kept() {
        let input = parse_value(
            &json!({"session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/w", "hook_event_name": "Stop", "prompt_id": "p",
            "stop_hook_active": true, "last_assistant_message": "done", "background_tasks": [{"id": "1"}], "session_crons": [], "novel": 1}),
        );
        assert_eq!(
            (input.event, input.stop_hook_active),
            (Some(HookEvent::Stop), true)
        );
        assert_eq!(
            (
                input.session_id.as_deref(),
                input.prompt_id.as_deref(),
                input.last_message.as_deref()
            ),
            (Some("s"), Some("p"), Some("done"))
        );
        assert_eq!(
            (input.cwd, input.transcript_path),
            (Some("/w".into()), Some("/t.jsonl".into()))
        );
        assert_eq!(input.fields["novel"], 1);
    }

    #[test]
    fn each_agent_is_read_in_its_own_words() {
        let stop = |dialect: HookDialect, value: Value| {
            let input = HookInput::parse(dialect, value.to_string().as_bytes()).expect("an object");
            assert_eq!(
                (input.event, input.session_id.as_deref()),
                (Some(HookEvent::Stop), Some("s")),
                "{dialect:?}"
            );
            (input.prompt_id, input.last_message, input.stop_hook_active)
        };
        let say = |text: &str| Some(text.to_owned());
        let common = |event: &str, more: Value| {
            let mut value = json!({"session_id": "s", "cwd": "/w", "hook_event_name": event, "stop_hook_active": true});
            value
                .as_object_mut()
                .expect("it is one")
                .extend(more.as_object().expect("it is one").clone());
            value
        };
        for (dialect, value, turn, words) in [
            (
                HookDialect::Claude,
                common(
                    "Stop",
                    json!({"prompt_id": "p", "last_assistant_message": "done"}),
                ),
                say("p"),
                say("done"),
            ),
            (
                HookDialect::Codex,
                common(
                    "Stop",
                    json!({"turn_id": "t", "last_assistant_message": "done", "permission_mode": "default", "model": "m"}),
                ),
                say("t"),
                say("done"),
            ),
            (
                HookDialect::Gemini,
                common(
                    "AfterAgent",
                    json!({"prompt": "do", "prompt_response": "first\nsecond", "timestamp": "2026-11-23T14:07:17.907Z"}),
                ),
                None,
                say("first\nsecond"),
            ),
            (
                HookDialect::Qwen,
                common(
                    "Stop",
                    json!({"prompt_id": "s########0", "last_assistant_message": "done", "crons": [], "background_tasks": []}),
                ),
                say("s########0"),
                say("done"),
            ),
            (
                HookDialect::Copilot,
                common(
                    "Stop",
                    json!({"stop_reason": "end_turn", "transcript_path": "/t"}),
                ),
                None,
                None,
            ),
            (
                HookDialect::Opencode,
                common("Stop", json!({"last_assistant_message": "done"})),
                None,
                say("done"),
            ),
        ] {
            assert_eq!(stop(dialect, value), (turn, words, true), "{dialect:?}");
        }
    }

    #[test]
    fn a_session_that_copilot_calls_new_starts_up() {
        for dialect in [HookDialect::Copilot, HookDialect::Claude] {
            let started = |source: &str| {
                let value =
                    json!({"hook_event_name": "SessionStart", "source": source}).to_string();
                HookInput::parse(dialect, value.as_bytes())
                    .expect("an object")
                    .source
            };
            assert_eq!(
                (started("new").as_deref(), started("resume").as_deref()),
                (Some("startup"), Some("resume"))
            );
        }
    }

    #[test]
    fn what_has_another_type_was_not_told() {
        let input = parse_value(
            &json!({"session_id": 7, "cwd": null, "stop_hook_active": "yes", "background_tasks": "none", "hook_event_name": "Later"}),
        );
        let nothing = HookInput {
            fields: input.fields.clone(),
            tool_input: None,
            ..HookInput::default()
        };
        assert_eq!(input, nothing);
    }

    #[test]
    fn nonsense_is_reported_and_empty_input_is_object() {
        for text in [
            "{",
            "[1]",
            "7",
            "null",
            "\"text\"",
            "\u{feff}{}",
            "{}{}",
            "\u{0}",
        ] {
            assert!(
                HookInput::parse(HookDialect::Claude, text.as_bytes()).is_err(),
                "{text:?}"
            );
        }
        assert!(HookInput::parse(HookDialect::Claude, &[0xff, 0xfe]).is_err());
        assert_eq!(
            HookInput::parse(HookDialect::Claude, b" \n").expect("nothing was told"),
            HookInput::default()
        );
        let endless = std::io::repeat(b' ');
        let refused = HookInput::read_from(HookDialect::Claude, endless);
        assert!(refused.is_err_and(|why| why.contains("larger than 32 MiB")));
    }

    #[test]
    fn structured_output_is_tool_input_without_envelope() {
        for (input, output) in [
            (json!({"status": "done"}), Some(json!({"status": "done"}))),
            (
                json!({"output": {"key": "value"}}),
                Some(json!({"key": "value"})),
            ),
            (
                json!({"output": 1, "more": 2}),
                Some(json!({"output": 1, "more": 2})),
            ),
            (json!({}), Some(json!({}))),
        ] {
            assert_eq!(
                parse_value(&json!({"tool_input": input})).structured_output(),
                output
            );
        }
        assert_eq!(parse_value(&json!({})).structured_output(), None);
    }

    #[test]
    fn ending_sub_agent_does_not_wait_for_itself() {
        let input = parse_value(
            &json!({"agent_id": "a", "background_tasks": [{"id": "a", "status": "running", "description": "me"},
            {"id": "b", "status": "running", "description": "another"}]}),
        );
        assert_eq!(input.running_tasks(), ["another"]);
    }

    #[test]
    fn task_runs_until_known_to_have_ended() {
        let input = parse_value(&json!({"background_tasks": [
            {"id": "a", "type": "shell", "status": "running", "description": "the tests", "command": "npm test"},
            {"id": "b", "type": "shell", "status": "running", "description": " ", "command": "npm run build"},
            {"id": "c", "type": "subagent", "status": "some new word", "agent_type": "general"},
            {"id": "d", "status": "completed"}, {"id": "e", "status": "Killed"}, {"id": "f"}, null, 7]}));
        assert_eq!(
            input.running_tasks(),
            ["the tests", "npm run build", "general", "f", "a task"]
        );
    }
}

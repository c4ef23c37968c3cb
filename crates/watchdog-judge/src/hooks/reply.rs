//! The answers of a command hook, in the words of the agent that asks: one JSON object on stdout, always with exit 0.

use serde_json::{Value, json};

use super::dialect::HookDialect;
use super::input::HookEvent;

/// The effect of the answer on the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAction {
    /// None: the host continues as it would without us.
    Nothing,
    /// The agent may not stop, and gets the reason.
    Block {
        /// The missing work, in sentences for the agent.
        reason: String,
    },
    /// The tool does not run, and the agent gets the reason.
    Deny {
        /// The mistake in the call, in sentences for the agent.
        reason: String,
    },
    /// The agent gets a message with this event.
    Inform {
        /// The event.
        event: HookEvent,
        /// Sentences for the agent.
        context: String,
    },
    /// The session ends here.
    Finish,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// Its effect on the agent.
    pub act: HookAction,
    /// The host's message to the user.
    pub message: Option<String>,
}

impl HookReply {
    /// An answer that changes nothing and says nothing.
    pub fn quiet() -> Self {
        HookReply {
            act: HookAction::Nothing,
            message: None,
        }
    }

    /// An answer that changes nothing, with a message to the user.
    pub fn tell(message: impl Into<String>) -> Self {
        HookReply {
            act: HookAction::Nothing,
            message: Some(message.into()),
        }
    }

    /// The object for the host. `{}` where there is nothing to say.
    pub fn to_json(&self, dialect: HookDialect) -> Value {
        let mut object = match &self.act {
            HookAction::Nothing => json!({}),
            HookAction::Block { reason } => {
                let is_gemini = dialect == HookDialect::Gemini;
                let decision = if is_gemini { "deny" } else { "block" };
                json!({"decision": decision, "reason": reason})
            }
            HookAction::Deny { reason } => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}}),
            HookAction::Inform { context, .. } if dialect == HookDialect::Copilot => {
                json!({"additionalContext": context})
            }
            HookAction::Inform { event, context } => {
                json!({"hookSpecificOutput": {"hookEventName": dialect.event_name(*event), "additionalContext": context}})
            }
            HookAction::Finish => json!({"continue": false}),
        };
        if let Some(message) = &self.message {
            object["systemMessage"] = message.as_str().into();
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reply_takes_the_form_hosts_obey() {
        let say = str::to_owned;
        for (act, form) in [
            (HookAction::Nothing, json!({})),
            (
                HookAction::Block { reason: say("F") },
                json!({"decision": "block", "reason": "F"}),
            ),
            (
                HookAction::Deny { reason: say("F") },
                json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "F"}}),
            ),
            (
                HookAction::Inform {
                    event: HookEvent::PromptSubmit,
                    context: say("F"),
                },
                json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "F"}}),
            ),
            (HookAction::Finish, json!({"continue": false})),
        ] {
            assert_eq!(
                HookReply { act, message: None }.to_json(HookDialect::Claude),
                form
            );
        }
        assert_eq!(
            HookReply::quiet().to_json(HookDialect::Claude).to_string(),
            "{}"
        );
        for dialect in HookDialect::ALL {
            assert_eq!(
                HookReply::tell("hear").to_json(dialect),
                json!({"systemMessage": "hear"})
            );
        }
    }

    #[test]
    fn each_agent_gets_replies_in_its_dialect() {
        let block = HookReply {
            act: HookAction::Block { reason: "F".into() },
            message: None,
        };
        let begin = HookReply {
            act: HookAction::Inform {
                event: HookEvent::SessionStart,
                context: "F".into(),
            },
            message: None,
        };
        let nested = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "F"}});
        for (dialect, decision, told) in [
            (HookDialect::Claude, "block", nested.clone()),
            (HookDialect::Codex, "block", nested.clone()),
            (HookDialect::Gemini, "deny", nested.clone()),
            (HookDialect::Qwen, "block", nested.clone()),
            (
                HookDialect::Copilot,
                "block",
                json!({"additionalContext": "F"}),
            ),
            (HookDialect::Opencode, "block", nested.clone()),
        ] {
            assert_eq!(
                block.to_json(dialect),
                json!({"decision": decision, "reason": "F"}),
                "{dialect:?}"
            );
            assert_eq!(begin.to_json(dialect), told, "{dialect:?}");
        }
    }
}

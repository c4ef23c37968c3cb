//! The agent's own texts within the scope of a check, never the user's or a tool's.

use crate::config::settings::TextScope;
use watchdog_facts::context::{ContextMessage, SessionContext};

/// The texts of the agent that count, oldest first.
pub(super) fn agent_texts<'a>(session: &'a SessionContext, scope: TextScope) -> Vec<&'a str> {
    let own = |message: &'a ContextMessage| {
        message
            .text
            .as_deref()
            .filter(|_| message.role == "assistant")
    };
    let mut texts: Vec<&str> = match scope {
        TextScope::Last => match &session.output {
            Some(output) => return vec![output],
            None => {
                return session
                    .messages
                    .iter()
                    .rev()
                    .find_map(own)
                    .into_iter()
                    .collect();
            }
        },
        TextScope::Iteration => {
            let of_iteration = session.summaries.last().filter(|last| {
                last.iteration.is_none()
                    || session.iteration.is_none()
                    || last.iteration == session.iteration
            });
            let prompt = session
                .messages
                .iter()
                .rposition(|message| message.role == "user" && message.text.is_some());
            let since = &session.messages[prompt.unwrap_or_default()..];
            let summed = of_iteration
                .into_iter()
                .flat_map(|summary| summary.assistant_responses.iter().map(String::as_str));
            summed.chain(since.iter().filter_map(own)).collect()
        }
        TextScope::Session => {
            let summed = session
                .summaries
                .iter()
                .flat_map(|summary| summary.assistant_responses.iter().map(String::as_str));
            summed
                .chain(session.messages.iter().filter_map(own))
                .collect()
        }
    };
    texts.extend(session.output.as_deref());
    texts
}

/// The known prompts of the agent.
pub(super) fn list_known_prompts(session: &SessionContext) -> Vec<&str> {
    let users = session
        .messages
        .iter()
        .filter(|message| message.role == "user")
        .filter_map(|message| message.text.as_deref());
    session.prompt.as_deref().into_iter().chain(users).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_facts::context::IterationSummary;

    fn message(role: &str, text: &str) -> ContextMessage {
        ContextMessage {
            role: role.into(),
            text: Some(text.into()),
            tool_result: None,
        }
    }

    fn context() -> SessionContext {
        let summary = |iteration, text: &str| IterationSummary {
            iteration: Some(iteration),
            assistant_responses: vec![text.into()],
            ..IterationSummary::default()
        };
        SessionContext {
            iteration: Some(2),
            summaries: vec![summary(1, "s1"), summary(2, "s2")],
            messages: vec![
                message("user", "u1"),
                message("assistant", "a1"),
                message("user", "u2"),
                message("assistant", "a2"),
                message("tool", "t"),
                message("assistant", "a3"),
            ],
            output: Some("o".into()),
            prompt: Some("p".into()),
            ..SessionContext::default()
        }
    }

    #[test]
    fn text_scope_limits_how_far_checks_look() {
        assert_eq!(agent_texts(&context(), TextScope::Last), ["o"]);
        assert_eq!(
            agent_texts(&context(), TextScope::Iteration),
            ["s2", "a2", "a3", "o"]
        );
        assert_eq!(
            agent_texts(&context(), TextScope::Session),
            ["s1", "s2", "a1", "a2", "a3", "o"]
        );
        let without_output = SessionContext {
            output: None,
            ..context()
        };
        assert_eq!(agent_texts(&without_output, TextScope::Last), ["a3"]);
        let third = SessionContext {
            iteration: Some(3),
            ..context()
        };
        assert_eq!(agent_texts(&third, TextScope::Iteration), ["a2", "a3", "o"]);
        let uncounted = SessionContext {
            iteration: None,
            ..context()
        };
        assert_eq!(
            agent_texts(&uncounted, TextScope::Iteration),
            ["s2", "a2", "a3", "o"],
            "the last summary is of this iteration"
        );
        let mut unnumbered = third;
        unnumbered.summaries[1].iteration = None;
        assert_eq!(
            agent_texts(&unnumbered, TextScope::Iteration),
            ["s2", "a2", "a3", "o"]
        );
        assert!(agent_texts(&SessionContext::default(), TextScope::Session).is_empty());
        assert_eq!(list_known_prompts(&context()), ["p", "u1", "u2"]);
    }
}

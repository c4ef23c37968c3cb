//! Builds the session's context for checks from a hook's input. Pure.

use watchdog_facts::context::SessionContext;

use super::input::{HookEvent, HookInput};

/// The session's context: the hook's input takes precedence over the known context.
pub fn build_context(
    event: HookEvent,
    input: &HookInput,
    before: SessionContext,
) -> SessionContext {
    let tool = matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse);
    let text = |name: &str| {
        input
            .fields
            .get(name)
            .and_then(serde_json::Value::as_str)
            .map(str::to_owned)
    };
    let stop_reason = if tool {
        Some("structured_output".into())
    } else {
        input.stop_reason.clone().or(Some("end_turn".into()))
    };
    SessionContext {
        stop_reason,
        // At a stop, nothing is about to be given any more.
        tentative_output: if tool {
            input.structured_output()
        } else {
            None
        },
        output: input.last_message.clone().or(before.output),
        prompt: text("prompt").map(without_hook_words).or(before.prompt),
        background_tasks: if input.background_tasks.is_empty() {
            before.background_tasks
        } else {
            input.background_tasks.clone()
        },
        ..before
    }
}

/// A prompt as the user wrote it: Gemini CLI puts the words that hooks gave the agent before it.
fn without_hook_words(prompt: String) -> String {
    let own = prompt
        .strip_prefix("<hook_context>")
        .and_then(|after_mark| after_mark.split_once("</hook_context>"));
    own.map(|(_, own)| own.trim_start().to_owned())
        .unwrap_or(prompt)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::hooks::HookDialect;

    #[test]
    fn prompt_excludes_text_prepended_by_hooks() {
        for (told, prompt) in [
            ("do it", "do it"),
            (
                "<hook_context>Done means\nthis.</hook_context>\n\ndo it",
                "do it",
            ),
            ("<hook_context>never closed", "<hook_context>never closed"),
        ] {
            assert_eq!(
                fields(HookEvent::Stop, &json!({"prompt": told}))
                    .prompt
                    .as_deref(),
                Some(prompt)
            );
        }
    }

    fn fields(event: HookEvent, input: &Value) -> SessionContext {
        let before = SessionContext {
            output: Some("earlier".into()),
            iteration: Some(3),
            ..SessionContext::default()
        };
        build_context(
            event,
            &HookInput::parse(HookDialect::Claude, input.to_string().as_bytes())
                .expect("an object"),
            before,
        )
    }

    #[test]
    fn stop_has_reason_and_words_without_tentative_output() {
        let stop = fields(
            HookEvent::Stop,
            &json!({"last_assistant_message": "done", "tool_input": {"a": 1}, "background_tasks": [{"id": 1}]}),
        );
        assert_eq!(
            (stop.stop_reason.as_deref(), stop.output.as_deref()),
            (Some("end_turn"), Some("done"))
        );
        assert_eq!(
            (
                stop.tentative_output,
                stop.iteration,
                stop.background_tasks.len()
            ),
            (None, Some(3), 1)
        );
        let stop = fields(HookEvent::Stop, &json!({"stopReason": "max_tokens"}));
        assert_eq!(
            (stop.stop_reason.as_deref(), stop.output.as_deref()),
            (Some("max_tokens"), Some("earlier"))
        );
    }

    #[test]
    fn tool_event_carries_its_tentative_output() {
        for event in [HookEvent::PreToolUse, HookEvent::PostToolUse] {
            let tool = fields(
                event,
                &json!({"tool_name": "StructuredOutput", "tool_input": {"output": {"key": "value"}}}),
            );
            assert_eq!(tool.stop_reason.as_deref(), Some("structured_output"));
            assert_eq!(tool.tentative_output, Some(json!({"key": "value"})));
        }
    }
}

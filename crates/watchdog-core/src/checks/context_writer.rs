//! The context of the contract's section 5 as JSON, written: of bounded length, the newest of everything kept.

use serde_json::{Map, Value, json};

use watchdog_facts::context::{
    AgentTodoPlan, ContextMessage, IterationSummary, SessionContext, SessionUsage,
};

/// A text of the conversation is written up to so many bytes, its end kept.
const TEXT: usize = 64 << 10;

/// All messages together, and all summaries together, are written up to so many bytes.
const ALL: usize = 1 << 20;

/// Steps of a plan, and entries of other lists.
const ENTRIES: usize = 1000;

/// Writes a context. Unknown values are null, or left out where the complete object is unknown. `cut` marks parts that were left out to
/// keep it short; it keeps the newest messages, summaries and ends of texts.
pub fn context_to_json(context: &SessionContext) -> Value {
    let mut writer = ContextWriter { cut: false };
    let mut value = json!({
        "schema": 1,
        "worktree": context.worktree,
        "spec": context.spec,
        "baseline": context.baseline,
        "head": context.head,
        "iteration": context.iteration,
        "claims_done": context.claims_done,
        "stop_reason": context.stop_reason,
        "tentative_output": writer.value(context.tentative_output.as_ref()),
        "output": context.output.as_ref().map(|text| writer.text(text)),
        "prompt": context.prompt.as_ref().map(|text| writer.text(text)),
        "summaries": writer.newest(&context.summaries, ContextWriter::summary),
        "plan": context.plan.as_ref().map(|plan| writer.plan(plan)),
        "messages": writer.newest(&context.messages, ContextWriter::message),
        "usage": write_usage(&context.usage),
        "background_tasks": writer.newest(&context.background_tasks, |_, task| task.clone()),
    });
    if writer.cut {
        value["cut"] = true.into();
    }
    value
}

struct ContextWriter {
    cut: bool,
}

impl ContextWriter {
    /// The end of a text, which matters most.
    fn text(&mut self, text: &str) -> String {
        if text.len() <= TEXT {
            return text.to_owned();
        }
        self.cut = true;
        format!("...{}", &text[text.ceil_char_boundary(text.len() - TEXT)..])
    }

    /// A value that is not too long; null otherwise, as half of a value means something else.
    fn value(&mut self, value: Option<&Value>) -> Value {
        match value {
            Some(value) if value.to_string().len() <= ALL => value.clone(),
            Some(_) => {
                self.cut = true;
                Value::Null
            }
            None => Value::Null,
        }
    }

    /// The newest entries of a list, in its order.
    fn newest<T>(&mut self, list: &[T], write: impl Fn(&mut Self, &T) -> Value) -> Vec<Value> {
        let mut room = ALL;
        let mut newest = Vec::new();
        for entry in list.iter().rev() {
            let written = write(self, entry);
            match room.checked_sub(written.to_string().len()) {
                Some(remaining) => room = remaining,
                None => {
                    self.cut = true;
                    break;
                }
            }
            newest.push(written);
        }
        newest.reverse();
        newest
    }

    fn summary(&mut self, summary: &IterationSummary) -> Value {
        let mut members: Map<String, Value> = summary.more.clone().into_iter().collect();
        members.insert("iteration".into(), summary.iteration.into());
        members.insert(
            "assistant_responses".into(),
            summary
                .assistant_responses
                .iter()
                .map(|text| self.text(text))
                .collect(),
        );
        members.insert(
            "detected_actions".into(),
            summary.detected_actions.as_slice().into(),
        );
        Value::Object(members)
    }

    fn plan(&mut self, plan: &AgentTodoPlan) -> Value {
        self.cut |= plan.steps.len() > ENTRIES;
        let steps: Vec<Value> = (plan.steps.iter().take(ENTRIES))
            .map(|step| json!({"step_id": step.id, "title": self.text(&step.title), "status": self.text(&step.status)}))
            .collect();
        json!({"objective": plan.objective, "status": plan.status, "steps": steps})
    }

    fn message(&mut self, message: &ContextMessage) -> Value {
        let mut members = Map::from_iter([("role".to_owned(), Value::from(message.role.as_str()))]);
        if let Some(text) = &message.text {
            members.insert("content".into(), self.text(text).into());
        }
        if let Some(result) = &message.tool_result {
            let content = self.text(&result.content);
            let result = json!({"id": result.id, "name": result.name, "content": content, "is_error": result.is_error});
            members.insert("tool_result".into(), result);
        }
        Value::Object(members)
    }
}

fn write_usage(usage: &SessionUsage) -> Value {
    json!({
        "turns": usage.turns, "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost_usd": usage.cost_usd,
        "wall_seconds": usage.wall_seconds,
    })
}

//! The context of a session beside git: the agent's texts, actions and usage. Facts for checks and limits; JSON is elsewhere.

use std::collections::BTreeMap;

use serde_json::Value;

/// The context of a session beside git. Unknown parts are `None`, or an empty list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionContext {
    /// The worktree as the caller names it.
    pub worktree: Option<String>,
    /// The name of the work.
    pub spec: Option<String>,
    /// The commit where the session began: any git revision.
    pub baseline: Option<String>,
    /// The commit of HEAD now, as the caller sees it.
    pub head: Option<String>,
    /// The iteration of the loop, from 1.
    pub iteration: Option<u64>,
    /// Whether the agent says that it is done.
    pub claims_done: Option<bool>,
    /// Why the agent stopped, in its own words (`end_turn`, `max_tokens`, ...).
    pub stop_reason: Option<String>,
    /// Structured output that the agent is about to give.
    pub tentative_output: Option<Value>,
    /// The agent's last text.
    pub output: Option<String>,
    /// The agent's prompt: an echo of it is no claim.
    pub prompt: Option<String>,
    /// An entry per iteration, oldest first.
    pub summaries: Vec<IterationSummary>,
    /// The agent's plan.
    pub plan: Option<AgentTodoPlan>,
    /// The conversation, oldest first.
    pub messages: Vec<ContextMessage>,
    /// The usage so far.
    pub usage: SessionUsage,
    /// The background tasks, by the agent's program.
    pub background_tasks: Vec<Value>,
    /// Whether the host told all this, and not the session's own output or transcript, which its agent writes.
    pub from_host: bool,
}

/// States of a background task that are ends. Unknown states count as running.
const ENDED: &[&str] = &[
    "completed",
    "complete",
    "done",
    "failed",
    "killed",
    "stopped",
    "cancelled",
    "canceled",
    "exited",
];

/// The background tasks that still run, in a few words each. `own` is the id of the caller's own task, which does not count.
pub fn running_tasks(tasks: &[Value], own: Option<&str>) -> Vec<String> {
    let word = |task: &Value, name: &str| {
        task.get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    };
    let running = tasks.iter().filter(|task| {
        let state = word(task, "status").unwrap_or_default();
        let is_own = own.is_some() && task.get("id").and_then(Value::as_str) == own;
        !task.is_null() && !is_own && !ENDED.contains(&state.to_ascii_lowercase().as_str())
    });
    let named = running.map(|task| {
        let what = word(task, "description")
            .or_else(|| word(task, "command"))
            .or_else(|| word(task, "agent_type"));
        what.or_else(|| word(task, "id"))
            .unwrap_or_else(|| "a task".into())
    });
    named.collect()
}

/// The summary of one iteration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IterationSummary {
    /// From 1.
    pub iteration: Option<u64>,
    /// The agent's texts, oldest first.
    pub assistant_responses: Vec<String>,
    /// The agent's actions and decisions, each an object with a `type`.
    pub detected_actions: Vec<Value>,
    /// Unknown members.
    pub more: BTreeMap<String, Value>,
}

/// A plan of the agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentTodoPlan {
    /// Its purpose.
    pub objective: Option<String>,
    /// The state of the whole.
    pub status: Option<String>,
    /// Its steps, in order.
    pub steps: Vec<PlanStep>,
}

/// A step of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanStep {
    /// The agent's own name for it: a number or a text.
    pub id: Option<String>,
    /// The step's text.
    pub title: String,
    /// Its state: in the agent's word, but for `done`, which the reader of a known agent's list writes for that agent's own word.
    pub status: String,
}

/// A message of the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextMessage {
    /// `user`, `assistant`, `tool` or `system`.
    pub role: String,
    /// Its text.
    pub text: Option<String>,
    /// The result of a tool, where it is one.
    pub tool_result: Option<ToolResult>,
}

/// The result of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    /// The call that it answers.
    pub id: Option<String>,
    /// The tool's name.
    pub name: Option<String>,
    /// Its output, as text.
    pub content: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// The usage. Unknown figures are `None`, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct SessionUsage {
    /// Turns of the agent.
    pub turns: Option<u64>,
    /// Tokens read by the model, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens written by the model.
    pub output_tokens: Option<u64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Seconds.
    pub wall_seconds: Option<f64>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn task_runs_until_final_state_under_its_description() {
        for (task, named) in [
            (
                json!({"id": "a", "status": "running", "description": "the tests", "command": "npm test"}),
                Some("the tests"),
            ),
            (
                json!({"id": "b", "status": "running", "description": " ", "command": "npm run build"}),
                Some("npm run build"),
            ),
            (
                json!({"id": "c", "status": "some new word", "agent_type": "general"}),
                Some("general"),
            ),
            (json!({"id": "d"}), Some("d")),
            (json!({"status": "running"}), Some("a task")),
            (json!(7), Some("a task")),
            (json!({"id": "e", "status": "completed"}), None),
            (json!({"id": "f", "status": "Killed"}), None),
            (json!(null), None),
        ] {
            assert_eq!(
                running_tasks(std::slice::from_ref(&task), None),
                Vec::from_iter(named),
                "{task}"
            );
        }
    }

    #[test]
    fn a_task_does_not_wait_for_itself() {
        let tasks = [
            json!({"id": "a", "description": "me"}),
            json!({"id": "b", "description": "another"}),
            json!({"description": "a third"}),
        ];
        assert_eq!(running_tasks(&tasks, Some("a")), ["another", "a third"]);
        assert_eq!(running_tasks(&tasks, None), ["me", "another", "a third"]);
    }
}

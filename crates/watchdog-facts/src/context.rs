//! What is known of a session beside git: what the agent said, did and spent. Facts for checks and limits; JSON lives elsewhere.

use std::collections::BTreeMap;

use serde_json::Value;

/// What is known of a session beside git. Everything may be unknown: `None`, or an empty list where nothing was told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionContext {
    /// The worktree as whoever asks names it.
    pub worktree: Option<String>,
    /// The name of the work.
    pub spec: Option<String>,
    /// The commit where the session began: any git revision.
    pub baseline: Option<String>,
    /// The commit that HEAD names now, as whoever asks sees it.
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
    /// What the agent was asked: an echo of it is nobody's claim.
    pub prompt: Option<String>,
    /// One entry per iteration, oldest first.
    pub summaries: Vec<IterationSummary>,
    /// The agent's plan.
    pub plan: Option<AgentTodoPlan>,
    /// The conversation, oldest first.
    pub messages: Vec<ContextMessage>,
    /// What was spent so far.
    pub usage: SessionUsage,
    /// What runs in the background, as the agent's program tells it.
    pub background_tasks: Vec<Value>,
    /// Whether the host told all this, and not the session's own output or transcript, which its agent writes.
    pub from_host: bool,
}

/// States of a background task that are ends. One that is not known to be an end counts as running.
const ENDED: &[&str] = &["completed", "complete", "done", "failed", "killed", "stopped", "cancelled", "canceled", "exited"];

/// What still runs of these background tasks, in a few words each. `own` is the id of one that does not count: whoever asks.
pub fn running_tasks(tasks: &[Value], own: Option<&str>) -> Vec<String> {
    let word = |task: &Value, name: &str| task.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let running = tasks.iter().filter(|task| {
        let state = word(task, "status").unwrap_or_default();
        let is_own = own.is_some() && task.get("id").and_then(Value::as_str) == own;
        !task.is_null() && !is_own && !ENDED.contains(&state.to_ascii_lowercase().as_str())
    });
    let named = running.map(|task| {
        let what = word(task, "description").or_else(|| word(task, "command")).or_else(|| word(task, "agent_type"));
        what.or_else(|| word(task, "id")).unwrap_or_else(|| "a task".into())
    });
    named.collect()
}

/// What happened in one iteration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IterationSummary {
    /// From 1.
    pub iteration: Option<u64>,
    /// What the agent said, oldest first.
    pub assistant_responses: Vec<String>,
    /// What the agent did or decided, each an object with a `type`.
    pub detected_actions: Vec<Value>,
    /// Whatever else was told about it.
    pub more: BTreeMap<String, Value>,
}

/// A plan of the agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentTodoPlan {
    /// What it is for.
    pub objective: Option<String>,
    /// The state of the whole.
    pub status: Option<String>,
    /// Its steps, in order.
    pub steps: Vec<PlanStep>,
}

/// One step of a plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanStep {
    /// The agent's own name for it: a number or a text.
    pub id: Option<String>,
    /// What is to be done.
    pub title: String,
    /// Its state: in the agent's word, but for `done`, which whoever reads the list of a known agent writes for that agent's own word.
    pub status: String,
}

/// One message of the conversation.
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
    /// What it gave, as text.
    pub content: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// What was spent. `None` is unknown, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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

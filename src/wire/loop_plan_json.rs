//! What a loop would do, as JSON: `watchdog loop --dry-run --json`. See `docs/loop.md`.

use std::time::Duration;

use serde_json::{Value, json};

/// What a loop would do.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopPlan {
    /// The name of the work.
    pub spec: String,
    /// The iteration that would be next, from 1.
    pub iteration: u32,
    /// Whether it would go on with a loop that was cut short.
    pub resumed: bool,
    /// Where that loop began, or this one would.
    pub first_baseline: String,
    /// What would be started, `{prompt}` standing for the prompt.
    pub command: Vec<String>,
    /// The agent that would have the session.
    pub agent: String,
    /// All agents in the order of preference, where there are several.
    pub agents: Vec<String>,
    /// What the session would be told.
    pub prompt: String,
    /// After how much silence a session would be ended; `None` = never.
    pub idle_timeout: Option<Duration>,
    /// What would be left to spend.
    pub budget: String,
    /// Why nothing would be started, if so.
    pub refused: Option<String>,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl LoopPlan {
    /// The object for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": 1,
            "dry_run": true,
            "spec": self.spec,
            "iteration": self.iteration,
            "resumed": self.resumed,
            "first_baseline": self.first_baseline,
            "command": self.command,
            "agent": self.agent,
            "agents": self.agents,
            "prompt": self.prompt,
            "idle_timeout_seconds": self.idle_timeout.map(|limit| limit.as_secs_f64()),
            "budget": self.budget,
            "refused": self.refused,
            "notes": self.notes,
        })
    }
}

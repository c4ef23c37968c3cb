//! The plan of a loop, as JSON: `watchdog loop --dry-run --json`. See `docs/loop.md`.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// The plan of a loop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopPlan {
    /// That nothing was done.
    pub dry_run: bool,
    /// The name of the work.
    pub spec: String,
    /// The iteration that would be next, from 1.
    pub iteration: u32,
    /// Whether it would go on with a loop that was cut short.
    pub resumed: bool,
    /// The baseline at which that loop began, or this one would.
    pub first_baseline: String,
    /// The command to start, `{prompt}` standing for the prompt.
    pub command: Vec<String>,
    /// The agent that would have the session.
    pub agent: String,
    /// All agents in the order of preference, where there are several.
    pub agents: Vec<String>,
    /// The prompt of the session.
    pub prompt: String,
    /// After how much silence a session would be ended; `None` = never.
    #[serde(rename = "idle_timeout_seconds", serialize_with = "write_seconds")]
    pub idle_timeout: Option<Duration>,
    /// The budget that would be left.
    pub budget: String,
    /// Why nothing would be started, if so.
    pub refused: Option<String>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

fn write_seconds<S: Serializer>(limit: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    limit.map(|limit| limit.as_secs_f64()).serialize(to)
}

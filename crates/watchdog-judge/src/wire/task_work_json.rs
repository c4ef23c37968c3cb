//! Work on tasks as JSON: what `watchdog task run` and `watchdog task work` would do, and what came of it. See `docs/tasks.md`.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_facts::verdict::{Status, Verdict};

use super::task_json::TaskStanding;
use super::verdict_json::VerdictView;

/// The plan of `watchdog task run`.
#[derive(Serialize)]
pub struct TaskPlan<'a> {
    /// That nothing was done.
    pub dry_run: bool,
    /// The task.
    pub task: &'a str,
    /// The name of the agent.
    pub agent: &'a str,
    /// The status of the task.
    pub status: &'static str,
    /// The command to start.
    pub command: &'a [String],
    /// The things that the task waits for, in words.
    pub waits_for: &'a [String],
    /// The command that allows its programs, where they are not trusted.
    pub allow_with: Option<&'a str>,
    /// The prompt of the agent.
    pub prompt: &'a str,
}

/// An agent of a pool.
#[derive(Serialize)]
pub struct PlannedAgent<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which tasks it takes; `None` = any.
    pub role: Option<&'a str>,
    /// The folder of its worktree.
    pub worktree: String,
}

/// `watchdog task work --dry-run --json`: the agents, and the tasks that are ready, each with those who would take it.
pub fn pool_plan_json<'a>(
    agents: impl Iterator<Item = PlannedAgent<'a>>,
    ready: &[(String, Vec<&str>)],
) -> Value {
    let ready = ready
        .iter()
        .map(|(id, who)| json!({"task": id, "agents": who}));
    json!({"schema": 1, "dry_run": true, "agents": agents.collect::<Vec<_>>(), "ready": ready.collect::<Vec<_>>()})
}

/// A task that was worked on.
#[derive(Serialize)]
pub struct WorkedTask<'a> {
    /// The agent.
    pub agent: &'a str,
    /// Whether anything was started.
    pub begun: bool,
    /// The task.
    pub id: &'a str,
    /// Its present status, if the work decided that.
    pub status: Option<&'static str>,
    /// The worktree that it was worked on in.
    pub worktree: Option<String>,
}

/// The last verdict on a task, with the task beside it.
#[derive(Serialize)]
pub struct WorkedTaskView<'a> {
    /// The verdict.
    #[serde(flatten)]
    pub verdict: VerdictView,
    /// The task.
    pub task: WorkedTask<'a>,
}

/// `watchdog task work --json`: why it ended, every task, and what was ended here.
pub fn pool_json(
    verdict: &Verdict,
    tasks: &[TaskStanding<'_>],
    done: &[WorkedTaskView<'_>],
) -> Value {
    json!({
        "schema": 1,
        "status": verdict.status(),
        "reason": verdict.reason,
        "complete": verdict.status() == Status::Complete,
        "message": verdict.message,
        "tasks": tasks,
        "done": done,
    })
}

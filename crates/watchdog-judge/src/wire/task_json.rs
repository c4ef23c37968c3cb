//! The queue of tasks as JSON: the output of `watchdog task`, and the events of their changes. See `docs/tasks.md`.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use watchdog_core::config::ConfigError;
use watchdog_core::config::task_file::{TASK_STATUSES, TaskStatus};
use watchdog_facts::evidence::Degradation;
use watchdog_facts::verdict::Status;
use watchdog_store::task::TaskRecord;

/// Where a task stands, as a list or a pool has it.
#[derive(Serialize)]
pub struct TaskStanding<'a> {
    id: &'a str,
    status: &'static str,
    agent: Option<&'a str>,
    reason: Option<&'a str>,
    message: Option<&'a str>,
    branch: Option<&'a str>,
    worktree: Option<String>,
    log: Option<String>,
}

impl<'a> TaskStanding<'a> {
    /// By its record.
    pub fn new(id: &'a str, record: &'a TaskRecord) -> Self {
        TaskStanding {
            id,
            status: record.status.as_str(),
            agent: record.agent.as_deref(),
            reason: record.reason.as_deref(),
            message: record.message.as_deref(),
            branch: record.branch.as_deref(),
            worktree: path_text(record.worktree.as_deref()),
            log: path_text(record.log.as_deref()),
        }
    }
}

/// A task of the queue, as in a list.
#[derive(Serialize)]
pub struct QueueTask<'a> {
    /// Its status and record.
    #[serde(flatten)]
    pub standing: TaskStanding<'a>,
    /// Its title.
    pub title: &'a str,
    /// How urgent it is.
    pub priority: &'static str,
    /// Which agents take it; `None` = any.
    pub role: Option<&'a str>,
    /// Ids of the tasks that must be complete before it.
    pub depends_on: &'a [String],
    /// The things it waits for, in words.
    pub waits_for: Vec<String>,
    /// How often it was begun.
    pub attempts: u32,
    /// Its file, from the root of the work tree.
    pub file: String,
    /// The programs that its criteria run, as far as they could be read.
    pub commands: Vec<String>,
    /// Whether these may run.
    pub trusted: bool,
    /// Whether the file is gone.
    pub file_gone: bool,
    /// Why the file in force cannot be read, where that is so.
    pub unreadable: Option<String>,
    /// When it was first seen.
    pub since: Timestamp,
    /// When its status was set.
    pub changed_at: Timestamp,
}

/// A task with the copy of its file that governs, for `watchdog task show --json`.
#[derive(Serialize)]
pub struct ShownTask<'a> {
    /// The task.
    #[serde(flatten)]
    pub task: QueueTask<'a>,
    /// The prompt.
    pub body: &'a str,
    /// Iterations of the loop at most, where the file says.
    pub max_iterations: Option<u32>,
    /// The events that it waits for.
    pub signals: Vec<&'a str>,
    /// What a person should know.
    pub degraded: &'a [Degradation],
}

/// The tasks of `watchdog task list`.
pub struct ListedTasks<'a> {
    /// Those that are shown.
    pub tasks: Vec<QueueTask<'a>>,
    /// The status of every task, shown or not.
    pub statuses: Vec<TaskStatus>,
    /// Tasks that wait for each other.
    pub cycles: &'a [Vec<String>],
    /// Files that are no tasks.
    pub problems: Vec<&'a ConfigError>,
}

/// `watchdog task list --json`.
pub fn task_list_json(list: &ListedTasks<'_>) -> Value {
    let count = |status| {
        list.statuses
            .iter()
            .filter(|task_status| **task_status == status)
            .count()
    };
    let mut summary = Map::new();
    summary.insert("total".into(), list.statuses.len().into());
    summary.extend(
        TASK_STATUSES
            .iter()
            .map(|(word, status)| ((*word).to_owned(), count(*status).into())),
    );
    let problems: Vec<Value> = list
        .problems
        .iter()
        .flat_map(|error| problems_json(error))
        .collect();
    json!({"schema": 1, "tasks": list.tasks, "summary": summary, "cycles": list.cycles, "problems": problems})
}

fn problems_json(error: &ConfigError) -> impl Iterator<Item = Value> {
    let file = error.origin.display().to_string();
    error.problems.iter().map(move |problem| {
        json!({"file": file, "line": problem.line, "column": problem.column, "key": problem.key, "message": problem.message})
    })
}

/// `watchdog task next --json`, where none is ready.
pub fn no_next_task_json(status: Status, reason: &str, message: &str) -> Value {
    json!({"schema": 1, "id": null, "status": status, "reason": reason, "message": message})
}

/// A step that a task took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TaskTransition {
    /// The task.
    #[serde(rename = "task")]
    pub id: String,
    /// Its former status; `None` = the task is new.
    pub from: Option<TaskStatus>,
    /// Its status.
    pub to: TaskStatus,
    /// Its present or last agent.
    pub agent: Option<String>,
    /// Why: a word of the record.
    pub reason: Option<String>,
    /// Why, for a person.
    pub message: Option<String>,
}

/// `watchdog task set --json`.
#[derive(Serialize)]
pub struct SetTask<'a> {
    /// The change of the task's status.
    #[serde(flatten)]
    pub transition: &'a TaskTransition,
    /// That nothing was written.
    pub dry_run: bool,
}

/// A path that may not be known.
pub fn path_text(path: Option<&Path>) -> Option<String> {
    path.map(|path| path.display().to_string())
}

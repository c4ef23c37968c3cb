//! The queue of tasks as JSON: the output of `watchdog task`, and the events of their changes. See `docs/tasks.md`.

use std::path::Path;

use serde_json::{Map, Value, json};

use watchdog_core::config::ConfigError;
use watchdog_core::config::task_file::{TASK_STATUSES, TaskFile, TaskStatus};
use watchdog_facts::evidence::Degradation;
use watchdog_facts::verdict::Status;
use watchdog_store::task::TaskRecord;

/// A task of the queue, with what its file and its record do not say.
pub struct QueueTask<'a> {
    /// Its file.
    pub task: &'a TaskFile,
    /// Where it stands.
    pub record: &'a TaskRecord,
    /// The file, from the root of the work tree.
    pub file: &'a Path,
    /// What it waits for, in words.
    pub waits_for: Vec<String>,
    /// The programs that its criteria run, as far as they could be read.
    pub commands: Vec<String>,
    /// Whether these may run.
    pub trusted: bool,
    /// Whether the file is gone.
    pub file_gone: bool,
    /// Why the file in force cannot be read, where that is so.
    pub unreadable: Option<String>,
}

/// A task, as in a list.
pub fn queue_task_json(entry: &QueueTask<'_>) -> Value {
    let (task, record) = (entry.task, entry.record);
    json!({
        "id": task.id,
        "title": task.title,
        "priority": task.priority.as_str(),
        "role": task.role,
        "depends_on": task.depends_on,
        "waits_for": entry.waits_for,
        "status": record.status.as_str(),
        "agent": record.agent,
        "reason": record.reason,
        "message": record.message,
        "attempts": record.attempts,
        "file": entry.file.display().to_string(),
        "branch": record.branch,
        "worktree": path_text(record.worktree.as_deref()),
        "log": path_text(record.log.as_deref()),
        "commands": entry.commands,
        "trusted": entry.trusted,
        "file_gone": entry.file_gone,
        "unreadable": entry.unreadable,
        "since": record.since.to_string(),
        "changed_at": record.changed_at.to_string(),
    })
}

/// The tasks of `watchdog task list`.
pub struct ListedTasks<'a> {
    /// Those that are shown, each a [`queue_task_json`].
    pub tasks: Vec<Value>,
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
            .filter(|found| **found == status)
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

/// `watchdog task show --json`. `in_force` is the copy of its file that governs.
pub fn shown_task_json(entry: &QueueTask<'_>, in_force: &TaskFile, notes: &[Degradation]) -> Value {
    let mut value = next_task_json(entry);
    value["body"] = json!(in_force.body);
    value["max_iterations"] = json!(in_force.max_iterations);
    value["signals"] = json!(in_force.signals());
    value["degraded"] = json!(notes);
    value
}

/// `watchdog task next --json`, where a task is ready.
pub fn next_task_json(entry: &QueueTask<'_>) -> Value {
    let mut value = queue_task_json(entry);
    value["schema"] = json!(1);
    value
}

/// `watchdog task next --json`, where none is ready.
pub fn no_next_task_json(status: Status, reason: &str, message: &str) -> Value {
    json!({"schema": 1, "id": null, "status": status.as_str(), "reason": reason, "message": message})
}

/// A change of a task's status, as an event has it. Why is a word, and a message for a person.
pub fn task_transition_data(
    id: &str,
    from: Option<TaskStatus>,
    to: TaskStatus,
    agent: Option<&str>,
    (reason, message): (Option<&str>, Option<&str>),
) -> Value {
    json!({"task": id, "from": from.map(TaskStatus::as_str), "to": to.as_str(), "agent": agent, "reason": reason, "message": message})
}

/// `watchdog task set --json`: that change, and whether nothing was written.
pub fn set_task_json(transition: Value, dry_run: bool) -> Value {
    let mut value = transition;
    value["schema"] = json!(1);
    value["dry_run"] = json!(dry_run);
    value
}

/// A path that may not be known.
pub fn path_text(path: Option<&Path>) -> Option<String> {
    path.map(|path| path.display().to_string())
}

//! The agent's own list of tasks, updated by the tools that change it.

use std::collections::VecDeque;

use serde_json::Value;

use super::fields::{cut_middle, get_text};
use watchdog_facts::context::{AgentTodoPlan, PlanStep};

/// Steps that are kept.
const STEPS: usize = 500;
/// Bytes of a title that are kept.
const TITLE: usize = 500;
/// Calls that wait for their result.
const CALLS: usize = 64;

/// The status of a finished step in plans. The programs all say `completed`.
const DONE: &str = "done";

/// The list, and changes to it whose result has not come.
#[derive(Debug, Clone, Default)]
pub(super) struct TodoList {
    steps: Option<Vec<PlanStep>>,
    calls: VecDeque<(String, TodoChange)>,
}

#[derive(Debug, Clone)]
enum TodoChange {
    Replace(Vec<PlanStep>),
    Add {
        title: String,
    },
    Set {
        id: String,
        title: Option<String>,
        status: Option<String>,
    },
    /// The tool lists all there are.
    Read,
}

impl TodoList {
    /// A tool was called.
    pub fn record_call(&mut self, call: &str, tool: &str, input: &Value) {
        let change = match tool {
            "TodoWrite" | "todowrite" | "write_todos" | "update_plan" => match steps_in(input) {
                Some(steps) => TodoChange::Replace(steps),
                None => return,
            },
            "TaskCreate" => match get_text(input, "subject") {
                Some(subject) => TodoChange::Add {
                    title: cut_middle(subject, TITLE),
                },
                None => return,
            },
            "TaskUpdate" => match id_in(input, "taskId") {
                Some(id) => TodoChange::Set {
                    id,
                    title: get_text(input, "subject").map(|title| cut_middle(title, TITLE)),
                    status: get_text(input, "status").map(normalize_state),
                },
                None => return,
            },
            "TaskList" => TodoChange::Read,
            _ => return,
        };
        if self.calls.len() == CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back((call.to_owned(), change));
    }

    /// A call ended: it changed the list unless it failed. `told` is the program's further data about the result, beside its text.
    pub fn record_result(
        &mut self,
        call: &str,
        is_error: bool,
        content: &str,
        reported: Option<&Value>,
    ) {
        let Some(at) = self.calls.iter().position(|(id, _)| id == call) else {
            return;
        };
        let Some((_, change)) = self.calls.remove(at) else {
            return;
        };
        if is_error {
            return;
        }
        match change {
            TodoChange::Replace(steps) => self.steps = Some(steps),
            TodoChange::Add { title } => {
                let id = reported
                    .and_then(|reported| id_in(reported.get("task")?, "id"))
                    .or_else(|| number_after_hash(content));
                let steps = self.steps.get_or_insert_default();
                if steps.len() < STEPS {
                    steps.push(PlanStep {
                        id,
                        title,
                        status: "pending".into(),
                    });
                }
            }
            TodoChange::Set { id, title, status } => self.set_entry(&id, title, status),
            TodoChange::Read => {
                if let Some(steps) = reported.and_then(steps_in) {
                    self.steps = Some(steps);
                }
            }
        }
    }

    /// A program printed the whole list.
    pub fn replace(&mut self, list: &Value) {
        if let Some(steps) = steps_in(list) {
            self.steps = Some(steps);
        }
    }

    fn set_entry(&mut self, id: &str, title: Option<String>, status: Option<String>) {
        let steps = self.steps.get_or_insert_default();
        let at = steps.iter().position(|step| step.id.as_deref() == Some(id));
        if status.as_deref() == Some("deleted") {
            if let Some(at) = at {
                steps.remove(at);
            }
            return;
        }
        let at = match at {
            Some(at) => at,
            // It was made before we listened.
            None if steps.len() < STEPS => {
                steps.push(PlanStep {
                    id: Some(id.to_owned()),
                    title: format!("#{id}"),
                    status: "pending".into(),
                });
                steps.len() - 1
            }
            None => return,
        };
        if let Some(title) = title {
            steps[at].title = title;
        }
        if let Some(status) = status {
            steps[at].status = status;
        }
    }

    /// The list; `None` if the agent never made one. The agents' word for a finished step becomes `done`, as in other plans.
    pub fn plan(&self) -> Option<AgentTodoPlan> {
        let mut steps = self.steps.clone()?;
        steps
            .iter_mut()
            .filter(|step| step.status == "completed")
            .for_each(|step| step.status = "done".into());
        Some(AgentTodoPlan {
            objective: None,
            status: None,
            steps,
        })
    }
}

/// The steps of a list in any of the forms that agents use.
fn steps_in(list: &Value) -> Option<Vec<PlanStep>> {
    let items = ["todos", "plan", "items", "tasks"]
        .iter()
        .find_map(|key| list.get(key)?.as_array())?;
    let step = |item: &Value| {
        let title = ["content", "step", "text", "subject", "description", "title"]
            .iter()
            .find_map(|key| get_text(item, key))?;
        let done = item
            .get("completed")
            .and_then(Value::as_bool)
            .map(|done| if done { DONE } else { "pending" });
        let status = get_text(item, "status")
            .map(normalize_state)
            .unwrap_or_else(|| done.unwrap_or("pending").into());
        Some(PlanStep {
            id: id_in(item, "id"),
            title: cut_middle(title, TITLE),
            status,
        })
    };
    Some(items.iter().filter_map(step).take(STEPS).collect())
}

fn normalize_state(reported: &str) -> String {
    if reported == "completed" {
        DONE.into()
    } else {
        cut_middle(reported, 40)
    }
}

fn id_in(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(id) => Some(cut_middle(id, 100)),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// `7` of `Task #7 created successfully: …`.
fn number_after_hash(content: &str) -> Option<String> {
    let digits: String = content
        .split_once('#')?
        .1
        .chars()
        .take_while(char::is_ascii_digit)
        .take(9)
        .collect();
    (!digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(todo: &TodoList) -> Vec<String> {
        let steps = todo.plan().map(|plan| plan.steps).unwrap_or_default();
        steps
            .iter()
            .map(|step| {
                format!(
                    "{} {} {}",
                    step.id.as_deref().unwrap_or("-"),
                    step.title,
                    step.status
                )
            })
            .collect()
    }

    #[test]
    fn rewritten_list_counts_once_it_is_accepted() {
        let mut todo = TodoList::default();
        assert_eq!(todo.plan(), None);
        todo.record_call(
            "1",
            "TodoWrite",
            &json!({"todos": [{"content": "a", "status": "completed", "activeForm": "x"}, {"content": "b", "status": "pending"}]}),
        );
        assert_eq!(todo.plan(), None);
        todo.record_result("1", false, "ok", None);
        assert_eq!(shown(&todo), ["- a done", "- b pending"]);
        todo.record_call("2", "TodoWrite", &json!({"todos": []}));
        todo.record_result("2", true, "No such tool available", None);
        assert_eq!(shown(&todo).len(), 2);
    }

    #[test]
    fn tasks_are_created_changed_and_removed_singly() {
        let mut todo = TodoList::default();
        todo.record_call(
            "1",
            "TaskCreate",
            &json!({"subject": "write tests", "description": "all"}),
        );
        todo.record_call("2", "TaskCreate", &json!({"subject": "ship"}));
        todo.record_result(
            "1",
            false,
            "Task #1 created successfully: write tests",
            Some(&json!({"task": {"id": "1"}})),
        );
        todo.record_result("2", false, "Task #2 created successfully: ship", None);
        todo.record_call(
            "3",
            "TaskUpdate",
            &json!({"taskId": "1", "status": "completed"}),
        );
        todo.record_result("3", false, "Updated task #1 status", None);
        assert_eq!(shown(&todo), ["1 write tests done", "2 ship pending"]);
        todo.record_call(
            "4",
            "TaskUpdate",
            &json!({"taskId": 2, "status": "deleted"}),
        );
        todo.record_result("4", false, "", None);
        todo.record_call(
            "5",
            "TaskUpdate",
            &json!({"taskId": "9", "status": "in_progress"}),
        );
        todo.record_result("5", false, "", None);
        assert_eq!(shown(&todo), ["1 write tests done", "9 #9 in_progress"]);
        todo.record_call("6", "TaskList", &json!({}));
        todo.record_result(
            "6",
            false,
            "",
            Some(&json!({"tasks": [{"id": "9", "subject": "look", "status": "pending"}]})),
        );
        assert_eq!(shown(&todo), ["9 look pending"]);
    }

    #[test]
    fn other_forms_are_understood_and_nonsense_is_none() {
        let mut todo = TodoList::default();
        todo.replace(&json!({"items": [{"text": "a", "completed": true}, {"text": "b", "completed": false}, 7]}));
        assert_eq!(shown(&todo), ["- a done", "- b pending"]);
        todo.replace(&json!({"plan": [{"step": "c", "status": "in_progress"}]}));
        assert_eq!(shown(&todo), ["- c in_progress"]);
        for nonsense in [
            json!(null),
            json!({"todos": 5}),
            json!([1]),
            json!({"plan": {"a": 1}}),
        ] {
            todo.replace(&nonsense);
            todo.record_call("x", "TodoWrite", &nonsense);
        }
        assert_eq!(shown(&todo).len(), 1);
        for _ in 0..1000 {
            todo.record_call("y", "TaskCreate", &json!({"subject": "z".repeat(9000)}));
        }
        assert!(todo.calls.len() <= CALLS);
    }
}

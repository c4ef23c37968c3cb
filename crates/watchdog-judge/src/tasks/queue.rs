//! Selects the next task: ready ones, by priority, then by age, for an agent's role.

use jiff::Timestamp;

use super::dependencies::{DependencyGraph, DependencyNode};
use watchdog_core::config::task_file::{TaskPriority, TaskStatus};

/// A task as far as the queue goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedTask {
    /// Its id, its status, and its dependencies.
    pub link: DependencyNode,
    /// How urgent it is.
    pub priority: TaskPriority,
    /// Which agents take it; `None` = any.
    pub role: Option<String>,
    /// When it was first seen: the older of two equally urgent ones comes first.
    pub since: Timestamp,
}

/// Whether an agent takes tasks of a role. An agent without a role takes any; a task without one goes to any; an agent whose role
/// is the empty text takes none.
pub fn is_role_match(agent: Option<&str>, task: Option<&str>) -> bool {
    match (agent, task) {
        (Some(""), _) => false,
        (None, _) | (_, None) => true,
        (Some(agent), Some(task)) => agent == task,
    }
}

/// The tasks that may begin now, the next one first.
pub fn list_ready_tasks(tasks: &[QueuedTask]) -> Vec<&QueuedTask> {
    let dependencies = DependencyGraph::new(tasks.iter().map(|task| task.link.clone()));
    let mut ready: Vec<&QueuedTask> = tasks
        .iter()
        .filter(|task| {
            task.link.status == TaskStatus::Pending && dependencies.is_met(&task.link.id)
        })
        .collect();
    ready.sort_by(|a, b| (a.priority, a.since, &a.link.id).cmp(&(b.priority, b.since, &b.link.id)));
    ready
}

/// The task that an agent of this role takes next.
pub fn next<'q>(tasks: &'q [QueuedTask], role: Option<&str>) -> Option<&'q QueuedTask> {
    list_ready_tasks(tasks)
        .into_iter()
        .find(|task| is_role_match(role, task.role.as_deref()))
}

/// The status of a task by its dependencies alone: blocked while one is unmet, and pending again when all are
/// complete. `by_hand` is a task that a person blocked, who alone unblocks it.
pub fn settle_status(status: TaskStatus, by_hand: bool, met: bool) -> TaskStatus {
    match status {
        TaskStatus::Pending if !met => TaskStatus::Blocked,
        TaskStatus::Blocked if met && !by_hand => TaskStatus::Pending,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(
        id: &str,
        priority: TaskPriority,
        role: Option<&str>,
        status: TaskStatus,
        wanted: &[&str],
    ) -> QueuedTask {
        QueuedTask {
            link: DependencyNode {
                id: id.into(),
                status,
                depends_on: wanted.iter().map(ToString::to_string).collect(),
            },
            priority,
            role: role.map(Into::into),
            since: Timestamp::UNIX_EPOCH,
        }
    }

    fn ids(tasks: &[QueuedTask]) -> Vec<&str> {
        list_ready_tasks(tasks)
            .into_iter()
            .map(|task| task.link.id.as_str())
            .collect()
    }

    #[test]
    fn queue_orders_by_urgency_age_and_id() {
        use TaskPriority::{Critical, High, Low, Medium};
        let mut tasks: Vec<QueuedTask> = [
            ("l", Low),
            ("c", Critical),
            ("m2", Medium),
            ("m1", Medium),
            ("h", High),
        ]
        .map(|(id, priority)| task(id, priority, None, TaskStatus::Pending, &[]))
        .into();
        assert_eq!(ids(&tasks), ["c", "h", "m1", "m2", "l"]);
        tasks[3].since = Timestamp::from_second(60).expect("a time");
        assert_eq!(ids(&tasks), ["c", "h", "m2", "m1", "l"]);
    }

    #[test]
    fn only_pending_task_with_finished_dependencies_is_ready() {
        use TaskStatus::{Assigned, Blocked, Complete, Failed, InProgress, Pending, Review};
        let task_of = |id, status, wanted| task(id, TaskPriority::Medium, None, status, wanted);
        let tasks = [
            task_of("done", Complete, &[]),
            task_of("root", Pending, &[]),
            task_of("next", Pending, &["done"]),
            task_of("later", Pending, &["done", "root"]),
            task_of("lost", Pending, &["NOPE"]),
            task_of("self", Pending, &["self"]),
            task_of("a", Assigned, &[]),
            task_of("i", InProgress, &[]),
            task_of("r", Review, &[]),
            task_of("f", Failed, &[]),
            task_of("b", Blocked, &[]),
        ];
        assert_eq!(ids(&tasks), ["next", "root"]);
    }

    #[test]
    fn agent_takes_own_role_and_roleless_tasks() {
        for (agent, wanted, expected) in [
            (Some("backend"), Some("backend"), true),
            (Some("backend"), Some("frontend"), false),
            (Some("backend"), None, true),
            (None, Some("frontend"), true),
            (None, None, true),
            (Some(""), Some("backend"), false),
            (Some(""), None, false),
        ] {
            assert_eq!(
                is_role_match(agent, wanted),
                expected,
                "{agent:?} {wanted:?}"
            );
        }
        let tasks = [
            task(
                "z",
                TaskPriority::Critical,
                Some("frontend"),
                TaskStatus::Pending,
                &[],
            ),
            task(
                "y",
                TaskPriority::Low,
                Some("backend"),
                TaskStatus::Pending,
                &[],
            ),
        ];
        assert_eq!(
            next(&tasks, Some("backend")).map(|task| task.link.id.as_str()),
            Some("y")
        );
        assert_eq!(next(&tasks, Some("ops")), None);
    }

    #[test]
    fn dependencies_never_undo_a_persons_block() {
        use TaskStatus::{Blocked, Complete, Pending, Review};
        for (status, by_hand, met, expected) in [
            (Pending, false, true, Pending),
            (Pending, false, false, Blocked),
            (Blocked, false, false, Blocked),
            (Blocked, false, true, Pending),
            (Blocked, true, true, Blocked),
            (Review, false, false, Review),
            (Complete, false, false, Complete),
        ] {
            assert_eq!(
                settle_status(status, by_hand, met),
                expected,
                "{status:?} {by_hand} {met}"
            );
        }
    }

    proptest! {
        #[test]
        fn first_taken_task_is_most_urgent_ready(urgencies in prop::collection::vec(0u8..4, 1..20)) {
            let words = [TaskPriority::Critical, TaskPriority::High, TaskPriority::Medium, TaskPriority::Low];
            let tasks: Vec<QueuedTask> = urgencies.iter().enumerate()
                .map(|(n, urgency)| task(&n.to_string(), words[usize::from(*urgency)], None, TaskStatus::Pending, &[])).collect();
            let first = next(&tasks, None).expect("there is one");
            prop_assert!(tasks.iter().all(|task| first.priority <= task.priority));
        }
    }
}

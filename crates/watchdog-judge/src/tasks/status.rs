//! The allowed transitions between statuses. Every change passes through here.

use watchdog_core::config::task_file::TaskStatus;

/// The statuses that may follow one.
pub fn next_of(from: TaskStatus) -> &'static [TaskStatus] {
    use TaskStatus::{Assigned, Blocked, Complete, Failed, InProgress, Pending, Review};
    match from {
        Pending => &[Assigned, Blocked],
        Blocked => &[Pending],
        Assigned => &[InProgress, Pending],
        InProgress => &[Complete, Review, Failed, Pending],
        Review => &[Complete, InProgress, Failed],
        Failed => &[Pending, InProgress],
        Complete => &[],
    }
}

/// A step that no task may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {} cannot become {}; {}", from.as_str(), to.as_str(), describe_allowed_steps(*from))]
pub struct IllegalTransition {
    /// The task's status.
    pub from: TaskStatus,
    /// The status that it was to get.
    pub to: TaskStatus,
}

fn describe_allowed_steps(from: TaskStatus) -> String {
    match next_of(from) {
        [] => "a person reopens it with a reason".to_owned(),
        next => format!(
            "it may become {}",
            next.iter()
                .map(|status| status.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// Whether a step is allowed. Staying is no step.
///
/// # Errors
/// The step, with what would be allowed instead.
pub fn check_step(from: TaskStatus, to: TaskStatus) -> Result<(), IllegalTransition> {
    if next_of(from).contains(&to) {
        Ok(())
    } else {
        Err(IllegalTransition { from, to })
    }
}

/// Whether a person may take a step: those that are allowed to all, and with a reason a complete task becomes pending again.
///
/// # Errors
/// The step, with what would be allowed instead.
pub fn step_by_person(
    from: TaskStatus,
    to: TaskStatus,
    why: Option<&str>,
) -> Result<(), IllegalTransition> {
    let reopens = from == TaskStatus::Complete && to == TaskStatus::Pending;
    if reopens && why.is_some_and(|why| !why.trim().is_empty()) {
        Ok(())
    } else {
        check_step(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::config::task_file::TASK_STATUSES;

    #[test]
    fn the_steps_are_these_and_no_others() {
        let legal = [
            ("pending", "assigned"),
            ("pending", "blocked"),
            ("blocked", "pending"),
            ("assigned", "in_progress"),
            ("assigned", "pending"),
            ("in_progress", "complete"),
            ("in_progress", "review"),
            ("in_progress", "failed"),
            ("in_progress", "pending"),
            ("review", "complete"),
            ("review", "in_progress"),
            ("review", "failed"),
            ("failed", "pending"),
            ("failed", "in_progress"),
        ];
        for (from_word, from) in TASK_STATUSES {
            for (to_word, to) in TASK_STATUSES {
                assert_eq!(
                    check_step(*from, *to).is_ok(),
                    legal.contains(&(*from_word, *to_word)),
                    "{from_word} to {to_word}"
                );
            }
        }
    }

    #[test]
    fn complete_task_reopens_only_by_person_with_reason() {
        use TaskStatus::{Complete, Pending, Review};
        assert!(step_by_person(Complete, Pending, Some("the fix was reverted")).is_ok());
        for why in [None, Some(""), Some("  ")] {
            assert!(step_by_person(Complete, Pending, why).is_err(), "{why:?}");
        }
        assert!(step_by_person(Complete, Review, Some("why")).is_err());
        assert!(step_by_person(Review, Pending, Some("why")).is_err());
    }

    #[test]
    fn only_complete_is_final_and_refusals_name_alternatives() {
        let ends: Vec<&str> = TASK_STATUSES
            .iter()
            .filter(|(_, status)| next_of(*status).is_empty())
            .map(|(word, _)| *word)
            .collect();
        assert_eq!(ends, ["complete"]);
        let refused =
            check_step(TaskStatus::Review, TaskStatus::Pending).expect_err("a person decides");
        assert_eq!(
            refused.to_string(),
            "a task that is review cannot become pending; it may become complete, in_progress, failed"
        );
        let ended =
            check_step(TaskStatus::Complete, TaskStatus::Pending).expect_err("it is the end");
        assert_eq!(
            ended.to_string(),
            "a task that is complete cannot become pending; a person reopens it with a reason"
        );
    }

    #[test]
    fn words_of_no_status_are_none() {
        assert_eq!(TaskStatus::from_word("unknown"), None);
        for (word, status) in TASK_STATUSES {
            assert_eq!(
                (TaskStatus::from_word(word), status.as_str()),
                (Some(*status), *word)
            );
        }
    }
}

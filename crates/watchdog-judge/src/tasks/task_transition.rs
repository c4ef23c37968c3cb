//! A step that a task took, and why one was not taken.

use super::status::IllegalTransition;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_store::StoreError;

/// A step that a task took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskTransition {
    /// The task.
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

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TaskBoardError {
    /// The records could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The step is none.
    #[error("{id}: {step}")]
    Illegal {
        /// The task.
        id: String,
        /// Why its status does not allow the step.
        step: IllegalTransition,
    },
    /// An agent works on it.
    #[error("an agent works on {id}{}", .agent.as_ref().map(|agent| format!(": {agent}")).unwrap_or_default())]
    Held {
        /// The task.
        id: String,
        /// The name of that agent, where the lease records one.
        agent: Option<String>,
    },
    /// The lease expired meanwhile, so another agent may work on it.
    #[error("the lease of {id} has ended; somebody else may work on it")]
    Lost {
        /// The task.
        id: String,
    },
}

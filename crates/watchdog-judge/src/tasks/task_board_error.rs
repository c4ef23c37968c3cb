//! Why a task did not take a step.

use super::status::IllegalTransition;
use watchdog_store::StoreError;

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

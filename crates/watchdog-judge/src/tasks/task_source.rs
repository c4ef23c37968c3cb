//! Which queue a command uses, in words for a person.

use std::fmt;
use std::sync::Arc;

use watchdog_store::task_store::TaskStore;

/// The place of a repository's task records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSource {
    /// In the records of this machine.
    Here,
    /// In the table of a fleet.
    Fleet {
        /// Host and port of its server.
        server: String,
        /// The name of this machine.
        machine: String,
        /// The name of the repository.
        repository: String,
    },
}

/// The tasks of a repository, and where they are recorded.
pub type SourcedTasks = (Arc<dyn TaskStore>, TaskSource);

impl fmt::Display for TaskSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskSource::Here => write!(f, "the queue of this machine"),
            TaskSource::Fleet {
                server,
                machine,
                repository,
            } => {
                write!(
                    f,
                    "the queue of {repository} in the fleet on {server}, as '{machine}'"
                )
            }
        }
    }
}

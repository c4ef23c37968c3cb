//! Which queue a command uses, in words for a person.

use std::fmt;

/// Where the tasks of a repository are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskPlace {
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

impl fmt::Display for TaskPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskPlace::Here => write!(f, "the queue of this machine"),
            TaskPlace::Fleet { server, machine, repository } => {
                write!(f, "the queue of {repository} in the fleet on {server}, as '{machine}'")
            }
        }
    }
}

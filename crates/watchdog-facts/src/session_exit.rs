//! How the process of a session ended, and what ended it.

use super::evidence::ProcessExit;
use serde::{Deserialize, Serialize};

/// The end of a session's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "ExitForm", try_from = "ExitForm")]
pub struct SessionExit {
    /// The code or signal, as the operating system reported it.
    pub exit: ProcessExit,
    /// The party that ended it.
    pub by: EndedBy,
}

/// The exit code, the signal, and what ended it: the end of a process in records.
type ExitForm = (Option<i32>, Option<i32>, EndedBy);

impl From<SessionExit> for ExitForm {
    fn from(exit: SessionExit) -> Self {
        (exit.exit_code(), exit.signal(), exit.by)
    }
}

impl TryFrom<ExitForm> for SessionExit {
    type Error = &'static str;

    fn try_from((code, signal, by): ExitForm) -> Result<Self, Self::Error> {
        let exit = code
            .map(ProcessExit::Code)
            .or(signal.map(ProcessExit::Signal));
        let exit = exit.ok_or("a process ends with a code or by a signal")?;
        Ok(SessionExit { exit, by })
    }
}

/// The party that ended the process of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// It ended by itself.
    Itself,
    /// watchdog ended it at its timeout.
    Timeout,
    /// watchdog ended it for its silence.
    Silence,
    /// watchdog ended it at a budget or the deadline.
    Limit,
    /// watchdog ended it because it was interrupted itself.
    Interrupt,
}

impl EndedBy {
    /// The word used in JSON and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            EndedBy::Itself => "itself",
            EndedBy::Timeout => "timeout",
            EndedBy::Silence => "silence",
            EndedBy::Limit => "limit",
            EndedBy::Interrupt => "interrupt",
        }
    }
}

impl SessionExit {
    /// The exit code, unless a signal ended it.
    pub fn exit_code(self) -> Option<i32> {
        match self.exit {
            ProcessExit::Code(code) => Some(code),
            ProcessExit::Signal(_) => None,
        }
    }

    /// The signal that ended it.
    pub fn signal(self) -> Option<i32> {
        match self.exit {
            ProcessExit::Code(_) => None,
            ProcessExit::Signal(signal) => Some(signal),
        }
    }

    /// A clause for a message, where the session ended badly by itself.
    pub fn clause(self) -> Option<String> {
        let bad = self.by == EndedBy::Itself && !self.exit.success();
        let with = if self.signal().is_some() {
            "by"
        } else {
            "with"
        };
        bad.then(|| format!("the session ended {with} {}", self.exit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_self_inflicted_bad_end_is_mentioned() {
        for (exit, by, clause) in [
            (
                ProcessExit::Code(3),
                EndedBy::Itself,
                Some("the session ended with exit code 3"),
            ),
            (
                ProcessExit::Signal(9),
                EndedBy::Itself,
                Some("the session ended by signal 9"),
            ),
            (ProcessExit::Code(0), EndedBy::Itself, None),
            (ProcessExit::Signal(15), EndedBy::Timeout, None),
        ] {
            assert_eq!(
                SessionExit { exit, by }.clause().as_deref(),
                clause,
                "{exit} {by:?}"
            );
        }
    }
}

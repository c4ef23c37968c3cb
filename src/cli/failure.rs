//! Why a command could not do its work, and the exit code that says so.

use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Reason;
use watchdog_judge::judge::refusal::Refusal;
use watchdog_judge::wire::failure_json::{failure_json, with_failure};
use watchdog_view::show_failure::ShowFailure;

/// Wrong usage, or a bad configuration file.
pub const USAGE: u8 = 2;
/// A bug in watchdog.
pub const BUG: u8 = 70;

/// The exit code of a command that did its work and found all well, or not.
pub fn exit_code(is_well: bool) -> u8 {
    if is_well {
        0
    } else {
        Reason::StoreError.status().exit_code()
    }
}

/// The exit code of a command that this signal ended; 0 is no signal.
pub fn signal_code(signal: i32) -> u8 {
    match u8::try_from(signal).unwrap_or(0) {
        0 => 0,
        signal => 128_u8.saturating_add(signal),
    }
}

/// A command that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFailure {
    /// The process's exit code.
    pub code: u8,
    /// The word for programs.
    pub reason: &'static str,
    /// The event and its cause.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// The facts that the object for programs has despite the failure.
    pub partial_answer: Option<Box<serde_json::Value>>,
}

impl CommandFailure {
    /// A failure that a reason of the contract names.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        CommandFailure {
            code: reason.status().exit_code(),
            reason: reason.as_str(),
            message: message.into(),
            hint: None,
            partial_answer: None,
        }
    }

    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        CommandFailure {
            reason: "usage",
            ..CommandFailure::configuration(message)
        }
    }

    /// A bad configuration file: its own exit code, and the reason of the contract.
    pub fn configuration(message: impl Into<String>) -> Self {
        CommandFailure {
            code: USAGE,
            ..CommandFailure::new(Reason::ConfigError, message)
        }
    }

    /// The records, or a file or a program beside them, failed.
    pub fn store_failure(message: impl Into<String>) -> Self {
        CommandFailure::new(Reason::StoreError, message)
    }

    /// This signal ended the command.
    pub fn from_signal(signal: i32, message: impl Into<String>) -> Self {
        CommandFailure {
            code: signal_code(signal),
            ..CommandFailure::new(Reason::Interrupted, message)
        }
    }

    /// Adds what to do next.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        CommandFailure {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The same with a hint that works from anywhere.
    pub fn with_worktree_hint(self, commands: &WorktreeCommands) -> Self {
        CommandFailure {
            hint: self.hint.map(|hint| commands.name_worktree(&hint)),
            ..self
        }
    }

    /// The object for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let failure = failure_json(self.reason, &self.message, self.hint.as_deref());
        match &self.partial_answer {
            Some(answer) => with_failure(answer.as_ref().clone(), failure),
            None => failure,
        }
    }
}

impl From<UnreadableFact> for CommandFailure {
    fn from(unreadable: UnreadableFact) -> Self {
        if unreadable.kind == FaultKind::Config {
            return CommandFailure {
                hint: unreadable.hint,
                ..CommandFailure::configuration(unreadable.why)
            };
        }
        let reason = Reason::from(unreadable.kind);
        CommandFailure {
            hint: unreadable.hint,
            ..CommandFailure::new(reason, unreadable.why)
        }
    }
}

impl From<Refusal> for CommandFailure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unreadable(unreadable) => unreadable.into(),
            Refusal::Verdict(verdict) => CommandFailure::new(verdict.reason, verdict.message),
            Refusal::Judgement(judgement) => {
                CommandFailure::new(judgement.verdict.reason, judgement.verdict.message)
            }
        }
    }
}

impl From<ShowFailure> for CommandFailure {
    fn from(failure: ShowFailure) -> Self {
        let (why, hint) = (failure.message, failure.hint);
        match failure.fault {
            Some(kind) => UnreadableFact { kind, why, hint }.into(),
            None => CommandFailure {
                hint,
                ..CommandFailure::usage(why)
            },
        }
    }
}

impl From<watchdog_git::Error> for CommandFailure {
    fn from(error: watchdog_git::Error) -> Self {
        UnreadableFact::from(error).into()
    }
}

impl From<watchdog_store::StoreError> for CommandFailure {
    fn from(error: watchdog_store::StoreError) -> Self {
        UnreadableFact::from(error).into()
    }
}

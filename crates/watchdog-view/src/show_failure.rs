//! Why something of the records cannot be shown, and what to do next.

use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_judge::judge::command_env::CommandEnv;

/// Something that cannot be shown.
pub struct ShowFailure {
    /// The fault of a fact that cannot be read; `None` where another choice would help.
    pub fault: Option<FaultKind>,
    /// The event and its cause.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl ShowFailure {
    /// A failure in words alone.
    pub fn from_text(message: impl Into<String>) -> Self {
        ShowFailure {
            fault: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds what to do next.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        ShowFailure {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl<E: Into<UnreadableFact>> From<E> for ShowFailure {
    fn from(error: E) -> Self {
        let unreadable = error.into();
        ShowFailure {
            fault: Some(unreadable.kind),
            message: unreadable.why,
            hint: unreadable.hint,
        }
    }
}

/// The refusal of a work tree that is a whole home, where the records have nothing for it.
pub fn refuse_home(command_env: &CommandEnv) -> Option<ShowFailure> {
    let error = command_env.open_worktree().err()?;
    matches!(error, watchdog_git::Error::HomeFolder { .. }).then(|| error.into())
}

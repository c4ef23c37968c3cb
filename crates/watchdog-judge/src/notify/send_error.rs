//! Why a notice did not arrive.

/// Why a notice did not arrive, and what to do. No secret of an address is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct SendError {
    /// The failure, for a person.
    pub why: String,
    /// The next step, if it is known.
    pub hint: Option<&'static str>,
    /// Whether it is that a program is not there.
    pub not_runnable: bool,
}

impl SendError {
    /// A failure that nothing is known to help against.
    pub fn new(why: impl Into<String>) -> Self {
        SendError {
            why: why.into(),
            hint: None,
            not_runnable: false,
        }
    }

    /// Adds what to do next.
    pub fn hint(self, hint: &'static str) -> Self {
        SendError {
            hint: Some(hint),
            ..self
        }
    }

    /// Adds what to do next where the program is not there.
    pub fn hint_where_missing(self, hint: &'static str) -> Self {
        match self.not_runnable {
            true => self.hint(hint),
            false => self,
        }
    }
}

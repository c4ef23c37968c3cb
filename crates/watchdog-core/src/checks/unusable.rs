//! Entries that could not be made into a check. Never a pass, and never silent.

use super::check::{CheckContext, CheckJudgement, CompletionCheck};

/// A check whose entry could not be made into one.
#[derive(Debug, Clone)]
pub(super) struct UnusableCheck {
    why: String,
}

impl UnusableCheck {
    /// Why it cannot be used.
    pub(super) fn new(why: impl Into<String>) -> Self {
        UnusableCheck { why: why.into() }
    }
}

impl CompletionCheck for UnusableCheck {
    fn check(&self, _context: &CheckContext<'_>) -> CheckJudgement {
        CheckJudgement::Unrunnable {
            why: self.why.clone(),
        }
    }

    fn description(&self) -> String {
        format!("a check that cannot be used: {}", self.why)
    }
}

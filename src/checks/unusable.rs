//! Entries that could not be made into a check. Never a pass, and never silent.

use super::check::{CheckContext, CompletionCheck, Judgement};

/// A check whose entry could not be made into one.
#[derive(Debug, Clone)]
pub(super) struct Unusable {
    why: String,
}

impl Unusable {
    /// Why it cannot be used.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Unusable { why: why.into() }
    }
}

impl CompletionCheck for Unusable {
    fn check(&self, _context: &CheckContext<'_>) -> Judgement {
        Judgement::Unrunnable { why: self.why.clone() }
    }

    fn description(&self) -> String {
        format!("a check that cannot be used: {}", self.why)
    }
}

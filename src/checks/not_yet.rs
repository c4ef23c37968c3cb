//! Types of the contract that this version cannot judge. Never a pass, and never silent.

use super::check::{CheckContext, CompletionCheck, Judgement};

/// A check of a type that is read and cannot be judged.
#[derive(Debug, Clone)]
pub struct NotYet {
    kind: String,
}

impl NotYet {
    /// A check of this type.
    pub fn new(kind: impl Into<String>) -> Self {
        NotYet { kind: kind.into() }
    }
}

impl CompletionCheck for NotYet {
    fn check(&self, _context: &CheckContext<'_>) -> Judgement {
        Judgement::Unrunnable {
            why: format!("this version of watchdog cannot judge checks of type `{}`; remove the check or update watchdog", self.kind),
        }
    }

    fn description(&self) -> String {
        format!("a check of type `{}` passes, which this version of watchdog cannot judge", self.kind)
    }
}

/// A check whose entry could not be made into one. Never a pass.
#[derive(Debug, Clone)]
pub struct Unusable {
    why: String,
}

impl Unusable {
    /// Why it cannot be used.
    pub fn new(why: impl Into<String>) -> Self {
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

//! A rescue that rule 11 of the contract holds back.

use jiff::Timestamp;

/// A rescue that may not commit yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRescue {
    /// Why.
    pub why: String,
    /// When another look may decide otherwise, where time alone decides.
    pub retry_at: Option<Timestamp>,
}

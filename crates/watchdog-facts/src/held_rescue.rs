//! A rescue that rule 11 of the contract holds back.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A rescue that may not commit yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldRescue {
    /// Why.
    pub why: String,
    /// When another look may decide otherwise, where time alone decides.
    pub retry_at: Option<Timestamp>,
}

//! A claim of a session's last words about its work, held against the facts.

use serde::{Deserialize, Serialize};

use super::word_table::word_table;

word_table! {
    /// The state of a claim beside the facts.
    enum ClaimState;

    /// A fact bears it out, and none speaks against it.
    Held = "held",
    /// A fact excludes it.
    Contradicted = "contradicted",
    /// No fact decides.
    Unproved = "unproved",
}

/// A claim with the fact that decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedClaim {
    /// Its kind, such as `pushed`.
    pub claim: String,
    /// Whether the facts bear it out.
    pub state: ClaimState,
    /// A sentence without an end; empty where the claim holds.
    pub fact: String,
    /// The agent's own words, cut.
    pub quote: String,
}

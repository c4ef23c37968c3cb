//! Gains of the measures by one event.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// A spec that became complete, and what it took since its previous completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedSpec {
    /// The worktree, as the store names it.
    #[serde(rename = "w")]
    pub worktree: String,
    /// Its name.
    #[serde(rename = "s")]
    pub spec: String,
    /// Sessions whose end was seen; 0 = no session is known.
    #[serde(rename = "n")]
    pub sessions: u64,
    /// Seconds that these took together, where every one of them is known.
    #[serde(rename = "t")]
    pub seconds: Option<u64>,
    /// Millionths of a US dollar that these cost, where every one of them reported it.
    #[serde(rename = "c")]
    pub cost_micros: Option<u64>,
    /// Questions.
    #[serde(rename = "q")]
    pub questions: u64,
}

/// Gains of the measures by one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MeasureGains {
    /// Counters, each with the day that it is counted on: what came of an abort belongs to the day of the abort.
    pub counters: Vec<(Date, String, u64)>,
    /// A spec that became complete by it.
    pub completed: Option<CompletedSpec>,
}

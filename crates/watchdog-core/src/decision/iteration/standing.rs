//! The progress of a loop, for its limits. Survives the death of the process.

use super::agent_order::{AgentStanding, standing_mut};
use crate::decision::termination::SpentUsage;
use serde::{Deserialize, Serialize};

/// The progress of a loop between two sessions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopStanding {
    /// Iterations that ended.
    pub finished: u32,
    /// The usage of the sessions; `wall_seconds` is the time of the whole loop, pauses included.
    pub spent: SpentUsage,
    /// The state of the work after the last iteration, or at the beginning: equal only where HEAD's tree and everything uncommitted
    /// are the same; `None` where it could not be read, which is never equal.
    pub work: Option<String>,
    /// How many iterations in a row left the work in that state.
    pub unchanged: u32,
    /// Sessions in a row that crashed.
    pub crashes: u32,
    /// Pauses in a row for a usage limit, an overload or background work, without an iteration that ended.
    pub waits: u32,
    /// The agents that had sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentStanding>,
    /// The agent of the next session, or of the one that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The agent of the last session that began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<String>,
}

impl LoopStanding {
    /// The standing of the agent of the last session.
    pub(super) fn ran_agent(&mut self) -> Option<&mut AgentStanding> {
        Some(standing_mut(&mut self.agents, self.ran.as_ref()?))
    }

    /// Takes in the state in which an iteration left the work.
    pub(super) fn count_unchanged(&mut self, work: Option<String>) {
        let same = work.is_some() && work == self.work;
        self.unchanged = match (same, &work) {
            (true, _) => self.unchanged.saturating_add(1),
            (false, Some(_)) => 1,
            (false, None) => 0,
        };
        self.work = work;
    }
}

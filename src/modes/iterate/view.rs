//! What a live view shows of a loop, whenever something of it changes.

use jiff::Timestamp;
use watchdog_core::decision::breaker::BreakerState;

use crate::agent::stream::StreamTap;
use watchdog_core::decision::iteration::next::PauseFor;
use watchdog_core::decision::termination::SpentUsage;

/// How a loop stands right now.
#[derive(Debug, Clone)]
pub struct LoopStatus {
    /// The name of the work.
    pub spec: String,
    /// The iteration that runs or ran last, from 1; 0 before the first.
    pub iteration: u32,
    /// The cap.
    pub max_iterations: u32,
    /// When this process began with it.
    pub since: Timestamp,
    /// What it does.
    pub phase: LoopPhase,
    /// What the sessions that ended spent.
    pub spent: SpentUsage,
    /// State, strikes and limit of the breaker, where it is known.
    pub breaker: Option<(BreakerState, u32, u32)>,
    /// The output of the session that runs.
    pub tap: Option<StreamTap>,
}

/// What a loop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopPhase {
    /// A session runs.
    Session {
        /// Since then.
        since: Timestamp,
    },
    /// What it did is judged.
    Judging,
    /// Nothing, until then.
    Pause {
        /// When it goes on.
        until: Timestamp,
        /// What for.
        why: PauseFor,
    },
    /// It is over.
    Over,
}

/// Shows the state of a loop. Called often; must not block.
pub trait LoopView: Send + Sync {
    /// Something changed.
    fn show(&self, status: &LoopStatus);
}

/// Shows nothing; the lines of progress remain.
impl LoopView for () {
    fn show(&self, _status: &LoopStatus) {}
}

//! The status of a loop for a live view, sent after every change.

use jiff::Timestamp;
use watchdog_core::decision::breaker::BreakerState;

use watchdog_agent::stream::StreamTap;
use watchdog_core::decision::iteration::next::PauseReason;
use watchdog_core::decision::termination::SpentUsage;

/// The present status of a loop.
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
    /// Its phase.
    pub phase: LoopPhase,
    /// The usage of the sessions that ended.
    pub spent: SpentUsage,
    /// State, strikes and limit of the breaker, where it is known.
    pub breaker: Option<(BreakerState, u32, u32)>,
    /// The output of the session that runs.
    pub tap: Option<StreamTap>,
}

/// The phase of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopPhase {
    /// A session runs.
    Session {
        /// Since then.
        since: Timestamp,
    },
    /// Its session is being judged.
    Judging,
    /// Nothing, until then.
    Pause {
        /// When the pause ends.
        until: Timestamp,
        /// The reason of the pause.
        why: PauseReason,
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

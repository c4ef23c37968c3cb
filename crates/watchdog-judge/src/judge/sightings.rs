//! What one judgement saw so far, as plain values: of its questions to the agent, and for the gate of its rescue.

use std::sync::Mutex;
use std::time::Instant;

use crate::session::ProbeTarget;
use watchdog_core::decision::commit_gate::RescueCaller;
use watchdog_core::decision::session_life::RecordedState;
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage};
use watchdog_store::answer::StandingAnswer;

/// The questions of one judgement, and their answers.
#[derive(Default)]
pub struct ProbeHistory {
    /// The last answer, if this judgement reuses it.
    pub(super) standing: Option<StandingAnswer>,
    pub(super) seen: Mutex<JudgementProbes>,
}

/// The probes of this judgement.
#[derive(Default)]
pub struct JudgementProbes {
    pub(super) whom: Option<ProbeTarget>,
    /// The last answer to a probe, with the state that it describes.
    pub(super) last: Option<(String, ProbeRecord)>,
    /// An answer that asking again in this judgement cannot change.
    pub(super) settled: Option<ProbeRecord>,
    /// Whether the standing answer was given instead of a question.
    pub(super) stood: bool,
    /// The cost of plans and judges.
    pub(super) beside: ProbeUsage,
}

/// The part of a gate that is settled before a rescue.
#[derive(Debug, Clone)]
pub struct RescueGate {
    /// The command.
    pub caller: RescueCaller,
    /// Whether the session is known to have ended.
    pub ended: bool,
    /// Whether a session of the worktree runs this very process.
    pub from_inside: bool,
    /// The work as an earlier command saw it.
    pub recorded: Option<RecordedState>,
    /// Whether the work moved since then.
    pub has_moved: bool,
}

impl Default for RescueGate {
    fn default() -> Self {
        RescueGate {
            caller: RescueCaller::Typed,
            ended: false,
            from_inside: false,
            recorded: None,
            has_moved: false,
        }
    }
}

/// What a judgement saw of the work so far.
#[derive(Default)]
pub struct GateSightings {
    /// The first time that this command saw the work as it is now, and its mark.
    pub first: Option<(Instant, String)>,
    /// Whether the agent's last answer is `complete`.
    pub says_complete: bool,
}

/// Room for the sightings of a judgement.
pub type SharedSightings = Mutex<GateSightings>;

//! The questions of one judgement to the agent, and their answers.

use std::sync::Mutex;

use crate::session::ProbeTarget;
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

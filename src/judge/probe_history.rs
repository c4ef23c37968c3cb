//! The questions of one judgement to the agent, and their answers.

use std::sync::Mutex;

use crate::session::ProbeTarget;
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage};
use watchdog_store::answer::AnswerRecord;

/// The questions of one judgement, and their answers.
#[derive(Default)]
pub struct ProbeHistory {
    /// The last answer, where it stands for this judgement.
    pub(super) standing: Option<AnswerRecord>,
    pub(super) seen: Mutex<JudgementProbes>,
}

/// What was asked in this judgement.
#[derive(Default)]
pub struct JudgementProbes {
    pub(super) whom: Option<ProbeTarget>,
    /// The last answer that was asked for, with the state that it is about.
    pub(super) last: Option<(String, ProbeRecord)>,
    /// An answer that asking again in this judgement cannot change.
    pub(super) settled: Option<ProbeRecord>,
    /// Whether the standing answer was given instead of a question.
    pub(super) stood: bool,
    /// What plans and judges cost.
    pub(super) beside: ProbeUsage,
}

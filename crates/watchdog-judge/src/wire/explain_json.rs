//! The JSON of `watchdog explain`, described by `docs/schema/explain.json`.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_core::decision::record::explanation::JudgementExplanation;
use watchdog_core::decision::record::run::RunEnd;
use watchdog_core::decision::record::what_if::{ChangedEnd, SingleChange};
use watchdog_facts::verdict::{Evidence, Reason, Status};
use watchdog_store::engine::StoredEvent;

use super::verdict_json::RECORD;
use super::worked_agents::WorkedSession;

/// JSON Schema (2020-12) of an explanation.
pub const EXPLAIN_SCHEMA: &str = include_str!("../../../../docs/schema/explain.json");

/// The explanation of a verdict by its facts.
#[derive(Debug, Clone, Copy)]
pub struct ExplainedFields<'a> {
    /// Each fact, and what came of it.
    pub explanation: &'a JudgementExplanation,
    /// The changes that would have changed the verdict.
    pub changes: &'a [(SingleChange, ChangedEnd)],
}

/// An explained verdict; without its facts, why there are none.
pub fn explain_json(
    event: &StoredEvent,
    sessions: &[WorkedSession],
    facts: Result<ExplainedFields<'_>, &str>,
) -> Value {
    let mut verdict = event.data.clone();
    if let Some(verdict) = verdict.as_object_mut() {
        verdict.remove(RECORD);
    }
    let steps = facts.map(|facts| &facts.explanation.steps[..]);
    let changes = facts.map(|facts| facts.changes.iter().map(change_json).collect::<Vec<_>>());
    json!({
        "schema": 1,
        "event": event.id,
        "at": event.at,
        "spec": event.spec,
        "verdict": verdict,
        "sessions": sessions,
        "lacks": facts.err(),
        "steps": steps.unwrap_or_default(),
        "today": facts.ok().map(|facts| EndView::from(&facts.explanation.end)),
        "would_change": changes.unwrap_or_default(),
    })
}

/// A verdict, or the fact that is missing to reach one.
#[derive(Default, Serialize)]
struct EndView<'a> {
    status: Option<Status>,
    reason: Option<Reason>,
    evidence: Option<Evidence>,
    not_recorded: Option<&'a str>,
}

impl<'a> EndView<'a> {
    fn from_verdict(reason: Reason, evidence: Evidence) -> Self {
        EndView {
            status: Some(reason.status()),
            reason: Some(reason),
            evidence: Some(evidence),
            not_recorded: None,
        }
    }

    fn from_missing(fact: &'a str) -> Self {
        EndView {
            not_recorded: Some(fact),
            ..EndView::default()
        }
    }
}

impl<'a> From<&'a RunEnd> for EndView<'a> {
    fn from(end: &'a RunEnd) -> Self {
        match end {
            RunEnd::Concluded(verdict) => EndView::from_verdict(verdict.reason, verdict.evidence),
            RunEnd::NotRecorded { fact } => EndView::from_missing(fact),
        }
    }
}

fn change_json((change, end): &(SingleChange, ChangedEnd)) -> Value {
    let leads_to = match end {
        ChangedEnd::Verdict { reason, evidence } => EndView::from_verdict(*reason, *evidence),
        ChangedEnd::NotRecorded { fact } => EndView::from_missing(fact),
    };
    json!({"change": change.word, "sentence": change.sentence, "leads_to": leads_to})
}

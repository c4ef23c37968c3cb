//! The JSON of `watchdog explain`, described by `docs/schema/explain.json`.

use serde_json::{Value, json};

use watchdog_core::decision::judgement_rule::JudgementRule;
use watchdog_core::decision::record::explanation::{ExplainedStep, JudgementExplanation};
use watchdog_core::decision::record::run::RunEnd;
use watchdog_core::decision::record::what_if::{ChangedEnd, SingleChange};
use watchdog_facts::verdict::Reason;
use watchdog_store::engine::StoredEvent;

use super::verdict_json::RECORD;
use super::worked_agents::{WorkedSession, worked_session_json};

/// JSON Schema (2020-12) of an explanation.
pub const EXPLAIN_SCHEMA: &str = include_str!("../../docs/schema/explain.json");

/// What the facts of a verdict tell.
#[derive(Debug, Clone, Copy)]
pub struct ExplainedFields<'a> {
    /// Each fact, and what came of it.
    pub explanation: &'a JudgementExplanation,
    /// What would have changed the verdict.
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
    let steps = facts.map(|facts| {
        facts
            .explanation
            .steps
            .iter()
            .map(step_json)
            .collect::<Vec<_>>()
    });
    let changes = facts.map(|facts| facts.changes.iter().map(change_json).collect::<Vec<_>>());
    json!({
        "schema": 1,
        "event": event.id,
        "at": event.at.to_string(),
        "spec": event.spec,
        "verdict": verdict,
        "sessions": sessions.iter().map(worked_session_json).collect::<Vec<_>>(),
        "lacks": facts.err(),
        "steps": steps.unwrap_or_default(),
        "today": facts.ok().map(|facts| end_json(&facts.explanation.end)),
        "would_change": changes.unwrap_or_default(),
    })
}

fn step_json(step: &ExplainedStep) -> Value {
    json!({
        "after_ms": step.after_ms,
        "fact": step.fact,
        "read_from": step.read_from,
        "found": step.found,
        "ruled_out": step.ruled_out.iter().map(|out| json!({"what": out.what, "because": out.because})).collect::<Vec<_>>(),
        "rules": step.rules.iter().copied().map(rule_json).collect::<Vec<_>>(),
        "then": step.then,
    })
}

fn rule_json(rule: JudgementRule) -> Value {
    json!({"rule": rule.as_str(), "section": rule.section(), "sentence": rule.sentence()})
}

fn reason_json(reason: Reason, evidence: &str) -> Value {
    json!({"status": reason.status().as_str(), "reason": reason.as_str(), "evidence": evidence, "not_recorded": null})
}

fn missing_json(fact: &str) -> Value {
    json!({"status": null, "reason": null, "evidence": null, "not_recorded": fact})
}

fn end_json(end: &RunEnd) -> Value {
    match end {
        RunEnd::Concluded(verdict) => reason_json(verdict.reason, verdict.evidence.as_str()),
        RunEnd::NotRecorded { fact } => missing_json(fact),
    }
}

fn change_json((change, end): &(SingleChange, ChangedEnd)) -> Value {
    let leads_to = match end {
        ChangedEnd::Verdict { reason, evidence } => reason_json(*reason, evidence.as_str()),
        ChangedEnd::NotRecorded { fact } => missing_json(fact),
    };
    json!({"change": change.word, "sentence": change.sentence, "leads_to": leads_to})
}

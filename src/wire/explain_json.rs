//! The JSON of `watchdog explain`, described by `docs/schema/explain.json`, and of `watchdog replay`.

use serde_json::{Value, json};

use watchdog_core::decision::judgement_rule::JudgementRule;
use watchdog_core::decision::record::explanation::{ExplainedStep, JudgementExplanation};
use watchdog_core::decision::record::run::RunEnd;
use watchdog_core::decision::record::what_if::{ChangedEnd, SingleChange};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_store::engine::StoredEvent;
use watchdog_store::verdict_row::RECORD;

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
pub fn explain_json(event: &StoredEvent, sessions: &[WorkedSession], facts: Result<ExplainedFields<'_>, &str>) -> Value {
    let mut verdict = event.data.clone();
    if let Some(verdict) = verdict.as_object_mut() {
        verdict.remove(RECORD);
    }
    let steps = facts.map(|facts| facts.explanation.steps.iter().map(step_json).collect::<Vec<_>>());
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

/// A verdict that another run gave otherwise, or could not give.
pub struct ReplayedFields<'a> {
    /// What was recorded.
    pub old: &'a PastVerdict,
    /// What today's rules say, where they say something else.
    pub new: Option<&'a Verdict>,
    /// Why it differs, or is not replayed.
    pub why: Option<&'a str>,
    /// The fact that was not recorded.
    pub not_recorded: Option<&'a str>,
}

/// A replay: the count, and each verdict that did not end alike.
pub fn replay_json(judged: usize, alike: usize, others: &[ReplayedFields<'_>]) -> Value {
    let one = |other: &ReplayedFields<'_>| {
        json!({
            "event": other.old.event,
            "at": other.old.at,
            "spec": other.old.spec,
            "old": {"status": other.old.data["status"], "reason": other.old.data["reason"], "evidence": other.old.data["evidence"]},
            "new": other.new.map(|verdict| json!({
                "status": verdict.status().as_str(), "reason": verdict.reason.as_str(), "evidence": verdict.evidence.as_str(),
                "message": verdict.message})),
            "why": other.why,
            "not_recorded": other.not_recorded,
        })
    };
    let with = |fits: fn(&ReplayedFields<'_>) -> bool| others.iter().filter(|other| fits(other)).map(one).collect::<Vec<_>>();
    json!({
        "schema": 1,
        "verdicts": judged,
        "alike": alike,
        "differ": with(|other| other.new.is_some()),
        "not_recorded": with(|other| other.new.is_none() && other.not_recorded.is_some()),
        "not_replayed": with(|other| other.new.is_none() && other.not_recorded.is_none()),
    })
}

/// A recorded verdict: what an event of it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct PastVerdict {
    /// The event's id.
    pub event: String,
    /// When it was reached, as the event has it.
    pub at: String,
    /// The name of the work.
    pub spec: Option<String>,
    /// The event's data.
    pub data: Value,
}

/// The verdict in a line that `watchdog events --json` printed; `None` for any other event.
///
/// # Errors
/// Says why it is no such line.
pub fn read_event_line(line: &str) -> Result<Option<PastVerdict>, String> {
    let event: Value = serde_json::from_str(line).map_err(|error| format!("it is no JSON: {error}"))?;
    let text = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text("kind").ok_or("it has no kind, as each line of `watchdog events --json` has")?;
    if kind != watchdog_store::journal::kind::VERDICT {
        return Ok(None);
    }
    let (event_id, at) = (text("id").unwrap_or_default(), text("at").unwrap_or_default());
    Ok(Some(PastVerdict { event: event_id, at, spec: text("spec"), data: event["data"].clone() }))
}

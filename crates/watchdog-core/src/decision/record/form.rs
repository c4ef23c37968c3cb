//! A record as one JSON value, and back.

use serde_json::{Value, json};

use watchdog_facts::evidence::RescueOutcome;
use watchdog_facts::verdict::ProbeRecord;

use super::fact_form::{self as form, fact, read_fact};
use super::packed::{PackedFields, UnpackedFields};
use super::setup_form;
use super::{JudgementRecord, RecordedStep};
use crate::decision::machine::MachineEvent;

/// The version of the form. Readers refuse a later one.
const VERSION: u64 = 1;

/// Writes a record: `[version, setup, [[after_ms, kind, fact], …]]`.
pub fn write(record: &JudgementRecord) -> Value {
    json!([VERSION, setup_form::setup(&record.setup), record.steps.iter().map(step).collect::<Vec<_>>()])
}

/// Reads a record. A step that cannot be read is one that was lost.
///
/// # Errors
/// Says why this is no record that this version reads.
pub fn read(value: &Value) -> Result<JudgementRecord, String> {
    let fields = UnpackedFields::of(value).ok_or("it holds no recorded facts")?;
    match fields.opt_number(0) {
        Some(VERSION) => {}
        Some(later) => return Err(format!("its facts are written in form {later}, and this watchdog reads form {VERSION}")),
        None => return Err("it holds no recorded facts".into()),
    }
    let setup = setup_form::read_setup(fields.at(1)).ok_or("the setup of its judgement cannot be read")?;
    let steps = fields.list(2).iter().map(read_step).collect();
    Ok(JudgementRecord { setup, steps })
}

fn step(step: &RecordedStep) -> Value {
    let (kind, fact) = step.event.as_ref().map_or(("?", Value::Null), event_form);
    PackedFields::default().raw(step.after_ms.into()).text(kind).raw(fact).end()
}

fn event_form(event: &MachineEvent) -> (&'static str, Value) {
    match event {
        MachineEvent::Start => ("b", Value::Null),
        MachineEvent::Commits(read) => ("c", fact(read, form::commits)),
        MachineEvent::Changes(read) => ("u", fact(read, form::changes)),
        MachineEvent::Snapshot(read) => ("s", fact(read, |name| name.as_deref().into())),
        MachineEvent::Checks(judged) => ("k", form::checks(judged)),
        MachineEvent::Probe(record) => ("p", form::probe(record)),
        MachineEvent::Rescue(read) => ("r", fact(read, form::rescue)),
        MachineEvent::WaitOver => ("w", Value::Null),
        MachineEvent::Survivors(found) => ("l", form::survivors(found)),
        MachineEvent::Activity(seen) => ("a", form::activity(seen)),
        MachineEvent::Criteria(read) => ("g", fact(read, form::criteria)),
        MachineEvent::Interrupt => ("i", Value::Null),
    }
}

fn read_step(value: &Value) -> RecordedStep {
    let fields = UnpackedFields::of(value);
    RecordedStep { after_ms: fields.map_or(0, |fields| fields.number(0)), event: fields.and_then(read_event) }
}

fn read_event(fields: UnpackedFields<'_>) -> Option<MachineEvent> {
    let held = fields.at(2);
    Some(match fields.word(1) {
        "b" => MachineEvent::Start,
        "c" => MachineEvent::Commits(read_fact(held, form::read_commits)?),
        "u" => MachineEvent::Changes(read_fact(held, form::read_changes)?),
        "s" => MachineEvent::Snapshot(read_fact(held, |name| Some(name.as_str().map(str::to_owned)))?),
        "k" => MachineEvent::Checks(form::read_checks(held)?),
        "p" => MachineEvent::Probe(form::read_probe(held)?),
        "r" => MachineEvent::Rescue(read_fact(held, form::read_rescue)?),
        "w" => MachineEvent::WaitOver,
        "l" => MachineEvent::Survivors(form::read_survivors(held)?),
        "a" => MachineEvent::Activity(form::read_activity(held)?),
        "g" => MachineEvent::Criteria(read_fact(held, form::read_criteria)?),
        "i" => MachineEvent::Interrupt,
        _ => return None,
    })
}

/// A question and what came of it, as a step holds it.
pub fn write_probe(record: &ProbeRecord) -> Value {
    form::probe(record)
}

/// Reads it back; `None` where this version does not understand it.
pub fn read_probe(value: &Value) -> Option<ProbeRecord> {
    form::read_probe(value)
}

/// A rescue, as a step holds it.
pub fn write_rescue(outcome: &RescueOutcome) -> Value {
    form::rescue(outcome)
}

/// Reads it back; `None` where this version does not understand it.
pub fn read_rescue(value: &Value) -> Option<RescueOutcome> {
    form::read_rescue(value)
}

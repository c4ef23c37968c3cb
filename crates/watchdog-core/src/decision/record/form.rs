//! A record as one JSON value, and back.

use std::collections::HashMap;

use serde_json::Value;

use watchdog_facts::evidence::RescueOutcome;
use watchdog_facts::verdict::ProbeRecord;

use super::bounds::{LISTED, short};
use super::fact_form::{self as form, fact, read_fact};
use super::packed::{PackedFields, UnpackedFields};
use super::setup_form;
use super::{JudgementRecord, RecordedStep};
use crate::decision::machine::MachineEvent;

/// The version of the form. Readers refuse a later one.
const VERSION: u64 = 1;

/// Writes a record: `[version, setup, [[after_ms, kind, fact], …], beside, overruled]`.
pub fn write(record: &JudgementRecord) -> Value {
    let beside: Vec<String> = record
        .beside
        .iter()
        .take(LISTED)
        .map(|line| short(line, 160))
        .collect();
    PackedFields::default()
        .number(VERSION)
        .raw(setup_form::setup(&record.setup))
        .raw(steps(&record.steps))
        .texts(&beside)
        .flag(record.overruled)
        .end()
}

/// Reads a record. A step that cannot be read is one that was lost.
///
/// # Errors
/// Says why this is no record that this version reads.
pub fn read_record(value: &Value) -> Result<JudgementRecord, String> {
    let fields = UnpackedFields::from_value(value).ok_or("it holds no recorded facts")?;
    match fields.opt_number(0) {
        Some(VERSION) => {}
        Some(later) => {
            return Err(format!(
                "its facts are written in form {later}, and this watchdog reads form {VERSION}"
            ));
        }
        None => return Err("it holds no recorded facts".into()),
    }
    let setup =
        setup_form::read_setup(fields.at(1)).ok_or("the setup of its judgement cannot be read")?;
    let mut last: HashMap<&str, MachineEvent> = HashMap::new();
    let mut steps = Vec::new();
    for value in fields.list(2) {
        let fields = UnpackedFields::from_value(value);
        let kind = fields.map_or("", |fields| fields.word(1));
        let again = fields.is_some_and(|fields| fields.word(2) == SAME && reads_again(kind));
        let event = if again {
            last.get(kind).cloned()
        } else {
            fields.and_then(read_event)
        };
        event
            .iter()
            .for_each(|event| drop(last.insert(kind, event.clone())));
        steps.push(RecordedStep {
            after_ms: fields.map_or(0, |fields| fields.number(0)),
            event,
        });
    }
    Ok(JudgementRecord {
        setup,
        steps,
        beside: fields.texts(3),
        overruled: fields.flag(4),
    })
}

/// In place of a fact that was read again and is the same.
const SAME: &str = "=";

fn steps(steps: &[RecordedStep]) -> Value {
    let mut last: HashMap<&str, Value> = HashMap::new();
    let mut written = Vec::new();
    for step in steps {
        let (kind, fact) = step.event.as_ref().map_or(("?", Value::Null), event_form);
        let again = reads_again(kind) && last.get(kind) == Some(&fact);
        written.push(
            PackedFields::default()
                .number(step.after_ms)
                .text(kind)
                .raw(if again { SAME.into() } else { fact.clone() })
                .end(),
        );
        last.insert(kind, fact);
    }
    written.into()
}

fn reads_again(kind: &str) -> bool {
    matches!(kind, "c" | "u" | "k" | "g" | "l")
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

fn read_event(fields: UnpackedFields<'_>) -> Option<MachineEvent> {
    let value = fields.at(2);
    Some(match fields.word(1) {
        "b" => MachineEvent::Start,
        "c" => MachineEvent::Commits(read_fact(value, form::read_commits)?),
        "u" => MachineEvent::Changes(read_fact(value, form::read_changes)?),
        "s" => MachineEvent::Snapshot(read_fact(value, |name| {
            Some(name.as_str().map(str::to_owned))
        })?),
        "k" => MachineEvent::Checks(form::read_checks(value)?),
        "p" => MachineEvent::Probe(form::read_probe(value)?),
        "r" => MachineEvent::Rescue(read_fact(value, form::read_rescue)?),
        "w" => MachineEvent::WaitOver,
        "l" => MachineEvent::Survivors(form::read_survivors(value)?),
        "a" => MachineEvent::Activity(form::read_activity(value)?),
        "g" => MachineEvent::Criteria(read_fact(value, form::read_criteria)?),
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

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;

//! A judgement as values: its setup and the events of its machine.

use serde::{Deserialize, Serialize};

use serde_json::Value;

use watchdog_facts::evidence::read_if_known;

use super::bounds::bound_record;
use crate::decision::machine::{MachineEvent, MachineSetup};

/// The form in which records are written. Readers refuse a later one.
const FORM: u64 = 2;

/// A record as the row of its verdict has it.
#[derive(Serialize)]
struct WrittenRecord {
    form: u64,
    #[serde(flatten)]
    record: JudgementRecord,
}

/// A judgement, as far as its machine saw it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgementRecord {
    /// The setup before the first fact.
    pub setup: MachineSetup,
    /// The machine's events after its start, in order.
    pub steps: Vec<RecordedStep>,
    /// Work that HEAD lacks and that stood beside the agent's claim: of helpers, or inside of submodules.
    pub beside: Vec<String>,
    /// Whether a limit outside of the machine gave another verdict than its own, as where `evaluate` met the cap of iterations.
    pub overruled: bool,
}

/// An event of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedStep {
    /// Whole milliseconds after the judgement began.
    pub after_ms: u64,
    /// The event; `None` where the journal lost it, or a version wrote it that knows more of them.
    #[serde(deserialize_with = "read_if_known")]
    pub event: Option<MachineEvent>,
}

impl JudgementRecord {
    /// A judgement that has read nothing yet.
    pub fn new(setup: MachineSetup) -> Self {
        JudgementRecord {
            setup,
            steps: Vec::new(),
            beside: Vec::new(),
            overruled: false,
        }
    }

    /// The record with bounded lists and texts, as the row of its verdict has it.
    pub fn to_json(&self) -> Value {
        let written = WrittenRecord {
            form: FORM,
            record: bound_record(self),
        };
        serde_json::to_value(written).expect("a record holds nothing that JSON cannot")
    }

    /// Reads [`JudgementRecord::to_json`] back.
    ///
    /// # Errors
    /// Says why this is no record that this version reads.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        match value.get("form").and_then(Value::as_u64) {
            Some(FORM) => JudgementRecord::deserialize(value)
                .map_err(|error| format!("its facts cannot be read: {error}")),
            Some(later) => Err(format!(
                "its facts are written in form {later}, and this watchdog reads form {FORM}"
            )),
            None => Err("it holds no recorded facts".into()),
        }
    }

    /// Adds an event of the machine.
    pub fn add(&mut self, after_ms: u64, event: MachineEvent) {
        self.steps.push(RecordedStep {
            after_ms,
            event: Some(event),
        });
    }
}

/// The word for what an event of the machine holds, as in `not recorded: commits`.
pub fn fact_word(event: &MachineEvent) -> &'static str {
    match event {
        MachineEvent::Start => "start",
        MachineEvent::Commits(_) => "commits",
        MachineEvent::Changes(_) => "changes",
        MachineEvent::Snapshot(_) => "snapshot",
        MachineEvent::Checks(_) => "checks",
        MachineEvent::Probe(_) => "reply",
        MachineEvent::Rescue(_) => "rescue",
        MachineEvent::WaitOver => "pause",
        MachineEvent::Survivors(_) => "survivors",
        MachineEvent::Activity(_) => "activity",
        MachineEvent::Criteria(_) => "criteria",
        MachineEvent::Interrupt => "interrupt",
    }
}

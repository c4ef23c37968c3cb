//! A judgement as values: its setup and the events of its machine.

use crate::decision::machine::{MachineEvent, MachineSetup};

/// A judgement, as far as its machine saw it.
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// Whole milliseconds after the judgement began.
    pub after_ms: u64,
    /// The event; `None` where the journal lost it.
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

//! What one judgement rested on, in the order in which it was read: the setup of the machine, and each event that it got. From it a
//! judgement can be explained ([`explanation`]), run again by the rules of today ([`run`](mod@run)), and asked what would have changed it
//! ([`what_if`]).
//!
//! [`form`] writes it down: short and versioned, with bounded lists and texts ([`bounds`]).

mod bounds;
pub mod explanation;
mod fact_form;
pub mod form;
mod packed;
mod rejudge;
mod ruled_out;
pub mod run;
mod setup_form;
pub mod what_if;

use super::machine::{MachineEvent, MachineSetup};

pub use bounds::{
    CHECKS_LISTED, LISTED, bound_changes, bound_check, bound_commits, bound_outcome, bound_probe, bound_rescue, bound_verdict, short,
};
pub use rejudge::with_settings;

/// One judgement, as far as its machine saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgementRecord {
    /// What was settled before the first fact.
    pub setup: MachineSetup,
    /// What the machine got after its start, in order.
    pub steps: Vec<RecordedStep>,
}

/// One event of a machine.
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
        JudgementRecord { setup, steps: Vec::new() }
    }

    /// Adds an event of the machine.
    pub fn add(&mut self, after_ms: u64, event: MachineEvent) {
        self.steps.push(RecordedStep { after_ms, event: Some(event) });
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

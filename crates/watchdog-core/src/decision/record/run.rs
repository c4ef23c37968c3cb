//! Runs a record through the machine of today: which decision followed each fact, by which rules, and how it ends. It never guesses:
//! a fact that the machine wants and that was not recorded ends the run.

use watchdog_facts::verdict::Verdict;

use super::JudgementRecord;
use crate::decision::beside_claim::dispute_beside;
use crate::decision::judgement_rule::JudgementRule;
use crate::decision::machine::{CheckMachine, MachineAction, MachineEvent};

/// The machine's decision after one fact.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedDecision {
    /// The step of the record that it followed; `None` for the first, which follows the setup.
    pub step: Option<usize>,
    /// Its next action.
    pub action: MachineAction,
    /// The rules that it applied.
    pub rules: Vec<JudgementRule>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEnd {
    /// With a verdict.
    Concluded(Box<Verdict>),
    /// At a fact that the record does not have.
    NotRecorded {
        /// The word for the fact.
        fact: &'static str,
    },
}

impl RunEnd {
    /// The verdict, where there is one.
    pub fn verdict(&self) -> Option<&Verdict> {
        match self {
            RunEnd::Concluded(verdict) => Some(verdict),
            RunEnd::NotRecorded { .. } => None,
        }
    }
}

/// A record as the machine of today takes it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// Its decisions, in order.
    pub decisions: Vec<RecordedDecision>,
    /// How it ended.
    pub end: RunEnd,
}

/// The word for the fact that an action asks for.
pub fn wanted_fact(action: &MachineAction) -> &'static str {
    match action {
        MachineAction::ReadCommits => "commits",
        MachineAction::ReadChanges => "changes",
        MachineAction::TakeSnapshot => "snapshot",
        MachineAction::JudgeChecks => "checks",
        MachineAction::Ask { .. } => "reply",
        MachineAction::Rescue => "rescue",
        MachineAction::Wait(_) => "pause",
        MachineAction::ReadSurvivors => "survivors",
        MachineAction::ReadActivity => "activity",
        MachineAction::ReadCriteria => "criteria",
        MachineAction::Conclude(_) => "verdict",
    }
}

/// Whether an event answers an action.
fn is_answered_by(action: &MachineAction, event: &MachineEvent) -> bool {
    wanted_fact(action) == super::fact_word(event)
}

/// Whether the world may be another one after this event: what was read before it no longer tells what is.
fn is_deed(event: &MachineEvent) -> bool {
    matches!(
        event,
        MachineEvent::Probe(_)
            | MachineEvent::Rescue(_)
            | MachineEvent::WaitOver
            | MachineEvent::Interrupt
    )
}

/// Which facts may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FactUse {
    /// Those that were read when the machine asks.
    AsRead,
    /// Every other fact is as it was recorded, whenever it was read.
    OtherwiseAsRecorded,
}

/// Runs a record to its end.
pub fn run_record(record: &JudgementRecord) -> RecordedRun {
    run_with(record, FactUse::AsRead)
}

/// Runs a record in which one thing was changed: every other fact counts as it was recorded, also where it is wanted at another time.
/// Questions are not: who would have answered what is not known.
pub(super) fn run_changed(record: &JudgementRecord) -> RecordedRun {
    run_with(record, FactUse::OtherwiseAsRecorded)
}

fn run_with(record: &JudgementRecord, facts: FactUse) -> RecordedRun {
    let mut machine = CheckMachine::new(record.setup.clone());
    let mut decisions = Vec::new();
    let mut action = machine.step(MachineEvent::Start);
    decisions.push(RecordedDecision {
        step: None,
        action: action.clone(),
        rules: machine.take_rules(),
    });
    let mut next = 0;
    // More decisions than steps come only from facts that stand for a second reading; no judgement has so many.
    for _ in 0..10 * (record.steps.len() + 10) {
        let interrupted = matches!(record.steps.get(next), Some(step) if step.event == Some(MachineEvent::Interrupt));
        if let MachineAction::Conclude(verdict) = action {
            let verdict = dispute_beside(*verdict, record.beside.clone(), &[]);
            return RecordedRun {
                decisions,
                end: RunEnd::Concluded(Box::new(verdict)),
            };
        }
        let in_order = if interrupted {
            Some(next)
        } else {
            find_answer_step(record, next, &action)
        };
        let out_of_order = || {
            if facts == FactUse::OtherwiseAsRecorded {
                find_out_of_order(record, next, &action)
            } else {
                None
            }
        };
        let Some(at) = in_order.or_else(out_of_order) else {
            return RecordedRun {
                end: RunEnd::NotRecorded {
                    fact: wanted_fact(&action),
                },
                decisions,
            };
        };
        let event = record.steps[at]
            .event
            .clone()
            .map(as_it_came)
            .expect("a step that was lost is never found");
        action = machine.step(event);
        decisions.push(RecordedDecision {
            step: Some(at),
            action: action.clone(),
            rules: machine.take_rules(),
        });
        if in_order.is_some() {
            next = next.max(at + 1);
        }
    }
    RecordedRun {
        end: RunEnd::NotRecorded {
            fact: wanted_fact(&action),
        },
        decisions,
    }
}

/// A question as the machine got it: that its reply is disputed is what the machine found.
fn as_it_came(event: MachineEvent) -> MachineEvent {
    match event {
        MachineEvent::Probe(mut record) => {
            record.disputed = None;
            MachineEvent::Probe(record)
        }
        event => event,
    }
}

/// The step that answers: the next one of its kind, if nothing between was done; else the last one that was read since something was done,
/// where the machine only wants to read again.
fn find_answer_step(
    record: &JudgementRecord,
    next: usize,
    action: &MachineAction,
) -> Option<usize> {
    for (at, step) in record.steps.iter().enumerate().skip(next) {
        match &step.event {
            Some(event) if is_answered_by(action, event) => return Some(at),
            Some(event) if !is_deed(event) => {}
            _ => break,
        }
    }
    let reads = matches!(
        action,
        MachineAction::ReadCommits
            | MachineAction::ReadChanges
            | MachineAction::TakeSnapshot
            | MachineAction::ReadCriteria
    );
    for (at, step) in record.steps.iter().enumerate().take(next).rev() {
        match &step.event {
            Some(event) if reads && is_answered_by(action, event) => return Some(at),
            Some(event) if !is_deed(event) => {}
            _ => break,
        }
    }
    None
}

/// The nearest fact of the kind that an action asks for: the next one, else the last one.
fn find_out_of_order(
    record: &JudgementRecord,
    next: usize,
    action: &MachineAction,
) -> Option<usize> {
    if matches!(action, MachineAction::Ask { .. } | MachineAction::Wait(_)) {
        return None;
    }
    let fits = |at: &usize| {
        record.steps[*at]
            .event
            .as_ref()
            .is_some_and(|event| is_answered_by(action, event))
    };
    let is_deed = *action == MachineAction::Rescue;
    (next..record.steps.len()).find(fits).or_else(|| {
        (0..next.min(record.steps.len()))
            .rev()
            .find(fits)
            .filter(|_| !is_deed)
    })
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;

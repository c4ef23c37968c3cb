//! Moves a machine that never waits, in the thread that calls. The dispatcher of a single check does the same beside
//! signals and pauses; a sweep has thousands of machines, and no pause between any two looks.

use crate::agent::Cancel;
use crate::decision::machine::{Action, Event, Machine};
use crate::decision::verdict::Verdict;
use crate::supervisor::executor::Executor;
use crate::supervisor::journal::observed;

/// How far a machine came.
pub enum Pace {
    /// To its verdict.
    Ended(Box<Verdict>),
    /// To an action that would ask the agent, and may not yet.
    Asks(Action),
}

/// Drives a machine on from an event. `may_ask` is consulted before each action that puts a question to the agent.
pub fn drive(
    machine: &mut Machine,
    executor: &Executor,
    mut event: Event,
    cancel: &Cancel,
    may_ask: &mut dyn FnMut(&Action) -> bool,
) -> Pace {
    let mut told = false;
    loop {
        if !told && cancel.is_cancelled() {
            told = true;
            // What was just learned is taken in first: a rescue that ended must not be forgotten.
            let _ = machine.step(event);
            event = Event::Interrupt;
        }
        let action = machine.step(event);
        if asks(&action, executor) && !may_ask(&action) {
            return Pace::Asks(action);
        }
        event = match action {
            Action::Conclude(verdict) => return Pace::Ended(verdict),
            // One round has no pause; whoever comes again looks again.
            Action::Wait(_) => Event::WaitOver,
            Action::ReadCommits
            | Action::ReadChanges
            | Action::TakeSnapshot
            | Action::JudgeChecks
            | Action::Ask { .. }
            | Action::Rescue
            | Action::ReadSurvivors
            | Action::ReadActivity
            | Action::ReadCriteria => perform(&action, machine, executor, cancel),
        };
        observed(executor.journal(), &event);
    }
}

/// Carries out one action that was held back, and says what came of it.
pub fn perform(action: &Action, machine: &Machine, executor: &Executor, cancel: &Cancel) -> Event {
    executor.perform(action, &(machine.commits().cloned(), machine.changes().cloned()), cancel)
}

fn asks(action: &Action, executor: &Executor) -> bool {
    match action {
        // An answer that stands costs nobody anything.
        Action::Ask { .. } => !executor.answer_stands(),
        Action::Rescue => executor.would_ask_for_a_plan(),
        Action::ReadCommits
        | Action::ReadChanges
        | Action::TakeSnapshot
        | Action::JudgeChecks
        | Action::ReadSurvivors
        | Action::ReadActivity
        | Action::ReadCriteria
        | Action::Wait(_)
        | Action::Conclude(_) => false,
    }
}

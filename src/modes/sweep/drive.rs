//! Moves a machine that never waits, in the thread that calls. The dispatcher of a single check does the same beside
//! signals and pauses; a sweep has thousands of machines, and no pause between any two looks.

use crate::judge::executor::ActionExecutor;
use crate::judge::journal::observed;
use crate::judge::machine_log::step;
use watchdog_core::decision::machine::{CheckMachine, MachineAction, MachineEvent};
use watchdog_facts::verdict::Verdict;
use watchdog_process::CancelFlag;

/// How far a machine came.
pub enum DriveOutcome {
    /// To its verdict.
    Ended(Box<Verdict>),
    /// To an action that would ask the agent, and may not yet.
    Asks(MachineAction),
}

/// Drives a machine on from an event. `may_ask` is consulted before each action that puts a question to the agent.
pub fn drive(
    machine: &mut CheckMachine,
    executor: &ActionExecutor,
    mut event: MachineEvent,
    cancel: &CancelFlag,
    may_ask: &mut dyn FnMut(&MachineAction) -> bool,
) -> DriveOutcome {
    let mut interrupted = false;
    loop {
        if !interrupted && cancel.is_cancelled() {
            interrupted = true;
            // What was just learned is taken in first: a rescue that ended must not be forgotten.
            let _ = step(machine, event);
            event = MachineEvent::Interrupt;
        }
        let action = step(machine, event);
        if asks(&action, executor) && !may_ask(&action) {
            return DriveOutcome::Asks(action);
        }
        event = match action {
            MachineAction::Conclude(verdict) => return DriveOutcome::Ended(verdict),
            // One round has no pause; whoever comes again looks again.
            MachineAction::Wait(_) => MachineEvent::WaitOver,
            MachineAction::ReadCommits
            | MachineAction::ReadChanges
            | MachineAction::TakeSnapshot
            | MachineAction::JudgeChecks
            | MachineAction::Ask { .. }
            | MachineAction::Rescue
            | MachineAction::ReadSurvivors
            | MachineAction::ReadActivity
            | MachineAction::ReadCriteria => perform(&action, machine, executor, cancel),
        };
        observed(executor.journal(), &event);
    }
}

/// Carries out one action that was held back, and says what came of it.
pub fn perform(action: &MachineAction, machine: &CheckMachine, executor: &ActionExecutor, cancel: &CancelFlag) -> MachineEvent {
    executor.perform(action, &(machine.commits().cloned(), machine.changes().cloned()), cancel)
}

fn asks(action: &MachineAction, executor: &ActionExecutor) -> bool {
    match action {
        // An answer that stands costs nobody anything.
        MachineAction::Ask { .. } => !executor.answer_stands(),
        MachineAction::Rescue => executor.would_ask_for_a_plan(),
        MachineAction::ReadCommits
        | MachineAction::ReadChanges
        | MachineAction::TakeSnapshot
        | MachineAction::JudgeChecks
        | MachineAction::ReadSurvivors
        | MachineAction::ReadActivity
        | MachineAction::ReadCriteria
        | MachineAction::Wait(_)
        | MachineAction::Conclude(_) => false,
    }
}

//! The driver of a sweep: one round without a pause, in the calling thread. A probe waits for its turn.

use crate::judge::executor::ActionExecutor;
use crate::judge::journal;
use watchdog_core::decision::machine::{CheckMachine, MachineAction, MachineDriver, MachineEvent};
use watchdog_process::CancelFlag;

/// How a sweep drives its machines, of which it has thousands.
pub struct SweepDriver<'a> {
    /// Carries out the actions.
    pub executor: &'a ActionExecutor,
    /// Cancels the sweep.
    pub cancel: &'a CancelFlag,
    /// Consulted before each action that puts a question to the agent.
    pub may_ask: &'a dyn Fn(&MachineAction) -> bool,
}

impl MachineDriver for SweepDriver<'_> {
    fn is_interrupted(&mut self) -> bool {
        self.cancel.is_cancelled()
    }

    fn step(&mut self, machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
        self.executor.recorder().step(machine, event)
    }

    /// One round has no pause; the next sweep is another round.
    fn perform(&mut self, action: &MachineAction, machine: &CheckMachine) -> Option<MachineEvent> {
        let held_back = asks(action, self.executor) && !(self.may_ask)(action);
        (!held_back).then(|| self.perform_now(action, machine))
    }
}

impl SweepDriver<'_> {
    /// Carries out an action whose turn it is, and returns its event.
    pub fn perform_now(&self, action: &MachineAction, machine: &CheckMachine) -> MachineEvent {
        let event = self.executor.perform(
            action,
            &(machine.commits().cloned(), machine.changes().cloned()),
            self.cancel,
        );
        journal::observed(self.executor.journal(), &event);
        event
    }
}

/// Whether an action puts a question to the agent.
fn asks(action: &MachineAction, executor: &ActionExecutor) -> bool {
    match action {
        // A reused answer costs no probe.
        MachineAction::Ask { .. } => !executor.answer_stands(),
        MachineAction::Rescue => executor.would_ask_for_a_plan(),
        _ => false,
    }
}

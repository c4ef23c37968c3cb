//! Drives a judgement to its verdict: performs each action in the thread that drives the machine, at the pace of the command. Decides
//! nothing itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use watchdog_core::decision::machine::{
    CheckMachine, DriveOutcome, MachineAction, MachineDriver, MachineEvent, MachineSetup,
    ProbePause, drive_machine,
};
use watchdog_facts::verdict::Verdict;
use watchdog_process::CancelFlag;

use super::executor::ActionExecutor;
use super::journal;
use super::signals::{SignalState, SignalUrgency};
use crate::clock::pauses;

/// How long git directories must be quiet after a movement before HEAD is read: git writes the index after the branch.
const SETTLE: Duration = Duration::from_millis(40);

/// How a judgement goes from action to action.
pub enum Pace<'a> {
    /// It waits for pauses and answers. A signal cuts both short.
    Waiting {
        /// The signals.
        signals: SignalState,
        /// Whether one came already: then only the next one cuts short.
        interrupted: bool,
        /// The event loop, for signals, movements of HEAD and timers.
        event_loop: Handle,
    },
    /// One round without a pause, as the next sweep is another round. A probe waits for its turn.
    InSweep {
        /// Cancels the sweep.
        cancel: &'a CancelFlag,
        /// Consulted before each action that puts a question to the agent.
        may_ask: &'a dyn Fn(&MachineAction) -> bool,
    },
}

impl Pace<'_> {
    /// The pace of a single judgement. To be called in a thread of the event loop.
    pub fn waiting_for(signals: &SignalState) -> Self {
        Pace::Waiting {
            signals: signals.clone(),
            interrupted: false,
            event_loop: Handle::current(),
        }
    }
}

/// Drives a machine to its verdict. Blocks.
pub fn drive_to_the_end(setup: MachineSetup, executor: &ActionExecutor, pace: Pace<'_>) -> Verdict {
    let mut driver = JudgementDriver { executor, pace };
    let mut machine = CheckMachine::new(setup);
    match drive_machine(&mut machine, MachineEvent::Start, &mut driver) {
        DriveOutcome::Ended(verdict) => *verdict,
        DriveOutcome::Held(action) => unreachable!("{action:?} is carried out like every action"),
    }
}

/// Drives the machine of one judgement.
pub struct JudgementDriver<'a> {
    /// Carries out the actions.
    pub executor: &'a ActionExecutor,
    /// At this pace.
    pub pace: Pace<'a>,
}

impl MachineDriver for JudgementDriver<'_> {
    fn is_interrupted(&mut self) -> bool {
        match &mut self.pace {
            Pace::Waiting {
                signals,
                interrupted,
                ..
            } => {
                *interrupted = signals.is_interrupted();
                *interrupted
            }
            Pace::InSweep { cancel, .. } => cancel.is_cancelled(),
        }
    }

    /// A rescue that the signal itself kept from committing is no finding.
    fn counts_before_interrupt(&self, event: &MachineEvent) -> bool {
        match (event, &self.pace) {
            (MachineEvent::Rescue(Ok(outcome)), Pace::Waiting { .. }) => {
                outcome.commits > 0 || !outcome.lost.is_empty() || outcome.fallback_branch.is_some()
            }
            _ => true,
        }
    }

    fn step(&mut self, machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
        self.executor.recorder.step(machine, event)
    }

    fn perform(&mut self, action: &MachineAction, machine: &CheckMachine) -> Option<MachineEvent> {
        match (&mut self.pace, action) {
            (Pace::InSweep { may_ask, .. }, action)
                if self.executor.asks_agent(action) && !may_ask(action) =>
            {
                return None;
            }
            (Pace::Waiting { .. }, MachineAction::Wait(pause)) => {
                self.wait(*pause, machine.survivors());
            }
            _ => {}
        }
        Some(self.perform_now(action, machine))
    }
}

impl JudgementDriver<'_> {
    /// Carries out an action whose turn it is, and notes its event. A signal ends programs that only look or ask, and the question for a
    /// rescue plan. Reading, snapshots and commits are short and run to their end.
    pub fn perform_now(&self, action: &MachineAction, machine: &CheckMachine) -> MachineEvent {
        let facts = (machine.commits().cloned(), machine.changes().cloned());
        let event = match &self.pace {
            Pace::InSweep { cancel, .. } => self.executor.perform(action, &facts, cancel),
            Pace::Waiting {
                signals,
                event_loop,
                ..
            } => {
                let cancel = CancelFlag::new();
                let listening = event_loop.spawn({
                    let (mut signals, cancel, at_least) =
                        (signals.clone(), cancel.clone(), self.cut_short_by());
                    async move {
                        signals.wait_for_urgency(at_least).await;
                        cancel.cancel();
                    }
                });
                let event = self.executor.perform(action, &facts, &cancel);
                listening.abort();
                event
            }
        };
        self.note_event(&event);
        event
    }

    /// Writes what the journal has of an event.
    pub fn note_event(&self, event: &MachineEvent) {
        journal::record_machine_event(&self.executor.journal, event);
    }

    /// The urgency that interrupts an action or a pause: the next signal.
    fn cut_short_by(&self) -> SignalUrgency {
        match self.pace {
            Pace::Waiting {
                interrupted: true, ..
            } => SignalUrgency::Hurry,
            _ => SignalUrgency::Interrupted,
        }
    }

    /// Pauses; a commit or a signal cuts it short.
    fn wait(&mut self, pause: ProbePause, survivors: &[String]) {
        let at_least = self.cut_short_by();
        let Pace::Waiting {
            signals,
            event_loop,
            ..
        } = &mut self.pace
        else {
            return;
        };
        let length = match pause {
            ProbePause::Interval(length) => length,
            ProbePause::Backoff { attempt, at_most } => pauses::calculate_pause(attempt, at_most),
        };
        let executor = self.executor;
        executor.tell_pause(length, survivors);
        let moved = Arc::new(Notify::new());
        let watching = executor.watch({
            let moved = Arc::clone(&moved);
            move || moved.notify_one()
        });
        let head_moves = async {
            if watching.is_none() {
                std::future::pending::<()>().await;
            }
            // The first look catches what moved between the last look and the start of the watch.
            while !executor.head_moved() {
                moved.notified().await;
                tokio::time::sleep(SETTLE).await;
            }
        };
        event_loop.block_on(async {
            tokio::select! {
                () = tokio::time::sleep(length) => {}
                () = head_moves => {}
                () = signals.wait_for_urgency(at_least) => {}
            }
        });
    }
}

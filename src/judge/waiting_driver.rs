//! The driver of a single judgement: performs each action in the thread that drives the machine, waits for pauses, and cuts both short on a
//! signal. Decides nothing itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use watchdog_core::decision::machine::{
    CheckMachine, DriveOutcome, MachineAction, MachineDriver, MachineEvent, MachineSetup,
    ProbePause, drive,
};
use watchdog_facts::verdict::Verdict;
use watchdog_process::CancelFlag;

use super::executor::ActionExecutor;
use super::journal;
use super::signals::{SignalState, SignalUrgency};
use crate::clock::pauses;

/// How long git directories must be quiet after a movement before HEAD is read: git writes the index after the branch.
const SETTLE: Duration = Duration::from_millis(40);

/// Drives a machine to its verdict. Blocks; to be called in a thread of [`super::spawn_io`].
pub fn drive_to_the_end(
    setup: MachineSetup,
    executor: &ActionExecutor,
    signals: &SignalState,
) -> Verdict {
    let mut machine = CheckMachine::new(setup);
    let mut driver = WaitingDriver {
        executor,
        signals: signals.clone(),
        interrupted: false,
        event_loop: Handle::current(),
    };
    match drive(&mut machine, MachineEvent::Start, &mut driver) {
        DriveOutcome::Ended(verdict) => *verdict,
        DriveOutcome::Held(action) => unreachable!("{action:?} is carried out like every action"),
    }
}

struct WaitingDriver<'a> {
    executor: &'a ActionExecutor,
    signals: SignalState,
    interrupted: bool,
    /// The event loop, for signals, movements of HEAD and timers.
    event_loop: Handle,
}

impl MachineDriver for WaitingDriver<'_> {
    fn is_interrupted(&mut self) -> bool {
        self.interrupted = self.signals.urgency() >= SignalUrgency::Interrupted;
        self.interrupted
    }

    /// A rescue that the signal itself kept from committing: that is no finding.
    fn counts_before_interrupt(&self, event: &MachineEvent) -> bool {
        match event {
            MachineEvent::Rescue(Ok(outcome)) => {
                outcome.commits > 0 || !outcome.lost.is_empty() || outcome.fallback_branch.is_some()
            }
            _ => true,
        }
    }

    fn step(&mut self, machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
        self.executor.recorder().step(machine, event)
    }

    fn perform(&mut self, action: &MachineAction, machine: &CheckMachine) -> Option<MachineEvent> {
        let event = match action {
            MachineAction::Wait(pause) => {
                self.wait(*pause, machine.survivors());
                MachineEvent::WaitOver
            }
            action => self.perform_now(action, machine),
        };
        journal::observed(self.executor.journal(), &event);
        Some(event)
    }
}

impl WaitingDriver<'_> {
    /// The urgency that interrupts an action or a pause: the next signal.
    fn cut_short_by(&self) -> SignalUrgency {
        if self.interrupted {
            SignalUrgency::Hurry
        } else {
            SignalUrgency::Interrupted
        }
    }

    /// Carries out one action. A signal ends programs that only look or ask, and the question for a rescue plan. Reading, snapshots and
    /// commits are short and run to their end.
    fn perform_now(&self, action: &MachineAction, machine: &CheckMachine) -> MachineEvent {
        let cancel = CancelFlag::new();
        let listening = self.event_loop.spawn({
            let (mut signals, cancel, at_least) =
                (self.signals.clone(), cancel.clone(), self.cut_short_by());
            async move {
                signals.reached(at_least).await;
                cancel.cancel();
            }
        });
        let event = self.executor.perform(
            action,
            &(machine.commits().cloned(), machine.changes().cloned()),
            &cancel,
        );
        listening.abort();
        event
    }

    /// Pauses; a commit or a signal cuts it short.
    fn wait(&mut self, pause: ProbePause, survivors: &[String]) {
        let length = match pause {
            ProbePause::Interval(length) => length,
            ProbePause::Backoff { attempt, at_most } => pauses::pause(attempt, at_most),
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
        let at_least = self.cut_short_by();
        self.event_loop.block_on(async {
            tokio::select! {
                () = tokio::time::sleep(length) => {}
                () = head_moves => {}
                () = self.signals.reached(at_least) => {}
            }
        });
    }
}

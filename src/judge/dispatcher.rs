//! One loop between the decision machine and the world: it hands every action to the executor,
//! and every outcome, signal and movement back as an event. It decides nothing itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use watchdog_core::decision::machine::{CheckMachine, MachineAction, MachineEvent, MachinePause};
use watchdog_facts::verdict::Verdict;
use watchdog_process::CancelFlag;

use super::executor::ActionExecutor;
use super::signals::{SignalState, SignalUrgency};
use super::spawn_io::spawn_io;
use super::{journal, machine_log};
use crate::clock::pauses;

/// How long git directories must be quiet after a movement before HEAD is looked at: the index follows the branch.
const SETTLE: Duration = Duration::from_millis(40);

/// Drives a machine to its conclusion.
pub async fn drive(mut machine: CheckMachine, executor: Arc<ActionExecutor>, signals: &mut SignalState) -> Verdict {
    let mut event = MachineEvent::Start;
    let mut interrupted = false;
    loop {
        if !interrupted && signals.urgency() >= SignalUrgency::Interrupted {
            interrupted = true;
            // What was just learned is taken in first: a rescue that ended must not be forgotten.
            if !is_an_attempt_cut_off(&event) {
                let _ = machine_log::step(&mut machine, event);
            }
            event = MachineEvent::Interrupt;
        }
        let action = machine_log::step(&mut machine, event);
        event = match action {
            MachineAction::Conclude(verdict) => return *verdict,
            MachineAction::Wait(pause) => {
                wait(pause, machine.survivors(), &executor, signals, interrupted).await;
                MachineEvent::WaitOver
            }
            MachineAction::ReadCommits
            | MachineAction::ReadChanges
            | MachineAction::TakeSnapshot
            | MachineAction::JudgeChecks
            | MachineAction::Ask { .. }
            | MachineAction::Rescue
            | MachineAction::ReadSurvivors
            | MachineAction::ReadActivity
            | MachineAction::ReadCriteria => perform(action, &machine, &executor, signals, interrupted).await,
        };
        journal::observed(executor.journal(), &event);
    }
}

/// A rescue that the signal itself kept from committing: that it did not is no finding.
fn is_an_attempt_cut_off(event: &MachineEvent) -> bool {
    match event {
        MachineEvent::Rescue(Ok(outcome)) => outcome.commits == 0 && outcome.lost.is_empty() && outcome.fallback_branch.is_none(),
        _ => false,
    }
}

/// Carries out one action in a thread of its own. A signal ends programs that only look or ask, also the question for a
/// plan of a rescue; reading, snapshots and commits are short and are let finish.
async fn perform(
    action: MachineAction,
    machine: &CheckMachine,
    executor: &Arc<ActionExecutor>,
    signals: &mut SignalState,
    interrupted: bool,
) -> MachineEvent {
    if action == MachineAction::ReadCommits {
        // As quick as starting a thread for it.
        return executor.perform(&action, &(None, None), &CancelFlag::new());
    }
    let cancel = CancelFlag::new();
    let may_cancel = matches!(action, MachineAction::Ask { .. } | MachineAction::JudgeChecks | MachineAction::Rescue);
    let doing = {
        let executor = Arc::clone(executor);
        let facts = (machine.commits().cloned(), machine.changes().cloned());
        let cancel = cancel.clone();
        let span = tracing::Span::current();
        spawn_io(move || span.in_scope(|| executor.perform(&action, &facts, &cancel)))
    };
    let at_least = if interrupted || !may_cancel { SignalUrgency::Hurry } else { SignalUrgency::Interrupted };
    signals.cancelling(at_least, &cancel, doing).await
}

/// Whether HEAD moved, looked at in a thread of its own.
async fn look(executor: &Arc<ActionExecutor>) -> bool {
    let executor = Arc::clone(executor);
    tokio::task::spawn_blocking(move || executor.head_moved()).await.unwrap_or(false)
}

/// Pauses; a commit or a signal cuts it short.
async fn wait(pause: MachinePause, survivors: &[String], executor: &Arc<ActionExecutor>, signals: &mut SignalState, interrupted: bool) {
    let length = match pause {
        MachinePause::Interval(length) => length,
        MachinePause::Backoff { attempt, at_most } => pauses::pause(attempt, at_most),
    };
    executor.tell_pause(length, survivors);
    let moved = Arc::new(Notify::new());
    let watching = executor.watch({
        let moved = Arc::clone(&moved);
        move || moved.notify_one()
    });
    let at_least = if interrupted { SignalUrgency::Hurry } else { SignalUrgency::Interrupted };
    let head_moves = async {
        if watching.is_none() {
            std::future::pending::<()>().await;
        }
        // The first look catches what moved between the last look and the start of the watch.
        while !look(executor).await {
            moved.notified().await;
            tokio::time::sleep(SETTLE).await;
        }
    };
    tokio::select! {
        () = tokio::time::sleep(length) => {}
        () = head_moves => {}
        () = signals.reached(at_least) => {}
    }
}

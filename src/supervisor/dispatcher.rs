//! One loop between the decision machine and the world: it hands every action to the executor,
//! and every outcome, signal and movement back as an event. It decides nothing itself.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::agent::Cancel;
use crate::decision::machine::{Action, Event, Machine, Pause};
use crate::decision::verdict::Verdict;

use super::executor::Executor;
use super::signals::{Signals, Urgency};
use super::{backoff, journal};

/// How long git directories must be quiet after a movement before HEAD is looked at: the index follows the branch.
const SETTLE: Duration = Duration::from_millis(40);

/// Drives a machine to its conclusion.
pub async fn drive(mut machine: Machine, executor: Arc<Executor>, signals: &mut Signals) -> Verdict {
    let mut event = Event::Start;
    let mut told = false;
    loop {
        if !told && signals.urgency() >= Urgency::Interrupted {
            told = true;
            // What was just learned is taken in first: a rescue that ended must not be forgotten.
            if !is_an_attempt_cut_off(&event) {
                let _ = machine.step(event);
            }
            event = Event::Interrupt;
        }
        let action = machine.step(event);
        event = match action {
            Action::Conclude(verdict) => return *verdict,
            Action::Wait(pause) => {
                wait(pause, machine.survivors(), &executor, signals, told).await;
                Event::WaitOver
            }
            Action::ReadCommits
            | Action::ReadChanges
            | Action::TakeSnapshot
            | Action::JudgeChecks
            | Action::Ask { .. }
            | Action::Rescue
            | Action::ReadSurvivors
            | Action::ReadActivity
            | Action::ReadCriteria => perform(action, &machine, &executor, signals, told).await,
        };
        journal::observed(executor.journal(), &event);
    }
}

/// A rescue that the signal itself kept from committing: that it did not is no finding.
fn is_an_attempt_cut_off(event: &Event) -> bool {
    match event {
        Event::Rescue(Ok(outcome)) => outcome.commits == 0 && outcome.lost.is_empty() && outcome.elsewhere.is_none(),
        _ => false,
    }
}

/// Carries out one action in a thread of its own. A signal ends programs that only look or ask, also the question for a
/// plan of a rescue; reading, snapshots and commits are short and are let finish.
async fn perform(action: Action, machine: &Machine, executor: &Arc<Executor>, signals: &mut Signals, told: bool) -> Event {
    if action == Action::ReadCommits {
        // As quick as starting a thread for it.
        return executor.perform(&action, &(None, None), &Cancel::new());
    }
    let cancel = Cancel::new();
    let may_cancel = matches!(action, Action::Ask { .. } | Action::JudgeChecks | Action::Rescue);
    let doing = {
        let executor = Arc::clone(executor);
        let facts = (machine.commits().cloned(), machine.changes().cloned());
        let cancel = cancel.clone();
        tokio::task::spawn_blocking(move || executor.perform(&action, &facts, &cancel))
    };
    tokio::pin!(doing);
    let at_least = if told || !may_cancel { Urgency::Hurry } else { Urgency::Interrupted };
    let outcome = tokio::select! {
        outcome = &mut doing => outcome,
        () = signals.reached(at_least) => {
            cancel.cancel();
            doing.await
        }
    };
    match outcome {
        Ok(event) => event,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// Whether HEAD moved, looked at in a thread of its own.
async fn look(executor: &Arc<Executor>) -> bool {
    let executor = Arc::clone(executor);
    tokio::task::spawn_blocking(move || executor.head_moved()).await.unwrap_or(false)
}

/// Pauses; a commit or a signal cuts it short.
async fn wait(pause: Pause, survivors: &[String], executor: &Arc<Executor>, signals: &mut Signals, told: bool) {
    let length = match pause {
        Pause::Interval(length) => length,
        Pause::Backoff { attempt, at_most } => backoff::pause(attempt, at_most),
    };
    executor.tell_pause(length, survivors);
    let moved = Arc::new(Notify::new());
    let watching = executor.watch({
        let moved = Arc::clone(&moved);
        move || moved.notify_one()
    });
    let at_least = if told { Urgency::Hurry } else { Urgency::Interrupted };
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

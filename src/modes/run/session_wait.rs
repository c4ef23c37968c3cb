//! Waits for the end of a session in a thread that was made before it, and ends it on a signal, on a spent budget, or on silence.

use std::io;
use std::sync::mpsc::{Sender, channel};

use tokio::sync::oneshot;

use watchdog_process::{CancelFlag, SessionOutcome, SessionProcess, SessionTerms};

use super::budget::SessionBudget;
use super::silence_watch::{SilenceCause, SilenceWatch, WatchedSession};
use crate::judge::signals::{SignalState, SignalUrgency};

/// A session that has ended.
#[derive(Debug)]
pub struct WaitedSession {
    /// What its process came to.
    pub outcome: SessionOutcome,
    /// The silence for which it was ended.
    pub silent: Option<SilenceCause>,
    /// Whether it was ended because a budget was spent.
    pub over_budget: bool,
}

/// The threads that a session needs while it runs, made before it starts.
pub struct SessionWaiter {
    cancel: CancelFlag,
    give: Sender<(SessionProcess, SessionTerms)>,
    outcome: oneshot::Receiver<std::thread::Result<SessionOutcome>>,
    silence: SilenceWatch,
}

impl SessionWaiter {
    /// Makes them.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn prepare() -> io::Result<Self> {
        let cancel = CancelFlag::new();
        let (give, given) = channel::<(SessionProcess, SessionTerms)>();
        let (tell, outcome) = oneshot::channel();
        let silence = SilenceWatch::prepare()?;
        let raised = cancel.clone();
        std::thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                let Ok((session, terms)) = given.recv() else {
                    return;
                };
                let wait = std::panic::AssertUnwindSafe(|| session.wait(&terms, &raised));
                let _ = tell.send(std::panic::catch_unwind(wait));
            })?;
        Ok(SessionWaiter {
            cancel,
            give,
            outcome,
            silence,
        })
    }

    /// Waits for a session. A first signal ends it with its grace period, a second one at once. A budget that it spends while it runs ends
    /// it, too, unless it ends by itself first, and so does silence.
    pub async fn wait(
        self,
        session: SessionProcess,
        watched: WatchedSession,
        terms: SessionTerms,
        budget: &SessionBudget<'_>,
        signals: &mut SignalState,
    ) -> WaitedSession {
        let SessionWaiter {
            cancel,
            give,
            mut outcome,
            mut silence,
        } = self;
        silence.begin(watched);
        // Where its thread were gone, the session would be dropped here, which ends it, and the outcome never come.
        let _ = give.send((session, terms));
        let spent = budget.spent_while_it_runs();
        tokio::pin!(spent);
        let (mut over, mut silent) = (false, None);
        let mut escalation = Box::pin(signals.escalate(&cancel));
        let came = loop {
            tokio::select! {
                came = &mut outcome => break came,
                () = &mut spent, if !over => {
                    over = true;
                    cancel.cancel();
                }
                end = silence.falls_silent(), if !over && silent.is_none() => {
                    silent = Some(end);
                    cancel.cancel();
                }
                never = &mut escalation => match never {},
            }
        };
        drop(escalation);
        // A person's word comes before silence.
        let silent = silent.filter(|_| signals.urgency() == SignalUrgency::None);
        match came.expect("the thread that waits tells how that ended") {
            Ok(outcome) => WaitedSession {
                outcome,
                silent,
                over_budget: over,
            },
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

//! Waits for the end of a session, and ends it on a signal, on a spent budget, or on silence.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::silence_watch::{SilenceCause, SilenceWatch, WatchedSession};
use crate::clock::now;
use crate::judge::signals::{SignalState, SignalUrgency};
use watchdog_agent::stream::StreamTap;
use watchdog_core::config::settings::Limits;
use watchdog_core::decision::termination::{
    SpentUsage, describe_unmeasured, find_stop_reason, time_left,
};
use watchdog_facts::evidence::{Degradation, StopReason};
use watchdog_facts::verdict::Reason;
use watchdog_process::{CancelFlag, SessionOutcome, SessionProcess, SessionTerms};

/// How often the figures of a running session are read.
const POLL: Duration = Duration::from_millis(250);
/// How long a session may run after it has spent a budget: most end by themselves right after the expensive step.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The budget of the agent that has the session.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentBudget {
    /// Its name.
    pub agent: String,
    /// US dollars that its sessions of one loop or task may cost.
    pub max_cost_usd: f64,
    /// US dollars that its earlier sessions cost.
    pub before_usd: f64,
}

/// The budgets of one session.
pub struct SessionBudget<'a> {
    /// The limits for all sessions together.
    pub limits: &'a Limits,
    /// The usage before this session.
    pub before: SpentUsage,
    /// The budget of its agent, if that has one.
    pub of_agent: Option<&'a AgentBudget>,
    /// Its output.
    pub tap: &'a StreamTap,
}

impl SessionBudget<'_> {
    /// When the session is ended, from its start: by its own timeout, or where time itself is the budget, with what that means.
    pub fn timeout(
        &self,
        own: Option<Duration>,
        at: Timestamp,
    ) -> (Option<Duration>, Option<StopReason>) {
        match (own, time_left(self.limits, &self.before, at)) {
            (Some(own), Some((left, _))) if own < left => (Some(own), None),
            (_, Some((left, stop))) => (Some(left), Some(stop)),
            (own, None) => (own, None),
        }
    }

    /// Completes once a budget is spent and the session had time to end by itself; never where no such budget is set.
    pub async fn spent_while_it_runs(&self) {
        let limits = self.limits;
        let is_limited = limits.max_turns.is_some()
            || limits.max_total_tokens.is_some()
            || limits.max_cost_usd.is_some();
        if !is_limited && self.of_agent.is_none() {
            return std::future::pending().await;
        }
        // Time has its own end.
        let limits = Limits {
            deadline: None,
            max_wall: None,
            ..limits.clone()
        };
        loop {
            let spent = SpentUsage::from_usage(&self.tap.view().usage);
            let agents_is_spent = self
                .of_agent
                .is_some_and(|budget| budget.before_usd + spent.cost_usd >= budget.max_cost_usd);
            if agents_is_spent
                || find_stop_reason(&limits, &self.before.plus(spent), now()).is_some()
            {
                break;
            }
            tokio::time::sleep(POLL).await;
        }
        tokio::time::sleep(LAST_WORDS).await;
    }

    /// Why no further session may start; `None` where one may.
    pub fn stop(&self, spent: SpentUsage, at: Timestamp) -> Option<StopReason> {
        find_stop_reason(self.limits, &self.before.plus(spent), at)
    }

    /// What the end of a session means that was ended because its agent's budget is spent; `None` where the agent has none.
    pub fn agent_stop(&self, spent: SpentUsage) -> Option<StopReason> {
        let budget = self.of_agent?;
        let (agent, most, cost) = (
            &budget.agent,
            budget.max_cost_usd,
            budget.before_usd + spent.cost_usd,
        );
        let why = format!(
            "the budget of the agent {agent} is spent (agents[].max_cost_usd): its sessions cost {cost:.2} of {most:.2} USD"
        );
        Some(StopReason {
            reason: Reason::BudgetExhausted,
            why,
        })
    }

    /// Warnings about budgets that could not be compared with the session.
    pub fn unknown(&self, spent: SpentUsage) -> Option<Degradation> {
        describe_unmeasured(self.limits, &spent)
    }
}

/// A session that has ended.
#[derive(Debug)]
pub struct WaitedSession {
    /// The outcome of its process.
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
    /// Fails if no thread can be had.
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
        // If its thread were gone, the session would be dropped here, which ends it, and the
        // outcome never come.
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

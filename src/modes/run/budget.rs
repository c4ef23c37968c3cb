//! Compares a session with the budgets: before it starts, while it runs, and when it has ended.

use std::time::Duration;

use jiff::Timestamp;

use crate::agent::stream::StreamTap;
use watchdog_core::config::settings::Limits;
use watchdog_core::decision::termination::{SpentUsage, termination, time_left, unknown};
use watchdog_facts::evidence::Degradation;
use watchdog_facts::evidence::StopReason;

use crate::clock::now;

/// How often the figures of a running session are read.
const POLL: Duration = Duration::from_millis(250);
/// How long a session may run after it has spent a budget: most end by themselves right after the expensive step.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The budgets of one session.
pub struct SessionBudget<'a> {
    /// The limits for all sessions together.
    pub limits: &'a Limits,
    /// The usage before this session.
    pub before: SpentUsage,
    /// Its output.
    pub tap: &'a StreamTap,
}

impl SessionBudget<'_> {
    /// When the session is ended, from its start: by its own timeout, or where time itself is the budget, with what that means.
    pub fn timeout(&self, own: Option<Duration>, at: Timestamp) -> (Option<Duration>, Option<StopReason>) {
        match (own, time_left(self.limits, &self.before, at)) {
            (Some(own), Some((left, _))) if own < left => (Some(own), None),
            (_, Some((left, stop))) => (Some(left), Some(stop)),
            (own, None) => (own, None),
        }
    }

    /// Completes once a budget is spent and the session had time to end by itself; never where no such budget is set.
    pub async fn spent_while_it_runs(&self) {
        let limits = self.limits;
        if limits.max_turns.is_none() && limits.max_total_tokens.is_none() && limits.max_cost_usd.is_none() {
            return std::future::pending().await;
        }
        // Time has its own end.
        let limits = Limits { deadline: None, max_wall: None, ..limits.clone() };
        while termination(&limits, &self.before.plus(SpentUsage::of(&self.tap.view().usage)), now()).is_none() {
            tokio::time::sleep(POLL).await;
        }
        tokio::time::sleep(LAST_WORDS).await;
    }

    /// Why no further session may start; `None` where one may.
    pub fn stop(&self, spent: SpentUsage, at: Timestamp) -> Option<StopReason> {
        termination(self.limits, &self.before.plus(spent), at)
    }

    /// Warnings about budgets that could not be compared with the session.
    pub fn unknown(&self, spent: SpentUsage) -> Option<Degradation> {
        unknown(self.limits, &spent)
    }
}

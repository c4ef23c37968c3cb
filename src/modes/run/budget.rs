//! Compares a session with the budgets: before it starts, while it runs, and when it has ended.

use std::time::Duration;

use jiff::Timestamp;

use watchdog_agent::stream::StreamTap;
use watchdog_core::config::settings::Limits;
use watchdog_core::decision::termination::{SpentUsage, termination, time_left, unknown};
use watchdog_facts::evidence::Degradation;
use watchdog_facts::evidence::StopReason;
use watchdog_facts::verdict::Reason;

use crate::clock::now;

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
            if agents_is_spent || termination(&limits, &self.before.plus(spent), now()).is_some() {
                break;
            }
            tokio::time::sleep(POLL).await;
        }
        tokio::time::sleep(LAST_WORDS).await;
    }

    /// Why no further session may start; `None` where one may.
    pub fn stop(&self, spent: SpentUsage, at: Timestamp) -> Option<StopReason> {
        termination(self.limits, &self.before.plus(spent), at)
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
        unknown(self.limits, &spent)
    }
}

//! The state machine of a loop: told how an iteration ended, it says what comes next. It has no clock; the time is handed in.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::config::settings::Limits;
use crate::decision::termination::{SpentUsage, find_stop_reason, may_begin, time_left};
use watchdog_facts::evidence::StopReason;
use watchdog_facts::verdict::{Reason, Status};

use super::agent_order::{
    AgentChange, AgentChoice, AgentHold, HoldReason, RankedAgent, agent_change, budget_is_spent,
    choose_agent, standing_mut,
};
use super::standing::LoopStanding;

mod held_by_account;
mod limit_wait;

/// The limits of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopPolicy {
    /// Budgets, deadline, cap and cooldown.
    pub limits: Limits,
    /// After this many iterations without progress in a row the loop goes to review; 0 = never.
    pub no_progress: u32,
    /// A usage limit that lasts longer than this is not waited for; neither is an overload whose pauses are together longer.
    pub max_wait: Duration,
    /// The agents in the order of preference.
    pub agents: Vec<RankedAgent>,
}

impl LoopPolicy {
    /// Whether a limit may move a session to another agent, or a budget of an agent ends the loop. Otherwise there is nothing to choose,
    /// and a loop that is started again asks its one agent again.
    pub fn has_choice(&self) -> bool {
        self.agents.len() > 1 || self.agents.iter().any(|agent| agent.max_cost_usd.is_some())
    }
}

/// After this many pauses without progress in a row the loop gives up.
const WAITS: u32 = 20;
/// Clocks differ: a limit is not tried on the very second of its reset.
const MARGIN: Duration = Duration::from_secs(5);
/// The longest pause for an overload or after a crash.
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);
/// An overload is given this many doublings at once: seconds would only add to it.
const OVERLOAD_HEAD_START: u32 = 4;
/// After so many pauses for an overload in a row the next agent takes over, where there is one.
const OVERLOAD_PAUSES: u32 = 3;
/// For so long an agent whose service had no room gets no session then.
const OVERLOAD_REST: Duration = Duration::from_secs(1800);
/// The first pause for background work, doubled each time.
const BACKGROUND_POLL: Duration = Duration::from_secs(30);

/// How an iteration ended, for the decision what comes next.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationOutcome {
    /// Of its verdict.
    pub reason: Reason,
    /// When a limit ends, where it was reported.
    pub retry_at: Option<Timestamp>,
    /// Whether a usage limit is that of the agent whose session it was, and not of another program that was asked about it.
    pub of_agent: bool,
    /// Whether a question about its work was left unasked: no agent met a limit.
    pub unasked: bool,
    /// Why the session ended badly, if it did.
    pub crash: Option<String>,
    /// Whether that was a service, or this very machine, that had no room, so that the session could not work.
    pub overloaded: bool,
    /// Whether the breaker is open after it.
    pub breaker_open: bool,
    /// The state of the work, as in [`LoopStanding::work`].
    pub work: Option<String>,
    /// The usage of the session.
    pub spent: SpentUsage,
}

/// Something that happened to a loop.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopEvent {
    /// It starts, or resumes after its process was killed.
    Begin,
    /// An iteration was judged.
    Judged(Box<IterationOutcome>),
    /// A pause is over.
    PauseOver,
}

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopAction {
    /// A session, judged.
    Iterate {
        /// From 1.
        number: u32,
    },
    /// The same baseline judged again, without a session.
    JudgeAgain,
    /// A pause.
    Pause {
        /// How long.
        length: PauseLength,
        /// The reason.
        why: PauseReason,
    },
    /// The loop is over.
    End(LoopEnd),
}

/// How long a pause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseLength {
    /// So long.
    For(Duration),
    /// Until then.
    Until(Timestamp),
    /// Doubled with each attempt (from 1), with some chance in it.
    Backoff {
        /// Which attempt.
        attempt: u32,
        /// Never longer.
        at_most: Duration,
    },
}

/// The reason of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseReason {
    /// The configured one between iterations.
    Cooldown,
    /// A usage limit.
    UsageLimit,
    /// A service without room.
    Overload,
    /// A crash of the agent.
    Crash,
    /// Background work.
    BackgroundWork,
}

impl PauseReason {
    /// The word in events and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            PauseReason::Cooldown => "cooldown",
            PauseReason::UsageLimit => "usage_limit",
            PauseReason::Overload => "overload",
            PauseReason::Crash => "crash",
            PauseReason::BackgroundWork => "background_work",
        }
    }
}

/// Why a loop is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopEnd {
    /// The last verdict says it.
    Verdict,
    /// A limit.
    Stop(StopReason),
    /// The budget of each of its agents is spent.
    AgentsSpent(StopReason),
    /// The breaker lets no further session begin.
    BreakerOpen,
    /// So many iterations in a row left the work as it was.
    NoProgress {
        /// How many.
        iterations: u32,
    },
    /// The usage limit ends later than the maximum wait.
    LimitTooLong,
    /// The pauses for a service, or a machine, without room reached the maximum wait together.
    OverloadTooLong,
    /// So many pauses in a row brought nothing.
    WaitedInVain {
        /// How many.
        waits: u32,
    },
}

/// A loop in progress.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopMachine {
    policy: LoopPolicy,
    standing: LoopStanding,
    after_pause: AfterPause,
    overload: OverloadWait,
    /// Agents that a limit holds which others of the same account met, by name.
    by_account: Vec<(String, AgentHold)>,
}

/// How long an overload has been waited for, since the last iteration that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct OverloadWait {
    waited: Duration,
    /// The start of the present pause, if one for it is in progress.
    since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterPause {
    Iterate,
    JudgeAgain,
}

impl LoopMachine {
    /// A loop with this progress.
    pub fn new(policy: LoopPolicy, standing: LoopStanding) -> Self {
        LoopMachine {
            policy,
            standing,
            after_pause: AfterPause::Iterate,
            overload: OverloadWait::default(),
            by_account: Vec::new(),
        }
    }

    /// Its progress.
    pub fn standing(&self) -> &LoopStanding {
        &self.standing
    }

    /// Its limits.
    pub fn policy(&self) -> &LoopPolicy {
        &self.policy
    }

    /// The change of the agent between the last session and the next one, if there is one.
    pub fn agent_change(&self, now: Timestamp) -> Option<AgentChange> {
        let LoopStanding { ran, chosen, .. } = &self.standing;
        agent_change(
            now,
            (ran.as_deref(), chosen.as_deref()),
            &self.policy.agents,
            &self.known_agents(),
        )
    }

    /// The session of the chosen agent begins.
    pub fn session_begins(&mut self) {
        self.standing.ran = self.standing.chosen.clone();
        if let Some(standing) = self.standing.ran_agent() {
            standing.sessions = standing.sessions.saturating_add(1);
        }
    }

    /// Takes one event and says what comes next. `wall` is the time of the whole loop so far, pauses included.
    pub fn step(&mut self, now: Timestamp, wall: Duration, event: LoopEvent) -> LoopAction {
        self.standing.spent.wall_seconds = wall.as_secs_f64();
        if let Some(since) = self.overload.since.take() {
            self.overload.waited +=
                Duration::try_from(now.duration_since(since)).unwrap_or_default();
        }
        match event {
            LoopEvent::Begin => self.iterate(now),
            LoopEvent::Judged(outcome) => self.take_outcome(*outcome, now),
            LoopEvent::PauseOver => match self.after_pause {
                AfterPause::Iterate => self.iterate(now),
                AfterPause::JudgeAgain => self.end_at_limit(now).unwrap_or(LoopAction::JudgeAgain),
            },
        }
    }

    /// The end of the loop where one of its limits is reached.
    fn end_at_limit(&self, now: Timestamp) -> Option<LoopAction> {
        let stop = find_stop_reason(&self.policy.limits, &self.standing.spent, now)?;
        Some(LoopAction::End(LoopEnd::Stop(stop)))
    }

    /// The same, and where no further iteration may begin.
    fn end_before_next(&self, now: Timestamp) -> Option<LoopAction> {
        let LoopStanding {
            spent, finished, ..
        } = &self.standing;
        let stop = may_begin(&self.policy.limits, spent, (*finished).into(), now)?;
        Some(LoopAction::End(LoopEnd::Stop(stop)))
    }

    fn iterate(&mut self, now: Timestamp) -> LoopAction {
        if let Some(end) = self.end_before_next(now) {
            return end;
        }
        let next = LoopAction::Iterate {
            number: self.standing.finished.saturating_add(1),
        };
        if !self.policy.has_choice() {
            // An own limit is waited for where it was met.
            if let Some(hold) = self.first_is_held_by_account(now) {
                return self.wait_for_agent(hold, now);
            }
            self.standing.chosen = self.policy.agents.first().map(|agent| agent.name.clone());
            return next;
        }
        match choose_agent(now, &self.policy.agents, &self.known_agents()) {
            AgentChoice::Agent(index) => {
                self.standing.chosen = Some(self.policy.agents[index].name.clone());
                next
            }
            AgentChoice::Wait(hold) => self.wait_for_agent(hold, now),
            AgentChoice::Spent => {
                let names = self
                    .policy
                    .agents
                    .iter()
                    .map(|agent| agent.name.as_str())
                    .collect::<Vec<_>>()
                    .join(" and ");
                let why = match self.policy.agents.len() {
                    1 => format!("the budget of {names} is spent (agents[].max_cost_usd)"),
                    _ => format!(
                        "the budgets of {names} are spent (agents[].max_cost_usd), and no other agent is named"
                    ),
                };
                LoopAction::End(LoopEnd::AgentsSpent(StopReason {
                    reason: Reason::BudgetExhausted,
                    why,
                }))
            }
        }
    }

    /// Every agent is held: waits for the first.
    fn wait_for_agent(&mut self, hold: AgentHold, now: Timestamp) -> LoopAction {
        if hold.until > add_wait(add_wait(now, self.policy.max_wait), MARGIN) {
            return LoopAction::End(LoopEnd::LimitTooLong);
        }
        let why = match hold.why {
            HoldReason::UsageLimit => PauseReason::UsageLimit,
            HoldReason::Overload => PauseReason::Overload,
        };
        self.pause(
            PauseLength::Until(hold.until),
            why,
            AfterPause::Iterate,
            now,
        )
    }

    /// The agent of the last session gets none until then.
    fn hold(&mut self, until: Timestamp, why: HoldReason) {
        if let Some(standing) = self.standing.ran_agent() {
            standing.hold = Some(AgentHold { until, why });
        }
    }

    /// Whether the agent of the last session has spent its budget.
    fn agents_budget_is_spent(&self) -> bool {
        let LoopStanding { agents, ran, .. } = &self.standing;
        ran.as_ref()
            .is_some_and(|name| budget_is_spent(&self.policy.agents, agents, name))
    }

    /// Counts a session that came to a limit, and returns how many in a row that agent has had; `None` where the loop has one agent only.
    fn count_missed(&mut self) -> Option<u32> {
        let of_loop = |name: &String| {
            self.policy.has_choice() && self.policy.agents.iter().any(|agent| agent.name == *name)
        };
        let name = self.standing.ran.as_ref().filter(|name| of_loop(name))?;
        let standing = standing_mut(&mut self.standing.agents, name);
        standing.misses = standing.misses.saturating_add(1);
        Some(standing.misses)
    }

    fn take_outcome(&mut self, outcome: IterationOutcome, now: Timestamp) -> LoopAction {
        // The sessions' own times are a part of the loop's.
        self.standing.spent = SpentUsage {
            wall_seconds: self.standing.spent.wall_seconds,
            ..self.standing.spent.plus(outcome.spent)
        };
        if let Some(standing) = self.standing.ran_agent() {
            standing.spent = standing.spent.plus(outcome.spent);
        }
        if outcome.reason == Reason::Interrupted {
            return LoopAction::End(LoopEnd::Verdict);
        }
        let progressed = outcome.work.is_some() && outcome.work != self.standing.work;
        let waits_only = match (outcome.reason, outcome.overloaded) {
            (Reason::RateLimited | Reason::BackgroundWork, _) => true,
            // `store_error` comes with an overload only where the session could not even be started.
            (reason, true) => (goes_on(reason) || reason == Reason::StoreError) && !progressed,
            (_, false) => false,
        };
        if waits_only {
            return self.wait(&outcome, now);
        }
        self.standing.finished = self.standing.finished.saturating_add(1);
        self.standing.waits = 0;
        self.overload = OverloadWait::default();
        if let Some(standing) = self.standing.ran_agent() {
            (standing.misses, standing.hold) = (0, None);
        }
        self.standing.count_unchanged(outcome.work);
        self.standing.crashes = if outcome.crash.is_some() {
            self.standing.crashes.saturating_add(1)
        } else {
            0
        };
        if let Some(end) = self.end_at_limit(now) {
            return end;
        }
        // A session that was ended because its agent's budget is spent leaves the work to the next agent.
        let of_agent = outcome.reason == Reason::BudgetExhausted && self.agents_budget_is_spent();
        if !goes_on(outcome.reason) && !of_agent {
            return LoopAction::End(LoopEnd::Verdict);
        }
        if self.policy.no_progress > 0 && self.standing.unchanged >= self.policy.no_progress {
            return LoopAction::End(LoopEnd::NoProgress {
                iterations: self.standing.unchanged,
            });
        }
        if outcome.breaker_open {
            return LoopAction::End(LoopEnd::BreakerOpen);
        }
        if let Some(end) = self.end_before_next(now) {
            return end;
        }
        let cooldown = self.policy.limits.cooldown;
        match outcome.crash {
            // The cooldown may be longer than the first pauses; then it is what is wanted.
            Some(_) if cooldown < LONGEST_BACKOFF => {
                let length = PauseLength::Backoff {
                    attempt: self.standing.crashes,
                    at_most: LONGEST_BACKOFF,
                };
                self.pause(length, PauseReason::Crash, AfterPause::Iterate, now)
            }
            _ if cooldown.is_zero() => self.iterate(now),
            _ => self.pause(
                PauseLength::For(cooldown),
                PauseReason::Cooldown,
                AfterPause::Iterate,
                now,
            ),
        }
    }

    /// The session could not work, or its work is not over: that is no iteration.
    fn wait(&mut self, outcome: &IterationOutcome, now: Timestamp) -> LoopAction {
        if let Some(end) = self.end_at_limit(now) {
            return end;
        }
        if outcome.work.is_some() && outcome.work != self.standing.work {
            self.standing.unchanged = 0;
            self.standing.work = outcome.work.clone();
        }
        if let Some(wait) = self.wait_to_ask(outcome, now) {
            return wait;
        }
        // A session of the next agent instead of a pause is no wait.
        if outcome.reason == Reason::RateLimited
            && outcome.of_agent
            && let Some(misses) = self.count_missed()
        {
            // Agents whose limits end at once would take turns without end.
            if misses > WAITS {
                return LoopAction::End(LoopEnd::WaitedInVain { waits: WAITS });
            }
            let until = self.limit_ends(outcome.retry_at, misses, now);
            self.hold(until, HoldReason::UsageLimit);
            if self.another_is_free(now) {
                return self.iterate(now);
            }
        }
        self.standing.waits = self.standing.waits.saturating_add(1);
        if outcome.overloaded
            && !matches!(outcome.reason, Reason::RateLimited | Reason::BackgroundWork)
        {
            // A machine without room has none for another agent either.
            return self.wait_for_room(outcome.reason != Reason::StoreError, now);
        }
        if self.standing.waits > WAITS {
            return LoopAction::End(LoopEnd::WaitedInVain { waits: WAITS });
        }
        match outcome.reason {
            Reason::RateLimited if outcome.of_agent && self.policy.has_choice() => {
                self.iterate(now)
            }
            Reason::RateLimited => {
                let until = self.limit_ends(outcome.retry_at, self.standing.waits, now);
                if until > add_wait(add_wait(now, self.policy.max_wait), MARGIN) {
                    return LoopAction::End(LoopEnd::LimitTooLong);
                }
                self.pause(
                    PauseLength::Until(until),
                    PauseReason::UsageLimit,
                    AfterPause::Iterate,
                    now,
                )
            }
            _ => {
                let polled =
                    || add_wait(now, self.double_wait(BACKGROUND_POLL, self.standing.waits));
                let until = outcome
                    .retry_at
                    .filter(|at| *at > now)
                    .unwrap_or_else(polled);
                self.pause(
                    PauseLength::Until(until),
                    PauseReason::BackgroundWork,
                    AfterPause::JudgeAgain,
                    now,
                )
            }
        }
    }

    fn double_wait(&self, first: Duration, time: u32) -> Duration {
        first
            .saturating_mul(1 << time.saturating_sub(1).min(16))
            .min(self.policy.max_wait)
    }

    /// A service that is away is waited for as long as a usage limit, all pauses together; where another agent is free, for a few pauses.
    fn wait_for_room(&mut self, of_service: bool, now: Timestamp) -> LoopAction {
        let remaining = self.policy.max_wait.saturating_sub(self.overload.waited);
        // However short the pauses are, they are not without number.
        let most = u32::try_from(self.policy.max_wait.as_secs() / LONGEST_BACKOFF.as_secs())
            .unwrap_or(u32::MAX)
            .max(WAITS);
        let waited_enough = remaining.is_zero() || self.standing.waits > most;
        if of_service
            && let Some(misses) = self.count_missed()
            && (waited_enough || misses > OVERLOAD_PAUSES)
            && self.another_is_free(now)
        {
            self.hold(add_wait(now, OVERLOAD_REST), HoldReason::Overload);
            (self.standing.waits, self.overload) = (0, OverloadWait::default());
            return self.iterate(now);
        }
        if waited_enough {
            return LoopAction::End(LoopEnd::OverloadTooLong);
        }
        self.overload.since = Some(now);
        let attempt = self.standing.waits.saturating_add(OVERLOAD_HEAD_START);
        self.pause(
            PauseLength::Backoff {
                attempt,
                at_most: LONGEST_BACKOFF.min(remaining),
            },
            PauseReason::Overload,
            AfterPause::Iterate,
            now,
        )
    }

    /// No session begins behind the deadline or the time budget: a pause that surely lasts longer
    /// ends the loop at once, and one whose length is not known yet ends there.
    fn pause(
        &mut self,
        length: PauseLength,
        why: PauseReason,
        then: AfterPause,
        now: Timestamp,
    ) -> LoopAction {
        self.after_pause = then;
        let Some((left, stop)) = time_left(&self.policy.limits, &self.standing.spent, now) else {
            return LoopAction::Pause { length, why };
        };
        let until = match length {
            PauseLength::For(length) => add_wait(now, length),
            PauseLength::Until(until) => until,
            PauseLength::Backoff { attempt, at_most } => {
                return LoopAction::Pause {
                    length: PauseLength::Backoff {
                        attempt,
                        at_most: at_most.min(left),
                    },
                    why,
                };
            }
        };
        if until < add_wait(now, left) {
            return LoopAction::Pause { length, why };
        }
        let limit = match (stop.reason, self.policy.limits.deadline) {
            (Reason::DeadlineExceeded, Some(deadline)) => {
                format!("the deadline {deadline:.0} would pass")
            }
            _ => format!(
                "the time budget of {} s would be spent",
                self.policy.limits.max_wall.unwrap_or_default().as_secs()
            ),
        };
        let why = format!(
            "{limit} during the pause until {until:.0} ({})",
            why.as_str()
        );
        LoopAction::End(LoopEnd::Stop(StopReason {
            reason: stop.reason,
            why,
        }))
    }
}

/// Whether a further session makes sense after such a verdict.
fn goes_on(reason: Reason) -> bool {
    match reason.status() {
        Status::Incomplete | Status::Timeout => true,
        Status::Complete
        | Status::Waiting
        | Status::Review
        | Status::Stopped
        | Status::Failed
        | Status::Error => false,
    }
}

fn add_wait(at: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

//! Limits that others of the same account met: they hold an agent of a loop as its own would.

use jiff::Timestamp;

use super::super::agent_order::{
    AgentChoice, AgentHold, AgentStanding, HoldReason, RankedAgent, choose_agent, standing_mut,
};
use super::{LoopMachine, MARGIN, add_wait};

impl LoopMachine {
    /// Which of its agents a limit holds that others met, each until when: they get no session
    /// before, as if their own had met it. Earlier holds are forgotten, so that a limit that a
    /// person cleared holds no agent.
    pub fn held_by_account(&mut self, holds: &[(String, Timestamp)]) {
        let hold = |until: Timestamp| AgentHold {
            until: add_wait(until, MARGIN),
            why: HoldReason::UsageLimit,
        };
        self.by_account = holds
            .iter()
            .map(|(name, until)| (name.clone(), hold(*until)))
            .collect();
    }

    /// Standings of its agents, with the limits that others met.
    pub fn known_agents(&self) -> Vec<AgentStanding> {
        let mut standings = self.standing.agents.clone();
        for (name, hold) in &self.by_account {
            let standing = standing_mut(&mut standings, name);
            standing.hold = standing
                .hold
                .filter(|own| own.until >= hold.until)
                .or(Some(*hold));
        }
        standings
    }

    /// Whether one of the agents other than that of the last session may have the next one now.
    pub(super) fn another_is_free(&self, now: Timestamp) -> bool {
        let others: Vec<RankedAgent> = self
            .policy
            .agents
            .iter()
            .filter(|agent| Some(&agent.name) != self.standing.ran.as_ref())
            .cloned()
            .collect();
        matches!(
            choose_agent(now, &others, &self.known_agents()),
            AgentChoice::Agent(_)
        )
    }

    /// The hold of the preferred agent that others met, where it is in force.
    pub(super) fn first_is_held_by_account(&self, now: Timestamp) -> Option<AgentHold> {
        let first = self.policy.agents.first()?;
        let (_, hold) = self
            .by_account
            .iter()
            .find(|(name, hold)| *name == first.name && now < hold.until)?;
        Some(*hold)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::standing::LoopStanding;
    use super::super::{LoopAction, LoopEnd, LoopEvent, LoopPolicy, PauseLength, PauseReason};
    use super::*;
    use crate::config::settings::ConfigSettings;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a second of this era")
    }

    fn machine(agents: &[&str]) -> LoopMachine {
        let agents = agents
            .iter()
            .map(|name| RankedAgent {
                name: (*name).into(),
                max_cost_usd: None,
            })
            .collect();
        let policy = LoopPolicy {
            limits: ConfigSettings::default().limits,
            no_progress: 0,
            max_wait: Duration::from_secs(3600),
            agents,
        };
        LoopMachine::new(policy, LoopStanding::default())
    }

    fn begin(machine: &mut LoopMachine, now: i64) -> LoopAction {
        machine.step(at(now), Duration::ZERO, LoopEvent::Begin)
    }

    fn waits_until(second: i64) -> LoopAction {
        LoopAction::Pause {
            length: PauseLength::Until(at(second)),
            why: PauseReason::UsageLimit,
        }
    }

    #[test]
    fn only_agent_waits_for_reset_or_cleared_limit() {
        let mut alone = machine(&["claude"]);
        alone.held_by_account(&[("claude".into(), at(100))]);
        assert_eq!(begin(&mut alone, 0), waits_until(105));
        assert_eq!(
            alone.step(at(104), Duration::ZERO, LoopEvent::PauseOver),
            waits_until(105)
        );
        assert_eq!(
            alone.step(at(105), Duration::ZERO, LoopEvent::PauseOver),
            LoopAction::Iterate { number: 1 }
        );
        let mut cleared = machine(&["claude"]);
        cleared.held_by_account(&[("claude".into(), at(100))]);
        assert_eq!(begin(&mut cleared, 0), waits_until(105));
        cleared.held_by_account(&[]);
        assert_eq!(
            cleared.step(at(1), Duration::ZERO, LoopEvent::PauseOver),
            LoopAction::Iterate { number: 1 }
        );
    }

    #[test]
    fn next_agent_takes_over_or_earliest_is_awaited() {
        let mut both = machine(&["claude", "codex"]);
        both.held_by_account(&[("claude".into(), at(100))]);
        assert_eq!(begin(&mut both, 0), LoopAction::Iterate { number: 1 });
        assert_eq!(both.standing().chosen.as_deref(), Some("codex"));
        let mut both_limited = machine(&["claude", "codex"]);
        both_limited.held_by_account(&[("claude".into(), at(100)), ("codex".into(), at(50))]);
        assert_eq!(begin(&mut both_limited, 0), waits_until(55));
    }

    #[test]
    fn account_limit_beyond_longest_wait_ends_the_loop() {
        for agents in [&["claude"][..], &["claude", "codex"]] {
            let mut loop_machine = machine(agents);
            loop_machine.held_by_account(
                &agents
                    .iter()
                    .map(|name| ((*name).to_owned(), at(9_000)))
                    .collect::<Vec<_>>(),
            );
            assert_eq!(
                begin(&mut loop_machine, 0),
                LoopAction::End(LoopEnd::LimitTooLong)
            );
            loop_machine.held_by_account(
                &agents
                    .iter()
                    .map(|name| ((*name).to_owned(), at(3_600)))
                    .collect::<Vec<_>>(),
            );
            assert_eq!(
                begin(&mut loop_machine, 0),
                waits_until(3_605),
                "as long as the longest wait"
            );
        }
    }

    #[test]
    fn account_limit_never_shortens_the_loops_own() {
        let mut loop_machine = machine(&["claude", "codex"]);
        loop_machine.held_by_account(&[("claude".into(), at(100))]);
        assert!(
            loop_machine.standing().agents.is_empty(),
            "nothing to be kept"
        );
        loop_machine.standing.agents = vec![AgentStanding {
            name: "claude".into(),
            hold: Some(AgentHold {
                until: at(500),
                why: HoldReason::UsageLimit,
            }),
            ..AgentStanding::default()
        }];
        assert_eq!(
            loop_machine.known_agents()[0].hold.map(|hold| hold.until),
            Some(at(500))
        );
    }
}

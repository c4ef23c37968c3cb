//! Sums by counter, the names of the counters, and what amounts events tell in one unit.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::engine::StoredEvent;
use super::measures::{CHECKS, measure};
use watchdog_facts::verdict::Reason;

/// The names of the counters, beside `verdict/<reason>` and `probe/<outcome>`; `other` counts values that this version does not know.
pub mod word {
    /// Prefix of the words of verdicts.
    pub const VERDICT: &str = "verdict/";
    /// Prefix of the words of probes.
    pub const PROBE: &str = "probe/";
    /// Sessions that began.
    pub const STARTED: &str = "sessions_started";
    /// Sessions whose end was seen.
    pub const ENDED: &str = "sessions_ended";
    /// Prefix of the words of one agent's sessions: a counter of sessions and the agent follow,
    /// `agent/sessions_ended/codex`. An empty name stands for agents that are not known.
    pub const AGENT: &str = "agent/";
    /// Iterations of loops that ended.
    pub const ITERATIONS: &str = "iterations";
    /// Rescues that made commits or tried to.
    pub const RESCUES: &str = "rescues";
    /// Those that failed.
    pub const RESCUES_FAILED: &str = "rescues_failed";
    /// Commits that rescues made.
    pub const RESCUE_COMMITS: &str = "rescue_commits";
    /// How often a breaker opened.
    pub const TRIPS: &str = "breaker_trips";
    /// Tokens that sessions read.
    pub const TOKENS_IN: &str = "input_tokens";
    /// Tokens that sessions wrote.
    pub const TOKENS_OUT: &str = "output_tokens";
    /// Ended sessions that reported both.
    pub const TOKENS_REPORTED: &str = "tokens_told";
    /// Millionths of a US dollar that sessions cost.
    pub const COST: &str = "cost_micros";
    /// Ended sessions that reported their cost.
    pub const COST_REPORTED: &str = "cost_told";
    /// Questions to agents and models, for plans and judges too.
    pub const QUESTIONS: &str = "questions";
    /// Tokens that questions read.
    pub const QUESTION_TOKENS_IN: &str = "question_input_tokens";
    /// Tokens that questions wrote.
    pub const QUESTION_TOKENS_OUT: &str = "question_output_tokens";
    /// Judgements whose questions reported both.
    pub const QUESTION_TOKENS_REPORTED: &str = "question_tokens_told";
    /// Millionths of a US dollar that questions cost.
    pub const QUESTION_COST: &str = "question_cost_micros";
    /// Judgements whose questions reported their cost.
    pub const QUESTION_COST_REPORTED: &str = "question_cost_told";
}

/// Figures of the sessions of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentFigures {
    /// The name or path of its preset; empty = agents that are not known.
    pub agent: String,
    /// Its sessions whose end was seen.
    pub sessions: u64,
    /// Tokens that they read and wrote, where one told them.
    pub tokens: Option<(u64, u64)>,
    /// Those that told their tokens.
    pub tokens_reported_by: u64,
    /// US dollars that they cost, where one told it.
    pub cost_usd: Option<f64>,
    /// Those that told their cost.
    pub cost_reported_by: u64,
}

/// Sums by counter. A missing counter is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CounterSums(BTreeMap<String, u64>);

impl CounterSums {
    /// The sum of a word.
    pub fn get_sum(&self, word: &str) -> u64 {
        self.0.get(word).copied().unwrap_or(0)
    }

    /// The words that begin so, without that beginning, each with its sum.
    pub fn below<'a>(&'a self, beginning: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        self.0
            .iter()
            .filter_map(move |(word, sum)| Some((word.strip_prefix(beginning)?, *sum)))
    }

    /// Adds all of another.
    pub fn merge(&mut self, added: &CounterSums) {
        for (word, sum) in &added.0 {
            self.add(word, *sum);
        }
    }

    /// Takes all of another away, down to nothing.
    pub fn subtract(&mut self, removed: &CounterSums) {
        for (word, sum) in &removed.0 {
            if let Some(own) = self.0.get_mut(word) {
                *own = own.saturating_sub(*sum);
            }
        }
        self.0.retain(|_, sum| *sum > 0);
    }

    /// How many verdicts there were.
    pub fn verdicts(&self) -> u64 {
        self.below(word::VERDICT).map(|(_, count)| count).sum()
    }

    /// How many verdicts there were by status, in the contract's order; `other` is of a later version.
    pub fn verdicts_by_status(&self) -> Vec<(&'static str, u64)> {
        let mut seen = HashSet::new();
        let statuses = Reason::ALL
            .iter()
            .map(|reason| reason.status())
            .filter(|status| seen.insert(*status))
            .collect::<Vec<_>>();
        let of = |status| {
            let reasons = Reason::ALL
                .iter()
                .filter(|reason| reason.status() == status);
            reasons
                .map(|reason| self.get_sum(&format!("{}{}", word::VERDICT, reason.as_str())))
                .sum::<u64>()
        };
        let counted = statuses
            .into_iter()
            .map(|status| (status.as_str(), of(status)));
        counted
            .chain([("other", self.get_sum("verdict/other"))])
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// US dollars that sessions cost, where some session told it.
    pub fn cost_usd(&self) -> Option<f64> {
        self.dollars(word::COST, word::COST_REPORTED)
    }

    /// The sessions by agent, those with the most first.
    pub fn by_agent(&self) -> Vec<AgentFigures> {
        let ended = agent_word(word::ENDED, "");
        let figures = |(agent, sessions): (&str, u64)| {
            let of = |counter: &str| self.get_sum(&agent_word(counter, agent));
            let tokens_reported_by = of(word::TOKENS_REPORTED);
            AgentFigures {
                agent: agent.to_owned(),
                sessions,
                tokens: (tokens_reported_by > 0)
                    .then(|| (of(word::TOKENS_IN), of(word::TOKENS_OUT))),
                tokens_reported_by,
                cost_usd: self.dollars(
                    &agent_word(word::COST, agent),
                    &agent_word(word::COST_REPORTED, agent),
                ),
                cost_reported_by: of(word::COST_REPORTED),
            }
        };
        let mut agents: Vec<AgentFigures> = self.below(&ended).map(figures).collect();
        agents.sort_by(|a, b| {
            b.sessions
                .cmp(&a.sessions)
                .then_with(|| a.agent.cmp(&b.agent))
        });
        agents
    }

    /// US dollars that questions cost, where some told it.
    pub fn question_cost_usd(&self) -> Option<f64> {
        self.dollars(word::QUESTION_COST, word::QUESTION_COST_REPORTED)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "money of that size is told to the dollar"
    )]
    fn dollars(&self, micros: &str, reported: &str) -> Option<f64> {
        (self.get_sum(reported) > 0).then(|| self.get_sum(micros) as f64 / 1e6)
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds to a counter. Names of checks beyond [`CHECKS`] are counted together.
    pub(crate) fn add(&mut self, word: &str, amount: u64) {
        if let Some(sum) = self.0.get_mut(word) {
            *sum = sum.saturating_add(amount);
            return;
        }
        let names_check = word.starts_with(measure::UNMET) && word != measure::UNMET;
        let full = names_check
            && self
                .below(measure::UNMET)
                .filter(|(name, _)| !name.is_empty())
                .count()
                >= CHECKS;
        if full {
            self.add(measure::UNMET, amount);
        } else {
            self.0.insert(word.to_owned(), amount);
        }
    }
}

/// The word of a counter of sessions for one agent.
pub(crate) fn agent_word(counter: &str, agent: &str) -> String {
    format!("{}{counter}/{agent}", word::AGENT)
}

/// The day of an event, by UTC.
pub(crate) fn day_of(event: &StoredEvent) -> Date {
    TimeZone::UTC.to_datetime(event.at).date()
}

/// Millionths of a US dollar, which add up to the same in whatever order.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is no negative number, and saturates"
)]
pub(crate) fn cost_micros(usage: &Value) -> Option<u64> {
    let cost = usage["cost_usd"]
        .as_f64()
        .filter(|cost| cost.is_finite() && *cost >= 0.0)?;
    Some((cost * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(of: &[(&str, u64)]) -> CounterSums {
        CounterSums(
            of.iter()
                .map(|(word, sum)| ((*word).to_owned(), *sum))
                .collect(),
        )
    }

    #[test]
    fn subtraction_never_takes_a_counter_below_zero() {
        let mut remaining_sums = sums(&[("all", 2), ("more", 1), ("some", 5), ("untouched", 3)]);
        remaining_sums.subtract(&sums(&[
            ("all", 2),
            ("more", 4),
            ("some", 1),
            ("unknown", 7),
        ]));
        assert_eq!(remaining_sums, sums(&[("some", 4), ("untouched", 3)]));
    }

    #[test]
    fn nonzero_verdicts_are_summed_in_contract_order() {
        let word = |reason: Reason| format!("{}{}", word::VERDICT, reason.as_str());
        let of = |reasons: &[Reason], other_count: u64| {
            let mut sums = sums(&[(word::RESCUES, 9)]);
            reasons
                .iter()
                .for_each(|reason| sums.add(&word(*reason), 1));
            if other_count > 0 {
                sums.add("verdict/other", other_count);
            }
            sums.verdicts_by_status()
        };
        assert_eq!(of(&[], 0), vec![]);
        assert_eq!(of(&[], 2), [("other", 2)]);
        let (first, last) = (Reason::ALL[0], Reason::ALL[Reason::ALL.len() - 1]);
        assert_ne!(first.status(), last.status());
        assert_eq!(
            of(&[last, first, first], 1),
            [
                (first.status().as_str(), 2),
                (last.status().as_str(), 1),
                ("other", 1)
            ]
        );
        let all = of(Reason::ALL, 0);
        assert_eq!(
            all.iter().map(|(_, count)| *count).sum::<u64>(),
            Reason::ALL.len() as u64
        );
        assert_eq!(
            all[0],
            (
                first.status().as_str(),
                Reason::ALL
                    .iter()
                    .filter(|reason| reason.status() == first.status())
                    .count() as u64
            )
        );
    }

    #[test]
    fn cost_is_known_once_it_is_reported() {
        for (counted, sessions, questions) in [
            (sums(&[]), None, None),
            (sums(&[(word::COST, 250_000)]), None, None),
            (
                sums(&[(word::COST, 250_000), (word::COST_REPORTED, 1)]),
                Some(0.25),
                None,
            ),
            (
                sums(&[
                    (word::COST_REPORTED, 2),
                    (word::QUESTION_COST, 1_500_000),
                    (word::QUESTION_COST_REPORTED, 3),
                ]),
                Some(0.0),
                Some(1.5),
            ),
        ] {
            assert_eq!(
                (counted.cost_usd(), counted.question_cost_usd()),
                (sessions, questions),
                "{counted:?}"
            );
        }
    }
}

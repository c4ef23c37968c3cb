//! Rates, medians and remainders of the counters. Uncounted figures are `None`, never zero.

use std::collections::BTreeMap;

use watchdog_facts::verdict::{Reason, Status};

use super::counter_names::measure;
use super::gains::CompletedSpec;
use crate::counters::{CounterSums, word};

/// Aborts, and what came of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AbortCounts {
    /// All.
    pub total: u64,
    /// Work went on within the window: they were false.
    pub went_on: u64,
    /// Those of them where a new session began before.
    pub in_new_session: u64,
    /// Events of the spec came later, and no work within the window.
    pub held: u64,
}

impl AbortCounts {
    /// Those of which nothing is known yet.
    pub fn count_undecided(&self) -> u64 {
        self.total
            .saturating_sub(self.went_on)
            .saturating_sub(self.held)
    }

    /// The figure of the counters with this prefix.
    fn part(&mut self, beginning: &str) -> &mut u64 {
        match beginning {
            measure::WENT_ON => &mut self.went_on,
            measure::WENT_ON_ANEW => &mut self.in_new_session,
            measure::HELD => &mut self.held,
            _ => &mut self.total,
        }
    }

    /// The share of false ones among those that are decided.
    pub fn false_rate(&self) -> Option<f64> {
        compute_share(self.went_on, self.went_on + self.held)
    }
}

/// The middle and the upper end of known amounts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Half of them are at most this.
    pub median: f64,
    /// Nine of ten are at most this.
    pub p90: f64,
    /// How many amounts are known.
    pub count: usize,
}

impl Spread {
    /// By nearest rank; `None` where no amount is known.
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds and micros of that size are shown rounded"
    )]
    fn from_amounts(mut amounts: Vec<u64>) -> Option<Spread> {
        amounts.sort_unstable();
        let at = |percent: usize| {
            amounts
                .get((amounts.len() * percent).div_ceil(100).saturating_sub(1))
                .map(|amount| *amount as f64)
        };
        Some(Spread {
            median: at(50)?,
            p90: at(90)?,
            count: amounts.len(),
        })
    }
}

/// Figures of a period.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasureSummary {
    /// Judgements of sessions.
    pub sessions: u64,
    /// Judgements of a new state without a known session.
    pub changes: u64,
    /// Looks.
    pub looks: u64,
    /// Judgements of both kinds by reason, `other` included.
    pub by_reason: BTreeMap<String, u64>,
    /// Judgements of sessions by reason.
    pub sessions_by_reason: BTreeMap<String, u64>,
    /// Aborts by why.
    pub aborts_by_why: BTreeMap<String, AbortCounts>,
    /// All aborts.
    pub aborts: AbortCounts,
    /// Rescues that were tried, and those that kept everything.
    pub rescues: (u64, u64),
    /// Questions of verdicts: on sessions, on changes, of looks.
    pub questions: [u64; 3],
    /// Questions within iterations.
    pub iteration_questions: u64,
    /// Iterations.
    pub iterations: u64,
    /// Genuine timeouts of sessions.
    pub timeouts: u64,
    /// Strikes.
    pub strikes: u64,
    /// Judgements that were none, by why.
    pub no_strikes: BTreeMap<String, u64>,
    /// Judgements in which a check was not met, by its name; an empty name stands for further ones.
    pub unmet: BTreeMap<String, u64>,
    /// Completions.
    pub completions: u64,
    /// Seconds of the sessions of a completion.
    pub seconds: Option<Spread>,
    /// Millionths of a US dollar of the sessions of a completion.
    pub cost_micros: Option<Spread>,
    /// Sessions of a completion, where some are known.
    pub sessions_each: Option<Spread>,
}

impl MeasureSummary {
    /// Summarises counters of whole days, and the completions of these days that were kept one by one.
    pub fn new<'a>(
        sums: &CounterSums,
        completed: impl IntoIterator<Item = &'a CompletedSpec>,
    ) -> Self {
        let counts = |beginning: &str| {
            sums.below(beginning)
                .map(|(name, count)| (name.to_owned(), count))
                .collect::<BTreeMap<_, _>>()
        };
        let (of_sessions, of_changes) = (
            counts(measure::JUDGED_SESSION),
            counts(measure::JUDGED_CHANGE),
        );
        let mut by_reason = of_sessions.clone();
        for (reason, count) in &of_changes {
            *by_reason.entry(reason.clone()).or_default() += count;
        }
        let mut aborts_by_why = BTreeMap::<String, AbortCounts>::new();
        let mut aborts = AbortCounts::default();
        for beginning in [
            measure::ABORTS,
            measure::WENT_ON,
            measure::WENT_ON_ANEW,
            measure::HELD,
        ] {
            for (why, count) in sums.below(beginning) {
                *aborts_by_why
                    .entry(why.to_owned())
                    .or_default()
                    .part(beginning) += count;
                *aborts.part(beginning) += count;
            }
        }
        let completed: Vec<&CompletedSpec> = completed.into_iter().collect();
        let spread = |of: fn(&CompletedSpec) -> Option<u64>| {
            Spread::from_amounts(completed.iter().filter_map(|spec| of(spec)).collect())
        };
        MeasureSummary {
            sessions: of_sessions.values().sum(),
            changes: of_changes.values().sum(),
            looks: sums.get_sum(measure::LOOKS),
            by_reason,
            sessions_by_reason: of_sessions,
            aborts_by_why,
            aborts,
            rescues: (
                sums.get_sum(word::RESCUES),
                sums.get_sum(measure::RESCUES_KEPT),
            ),
            questions: ["session", "change", "look"]
                .map(|class| sums.get_sum(&format!("{}{class}", measure::QUESTIONS_OF))),
            iteration_questions: sums.get_sum(measure::ITERATION_QUESTIONS),
            iterations: sums.get_sum(word::ITERATIONS),
            timeouts: sums.get_sum(measure::TIMEOUTS),
            strikes: sums.get_sum(measure::STRIKES),
            no_strikes: counts(measure::NO_STRIKE),
            unmet: counts(measure::UNMET),
            completions: sums.get_sum(measure::COMPLETIONS),
            seconds: spread(|spec| spec.seconds),
            cost_micros: spread(|spec| spec.cost_micros),
            sessions_each: spread(|spec| (spec.sessions > 0).then_some(spec.sessions)),
        }
    }

    /// Judgements that are not complete, by reason.
    pub fn held_back(&self) -> BTreeMap<&str, u64> {
        let complete = |word: &str| {
            Reason::ALL
                .iter()
                .any(|reason| reason.as_str() == word && reason.status() == Status::Complete)
        };
        self.by_reason
            .iter()
            .filter(|(reason, _)| !complete(reason))
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect()
    }

    /// All questions of verdicts.
    pub fn all_questions(&self) -> u64 {
        self.questions.iter().sum()
    }

    /// Questions for each session that was judged, those of looks included: they are about sessions, too.
    pub fn questions_per_session(&self) -> Option<f64> {
        compute_share(self.questions[0] + self.questions[2], self.sessions)
    }

    /// Questions for each iteration.
    pub fn questions_per_iteration(&self) -> Option<f64> {
        compute_share(self.iteration_questions, self.iterations)
    }

    /// Genuine timeouts for each session.
    pub fn timeout_rate(&self) -> Option<f64> {
        compute_share(self.timeouts, self.sessions)
    }

    /// The share of rescues that kept everything.
    pub fn rescue_rate(&self) -> Option<f64> {
        compute_share(self.rescues.1, self.rescues.0)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share is shown with two digits"
)]
fn compute_share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sums(counts: &[(&str, u64)]) -> CounterSums {
        serde_json::from_value(
            counts
                .iter()
                .map(|(word, count)| ((*word).to_owned(), json!(count)))
                .collect(),
        )
        .unwrap()
    }

    #[test]
    fn undecided_aborts_are_neither_right_nor_wrong() {
        for (total, went_on, held, undecided, rate) in [
            (0, 0, 0, 0, None),
            (3, 0, 0, 3, None),
            (3, 1, 0, 2, Some(1.0)),
            (4, 1, 1, 2, Some(0.5)),
            (2, 0, 2, 0, Some(0.0)),
        ] {
            let counts = AbortCounts {
                total,
                went_on,
                held,
                in_new_session: 0,
            };
            assert_eq!(
                (counts.count_undecided(), counts.false_rate()),
                (undecided, rate),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn a_spread_is_of_what_is_known() {
        let spread = |amounts: &[u64]| {
            Spread::from_amounts(amounts.to_vec()).map(|spread| (spread.median, spread.p90))
        };
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[7]), Some((7.0, 7.0)));
        assert_eq!(spread(&[4, 1, 3, 2]), Some((2.0, 4.0)));
        assert_eq!(
            spread(&(1..=100).rev().collect::<Vec<_>>()),
            Some((50.0, 90.0))
        );
    }

    #[test]
    fn nothing_counted_is_unknown_and_not_zero() {
        let none = MeasureSummary::new(&CounterSums::default(), &[]);
        let rates = [
            none.questions_per_session(),
            none.questions_per_iteration(),
            none.timeout_rate(),
            none.rescue_rate(),
        ];
        assert_eq!(
            (rates, none.aborts.false_rate(), none.seconds),
            ([None; 4], None, None)
        );
    }

    #[test]
    fn sums_of_both_classes_hold_completions_back() {
        let summary = MeasureSummary::new(
            &sums(&[
                ("judged/session/working", 2),
                ("judged/change/working", 1),
                ("judged/session/new_commits", 4),
                ("judged/change/other", 1),
                ("questions_of/session", 3),
                ("questions_of/look", 3),
                ("aborts/max_probes", 2),
                ("aborts_went_on/max_probes", 1),
                ("aborts_went_on_anew/max_probes", 1),
                ("rescues", 4),
                ("rescues_kept", 3),
            ]),
            &[],
        );
        assert_eq!(
            summary.held_back(),
            BTreeMap::from([("working", 3), ("other", 1)])
        );
        assert_eq!((summary.sessions, summary.changes), (6, 2));
        assert_eq!(
            (summary.questions_per_session(), summary.rescue_rate()),
            (Some(1.0), Some(0.75))
        );
        assert_eq!(
            summary.aborts,
            AbortCounts {
                total: 2,
                went_on: 1,
                in_new_session: 1,
                held: 0
            }
        );
    }
}

//! The counters that events add to the figures of their days. Pure: the size of batches does not change the sums.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::engine::StoredEvent;
use super::journal::kind;
use watchdog_facts::verdict::Reason;

/// The most worktrees with figures of their own in a day; later ones count in the day's figures alone.
pub const WORKTREES: usize = 500;

/// The outcomes of probes that have figures of their own.
pub const OUTCOMES: [&str; 10] = [
    "reply",
    "unreadable",
    "empty",
    "timed_out",
    "no_conversation",
    "not_installed",
    "not_logged_in",
    "overloaded",
    "rate_limited",
    "failed",
];

/// The names of the counters, beside `verdict/<reason>` and `probe/<outcome>`; `other` counts values that this version does not know.
pub mod word {
    /// What the words of verdicts begin with.
    pub const VERDICT: &str = "verdict/";
    /// What the words of probes begin with.
    pub const PROBE: &str = "probe/";
    /// Sessions that began.
    pub const STARTED: &str = "sessions_started";
    /// Sessions whose end was seen.
    pub const ENDED: &str = "sessions_ended";
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

/// Sums by counter. A missing counter is zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CounterSums(BTreeMap<String, u64>);

impl CounterSums {
    /// The sum of a word.
    pub fn of(&self, word: &str) -> u64 {
        self.0.get(word).copied().unwrap_or(0)
    }

    /// The words that begin so, without that beginning, each with its sum.
    pub fn below<'a>(&'a self, beginning: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        self.0.iter().filter_map(move |(word, sum)| Some((word.strip_prefix(beginning)?, *sum)))
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &CounterSums) {
        for (word, sum) in &other.0 {
            self.add(word, *sum);
        }
    }

    /// How many verdicts there were.
    pub fn verdicts(&self) -> u64 {
        self.below(word::VERDICT).map(|(_, count)| count).sum()
    }

    /// How many verdicts there were by status, in the contract's order; `other` is of a later version.
    pub fn verdicts_by_status(&self) -> Vec<(&'static str, u64)> {
        let mut seen = HashSet::new();
        let statuses = Reason::ALL.iter().map(|reason| reason.status()).filter(|status| seen.insert(*status)).collect::<Vec<_>>();
        let of = |status| {
            let reasons = Reason::ALL.iter().filter(|reason| reason.status() == status);
            reasons.map(|reason| self.of(&format!("{}{}", word::VERDICT, reason.as_str()))).sum::<u64>()
        };
        let counted = statuses.into_iter().map(|status| (status.as_str(), of(status)));
        counted.chain([("other", self.of("verdict/other"))]).filter(|(_, count)| *count > 0).collect()
    }

    /// US dollars that sessions cost, where some session told it.
    pub fn cost_usd(&self) -> Option<f64> {
        self.dollars(word::COST, word::COST_REPORTED)
    }

    /// US dollars that questions cost, where some told it.
    pub fn question_cost_usd(&self) -> Option<f64> {
        self.dollars(word::QUESTION_COST, word::QUESTION_COST_REPORTED)
    }

    #[expect(clippy::cast_precision_loss, reason = "money of that size is told to the dollar")]
    fn dollars(&self, micros: &str, reported: &str) -> Option<f64> {
        (self.of(reported) > 0).then(|| self.of(micros) as f64 / 1e6)
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, word: &str, amount: u64) {
        match self.0.get_mut(word) {
            Some(sum) => *sum = sum.saturating_add(amount),
            None => drop(self.0.insert(word.to_owned(), amount)),
        }
    }
}

/// The figures of one day, by UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DayFigures {
    /// Of all worktrees.
    pub all: CounterSums,
    /// By worktree: those that came first.
    pub worktrees: BTreeMap<String, CounterSums>,
    /// Whether some of it was lost, as by a damaged row.
    pub incomplete: bool,
}

impl DayFigures {
    fn take(&mut self, worktree: &str, added: &[(String, u64)]) {
        let room = self.worktrees.len() < WORKTREES;
        let own = match self.worktrees.get_mut(worktree) {
            None if room => Some(self.worktrees.entry(worktree.to_owned()).or_default()),
            own => own,
        };
        for sums in [&mut self.all].into_iter().chain(own) {
            added.iter().for_each(|(word, amount)| sums.add(word, *amount));
        }
    }
}

/// The figures of days.
pub type FiguresByDay = BTreeMap<Date, DayFigures>;

/// The day of an event, by UTC.
pub fn day_of(event: &StoredEvent) -> Date {
    TimeZone::UTC.to_datetime(event.at).date()
}

/// Whether an event adds anything to the figures.
pub fn counts(event: &StoredEvent) -> bool {
    !amounts(event).is_empty()
}

/// Adds an event to the figures of its day.
pub fn add(days: &mut FiguresByDay, event: &StoredEvent) {
    let amounts = amounts(event);
    if !amounts.is_empty() {
        days.entry(day_of(event)).or_default().take(&event.worktree, &amounts);
    }
}

/// The counters that an event adds to.
fn amounts(event: &StoredEvent) -> Vec<(String, u64)> {
    let data = &event.data;
    let one = |word: &str| vec![(word.to_owned(), 1)];
    match event.kind.as_str() {
        // A session inside another one is part of that one.
        kind::SESSION_STARTED | kind::SESSION_ENDED if data["inner"] == true => Vec::new(),
        kind::SESSION_STARTED => one(word::STARTED),
        kind::SESSION_ENDED => ended(data),
        kind::ITERATION => one(word::ITERATIONS),
        kind::VERDICT => {
            let known = |word: &&str| Reason::ALL.iter().any(|reason| reason.as_str() == *word);
            let mut amounts = one(&format!("verdict/{}", data["reason"].as_str().filter(known).unwrap_or("other")));
            amounts.extend(questions(&data["probe_usage"]));
            amounts
        }
        kind::PROBE => one(&format!("probe/{}", data["outcome"].as_str().filter(|word| OUTCOMES.contains(word)).unwrap_or("other"))),
        kind::RESCUE => {
            let commits = data["commits"].as_u64().unwrap_or(0);
            let mut amounts = one(word::RESCUES);
            amounts.extend((commits > 0).then(|| (word::RESCUE_COMMITS.to_owned(), commits)));
            amounts.extend((!data["failed"].is_null()).then(|| (word::RESCUES_FAILED.to_owned(), 1)));
            amounts
        }
        kind::BREAKER if data["state"] == "open" => one(word::TRIPS),
        _ => Vec::new(),
    }
}

/// The usage of a session, as far as it was reported.
fn ended(data: &Value) -> Vec<(String, u64)> {
    let mut amounts = vec![(word::ENDED.to_owned(), 1)];
    let usage = &data["usage"];
    if let (Some(read), Some(written)) = (usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()) {
        amounts.extend([(word::TOKENS_IN.to_owned(), read), (word::TOKENS_OUT.to_owned(), written), (word::TOKENS_REPORTED.to_owned(), 1)]);
    }
    if let Some(micros) = micros(usage) {
        amounts.extend([(word::COST.to_owned(), micros), (word::COST_REPORTED.to_owned(), 1)]);
    }
    amounts
}

/// The cost of a judgement's probes, as far as the agents reported it.
fn questions(usage: &Value) -> Vec<(String, u64)> {
    let requests = usage["requests"].as_u64().unwrap_or(0);
    if requests == 0 {
        return Vec::new();
    }
    let mut amounts = vec![(word::QUESTIONS.to_owned(), requests)];
    if let (Some(read), Some(written)) = (usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()) {
        amounts.extend([
            (word::QUESTION_TOKENS_IN.to_owned(), read),
            (word::QUESTION_TOKENS_OUT.to_owned(), written),
            (word::QUESTION_TOKENS_REPORTED.to_owned(), 1),
        ]);
    }
    if let Some(micros) = micros(usage) {
        amounts.extend([(word::QUESTION_COST.to_owned(), micros), (word::QUESTION_COST_REPORTED.to_owned(), 1)]);
    }
    amounts
}

/// Millionths of a US dollar, which add up to the same in whatever order.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is no negative number, and saturates")]
fn micros(usage: &Value) -> Option<u64> {
    let cost = usage["cost_usd"].as_f64().filter(|cost| cost.is_finite() && *cost >= 0.0)?;
    Some((cost * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::journal::event;

    fn happened(hour: i64, worktree: &str, kind: &str, data: Value) -> StoredEvent {
        event(Timestamp::from_second(1_800_000_000 + hour * 3600).unwrap(), worktree, None, kind, data)
    }

    #[test]
    fn each_kind_adds_what_it_tells_and_what_is_not_told_is_not_zero() {
        let usage = json!({"input_tokens": 100, "output_tokens": 5, "cost_usd": 0.25});
        for (kind, data, expected) in [
            ("session_started", json!({"pid": 1}), &[("sessions_started", 1)][..]),
            ("session_started", json!({"by": "hook", "inner": true}), &[]),
            ("session_started", json!({"by": "hook", "inner": false}), &[("sessions_started", 1)]),
            (
                "session_ended",
                json!({ "usage": usage }),
                &[
                    ("sessions_ended", 1),
                    ("input_tokens", 100),
                    ("output_tokens", 5),
                    ("tokens_told", 1),
                    ("cost_micros", 250_000),
                    ("cost_told", 1),
                ],
            ),
            ("session_ended", json!({"usage": {"input_tokens": 7, "output_tokens": null, "cost_usd": -1.0}}), &[("sessions_ended", 1)]),
            ("session_ended", json!({"usage": {"cost_usd": 0.0}}), &[("sessions_ended", 1), ("cost_micros", 0), ("cost_told", 1)]),
            ("session_ended", json!("nonsense"), &[("sessions_ended", 1)]),
            ("iteration", json!({}), &[("iterations", 1)]),
            ("verdict", json!({"reason": "new_commits"}), &[("verdict/new_commits", 1)]),
            ("verdict", json!({"reason": "of a later version"}), &[("verdict/other", 1)]),
            ("verdict", json!({"unreadable": "{"}), &[("verdict/other", 1)]),
            ("probe", json!({"outcome": "timed_out"}), &[("probe/timed_out", 1)]),
            (
                "verdict",
                json!({"reason": "working", "probe_usage": {"requests": 2, "input_tokens": 9, "output_tokens": 3, "cost_usd": 0.5}}),
                &[
                    ("verdict/working", 1),
                    ("questions", 2),
                    ("question_input_tokens", 9),
                    ("question_output_tokens", 3),
                    ("question_tokens_told", 1),
                    ("question_cost_micros", 500_000),
                    ("question_cost_told", 1),
                ],
            ),
            ("probe", json!({"outcome": "x"}), &[("probe/other", 1)]),
            ("rescue", json!({"commits": 2, "failed": null}), &[("rescues", 1), ("rescue_commits", 2)]),
            ("rescue", json!({"commits": 0, "failed": "why"}), &[("rescues", 1), ("rescues_failed", 1)]),
            ("breaker", json!({"state": "open"}), &[("breaker_trips", 1)]),
            ("breaker", json!({"state": "closed"}), &[]),
            ("commits", json!({}), &[]),
            ("of a later version", json!({}), &[]),
        ] {
            let expected: Vec<(String, u64)> = expected.iter().map(|(word, amount)| ((*word).to_owned(), *amount)).collect();
            assert_eq!(amounts(&happened(0, "w", kind, data.clone())), expected, "{kind} {data}");
        }
    }

    #[test]
    fn every_outcome_of_a_probe_has_a_figure_of_its_own() {
        use watchdog_facts::evidence::ProbeOutcome as P;
        let why = String::new;
        let all = [
            P::Unreadable { why: why() },
            P::Empty,
            P::TimedOut,
            P::NoConversation { why: why() },
            P::NotInstalled { why: why() },
            P::NotLoggedIn { why: why() },
            P::Overloaded { why: why() },
            P::RateLimited { why: why(), retry_at: None },
            P::Failed { why: why() },
        ];
        assert!(all.iter().all(|outcome| OUTCOMES.contains(&outcome.as_str())));
    }

    #[test]
    fn a_day_of_more_worktrees_than_have_room_still_counts_them_all() {
        let mut days = FiguresByDay::new();
        for n in 0..WORKTREES + 20 {
            add(&mut days, &happened(0, &format!("w{n}"), "iteration", json!({})));
        }
        add(&mut days, &happened(0, "w0", "iteration", json!({})));
        let day = days.values().next().unwrap();
        assert_eq!((day.all.of("iterations"), day.worktrees.len()), (WORKTREES as u64 + 21, WORKTREES));
        assert_eq!(day.worktrees["w0"].of("iterations"), 2);
    }

    proptest! {
        #[test]
        fn sums_of_parts_are_the_sum_of_the_whole(
            hours in prop::collection::vec((0..100i64, 0..4u8, 0..5usize), 0..60),
            cut in 0..60usize,
        ) {
            let kinds = ["verdict", "probe", "iteration", "rescue", "commits"];
            let events: Vec<StoredEvent> =
                hours.iter().map(|(hour, tree, at)| happened(*hour, &format!("w{tree}"), kinds[*at], json!({"commits": 1, "reason": "rescued"}))).collect();
            let whole = events.iter().fold(FiguresByDay::new(), |mut days, event| { add(&mut days, event); days });
            let (first, second) = events.split_at(cut.min(events.len()));
            let mut sums = CounterSums::default();
            for part in [first, second] {
                let days = part.iter().fold(FiguresByDay::new(), |mut days, event| { add(&mut days, event); days });
                days.values().for_each(|day| sums.merge(&day.all));
            }
            let mut all = CounterSums::default();
            whole.values().for_each(|day| all.merge(&day.all));
            prop_assert_eq!(&all, &sums);
            let by_worktree = whole.values().flat_map(|day| day.worktrees.values()).fold(CounterSums::default(), |mut sum, own| { sum.merge(own); sum });
            prop_assert_eq!(all, by_worktree);
        }
    }
}

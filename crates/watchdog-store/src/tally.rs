//! The counters that events add to the figures of their days. Pure: the size of batches does not change the sums.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::counters::{AgentFigures, CounterSums, word};
use super::counters::{agent_word, cost_micros, day_of};
use super::engine::StoredEvent;
use super::event_kinds as kind;
use super::measures::{CompletedSpec, MeasureGains, WorkState};
use watchdog_facts::verdict::Reason;

/// The most worktrees with figures of their own in a day; later ones count in the day's figures alone.
pub const WORKTREES: usize = 500;

/// The most specs with figures of their own in a day; later ones count under their worktree, with an empty name.
pub const SPECS: usize = 1_000;

/// The most completions of a day that are kept one by one.
pub const COMPLETED: usize = 200;

/// Characters of an agent's name: a path may be longer.
const AGENT_NAME: usize = 100;

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

/// The figures of one worktree in a day, by spec. An empty name stands for events without a spec, and for specs that are not told apart.
pub type FiguresBySpec = BTreeMap<String, CounterSums>;

/// The figures of one day, by UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayFigures {
    /// Of all worktrees.
    pub all: CounterSums,
    /// By worktree: those that came first; and by spec.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub works: BTreeMap<String, FiguresBySpec>,
    /// Specs that became complete: the first of the day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<CompletedSpec>,
    /// Whether the measures were counted on all of this day. A day that an older version counted has none.
    #[serde(default)]
    pub measured: bool,
    /// Whether some of it was lost, as by a damaged row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

impl DayFigures {
    /// A day of which nothing was counted yet.
    pub fn begin() -> Self {
        DayFigures {
            measured: true,
            ..DayFigures::default()
        }
    }

    fn take(&mut self, worktree: &str, spec: &str, added: &[(String, u64)]) {
        added
            .iter()
            .for_each(|(word, amount)| self.all.add(word, *amount));
        if self.works.len() >= WORKTREES && !self.works.contains_key(worktree) {
            return;
        }
        let is_tracked = self
            .works
            .get(worktree)
            .is_some_and(|specs| specs.contains_key(spec));
        let room = is_tracked || self.works.values().map(BTreeMap::len).sum::<usize>() < SPECS;
        let own = self
            .works
            .entry(worktree.to_owned())
            .or_default()
            .entry(if room { spec } else { "" }.to_owned())
            .or_default();
        added
            .iter()
            .for_each(|(word, amount)| own.add(word, *amount));
    }
}

/// The figures of days.
pub type FiguresByDay = BTreeMap<Date, DayFigures>;

/// A spec, by its worktree's and its own name.
pub type WorkName = (String, String);

/// Days and states of specs while events are added to them.
#[derive(Debug, Default)]
pub struct JournalTally {
    /// The days, those that were loaded included.
    pub days: FiguresByDay,
    /// States of specs between two events.
    pub works: BTreeMap<WorkName, WorkState>,
    /// Days that changed.
    pub changed: BTreeSet<Date>,
}

/// Gains by one event.
#[derive(Debug)]
pub struct EventGains {
    counters: Vec<(String, u64)>,
    measures: MeasureGains,
}

impl EventGains {
    /// The days that these are counted on.
    pub fn days(&self, event: &StoredEvent) -> BTreeSet<Date> {
        let own =
            (!self.counters.is_empty() || self.measures.completed.is_some()).then(|| day_of(event));
        own.into_iter()
            .chain(self.measures.counters.iter().map(|(day, _, _)| *day))
            .collect()
    }
}

impl JournalTally {
    /// Takes an event into the state of its spec, which was loaded before, and returns what it adds.
    pub fn measure(&mut self, event: &StoredEvent) -> EventGains {
        let measures = match WorkState::heeds(&event.kind) {
            true => self.works.entry(work_name(event)).or_default().take(event),
            false => MeasureGains::default(),
        };
        EventGains {
            counters: list_amounts(event),
            measures,
        }
    }

    /// Adds what an event adds to its days, which were loaded before.
    pub fn apply(&mut self, event: &StoredEvent, gains: EventGains) {
        let (worktree, spec) = work_name(event);
        let today = day_of(event);
        if !gains.counters.is_empty() {
            self.day(today).take(&worktree, &spec, &gains.counters);
        }
        for (date, word, amount) in gains.measures.counters {
            let day = self.day(date);
            if day.measured {
                day.take(&worktree, &spec, &[(word, amount)]);
            }
        }
        if let Some(completed) = gains.measures.completed {
            let day = self.day(today);
            if day.measured && day.completed.len() < COMPLETED {
                day.completed.push(completed);
            }
        }
    }

    /// Both, where nothing has to be loaded.
    pub fn add(&mut self, event: &StoredEvent) {
        let gains = self.measure(event);
        self.apply(event, gains);
    }

    fn day(&mut self, date: Date) -> &mut DayFigures {
        self.changed.insert(date);
        self.days.entry(date).or_insert_with(DayFigures::begin)
    }
}

/// The spec that an event is about; an empty name where it has none.
pub fn work_name(event: &StoredEvent) -> WorkName {
    (
        event.worktree.clone(),
        event.spec.clone().unwrap_or_default(),
    )
}

/// The counters that an event adds to.
fn list_amounts(event: &StoredEvent) -> Vec<(String, u64)> {
    let data = &event.data;
    let count_once = |word: &str| vec![(word.to_owned(), 1)];
    match event.kind.as_str() {
        // A session inside another one is part of that one.
        kind::SESSION_STARTED | kind::SESSION_ENDED if data["inner"] == true => Vec::new(),
        kind::SESSION_STARTED => count_once(word::STARTED),
        kind::SESSION_ENDED => usage_amounts(data),
        kind::ITERATION => count_once(word::ITERATIONS),
        kind::VERDICT => {
            let is_reason = |word: &&str| Reason::ALL.iter().any(|reason| reason.as_str() == *word);
            let mut amounts = count_once(&format!(
                "verdict/{}",
                data["reason"].as_str().filter(is_reason).unwrap_or("other")
            ));
            amounts.extend(list_probe_costs(&data["probe_usage"]));
            amounts
        }
        kind::PROBE => count_once(&format!(
            "probe/{}",
            data["outcome"]
                .as_str()
                .filter(|word| OUTCOMES.contains(word))
                .unwrap_or("other")
        )),
        kind::RESCUE => {
            let commits = data["commits"].as_u64().unwrap_or(0);
            let mut amounts = count_once(word::RESCUES);
            amounts.extend((commits > 0).then(|| (word::RESCUE_COMMITS.to_owned(), commits)));
            amounts
                .extend((!data["failed"].is_null()).then(|| (word::RESCUES_FAILED.to_owned(), 1)));
            amounts
        }
        kind::BREAKER if data["state"] == "open" => count_once(word::TRIPS),
        _ => Vec::new(),
    }
}

/// The usage of a session, as far as it was reported.
fn usage_amounts(data: &Value) -> Vec<(String, u64)> {
    let mut amounts = vec![(word::ENDED.to_owned(), 1)];
    let words = [
        word::TOKENS_IN,
        word::TOKENS_OUT,
        word::TOKENS_REPORTED,
        word::COST,
        word::COST_REPORTED,
    ];
    amounts.extend(list_reported_amounts(&data["usage"], words));
    // Sessions that hooks tell of, and those of older versions, say nothing of their agent.
    if let Some(agent) = data.get("agent") {
        let agent: String = agent
            .as_str()
            .unwrap_or_default()
            .chars()
            .take(AGENT_NAME)
            .collect();
        let by_agent: Vec<_> = amounts
            .iter()
            .map(|(counter, amount)| (agent_word(counter, &agent), *amount))
            .collect();
        amounts.extend(by_agent);
    }
    amounts
}

/// The cost of a judgement's probes, as far as the agents reported it.
fn list_probe_costs(usage: &Value) -> Vec<(String, u64)> {
    let requests = usage["requests"].as_u64().unwrap_or(0);
    if requests == 0 {
        return Vec::new();
    }
    let mut amounts = vec![(word::QUESTIONS.to_owned(), requests)];
    let words = [
        word::QUESTION_TOKENS_IN,
        word::QUESTION_TOKENS_OUT,
        word::QUESTION_TOKENS_REPORTED,
        word::QUESTION_COST,
        word::QUESTION_COST_REPORTED,
    ];
    amounts.extend(list_reported_amounts(usage, words));
    amounts
}

/// Tokens and cost, each with how often it was reported.
fn list_reported_amounts(usage: &Value, words: [&str; 5]) -> Vec<(String, u64)> {
    let [tokens_in, tokens_out, tokens_reported, cost, cost_reported] = words;
    let mut amounts = Vec::new();
    if let (Some(read), Some(written)) = (
        usage["input_tokens"].as_u64(),
        usage["output_tokens"].as_u64(),
    ) {
        amounts.extend([
            (tokens_in, read),
            (tokens_out, written),
            (tokens_reported, 1),
        ]);
    }
    if let Some(micros) = cost_micros(usage) {
        amounts.extend([(cost, micros), (cost_reported, 1)]);
    }
    let named = amounts.into_iter();
    named
        .map(|(word, amount)| (word.to_owned(), amount))
        .collect()
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;

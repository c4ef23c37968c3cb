//! What a period came to: figures of all, by day and by worktree.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::PathFilter;
use watchdog_store::tally::{CounterSums, WORKTREES, word};
use watchdog_store::{LocalStore, StoreError, baseline, figures};

/// How many worktrees are told by name: those with the most sessions, then those with the most verdicts.
const MOST_WORKTREES: usize = 20;

/// The figures of a period.
#[derive(Debug)]
pub struct FiguresReport {
    /// The first day, by UTC.
    pub from: Date,
    /// Today, by UTC.
    pub to: Date,
    /// The first day of all for which there are figures; of earlier ones nothing is known.
    pub begins: Option<Date>,
    /// Of the whole period.
    pub total: CounterSums,
    /// By day, from the first for which there can be figures; days in which nothing happened included.
    pub days: Vec<DayTotals>,
    /// By worktree: those with the most.
    pub worktrees: Vec<WorktreeFigures>,
    /// How many worktrees there were in all.
    pub worktrees_total: usize,
    /// What a person should know beside the figures.
    pub notes: Vec<String>,
}

/// The figures of one day.
#[derive(Debug)]
pub struct DayTotals {
    /// By UTC.
    pub date: Date,
    /// What it came to.
    pub sums: CounterSums,
    /// Whether some of it was lost.
    pub incomplete: bool,
}

/// The figures of one worktree.
#[derive(Debug)]
pub struct WorktreeFigures {
    /// Its stable name in the store.
    pub id: String,
    /// Its folder, where a baseline tells it.
    pub path: Option<PathBuf>,
    /// What it came to.
    pub sums: CounterSums,
}

/// Gathers the figures since a day. `tell` is called where that may take a while.
///
/// # Errors
/// When the store cannot be read. One that cannot be written, or a row that cannot be read, is a note.
pub fn report(
    store: &dyn LocalStore,
    below: &PathFilter,
    from: Date,
    today: Date,
    tell: impl FnOnce(),
) -> Result<FiguresReport, StoreError> {
    let period = figures::up_to_now(store, from, tell)?;
    let mut notes = period.notes;
    let meant = if below.is_all() { None } else { Some(meant(store, below)?) };
    let is_meant = |id: &str| meant.as_ref().is_none_or(|meant| meant.contains_key(id));
    let (mut total, mut by_worktree, mut days) = (CounterSums::default(), BTreeMap::<String, CounterSums>::new(), BTreeMap::new());
    for (date, day) in period.days {
        if day.worktrees.len() >= WORKTREES {
            let others = if meant.is_some() { "; what later ones of these did is not in it" } else { "" };
            notes.push(format!("on {date} only the first {WORKTREES} worktrees have figures of their own{others}"));
        }
        if day.incomplete {
            notes.push(format!("the figures of {date} are incomplete, as their row could not be read"));
        }
        let mut sums = if meant.is_none() { day.all } else { CounterSums::default() };
        for (id, own) in day.worktrees.into_iter().filter(|(id, _)| is_meant(id)) {
            if meant.is_some() {
                sums.merge(&own);
            }
            by_worktree.entry(id).or_default().merge(&own);
        }
        total.merge(&sums);
        days.insert(date, DayTotals { date, sums, incomplete: day.incomplete });
    }
    let first = period.begins.map_or(today, |begins| begins.max(from));
    let nothing = |date| DayTotals { date, sums: CounterSums::default(), incomplete: false };
    for date in first.series(jiff::Span::new().days(1)).take_while(|date| *date <= today) {
        days.entry(date).or_insert_with(|| nothing(date));
    }
    let worktrees_total = by_worktree.len();
    let mut worktrees: Vec<WorktreeFigures> = by_worktree.into_iter().map(|(id, sums)| WorktreeFigures { id, path: None, sums }).collect();
    worktrees.sort_by_key(|own| std::cmp::Reverse((own.sums.of(word::STARTED), own.sums.verdicts())));
    worktrees.truncate(MOST_WORKTREES);
    for own in &mut worktrees {
        own.path = match &meant {
            Some(meant) => meant.get(&own.id).cloned(),
            // A name that cannot be read costs its name alone.
            None => baseline::latest(store, &own.id).ok().flatten().map(|(_, found)| found.worktree),
        };
    }
    let days = days.into_values().collect();
    Ok(FiguresReport { from, to: today, begins: period.begins, total, days, worktrees, worktrees_total, notes })
}

/// The worktrees that are meant, with their folders.
fn meant(store: &dyn LocalStore, below: &PathFilter) -> Result<HashMap<String, PathBuf>, StoreError> {
    let mut latest: HashMap<String, baseline::BaselineRecord> = HashMap::new();
    for (id, _, row) in baseline::everywhere(store)? {
        if let Ok(row) = row
            && latest.get(&id).is_none_or(|other| other.at <= row.at)
        {
            latest.insert(id, row);
        }
    }
    let mut found: Vec<(String, PathBuf)> = latest.into_iter().map(|(id, row)| (id, row.worktree)).collect();
    below.choose(&mut found, |(_, worktree)| worktree);
    Ok(found.into_iter().collect())
}

impl FiguresReport {
    /// The object for programs. See `docs/status.md`.
    pub fn to_json(&self) -> Value {
        let day =
            |day: &DayTotals| with(figures_json(&day.sums), [("day", json!(day.date.to_string())), ("incomplete", json!(day.incomplete))]);
        let worktree = |own: &WorktreeFigures| {
            let path = own.path.as_ref().map(|path| path.display().to_string());
            with(figures_json(&own.sums), [("worktree", json!(path)), ("id", json!(own.id))])
        };
        with(
            figures_json(&self.total),
            [
                ("schema", json!(1)),
                ("from", json!(self.from.to_string())),
                ("to", json!(self.to.to_string())),
                ("figures_since", json!(self.begins.map(|day| day.to_string()))),
                ("days", self.days.iter().map(day).collect()),
                ("worktrees", self.worktrees.iter().map(worktree).collect()),
                ("worktrees_total", json!(self.worktrees_total)),
                ("notes", json!(self.notes)),
            ],
        )
    }
}

fn with<const N: usize>(mut object: Value, more: [(&str, Value); N]) -> Value {
    for (key, value) in more {
        object[key] = value;
    }
    object
}

/// Figures of whatever they are about. What no session told is null, not zero.
fn figures_json(sums: &CounterSums) -> Value {
    let of = |word| sums.of(word);
    let counted = |beginning| sums.below(beginning).map(|(word, count)| (word.to_owned(), json!(count))).collect::<Map<_, _>>();
    let total = |beginning: &str| sums.below(beginning).map(|(_, count)| count).sum::<u64>();
    let reported = |word, by| (of(by) > 0).then(|| of(word));
    let ended = of(word::ENDED);
    let statuses: Map<_, _> = sums.verdicts_by_status().into_iter().map(|(status, count)| (status.to_owned(), json!(count))).collect();
    json!({
        "sessions": {"started": of(word::STARTED), "ended": ended},
        "iterations": of(word::ITERATIONS),
        "verdicts": {"total": sums.verdicts(), "by_status": statuses, "by_reason": counted(word::VERDICT)},
        "probes": {"total": total(word::PROBE), "by_outcome": counted(word::PROBE)},
        "questions": {"total": of(word::QUESTIONS),
                      "input_tokens": reported(word::QUESTION_TOKENS_IN, word::QUESTION_TOKENS_REPORTED),
                      "output_tokens": reported(word::QUESTION_TOKENS_OUT, word::QUESTION_TOKENS_REPORTED),
                      "cost_usd": sums.question_cost_usd()},
        "rescues": {"total": of(word::RESCUES), "failed": of(word::RESCUES_FAILED), "commits": of(word::RESCUE_COMMITS)},
        "breaker_trips": of(word::TRIPS),
        "tokens": {"input": reported(word::TOKENS_IN, word::TOKENS_REPORTED), "output": reported(word::TOKENS_OUT, word::TOKENS_REPORTED),
                   "told_by": of(word::TOKENS_REPORTED), "of": ended},
        "cost": {"usd": sums.cost_usd(), "told_by": of(word::COST_REPORTED), "of": ended},
    })
}

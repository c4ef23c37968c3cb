//! The figures of a period as JSON: `watchdog report --json`. See `docs/status.md`.

use std::path::PathBuf;

use jiff::civil::Date;
use serde_json::{Map, Value, json};

use watchdog_store::tally::{CounterSums, word};

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

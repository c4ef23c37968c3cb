//! The figures of a period as JSON: `watchdog report --json`. See `docs/report.md`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::civil::Date;
use serde::Serialize;
use serde_json::{Value, json};

use super::measures_json::measures_json;
use super::task_json::path_text;
use super::verdict_json::as_json;
use watchdog_store::measures::CompletedSpec;
use watchdog_store::tally::{AgentFigures, CounterSums, word};

/// The figures of a period.
#[derive(Debug)]
pub struct FiguresReport {
    /// The first day, by UTC.
    pub from: Date,
    /// Today, by UTC.
    pub to: Date,
    /// The first day of all for which there are figures; of earlier ones nothing is known.
    pub begins: Option<Date>,
    /// The first day with measures; `None` = no day of the period has any.
    pub measured_since: Option<Date>,
    /// Of the whole period.
    pub total: CounterSums,
    /// Of the days with measures.
    pub measured: CounterSums,
    /// Specs that became complete on the days with measures, oldest first.
    pub completed: Vec<CompletedSpec>,
    /// By day, from the first for which there can be figures; days in which nothing happened included.
    pub days: Vec<DayTotals>,
    /// By worktree: those with the most.
    pub worktrees: Vec<WorktreeFigures>,
    /// How many worktrees there were in all.
    pub worktrees_total: usize,
    /// By worktree and spec, of the days with measures: those with the most.
    pub specs: Vec<SpecFigures>,
    /// How many specs there were in all.
    pub specs_total: usize,
    /// Notes for a person beside the figures.
    pub notes: Vec<String>,
}

/// The figures of one day.
#[derive(Debug)]
pub struct DayTotals {
    /// By UTC.
    pub date: Date,
    /// Its sums.
    pub sums: CounterSums,
    /// Whether it has measures.
    pub measured: bool,
    /// Whether some of it was lost.
    pub incomplete: bool,
}

/// The figures of one worktree.
#[derive(Debug)]
pub struct WorktreeFigures {
    /// The machine that it is on; `None` where no fleet is shown.
    pub machine: Option<String>,
    /// Its stable name in the store.
    pub id: String,
    /// Its folder, where a baseline tells it.
    pub path: Option<PathBuf>,
    /// Its sums.
    pub sums: CounterSums,
    /// The same of the days with measures.
    pub measured: CounterSums,
}

/// The figures of one spec of a worktree.
#[derive(Debug)]
pub struct SpecFigures {
    /// The machine that its worktree is on; `None` where no fleet is shown.
    pub machine: Option<String>,
    /// The worktree's stable name in the store.
    pub id: String,
    /// Its folder, where a baseline tells it.
    pub path: Option<PathBuf>,
    /// The spec; empty = events without a spec, or specs that are not told apart.
    pub spec: String,
    /// Its sums on days with measures.
    pub measured: CounterSums,
}

impl FiguresReport {
    /// The object for programs. See `docs/report.md`.
    pub fn to_json(&self) -> Value {
        let measures = |sums: &CounterSums, completed: &dyn Fn(&CompletedSpec) -> bool| {
            self.measured_since.map(|_| {
                measures_json(
                    sums,
                    &self
                        .completed
                        .iter()
                        .filter(|spec| completed(spec))
                        .collect::<Vec<_>>(),
                )
            })
        };
        let day = |day: &DayTotals| DayRow {
            figures: figures_json(&day.sums),
            day: day.date,
            measured: day.measured,
            incomplete: day.incomplete,
        };
        let worktree = |own: &WorktreeFigures| WorkRow {
            figures: Some(figures_json(&own.sums)),
            spec: None,
            worktree: path_text(own.path.as_deref()),
            id: own.id.clone(),
            measures: measures(&own.measured, &|spec| spec.worktree == own.id),
            machine: own.machine.clone(),
        };
        let spec = |own: &SpecFigures| WorkRow {
            figures: None,
            spec: Some(Some(own.spec.clone()).filter(|name| !name.is_empty())),
            worktree: path_text(own.path.as_deref()),
            id: own.id.clone(),
            measures: measures(&own.measured, &|spec| {
                spec.worktree == own.id && spec.spec == own.spec
            }),
            machine: own.machine.clone(),
        };
        let mut report = figures_json(&self.total);
        report["schema"] = 1.into();
        report["from"] = as_json(self.from);
        report["to"] = as_json(self.to);
        report["figures_since"] = as_json(self.begins);
        report["measures_since"] = as_json(self.measured_since);
        report["measures"] = as_json(measures(&self.measured, &|_| true));
        report["days"] = self.days.iter().map(day).map(as_json).collect();
        report["worktrees"] = self.worktrees.iter().map(worktree).map(as_json).collect();
        report["worktrees_total"] = self.worktrees_total.into();
        report["specs"] = self.specs.iter().map(spec).map(as_json).collect();
        report["specs_total"] = self.specs_total.into();
        report["notes"] = as_json(&self.notes);
        report
    }
}

#[derive(Serialize)]
struct DayRow {
    #[serde(flatten)]
    figures: Value,
    day: Date,
    measured: bool,
    incomplete: bool,
}

/// A row of a worktree, or of a spec in it. One of several machines names its own.
#[derive(Serialize)]
struct WorkRow {
    #[serde(flatten)]
    figures: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<Option<String>>,
    worktree: Option<String>,
    id: String,
    measures: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
}

/// Figures of whatever they are about. A figure that no session reported is null, not zero.
fn figures_json(sums: &CounterSums) -> Value {
    let of = |word| sums.get_sum(word);
    let counted = |beginning| sums.below(beginning).collect::<BTreeMap<_, _>>();
    let total = |beginning: &str| sums.below(beginning).map(|(_, count)| count).sum::<u64>();
    let reported = |word, by| (of(by) > 0).then(|| of(word));
    let ended = of(word::ENDED);
    let statuses: BTreeMap<_, _> = sums.verdicts_by_status().into_iter().collect();
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
        "agents": sums.by_agent().iter().map(agent_json).collect::<Vec<_>>(),
        "cost": {"usd": sums.cost_usd(), "told_by": of(word::COST_REPORTED), "of": ended},
    })
}

/// The sessions of one agent; null stands for agents that are not known.
fn agent_json(of: &AgentFigures) -> Value {
    let AgentFigures {
        agent,
        sessions,
        tokens,
        tokens_reported_by,
        cost_usd,
        cost_reported_by,
    } = of;
    json!({
        "agent": Some(agent).filter(|agent| !agent.is_empty()),
        "sessions": sessions,
        "tokens": {"input": tokens.map(|(read, _)| read), "output": tokens.map(|(_, written)| written), "told_by": tokens_reported_by, "of": sessions},
        "cost": {"usd": cost_usd, "told_by": cost_reported_by, "of": sessions},
    })
}

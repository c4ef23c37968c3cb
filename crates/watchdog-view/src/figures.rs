//! The figures of a period: totals, by day and by worktree.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use jiff::civil::Date;

use super::PathFilter;
use super::fleet_overview::machine_of;
use watchdog_judge::wire::figures_json::{DayTotals, FiguresReport, SpecFigures, WorktreeFigures};
use watchdog_store::measures::measure;
use watchdog_store::tally::{CounterSums, WORKTREES, word};
use watchdog_store::{LocalStore, RecordType, StoreError, baseline, figures};

/// How many worktrees are listed by name: those with the most sessions, then those with the most verdicts.
const MOST_WORKTREES: usize = 20;
/// How many specs are listed by name: those with the most judgements.
const MOST_SPECS: usize = 50;

/// Gathers the figures since a day. `tell` is called where that may take a while.
///
/// # Errors
/// When the store cannot be read. A failed write, or an unreadable row, is a note.
pub fn gather_figures(
    store: &dyn LocalStore,
    below: &PathFilter,
    from: Date,
    today: Date,
    tell: impl FnOnce(),
) -> Result<FiguresReport, StoreError> {
    let period = figures::up_to_now(store, from, tell)?;
    let meant = select_worktrees(store, below)?;
    let measured_since = first_measured(&period, from, today);
    let mut notes = period.notes;
    let is_meant = |id: &str| meant.as_ref().is_none_or(|meant| meant.contains_key(id));
    let first = period.begins.map_or(today, |begins| begins.max(from));
    let (mut total, mut total_measured, mut completed) =
        (CounterSums::default(), CounterSums::default(), Vec::new());
    let (mut by_worktree, mut by_spec) = (
        BTreeMap::<String, (CounterSums, CounterSums)>::new(),
        BTreeMap::<_, CounterSums>::new(),
    );
    let (mut days, mut crowded) = (BTreeMap::new(), Vec::new());
    for (date, day) in period.days {
        if day.works.len() >= WORKTREES {
            crowded.push(date);
        }
        if day.incomplete {
            notes.push(format!(
                "the figures of {date} are incomplete, as their row could not be read"
            ));
        }
        let measured = measured_since.is_some_and(|since| since <= date);
        let mut sums = if meant.is_none() {
            day.all
        } else {
            CounterSums::default()
        };
        for (id, specs) in day.works.into_iter().filter(|(id, _)| is_meant(id)) {
            let (all, all_measured) = by_worktree.entry(id.clone()).or_default();
            for (spec, own) in specs {
                if meant.is_some() {
                    sums.merge(&own);
                }
                all.merge(&own);
                if measured {
                    all_measured.merge(&own);
                    by_spec.entry((id.clone(), spec)).or_default().merge(&own);
                }
            }
        }
        total.merge(&sums);
        if measured {
            total_measured.merge(&sums);
            completed.extend(
                day.completed
                    .into_iter()
                    .filter(|spec| is_meant(&spec.worktree)),
            );
        }
        days.insert(
            date,
            DayTotals {
                date,
                sums,
                measured,
                incomplete: day.incomplete,
            },
        );
    }
    if let (Some(first), Some(last)) = (crowded.first(), crowded.last()) {
        let on = if first == last {
            format!("on {first}")
        } else {
            format!("on {} days from {first} to {last}", crowded.len())
        };
        let others = if meant.is_some() {
            "; what later ones of these did is not in it"
        } else {
            ""
        };
        notes.push(format!(
            "{on} only the first {WORKTREES} worktrees have figures of their own{others}"
        ));
    }
    let nothing = |date| DayTotals {
        date,
        sums: CounterSums::default(),
        measured: measured_since.is_some_and(|since| since <= date),
        incomplete: false,
    };
    for date in first
        .series(jiff::Span::new().days(1))
        .take_while(|date| *date <= today)
    {
        days.entry(date).or_insert_with(|| nothing(date));
    }
    let path_of = |id: &str| path_of(store, meant.as_ref(), id);
    let (worktrees_total, specs_total) = (by_worktree.len(), by_spec.len());
    let mut worktrees: Vec<WorktreeFigures> = (by_worktree.into_iter())
        .map(|(id, (sums, measured))| WorktreeFigures {
            machine: None,
            id,
            path: None,
            sums,
            measured,
        })
        .collect();
    worktrees.sort_by_key(|own| Reverse((own.sums.get_sum(word::STARTED), own.sums.verdicts())));
    worktrees.truncate(MOST_WORKTREES);
    worktrees
        .iter_mut()
        .for_each(|own| own.path = path_of(&own.id));
    let mut specs: Vec<SpecFigures> = by_spec
        .into_iter()
        .map(|((id, spec), measured)| SpecFigures {
            machine: None,
            id,
            path: None,
            spec,
            measured,
        })
        .collect();
    let judged = |sums: &CounterSums| {
        sums.below(measure::JUDGED)
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    specs.sort_by_key(|own| Reverse((judged(&own.measured), own.measured.get_sum(word::STARTED))));
    specs.truncate(MOST_SPECS);
    specs.iter_mut().for_each(|own| own.path = path_of(&own.id));
    let days = days.into_values().collect();
    Ok(FiguresReport {
        from,
        to: today,
        begins: period.begins,
        measured_since,
        total,
        measured: total_measured,
        completed,
        days,
        worktrees,
        worktrees_total,
        specs,
        specs_total,
        notes,
    })
}

/// Names the machine of each row of figures that are of a fleet.
pub fn name_machines(figures: &mut FiguresReport) {
    figures
        .worktrees
        .iter_mut()
        .for_each(|own| own.machine = Some(machine_of(&own.id).to_owned()));
    figures
        .specs
        .iter_mut()
        .for_each(|own| own.machine = Some(machine_of(&own.id).to_owned()));
}

/// The first day of a period with measures: the one after the last that an older version counted.
pub(super) fn first_measured(
    period: &figures::PeriodFigures,
    from: Date,
    today: Date,
) -> Option<Date> {
    let first = period.begins?.max(from);
    let last_unmeasured = period
        .days
        .iter()
        .filter(|(_, day)| !day.measured && !day.incomplete)
        .map(|(date, _)| *date)
        .next_back();
    last_unmeasured
        .map_or(Some(first), |day| day.tomorrow().ok())
        .filter(|day| *day <= today)
}

/// The folder of a worktree. A name that cannot be read costs its name alone.
fn path_of(
    store: &dyn LocalStore,
    meant: Option<&HashMap<String, PathBuf>>,
    id: &str,
) -> Option<PathBuf> {
    match meant {
        Some(meant) => meant.get(id).cloned(),
        None => baseline::read_latest_baseline(store, id)
            .ok()
            .flatten()
            .map(|(_, found)| found.worktree),
    }
}

/// The folders of worktrees, where they are known.
pub(super) fn paths_of(
    store: &dyn LocalStore,
    meant: Option<&HashMap<String, PathBuf>>,
    ids: BTreeSet<String>,
) -> BTreeMap<String, String> {
    ids.into_iter()
        .filter_map(|id| path_of(store, meant, &id).map(|path| (id, path.display().to_string())))
        .collect()
}

/// The selected worktrees, with their folders; `None` = all.
pub(super) fn select_worktrees(
    store: &dyn LocalStore,
    below: &PathFilter,
) -> Result<Option<HashMap<String, PathBuf>>, StoreError> {
    if below.is_all() {
        return Ok(None);
    }
    let mut latest: HashMap<String, baseline::BaselineRecord> = HashMap::new();
    for (id, _, row) in baseline::BaselineRecord::list_rows(store)? {
        if let Ok(row) = row
            && latest.get(&id).is_none_or(|newest| newest.at <= row.at)
        {
            latest.insert(id, row);
        }
    }
    let mut worktrees: Vec<(String, PathBuf)> = latest
        .into_iter()
        .map(|(id, row)| (id, row.worktree))
        .collect();
    below.choose(&mut worktrees, |(_, worktree)| worktree);
    Ok(Some(worktrees.into_iter().collect()))
}

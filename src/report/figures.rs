//! The figures of a period: totals, by day and by worktree.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use jiff::civil::Date;

use super::PathFilter;
use crate::wire::figures_json::{DayTotals, FiguresReport, WorktreeFigures};
use watchdog_store::tally::{CounterSums, WORKTREES, word};
use watchdog_store::{LocalStore, StoreError, baseline, figures};

/// How many worktrees are listed by name: those with the most sessions, then those with the most verdicts.
const MOST_WORKTREES: usize = 20;

/// Gathers the figures since a day. `tell` is called where that may take a while.
///
/// # Errors
/// When the store cannot be read. A failed write, or an unreadable row, is a note.
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

/// The selected worktrees, with their folders.
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

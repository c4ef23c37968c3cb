//! Daily figures, folded from the journal as it grows, so that they outlive pruned events and load quickly.
//!
//! A row holds the fold cursor, and one row for each day holds its sums. A fold writes all of them
//! in one transaction and only if no other process folded meanwhile: of two concurrent folds one is
//! discarded, so that no event is counted twice.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::{EventCursor, LocalStore, RowRevision, StoredEvent, SwapOutcome};
use crate::error::StoreError;
use crate::key::RowKey;
use crate::measures::WorkState;
use crate::tally::{
    self, CounterSums, DayFigures, FiguresByDay, FiguresBySpec, JournalTally, WorkName,
};

/// Days that are kept: the last of them, a year and some more. A clock that jumps forward cannot make them all old.
const DAYS: usize = 400;

/// The most specs of which the state between two events is kept; beyond that, those go whose last event is the oldest.
const WORKS: usize = 2_000;

/// How many events a fold has in memory at a time.
const PAGE: usize = 250;

/// How far the journal was folded.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct FoldCursor {
    through: EventCursor,
}

impl RecordType for FoldCursor {
    const KIND: &'static str = "folded";
}

/// The figures of one day, and how far the journal was folded when they were written.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "StoredDay")]
pub(super) struct DayRecord {
    through: EventCursor,
    #[serde(flatten)]
    figures: DayFigures,
}

/// Version 2. Version 1 had `worktrees` without specs, and no measures.
#[derive(Deserialize)]
struct StoredDay {
    through: EventCursor,
    #[serde(flatten)]
    figures: DayFigures,
    #[serde(default)]
    worktrees: BTreeMap<String, CounterSums>,
}

impl RecordType for DayRecord {
    const KIND: &'static str = "figures";
    const VERSION: u64 = 2;
}

impl From<StoredDay> for DayRecord {
    fn from(mut day: StoredDay) -> Self {
        let of_worktree =
            |(worktree, sums)| (worktree, FiguresBySpec::from([(String::new(), sums)]));
        let worktrees = day.worktrees.into_iter().map(of_worktree);
        day.figures.works.extend(worktrees);
        DayRecord {
            through: day.through,
            figures: day.figures,
        }
    }
}

impl RecordType for WorkState {
    const KIND: &'static str = "measured";
}

/// The figures of a period.
#[derive(Debug, Default)]
pub struct PeriodFigures {
    /// The first day of all for which there are figures: of earlier ones nothing is known.
    pub begins: Option<Date>,
    /// The days for which there are figures.
    pub days: FiguresByDay,
    /// Read and write errors, for a person.
    pub notes: Vec<String>,
}

fn fold_cursor_key() -> RowKey {
    RowKey::new(FoldCursor::KIND, &["journal"])
}

fn day_key(day: Date) -> RowKey {
    RowKey::new(DayRecord::KIND, &[&day.to_string()])
}

/// The rows that events are added to, each loaded once.
struct LoadedRows<'a> {
    store: &'a dyn LocalStore,
    tally: JournalTally,
    days: BTreeMap<Date, Option<RowRevision>>,
    works: BTreeMap<WorkName, (Option<RowRevision>, WorkState)>,
}

impl<'a> LoadedRows<'a> {
    fn new(store: &'a dyn LocalStore) -> Self {
        LoadedRows {
            store,
            tally: JournalTally::default(),
            days: BTreeMap::new(),
            works: BTreeMap::new(),
        }
    }

    fn add(&mut self, event: &StoredEvent) -> Result<(), StoreError> {
        if WorkState::heeds(&event.kind)
            && let Entry::Vacant(unread) = self.works.entry(tally::work_name(event))
        {
            let (rev, state) = load_work_state(self.store, unread.key())?;
            self.tally.works.insert(unread.key().clone(), state.clone());
            unread.insert((rev, state));
        }
        let gains = self.tally.measure(event);
        for date in gains.days(event) {
            if let Entry::Vacant(unread) = self.days.entry(date) {
                let (rev, figures) = load_day(self.store, date)?;
                unread.insert(rev);
                self.tally.days.insert(date, figures);
            }
        }
        self.tally.apply(event, gains);
        Ok(())
    }
}

/// Folds the next `at_most` events into the figures, and says how many there were; 0 also where another process was quicker.
///
/// # Errors
/// When rows or events cannot be read, or it is not known whether the figures were written.
pub fn fold_events(store: &dyn LocalStore, at_most: usize) -> Result<usize, StoreError> {
    let (found, mut end) = read_fold_cursor(store)?;
    let mut rows = LoadedRows::new(store);
    let mut count = 0;
    // Many events are held a page at a time, while each row is read and written once for all of them.
    while count < at_most {
        let page = PAGE.min(at_most - count);
        let (events, through) = store.read_events(end, page)?;
        events.iter().try_for_each(|event| rows.add(event))?;
        end = through;
        count += events.len();
        if events.len() < page {
            break;
        }
    }
    if count == 0 {
        return Ok(0);
    }
    let LoadedRows {
        tally:
            JournalTally {
                mut days,
                works,
                changed,
            },
        days: revs,
        works: before,
        ..
    } = rows;
    let mut writes = vec![(
        fold_cursor_key(),
        found.into(),
        row::encode_row(&FoldCursor { through: end }),
    )];
    let (mut new_day, mut new_work) = (false, false);
    for date in changed {
        let rev = revs.get(&date).copied().flatten();
        new_day |= rev.is_none();
        let figures = days.remove(&date).unwrap_or_else(DayFigures::begin);
        writes.push((
            day_key(date),
            rev.into(),
            row::encode_row(&DayRecord {
                figures,
                through: end,
            }),
        ));
    }
    for (name, state) in works {
        if let Some((rev, _)) = before.get(&name).filter(|(_, before)| *before != state) {
            new_work |= rev.is_none();
            writes.push((work_key(&name), (*rev).into(), row::encode_row(&state)));
        }
    }
    match store.cas_all(&writes)? {
        SwapOutcome::Ok(_) => {
            if new_day {
                forget_old(store)?;
            }
            if new_work {
                forget_old_works(store)?;
            }
            Ok(count)
        }
        SwapOutcome::Conflict => Ok(0),
        // The next fold reads the cursor again, and so counts no event twice.
        SwapOutcome::Unknown(failure) => Err(failure),
    }
}

/// How far the journal was folded, with the revision of the row that says so.
fn read_fold_cursor(
    store: &dyn LocalStore,
) -> Result<(Option<RowRevision>, EventCursor), StoreError> {
    match load_undamaged::<FoldCursor>(store, &fold_cursor_key())? {
        (None, _) => Ok((None, EventCursor::START)),
        (rev, Some(cursor)) => Ok((rev, cursor.through)),
        (rev, None) => {
            // The days know it as well: whichever was written last.
            let mut last = EventCursor::START;
            row::visit_rows::<DayRecord>(store, &[], |_, day| {
                last = day.map_or(last, |day| last.max(day.through))
            })?;
            Ok((rev, last))
        }
    }
}

/// The revision of a row, and the row itself unless it is damaged.
fn load_undamaged<R: RecordType>(
    store: &dyn LocalStore,
    key: &RowKey,
) -> Result<(Option<RowRevision>, Option<R>), StoreError> {
    let Some((rev, bytes)) = store.get(key)? else {
        return Ok((None, None));
    };
    match row::decode_row(key, &bytes) {
        Ok(row) => Ok((Some(rev), Some(row))),
        Err(newer @ StoreError::NewerRecord { .. }) => Err(newer),
        Err(_) => Ok((Some(rev), None)),
    }
}

/// The stored figures of a day. A damaged row is replaced by an empty one, with a note.
fn load_day(
    store: &dyn LocalStore,
    date: Date,
) -> Result<(Option<RowRevision>, DayFigures), StoreError> {
    let (rev, day) = load_undamaged::<DayRecord>(store, &day_key(date))?;
    let empty_day = || DayFigures {
        incomplete: rev.is_some(),
        ..DayFigures::begin()
    };
    Ok((rev, day.map_or_else(empty_day, |day| day.figures)))
}

fn work_key((worktree, spec): &WorkName) -> RowKey {
    row::spec_key::<WorkState>(worktree, spec)
}

/// The stored state of a spec. A damaged row is one of which nothing is known.
fn load_work_state(
    store: &dyn LocalStore,
    name: &WorkName,
) -> Result<(Option<RowRevision>, WorkState), StoreError> {
    let (rev, state) = load_undamaged::<WorkState>(store, &work_key(name))?;
    Ok((rev, state.unwrap_or_default()))
}

fn forget_old_works(store: &dyn LocalStore) -> Result<(), StoreError> {
    let revs = store.revisions(&RowKey::prefix(WorkState::KIND, &[]))?;
    if revs.len() <= WORKS {
        return Ok(());
    }
    let mut last = BTreeMap::new();
    row::visit_rows::<WorkState>(store, &[], |key, state| {
        last.insert(
            key.clone(),
            state.ok().and_then(|state| state.last_event_at()),
        );
    })?;
    let mut oldest: Vec<_> = revs
        .into_iter()
        .map(|(key, rev)| (last.get(&key).copied().flatten(), key, rev))
        .collect();
    oldest.sort_by_key(|(at, _, _)| *at);
    // Some more at once, so that this is not done for each new spec.
    for (_, key, rev) in &oldest[..oldest.len() - WORKS + WORKS / 10] {
        let _kept = store.delete(key, *rev)?;
    }
    Ok(())
}

fn forget_old(store: &dyn LocalStore) -> Result<(), StoreError> {
    let rows = store.revisions(&RowKey::prefix(DayRecord::KIND, &[]))?;
    for (key, rev) in &rows[..rows.len().saturating_sub(DAYS)] {
        // A row that stays is removed by the next run.
        let _kept = store.delete(key, *rev)?;
    }
    Ok(())
}

/// The figures from a day on, as the rows have them.
pub fn read_figures_since(store: &dyn LocalStore, from: Date) -> Result<PeriodFigures, StoreError> {
    const PAGE: usize = 16;
    let mut period = PeriodFigures::default();
    // Keys are in the order of their days.
    let mut after = from.yesterday().ok().map(day_key);
    loop {
        let page = store.list(&RowKey::prefix(DayRecord::KIND, &[]), after.as_ref(), PAGE)?;
        for entry in &page {
            let Ok(date) = entry.key.last_part().parse::<Date>() else {
                continue;
            };
            match row::decode_row::<DayRecord>(&entry.key, &entry.value) {
                Ok(day) => drop(period.days.insert(date, day.figures)),
                Err(error) => {
                    period.notes.push(error.to_string());
                    period.days.insert(
                        date,
                        DayFigures {
                            incomplete: true,
                            ..DayFigures::default()
                        },
                    );
                }
            }
        }
        if page.len() < PAGE {
            let first = store.list(&RowKey::prefix(DayRecord::KIND, &[]), None, 1)?;
            period.begins = first
                .first()
                .and_then(|entry| entry.key.last_part().parse().ok());
            return Ok(period);
        }
        after = page.into_iter().next_back().map(|entry| entry.key);
    }
}

/// The same, after folding the events that were not folded yet; if the fold cannot be stored, the result includes them all the same. Calls
/// `tell` once where there is much to fold, as on the first day.
pub fn up_to_now(
    store: &dyn LocalStore,
    from: Date,
    tell: impl FnOnce(),
) -> Result<PeriodFigures, StoreError> {
    // A row is read and written once for each of these, and a fold that another process overtook is done anew.
    const BATCH: usize = 100_000;
    const LOST: u32 = 20;
    let (mut batches, mut lost, mut tell) = (0, 0, Some(tell));
    let unwritten = loop {
        match fold_events(store, BATCH) {
            Ok(BATCH) => batches += 1,
            Ok(0)
                if store
                    .read_events(read_fold_cursor(store)?.1, 1)?
                    .0
                    .is_empty() =>
            {
                break None;
            }
            Ok(0) if lost < LOST => lost += 1,
            Ok(0) => {
                break Some(StoreError::Contended {
                    what: "figures of this day".into(),
                    attempts: LOST,
                });
            }
            Ok(_) => break None,
            Err(error) => break Some(error),
        }
        if batches == 1
            && let Some(tell) = tell.take()
        {
            tell();
        }
    };
    let mut period = read_figures_since(store, from)?;
    if let Some(error) = unwritten {
        period.notes.push(format!(
            "what happened lately is counted, but not kept: {error}"
        ));
        // Without a readable cursor no event is added, so that none is counted twice.
        let Ok((_, mut through)) = read_fold_cursor(store) else {
            return Ok(period);
        };
        let mut tally = JournalTally {
            days: std::mem::take(&mut period.days),
            ..JournalTally::default()
        };
        loop {
            let (events, end) = store.read_events(through, PAGE)?;
            if events.is_empty() {
                break;
            }
            for event in &events {
                if WorkState::heeds(&event.kind)
                    && let Entry::Vacant(unread) = tally.works.entry(tally::work_name(event))
                {
                    // An unreadable state counts as the one before the first event.
                    let state = load_work_state(store, unread.key())
                        .map_or_else(|_| WorkState::default(), |(_, state)| state);
                    unread.insert(state);
                }
                tally.add(event);
            }
            through = end;
        }
        period.days = tally.days;
        period.days.retain(|day, _| *day >= from);
        let counted = period.days.first_key_value().map(|(day, _)| *day);
        period.begins = [period.begins, counted].into_iter().flatten().min();
    }
    Ok(period)
}

/// On how many days worktrees have figures of their own.
pub fn days_of(store: &dyn LocalStore, worktrees: &BTreeSet<String>) -> Result<u64, StoreError> {
    let mut days = 0;
    row::visit_rows::<DayRecord>(store, &[], |_, day| {
        days += u64::from(day.is_ok_and(|day| names_one_of(&day, worktrees)))
    })?;
    Ok(days)
}

/// Removes the figures of single worktrees. The totals stay: the cost was real. Folds pending events first, so that the totals include
/// them.
pub fn remove_worktrees(
    store: &dyn LocalStore,
    worktrees: &BTreeSet<String>,
) -> Result<(), StoreError> {
    const BATCH: usize = 10_000;
    while fold_events(store, BATCH)? == BATCH {}
    let mut keys = Vec::new();
    row::visit_rows::<DayRecord>(store, &[], |key, day| {
        keys.extend(
            day.ok()
                .filter(|day| names_one_of(day, worktrees))
                .map(|_| key.clone()),
        )
    })?;
    keys.iter().try_for_each(|key| {
        row::update_row(store, key, |day: Option<DayRecord>| {
            let mut day = day.unwrap_or(DayRecord {
                figures: DayFigures::begin(),
                through: EventCursor::START,
            });
            day.figures
                .works
                .retain(|worktree, _| !worktrees.contains(worktree));
            day.figures
                .completed
                .retain(|completed| !worktrees.contains(&completed.worktree));
            (day, ())
        })
    })?;
    for worktree in worktrees {
        for (key, rev) in store.revisions(&RowKey::prefix(WorkState::KIND, &[worktree]))? {
            // On a conflict another process folds an event of it, which the next call removes.
            if let SwapOutcome::Unknown(failure) = store.delete(&key, rev)? {
                return Err(failure);
            }
        }
    }
    Ok(())
}

fn names_one_of(day: &DayRecord, worktrees: &BTreeSet<String>) -> bool {
    worktrees
        .iter()
        .any(|worktree| day.figures.works.contains_key(worktree))
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;

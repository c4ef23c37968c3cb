//! Folding counts every event exactly once, for any order, number and size of folds.

use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::date;
use serde_json::json;

use super::*;
use crate::SqliteStore;
use crate::engine::{NewEvent, SharedStore as _, StoredEvent};
use crate::journal::{new_event, tidy_journal};
use crate::sqlite::tests::Scratch;
use crate::tally::word;

fn begun() -> Timestamp {
    "2026-03-01T00:00:00Z".parse().unwrap()
}

/// One event of every counted kind and one that is not, in turn, one each hour.
fn events(count: i64) -> Vec<NewEvent> {
    let of = |n: i64| {
        let (kind, data) = [
            ("verdict", json!({"reason": "new_commits"})),
            ("probe", json!({"outcome": "reply"})),
            ("commits", json!({})),
            (
                "session_ended",
                json!({"usage": {"input_tokens": n, "output_tokens": 1, "cost_usd": 0.5}}),
            ),
            ("rescue", json!({"commits": 2})),
            (
                "verdict",
                json!({"reason": "max_probes", "head": n.to_string()}),
            ),
            ("commits", json!({"made_here": n % 5})),
        ][usize::try_from(n % 7).unwrap()]
        .clone();
        new_event(
            begun() + Duration::from_secs(n.unsigned_abs() * 3600),
            &format!("w{}", n % 4),
            Some("s"),
            kind,
            data,
        )
    };
    (0..count).map(of).collect()
}

fn counted(events: &[StoredEvent]) -> FiguresByDay {
    let mut tally = JournalTally::default();
    events.iter().for_each(|event| tally.add(event));
    tally.days
}

fn append(store: &dyn LocalStore, events: &[NewEvent]) {
    let _done = store.append(events, None).unwrap();
}

/// Leaves the store as if nobody had counted its events yet.
fn count_anew(store: &dyn LocalStore) {
    for (key, rev) in store.revisions("").unwrap() {
        let _done = store.delete(&key, rev).unwrap();
    }
}

fn uncounted(store: &dyn LocalStore) -> Vec<StoredEvent> {
    store
        .read_events(read_fold_cursor(store).unwrap().1, 10_000)
        .unwrap()
        .0
}

fn all(store: &dyn LocalStore) -> PeriodFigures {
    up_to_now(store, date(2026, 1, 1), || {}).unwrap()
}

#[test]
fn folds_in_whatever_pieces_come_to_the_same() {
    let events = events(200);
    let expected = counted(&events);
    for pieces in [1, 3, 7, 1000] {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        for part in events.chunks(37) {
            append(&store, part);
            while fold_events(&store, pieces).unwrap() > 0 {}
        }
        let period = read_figures_since(&store, date(2026, 1, 1)).unwrap();
        assert_eq!(
            (period.days, period.notes),
            (expected.clone(), Vec::<String>::new()),
            "{pieces}"
        );
        assert_eq!(fold_events(&store, 10).unwrap(), 0, "nothing is left");
        let later = read_figures_since(&store, date(2026, 3, 4)).unwrap().days;
        assert_eq!(
            later.first_key_value().map(|(day, _)| *day),
            Some(date(2026, 3, 4))
        );
    }
}

#[test]
fn concurrent_folds_count_each_event_once() {
    let scratch = Scratch::new();
    let events = events(600);
    thread::scope(|scope| {
        let folding = || {
            scope.spawn(|| {
                let store = SqliteStore::open(&scratch.dir).unwrap();
                for _ in 0..80 {
                    fold_events(&store, 11).unwrap();
                }
            })
        };
        let folders = [folding(), folding(), folding()];
        let store = SqliteStore::open(&scratch.dir).unwrap();
        events.chunks(20).for_each(|part| append(&store, part));
        folders
            .into_iter()
            .for_each(|folder| folder.join().unwrap());
    });
    let store = SqliteStore::open(&scratch.dir).unwrap();
    assert_eq!(all(&store).days, counted(&events));
}

#[test]
fn figures_outlive_the_events_that_they_came_from() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let events = events(3_000);
    append(&store, &events);
    let long_after = begun() + Duration::from_secs(86_400 * 400);
    let mut gone = 0;
    for _ in 0..9 {
        gone += tidy_journal(&store, long_after, 1).unwrap();
    }
    assert_eq!(gone, 2_000, "the newest thousand stay");
    assert_eq!(all(&store).days, counted(&events));
}

#[test]
fn damaged_row_is_reported_and_later_events_count() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let events = events(60);
    append(&store, &events[..48]);
    while fold_events(&store, 100).unwrap() > 0 {}
    let damage = |key: RowKey, bytes: &[u8]| store.keep_hints(&[(key, bytes.to_vec())]).unwrap();
    damage(fold_cursor_key(), b"{\"v\":1,\"through\":\"x\"}");
    append(&store, &events[48..50]);
    assert_eq!(
        all(&store).days,
        counted(&events[..50]),
        "the days know how far the journal was folded"
    );

    damage(day_key(date(2026, 3, 3)), b"not json");
    let period = all(&store);
    assert!(
        period.days[&date(2026, 3, 3)].incomplete && period.notes.len() == 1,
        "{:?}",
        period.notes
    );
    append(&store, &events[50..]);
    let period = all(&store);
    let day = &period.days[&date(2026, 3, 3)];
    assert!(
        day.incomplete && period.notes.is_empty(),
        "{:?}",
        period.notes
    );
    let mut tally = JournalTally::default();
    events[..50].iter().for_each(|event| tally.add(event));
    tally.days.remove(&date(2026, 3, 3));
    events[50..].iter().for_each(|event| tally.add(event));
    assert_eq!(
        day.all,
        tally.days[&date(2026, 3, 3)].all,
        "what is left of it"
    );
    assert_eq!(
        period.days[&date(2026, 3, 2)],
        counted(&events)[&date(2026, 3, 2)]
    );
}

#[test]
fn later_version_rows_stay_and_known_figures_appear() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let events = events(30);
    append(&store, &events[..24]);
    while fold_events(&store, 100).unwrap() > 0 {}
    let newer = b"{\"v\":99}".to_vec();
    store
        .keep_hints(&[(fold_cursor_key(), newer.clone())])
        .unwrap();
    // Now and then an append counts, too.
    append(&store, &events[24..]);
    let period = all(&store);
    assert_eq!(
        (period.days, period.notes.len()),
        (counted(&events[..24]), 1),
        "nothing twice"
    );
    assert_eq!(
        store
            .get(&fold_cursor_key())
            .unwrap()
            .map(|(_, value)| value),
        Some(newer)
    );
    tidy_journal(&store, begun(), 1).expect("the journal is kept short all the same");

    // On a full disk the report still shows today's events.
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    store
        .keep_hints(&[(day_key(date(2026, 3, 2)), b"{\"v\":99}".to_vec())])
        .unwrap();
    append(&store, &events);
    let period = all(&store);
    assert_eq!(period.notes.len(), 2, "{:?}", period.notes);
    assert_eq!(
        period.days[&date(2026, 3, 1)],
        counted(&events)[&date(2026, 3, 1)]
    );
    assert_eq!(period.begins, Some(date(2026, 3, 1)));
    assert!(period.days[&date(2026, 3, 2)].incomplete);
}

#[test]
fn days_of_a_year_and_more_are_kept() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let daily: Vec<NewEvent> = (0..430)
        .map(|day: u64| {
            new_event(
                begun() + Duration::from_secs(day * 86_400),
                "w",
                None,
                "iteration",
                json!({}),
            )
        })
        .collect();
    append(&store, &daily);
    while fold_events(&store, 100).unwrap() > 0 {}
    let days = read_figures_since(&store, date(2020, 1, 1)).unwrap().days;
    assert_eq!(
        (
            days.len(),
            days.values()
                .map(|day| day.all.get_sum(word::ITERATIONS))
                .sum::<u64>()
        ),
        (DAYS, DAYS as u64)
    );
    assert_eq!(
        days.first_key_value().map(|(day, _)| *day),
        Some(date(2026, 3, 31))
    );
}

#[test]
fn day_counted_by_older_version_has_no_measures() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let old = br#"{"v":1,"through":0,"all":{"iterations":2},"worktrees":{"w0":{"iterations":2}}}"#
        .to_vec();
    store
        .keep_hints(&[(day_key(date(2026, 3, 1)), old)])
        .unwrap();
    append(&store, &events(48));
    let days = all(&store).days;
    let [first, second] = [date(2026, 3, 1), date(2026, 3, 2)].map(|date| &days[&date]);
    assert_eq!((first.measured, second.measured), (false, true));
    assert_eq!(first.all.get_sum(word::ITERATIONS), 2, "what it had stays");
    assert!(
        first.all.verdicts() > 0
            && first.all.below("judged/").count() == 0
            && first.completed.is_empty(),
        "{first:?}"
    );
    assert!(second.all.below("judged/").count() > 0, "{second:?}");
    assert!(
        first.works["w0"].contains_key("") && first.works["w0"].contains_key("s"),
        "{first:?}"
    );
}

#[test]
fn spec_states_are_bounded_keeping_the_newest() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let of = |n: u64| {
        new_event(
            begun() + Duration::from_secs(n),
            &format!("w{n}"),
            Some("s"),
            "verdict",
            json!({"reason": "working"}),
        )
    };
    append(&store, &(0..WORKS as u64 + 50).map(of).collect::<Vec<_>>());
    while fold_events(&store, 1_000).unwrap() > 0 {}
    let kept = store
        .revisions(&RowKey::prefix(WorkState::KIND, &[]))
        .unwrap();
    assert_eq!(kept.len(), WORKS - WORKS / 10);
    assert!(
        store
            .get(&work_key(&(format!("w{}", WORKS + 49), "s".into())))
            .unwrap()
            .is_some()
    );
}

#[test]
fn fold_over_several_pages_equals_its_events() {
    let events = events(i64::try_from(2 * PAGE + 300).unwrap());
    let expected = counted(&events);
    for pieces in [PAGE, PAGE + 1, 3 * PAGE] {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        append(&store, &events);
        count_anew(&store);
        assert_eq!(
            fold_events(&store, pieces).unwrap(),
            pieces.min(events.len())
        );
        while fold_events(&store, pieces).unwrap() > 0 {}
        assert_eq!(
            read_figures_since(&store, date(2026, 1, 1)).unwrap().days,
            expected,
            "{pieces}"
        );
    }
}

#[test]
fn growing_journal_is_counted_along_the_way() {
    let events = events(2_600);
    for at_once in [7, 1_000, 2_600] {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        events.chunks(at_once).for_each(|part| append(&store, part));
        let left = uncounted(&store).len();
        assert!(
            left < 1_000,
            "{left} of {at_once} at once are left to count"
        );
        let so_far = &events[..events.len() - left];
        assert_eq!(
            read_figures_since(&store, date(2026, 1, 1)).unwrap().days,
            counted(so_far),
            "{at_once}"
        );
        // The same ids once more are no further events.
        append(&store, &events[..1_000]);
        assert_eq!(all(&store).days, counted(&events), "{at_once}");
    }
}

#[test]
fn uncounted_long_journal_is_caught_up_gradually() {
    let scratch = Scratch::new();
    let store = SqliteStore::open(&scratch.dir).unwrap();
    let events = events(4_500);
    append(&store, &events[..2_000]);
    count_anew(&store);
    assert_eq!(uncounted(&store).len(), 2_000);
    // Numbers of events begin anywhere, and two thousand pass two thousands.
    events[2_000..]
        .chunks(100)
        .for_each(|part| append(&store, part));
    let left = uncounted(&store).len();
    assert!(left < 1_000, "{left} are left");
    assert_eq!(all(&store).days, counted(&events));
}

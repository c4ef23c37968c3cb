//! The suite of [`SharedStore`], for every engine: each function takes an engine that is empty and panics where a promise is broken.
//! [`on_each_shared_test`](crate::on_each_shared_test) makes tests of them.

#![allow(clippy::missing_panics_doc, reason = "a test that fails panics")]

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::engine::{
    AppendOutcome, EventCursor, ExpectedRevision, Lease, LeaseRenewal, NewEvent, RowRevision,
    SharedStore, SwapOutcome,
};
use crate::journal::kind;
use crate::{RowKey, journal};

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(300);

/// Makes a test of each function of the suite: `$on` is called with it, and has to hand it an empty engine.
#[macro_export]
macro_rules! on_each_shared_test {
    ($on:path) => {
        $crate::on_each_shared_test!($on:
            a_write_that_expects_something_else_changes_nothing
            writes_that_belong_together_happen_together_or_not_at_all
            listing_pages_through_exactly_the_keys_below_the_prefix
            a_lease_has_one_holder_and_its_fence_only_grows
            whoever_lost_a_lease_has_no_effect_any_more
            an_expired_lease_is_lost_even_where_nobody_else_took_it
            an_event_is_stored_once_and_unchanged
            a_reader_that_follows_misses_nothing_while_many_write
            any_sequence_of_writes_reads_back_as_in_a_plain_map
        );
    };
    ($on:path: $($name:ident)+) => {
        $(#[test]
        fn $name() {
            $on($crate::shared_suite::$name);
        })+
    };
}

pub(crate) fn key(name: &str) -> RowKey {
    RowKey::new("test", &[name])
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a second of this age")
}

pub(crate) fn happened(second: i64) -> NewEvent {
    journal::new_event(
        at(second),
        "wt",
        Some("auth"),
        kind::PROBE,
        serde_json::json!({ "n": second }),
    )
}

#[track_caller]
pub(crate) fn written(cas: SwapOutcome) -> RowRevision {
    match cas {
        SwapOutcome::Ok(rev) => rev,
        other => panic!("{other:?}"),
    }
}

fn taken(lease: Option<Lease>) -> Lease {
    lease.expect("nobody held the lease")
}

/// Waits for what must come true, at most half a minute.
fn eventually<T>(mut find: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "it never came true"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// See its name.
pub fn a_write_that_expects_something_else_changes_nothing(store: &dyn SharedStore) {
    let k = key("a");
    assert_eq!(store.get(&k).unwrap(), None);
    let first = written(store.cas(&k, ExpectedRevision::Absent, b"1").unwrap());
    assert_eq!(
        store.cas(&k, ExpectedRevision::Absent, b"2").unwrap(),
        SwapOutcome::Conflict
    );
    let second = written(store.cas(&k, ExpectedRevision::Rev(first), b"2").unwrap());
    assert_eq!(
        store.cas(&k, ExpectedRevision::Rev(first), b"3").unwrap(),
        SwapOutcome::Conflict
    );
    assert_eq!(store.get(&k).unwrap(), Some((second, b"2".to_vec())));
    assert_eq!(store.delete(&k, first).unwrap(), SwapOutcome::Conflict);
    assert_eq!(store.delete(&k, second).unwrap(), SwapOutcome::Ok(second));
    assert_eq!(
        store.cas(&k, ExpectedRevision::Rev(second), b"4").unwrap(),
        SwapOutcome::Conflict
    );
    let third = written(store.cas(&k, ExpectedRevision::Absent, b"1").unwrap());
    assert!(third != first && third != second, "a revision came back");
}

/// See its name.
pub fn writes_that_belong_together_happen_together_or_not_at_all(store: &dyn SharedStore) {
    let (a, b) = (key("a"), key("b"));
    let write = |key: &RowKey, expect, value: &[u8]| (key.clone(), expect, value.to_vec());
    let rev = written(
        store
            .cas_all(&[
                write(&a, ExpectedRevision::Absent, b"1"),
                write(&b, ExpectedRevision::Absent, b"1"),
            ])
            .unwrap(),
    );
    assert_eq!(store.get(&b).unwrap(), Some((rev, b"1".to_vec())));
    let (of_a, _) = store.get(&a).unwrap().unwrap();
    let late = [
        write(&a, ExpectedRevision::Rev(of_a), b"2"),
        write(&b, ExpectedRevision::Rev(of_a), b"2"),
    ];
    assert_eq!(store.cas_all(&late).unwrap(), SwapOutcome::Conflict);
    assert_eq!(
        store.get(&a).unwrap(),
        Some((of_a, b"1".to_vec())),
        "the first of them was not written either"
    );
    written(
        store
            .cas_all(&[
                write(&a, ExpectedRevision::Rev(of_a), b"3"),
                write(&b, ExpectedRevision::Rev(rev), b"3"),
            ])
            .unwrap(),
    );
    assert_eq!(
        store
            .list("test/", None, 9)
            .unwrap()
            .into_iter()
            .map(|entry| entry.value)
            .collect::<Vec<_>>(),
        [b"3", b"3"]
    );
}

/// See its name.
pub fn listing_pages_through_exactly_the_keys_below_the_prefix(store: &dyn SharedStore) {
    for name in ["a", "a/b", "b", "ab", "z"] {
        written(
            store
                .cas(
                    &RowKey::new("kind", &["one", name]),
                    ExpectedRevision::Absent,
                    name.as_bytes(),
                )
                .unwrap(),
        );
    }
    written(
        store
            .cas(
                &RowKey::new("kind", &["one2", "x"]),
                ExpectedRevision::Absent,
                b"",
            )
            .unwrap(),
    );
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store
            .list(&RowKey::prefix("kind", &["one"]), after.as_ref(), 2)
            .unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.key.clone());
        found.extend(
            page.into_iter()
                .map(|entry| (entry.key.last_part(), entry.value)),
        );
    }
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "a/b", "ab", "b", "z"]);
    assert!(found.iter().all(|(name, value)| name.as_bytes() == value));
}

/// See its name.
pub fn a_lease_has_one_holder_and_its_fence_only_grows(store: &dyn SharedStore) {
    let k = key("lease");
    let first = taken(store.acquire(&k, "a", LONG).unwrap());
    assert_eq!(store.acquire(&k, "b", LONG).unwrap(), None);
    assert_eq!(
        store.acquire(&k, "a", LONG).unwrap(),
        None,
        "a namesake is somebody else"
    );
    assert!(taken(store.acquire(&key("other"), "b", LONG).unwrap()).fence != first.fence);
    assert!(store.release(&first).unwrap());
    let second = taken(store.acquire(&k, "b", LONG).unwrap());
    assert!(second.fence > first.fence);
    assert!(second.until > store.now().unwrap());
}

/// See its name.
pub fn whoever_lost_a_lease_has_no_effect_any_more(store: &dyn SharedStore) {
    let k = key("lease");
    let lost = taken(store.acquire(&k, "a", SHORT).unwrap());
    let next = eventually(|| store.acquire(&k, "b", LONG).unwrap());
    assert!(next.fence > lost.fence);
    assert_eq!(store.renew(&lost, LONG).unwrap(), LeaseRenewal::Lost);
    assert!(!store.release(&lost).unwrap());
    assert_eq!(
        store.append(&[happened(1)], Some(&lost)).unwrap(),
        AppendOutcome::Fenced
    );
    assert_eq!(
        store
            .append(
                &[happened(2)],
                Some(&Lease {
                    fence: next.fence,
                    ..lost.clone()
                })
            )
            .unwrap(),
        AppendOutcome::Fenced
    );
    assert_eq!(
        store.append(&[happened(3)], Some(&next)).unwrap(),
        AppendOutcome::Done
    );
    assert!(
        matches!(store.renew(&next, LONG).unwrap(), LeaseRenewal::Held(_)),
        "the stale holder did not disturb the new one"
    );
    let (events, _) = store.read_events(EventCursor::START, 10).unwrap();
    assert_eq!(events.iter().map(|e| e.at).collect::<Vec<_>>(), [at(3)]);
}

/// See its name.
pub fn an_expired_lease_is_lost_even_where_nobody_else_took_it(store: &dyn SharedStore) {
    // A slow machine may lose it before it renews it.
    let lease = eventually(|| {
        match store
            .renew(&store.acquire(&key("lease"), "a", SHORT).unwrap()?, SHORT)
            .unwrap()
        {
            LeaseRenewal::Held(lease) => Some(lease),
            LeaseRenewal::Lost => None,
        }
    });
    // Both are whole milliseconds, and the engine compares finer ones.
    eventually(|| (store.now().unwrap() > lease.until).then_some(()));
    assert_eq!(store.renew(&lease, LONG).unwrap(), LeaseRenewal::Lost);
    assert_eq!(
        store.append(&[happened(1)], Some(&lease)).unwrap(),
        AppendOutcome::Fenced
    );
}

/// See its name.
pub fn an_event_is_stored_once_and_unchanged(store: &dyn SharedStore) {
    let mut event = happened(7);
    event.data = serde_json::json!({ "text": "ü\u{0}\n\"", "big": u64::MAX, "list": [1.5, null] });
    event.spec = None;
    assert_eq!(
        store.append(&[event.clone(), event.clone()], None).unwrap(),
        AppendOutcome::Done
    );
    let again = NewEvent {
        kind: "other".into(),
        ..event.clone()
    };
    assert_eq!(store.append(&[again], None).unwrap(), AppendOutcome::Done);
    assert_eq!(
        store.read_events(EventCursor::START, 10).unwrap().0,
        [event]
    );
}

/// See its name.
pub fn a_reader_that_follows_misses_nothing_while_many_write(store: &dyn SharedStore) {
    const WRITERS: i64 = 4;
    const EACH: i64 = 60;
    let seen = thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for n in 0..EACH {
                    assert_eq!(
                        store.append(&[happened(writer * 1000 + n)], None).unwrap(),
                        AppendOutcome::Done
                    );
                }
            });
        }
        let (mut seen, mut cursor) = (Vec::new(), EventCursor::START);
        eventually(|| {
            let (events, next) = store.read_events(cursor, 7).unwrap();
            cursor = next;
            seen.extend(events.into_iter().map(|e| e.at.as_second()));
            (seen.len() as i64 >= WRITERS * EACH).then_some(())
        });
        assert_eq!(store.read_events(cursor, 7).unwrap(), (Vec::new(), cursor));
        seen
    });
    for writer in 0..WRITERS {
        let own: Vec<_> = seen
            .iter()
            .filter(|n| **n / 1000 == writer)
            .map(|n| n % 1000)
            .collect();
        assert_eq!(
            own,
            (0..EACH).collect::<Vec<_>>(),
            "in the order of writing, none missing, none twice"
        );
    }
}

/// See its name.
pub fn any_sequence_of_writes_reads_back_as_in_a_plain_map(store: &dyn SharedStore) {
    let config = ProptestConfig {
        cases: 12,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let round = std::cell::Cell::new(0);
    let steps = prop::collection::vec((0..4u8, any::<bool>(), any::<bool>(), ".{0,9}"), 1..40);
    let done = TestRunner::new(config).run(&steps, |steps| {
        round.set(round.get() + 1);
        let mut model = HashMap::<u8, (RowRevision, Vec<u8>)>::new();
        for (name, right, delete, value) in steps {
            let k = RowKey::new("test", &[&round.get().to_string(), &name.to_string()]);
            let there = model.get(&name).map(|(rev, _)| *rev);
            let rev = if right { there } else { Some(RowRevision(-1)) };
            let done = match (rev, delete) {
                (Some(rev), true) => store.delete(&k, rev).unwrap(),
                (rev, _) => store
                    .cas(
                        &k,
                        rev.map_or(ExpectedRevision::Absent, ExpectedRevision::Rev),
                        value.as_bytes(),
                    )
                    .unwrap(),
            };
            match done {
                SwapOutcome::Ok(_) if delete && rev.is_some() => {
                    model.remove(&name);
                }
                SwapOutcome::Ok(new) => {
                    model.insert(name, (new, value.into_bytes()));
                }
                _ => prop_assert!(!right),
            }
            prop_assert_eq!(store.get(&k).unwrap(), model.get(&name).cloned());
        }
        Ok(())
    });
    done.unwrap();
}

//! The suite of [`LocalStore`](crate::LocalStore), written against `&dyn LocalStore` alone.

use super::*;
use crate::engine::WantedKind;

#[test]
fn hints_overwrite_rows_and_revisions_show_changes() {
    on_every_engine(|store| {
        let (a, b, other) = (key("a"), key("b"), RowKey::new("testing", &["a"]));
        let first = written(store.cas(&a, ExpectedRevision::Absent, b"1").unwrap());
        store
            .keep_hints(&[
                (a.clone(), b"2".to_vec()),
                (b.clone(), b"3".to_vec()),
                (other, b"4".to_vec()),
            ])
            .unwrap();
        let there = store.revisions(&RowKey::prefix("test", &[])).unwrap();
        assert_eq!(
            there.iter().map(|(key, _)| key).collect::<Vec<_>>(),
            [&a, &b]
        );
        assert_eq!(store.get(&a).unwrap(), Some((there[0].1, b"2".to_vec())));
        assert_ne!(there[0].1, first);
        assert_eq!(
            store.cas(&a, ExpectedRevision::Rev(first), b"5").unwrap(),
            SwapOutcome::Conflict,
            "a hint is a write like any other"
        );
        store.keep_hints(&[]).unwrap();
        assert_eq!(store.revisions("none/").unwrap(), []);
    });
}

#[test]
fn unflushed_write_is_an_ordinary_swap() {
    on_every_engine(|store| {
        let a = key("a");
        let first = written(
            store
                .cas_without_flush(&a, ExpectedRevision::Absent, b"1")
                .unwrap(),
        );
        assert_eq!(store.get(&a).unwrap(), Some((first, b"1".to_vec())));
        assert_eq!(
            store
                .cas_without_flush(&a, ExpectedRevision::Absent, b"2")
                .unwrap(),
            SwapOutcome::Conflict
        );
        let second = written(store.cas(&a, ExpectedRevision::Rev(first), b"3").unwrap());
        assert_eq!(
            store
                .cas_without_flush(&a, ExpectedRevision::Rev(first), b"4")
                .unwrap(),
            SwapOutcome::Conflict
        );
        let third = written(
            store
                .cas_without_flush(&a, ExpectedRevision::Rev(second), b"5")
                .unwrap(),
        );
        assert_eq!(store.get(&a).unwrap(), Some((third, b"5".to_vec())));
    });
}

#[test]
fn stream_position_is_found_by_time() {
    on_every_engine(|store| {
        assert_eq!(
            store.cursor_at(at(5)).unwrap(),
            EventCursor::START,
            "nothing is there yet"
        );
        let events: Vec<NewEvent> = [10, 20, 20, 30].map(happened).into();
        let _done = store.append(&events, None).unwrap();
        for (second, left) in [(0, 4), (10, 4), (11, 3), (20, 3), (21, 1), (30, 1), (31, 0)] {
            let (found, end) = store
                .read_events(store.cursor_at(at(second)).unwrap(), 100)
                .unwrap();
            assert_eq!(found.len(), left, "from second {second}");
            assert_eq!(
                end,
                store.cursor_at(Timestamp::MAX).unwrap(),
                "nothing follows"
            );
        }
    });
}

#[test]
fn reading_back_meets_every_event_once() {
    on_every_engine(|store| {
        let events: Vec<NewEvent> = (0..7).map(happened).collect();
        let _done = store.append(&events, None).unwrap();
        let mut end = store.cursor_at(Timestamp::MAX).unwrap();
        let _later = store.append(&[happened(9)], None).unwrap();
        let mut found = Vec::new();
        loop {
            let (page, before) = store.read_back(end, None, 3).unwrap();
            if page.is_empty() {
                break;
            }
            assert!(before < end);
            end = before;
            found.splice(0..0, page);
        }
        assert_eq!(found, events, "what came after the end is not met");
    });
}

#[test]
fn reading_back_can_follow_a_single_worktree() {
    on_every_engine(|store| {
        let of = |n: i64| NewEvent {
            worktree: if n % 3 == 0 { "mine" } else { "theirs" }.into(),
            ..happened(n)
        };
        let events: Vec<NewEvent> = (0..10).map(of).collect();
        let _done = store.append(&events, None).unwrap();
        let picked = |ns: &[usize]| ns.iter().map(|n| events[*n].clone()).collect::<Vec<_>>();
        let end = store.cursor_at(Timestamp::MAX).unwrap();
        let (newer, before) = store.read_back(end, Some("mine"), 3).unwrap();
        let (older, first) = store.read_back(before, Some("mine"), 3).unwrap();
        assert_eq!(newer, picked(&[3, 6, 9]));
        assert_eq!(older, picked(&[0]));
        assert_eq!(
            store.read_back(first, Some("mine"), 3).unwrap(),
            (Vec::new(), first)
        );
        assert_eq!(
            store.read_back(end, Some("nobody"), 3).unwrap(),
            (Vec::new(), end)
        );
    });
}

#[test]
fn pruning_uses_age_and_count_sparing_newest() {
    on_every_engine(|store| {
        let events: Vec<_> = (0..5000).map(happened).collect();
        assert_eq!(store.append(&events, None).unwrap(), AppendOutcome::Done);
        let keep = |older_than, at_least, at_most| EventRetention {
            older_than,
            at_least,
            at_most,
        };
        assert_eq!(store.prune(&keep(at(0), 0, 100_000)).unwrap(), 0);
        assert_eq!(store.prune(&keep(at(100), 10, 100_000)).unwrap(), 100);
        let too_many = keep(at(0), 10, 1000);
        let batches = [0; 5].map(|_| store.prune(&too_many).unwrap());
        assert_eq!(
            batches,
            [
                PRUNED_AT_ONCE,
                PRUNED_AT_ONCE,
                PRUNED_AT_ONCE,
                3900 - 3 * PRUNED_AT_ONCE,
                0
            ],
            "never more than a batch, so that nobody waits long"
        );
        assert_eq!(
            store.prune(&keep(Timestamp::MAX, 10, 1000)).unwrap(),
            990,
            "a clock in the far future"
        );
        let (left, cursor) = store.read_events(EventCursor::START, 100).unwrap();
        assert_eq!(
            left.iter().map(|e| e.at.as_second()).collect::<Vec<_>>(),
            (4990..5000).collect::<Vec<_>>()
        );
        assert_eq!(
            store.append(&[happened(9)], None).unwrap(),
            AppendOutcome::Done
        );
        assert_eq!(
            store.read_events(cursor, 100).unwrap().0.len(),
            1,
            "a cursor stays good across pruning"
        );
    });
}

#[test]
fn newest_event_of_kind_is_found_far_back() {
    on_every_engine(|store| {
        let of = |worktree: &str, spec: Option<&str>, kind: &str, second: i64| {
            journal::new_event(
                at(second),
                worktree,
                spec,
                kind,
                serde_json::json!({ "n": second }),
            )
        };
        let mut events = vec![
            of("quiet", Some("s"), kind::VERDICT, 1),
            of("older", Some("s"), kind::VERDICT, 2),
        ];
        events.extend((0..300).map(|n| of("older", Some("s"), kind::SNAPSHOT, 10 + n)));
        events.extend([
            of("both", Some("s"), kind::VERDICT, 400),
            of("both", Some("s"), kind::BASELINE, 401),
        ]);
        events.extend([
            of("busy", Some("s"), kind::VERDICT, 500),
            of("busy", Some("t"), kind::VERDICT, 501),
            of("busy", None, kind::VERDICT, 502),
        ]);
        let _done = store.append(&events, None).unwrap();
        let requests = ["quiet", "older", "both", "busy", "nobody"]
            .map(|worktree| (worktree.to_owned(), "s".to_owned()));
        let seconds = |kinds: &[&'static str], within| {
            let kinds: Vec<WantedKind<'_>> =
                kinds.iter().map(|kind| WantedKind::any(kind)).collect();
            let found = store.newest_of(&requests, &kinds, within).unwrap();
            found
                .into_iter()
                .map(|event| event.map(|event| event.at.as_second()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            seconds(&[kind::VERDICT], 301),
            [Some(1), Some(2), Some(400), Some(500), None]
        );
        assert_eq!(
            seconds(&[kind::VERDICT, kind::BASELINE], 301),
            [Some(1), Some(2), Some(401), Some(500), None]
        );
        assert_eq!(
            seconds(&[kind::VERDICT], 300),
            [Some(1), None, Some(400), Some(500), None],
            "not looked for further back"
        );
        assert_eq!(seconds(&[kind::PROBE], 301), [None; 5]);
        assert_eq!(
            store
                .newest_of(&[], &[WantedKind::any(kind::VERDICT)], 10)
                .unwrap(),
            []
        );
    });
}

#[test]
fn newest_spec_events_are_found_by_their_data() {
    on_every_engine(|store| {
        let of = |spec: &str, kind: &str, second: i64, status: serde_json::Value| {
            journal::new_event(
                at(second),
                "w",
                Some(spec),
                kind,
                serde_json::json!({ "status": status }),
            )
        };
        let mut events: Vec<_> = (0..30)
            .map(|n| of(&format!("spec {n}"), kind::HOOK, n, "incomplete".into()))
            .collect();
        events.extend((0..30).map(|n| {
            of(
                &format!("spec {n}"),
                kind::HOOK,
                100 + n,
                serde_json::Value::Null,
            )
        }));
        events.push(of("spec 7", kind::VERDICT, 200, serde_json::json!(7)));
        let _done = store.append(&events, None).unwrap();
        let requests: Vec<_> = (0..31)
            .map(|n| ("w".to_owned(), format!("spec {n}")))
            .collect();
        let wanted = [
            WantedKind::any(kind::VERDICT),
            WantedKind::with_text(kind::HOOK, "status"),
        ];
        let found = store.newest_of(&requests, &wanted, 1_000).unwrap();
        let seconds: Vec<Option<i64>> = found
            .into_iter()
            .map(|event| event.map(|event| event.at.as_second()))
            .collect();
        let expected: Vec<Option<i64>> = (0..31)
            .map(|n| {
                if n == 7 {
                    Some(200)
                } else {
                    Some(n).filter(|n| *n < 30)
                }
            })
            .collect();
        assert_eq!(
            seconds, expected,
            "a hook that decided nothing is passed by"
        );
    });
}

#[test]
fn the_newest_events_come_in_order() {
    on_every_engine(|store| {
        let events = [happened(1), happened(2), happened(3)];
        assert_eq!(store.append(&events, None).unwrap(), AppendOutcome::Done);
        assert_eq!(store.newest(2).unwrap(), events[1..]);
        assert_eq!(store.newest(10).unwrap(), events);
    });
}

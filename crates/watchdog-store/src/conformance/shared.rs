//! The suite of [`SharedStore`](crate::SharedStore), written against `&dyn SharedStore` alone.

use super::*;

#[test]
fn a_write_that_expects_something_else_changes_nothing() {
    on_every_shared_engine(|store| {
        let k = key("a");
        assert_eq!(store.get(&k).unwrap(), None);
        let first = written(store.cas(&k, ExpectedRevision::Absent, b"1").unwrap());
        assert_eq!(store.cas(&k, ExpectedRevision::Absent, b"2").unwrap(), SwapOutcome::Conflict);
        let second = written(store.cas(&k, ExpectedRevision::Rev(first), b"2").unwrap());
        assert_eq!(store.cas(&k, ExpectedRevision::Rev(first), b"3").unwrap(), SwapOutcome::Conflict);
        assert_eq!(store.get(&k).unwrap(), Some((second, b"2".to_vec())));
        assert_eq!(store.delete(&k, first).unwrap(), SwapOutcome::Conflict);
        assert_eq!(store.delete(&k, second).unwrap(), SwapOutcome::Ok(second));
        assert_eq!(store.cas(&k, ExpectedRevision::Rev(second), b"4").unwrap(), SwapOutcome::Conflict);
        let third = written(store.cas(&k, ExpectedRevision::Absent, b"1").unwrap());
        assert!(third != first && third != second, "a revision came back");
    });
}

#[test]
fn writes_that_belong_together_happen_together_or_not_at_all() {
    on_every_shared_engine(|store| {
        let (a, b) = (key("a"), key("b"));
        let write = |key: &RowKey, expect, value: &[u8]| (key.clone(), expect, value.to_vec());
        let rev = written(store.cas_all(&[write(&a, ExpectedRevision::Absent, b"1"), write(&b, ExpectedRevision::Absent, b"1")]).unwrap());
        assert_eq!(store.get(&b).unwrap(), Some((rev, b"1".to_vec())));
        let (of_a, _) = store.get(&a).unwrap().unwrap();
        let late = [write(&a, ExpectedRevision::Rev(of_a), b"2"), write(&b, ExpectedRevision::Rev(of_a), b"2")];
        assert_eq!(store.cas_all(&late).unwrap(), SwapOutcome::Conflict);
        assert_eq!(store.get(&a).unwrap(), Some((of_a, b"1".to_vec())), "the first of them was not written either");
        written(store.cas_all(&[write(&a, ExpectedRevision::Rev(of_a), b"3"), write(&b, ExpectedRevision::Rev(rev), b"3")]).unwrap());
        assert_eq!(store.list("test/", None, 9).unwrap().into_iter().map(|entry| entry.value).collect::<Vec<_>>(), [b"3", b"3"]);
    });
}

#[test]
fn listing_pages_through_exactly_the_keys_below_the_prefix() {
    on_every_shared_engine(|store| {
        for name in ["a", "a/b", "b", "ab", "z"] {
            written(store.cas(&RowKey::new("kind", &["one", name]), ExpectedRevision::Absent, name.as_bytes()).unwrap());
        }
        written(store.cas(&RowKey::new("kind", &["one2", "x"]), ExpectedRevision::Absent, b"").unwrap());
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = store.list(&RowKey::prefix("kind", &["one"]), after.as_ref(), 2).unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.key.clone());
            found.extend(page.into_iter().map(|entry| (entry.key.last_part(), entry.value)));
        }
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "a/b", "ab", "b", "z"]);
        assert!(found.iter().all(|(name, value)| name.as_bytes() == value));
    });
}

#[test]
fn a_lease_has_one_holder_and_its_fence_only_grows() {
    on_every_shared_engine(|store| {
        let k = key("lease");
        let first = taken(store.acquire(&k, "a", LONG).unwrap());
        assert_eq!(store.acquire(&k, "b", LONG).unwrap(), None);
        assert_eq!(store.acquire(&k, "a", LONG).unwrap(), None, "a namesake is somebody else");
        assert!(taken(store.acquire(&key("other"), "b", LONG).unwrap()).fence != first.fence);
        assert!(store.release(&first).unwrap());
        let second = taken(store.acquire(&k, "b", LONG).unwrap());
        assert!(second.fence > first.fence);
        assert!(second.until > store.now().unwrap());
    });
}

#[test]
fn whoever_lost_a_lease_has_no_effect_any_more() {
    on_every_shared_engine(|store| {
        let k = key("lease");
        let lost = taken(store.acquire(&k, "a", SHORT).unwrap());
        let next = eventually(|| store.acquire(&k, "b", LONG).unwrap());
        assert!(next.fence > lost.fence);
        assert_eq!(store.renew(&lost, LONG).unwrap(), LeaseRenewal::Lost);
        assert!(!store.release(&lost).unwrap());
        assert_eq!(store.append(&[happened(1)], Some(&lost)).unwrap(), AppendOutcome::Fenced);
        assert_eq!(store.append(&[happened(2)], Some(&Lease { fence: next.fence, ..lost.clone() })).unwrap(), AppendOutcome::Fenced);
        assert_eq!(store.append(&[happened(3)], Some(&next)).unwrap(), AppendOutcome::Done);
        assert!(matches!(store.renew(&next, LONG).unwrap(), LeaseRenewal::Held(_)), "the stale holder did not disturb the new one");
        let (events, _) = store.read(EventCursor::START, 10).unwrap();
        assert_eq!(events.iter().map(|e| e.at).collect::<Vec<_>>(), [at(3)]);
    });
}

#[test]
fn an_expired_lease_is_lost_even_where_nobody_else_took_it() {
    on_every_shared_engine(|store| {
        let lease = taken(store.acquire(&key("lease"), "a", SHORT).unwrap());
        let LeaseRenewal::Held(lease) = store.renew(&lease, SHORT).unwrap() else { panic!("lost while it stood") };
        eventually(|| (store.now().unwrap() >= lease.until).then_some(()));
        assert_eq!(store.renew(&lease, LONG).unwrap(), LeaseRenewal::Lost);
        assert_eq!(store.append(&[happened(1)], Some(&lease)).unwrap(), AppendOutcome::Fenced);
    });
}

#[test]
fn an_event_is_stored_once_and_unchanged() {
    on_every_shared_engine(|store| {
        let mut event = happened(7);
        event.data = serde_json::json!({ "text": "ü\u{0}\n\"", "big": u64::MAX, "list": [1.5, null] });
        event.spec = None;
        assert_eq!(store.append(&[event.clone(), event.clone()], None).unwrap(), AppendOutcome::Done);
        let again = NewEvent { kind: "other".into(), ..event.clone() };
        assert_eq!(store.append(&[again], None).unwrap(), AppendOutcome::Done);
        assert_eq!(store.read(EventCursor::START, 10).unwrap().0, [event]);
    });
}

#[test]
fn a_reader_that_follows_misses_nothing_while_many_write() {
    on_every_shared_engine(|store| {
        const WRITERS: i64 = 4;
        const EACH: i64 = 60;
        let seen = thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || {
                    for n in 0..EACH {
                        assert_eq!(store.append(&[happened(writer * 1000 + n)], None).unwrap(), AppendOutcome::Done);
                    }
                });
            }
            let (mut seen, mut cursor) = (Vec::new(), EventCursor::START);
            eventually(|| {
                let (events, next) = store.read(cursor, 7).unwrap();
                cursor = next;
                seen.extend(events.into_iter().map(|e| e.at.as_second()));
                (seen.len() as i64 >= WRITERS * EACH).then_some(())
            });
            assert_eq!(store.read(cursor, 7).unwrap(), (Vec::new(), cursor));
            seen
        });
        for writer in 0..WRITERS {
            let own: Vec<_> = seen.iter().filter(|n| **n / 1000 == writer).map(|n| n % 1000).collect();
            assert_eq!(own, (0..EACH).collect::<Vec<_>>(), "in the order of writing, none missing, none twice");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_writes_reads_back_as_in_a_plain_map(steps in prop::collection::vec((0..4u8, any::<bool>(), any::<bool>(), ".{0,9}"), 1..40)) {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let mut model = std::collections::HashMap::<u8, (RowRevision, Vec<u8>)>::new();
        for (name, right, delete, value) in steps {
            let k = key(&name.to_string());
            let there = model.get(&name).map(|(rev, _)| *rev);
            let rev = if right { there } else { Some(RowRevision(-1)) };
            let done = match (rev, delete) {
                (Some(rev), true) => store.delete(&k, rev).unwrap(),
                (rev, _) => store.cas(&k, rev.map_or(ExpectedRevision::Absent, ExpectedRevision::Rev), value.as_bytes()).unwrap(),
            };
            match done {
                SwapOutcome::Ok(_) if delete && rev.is_some() => { model.remove(&name); }
                SwapOutcome::Ok(new) => { model.insert(name, (new, value.into_bytes())); }
                _ => prop_assert!(!right),
            }
            prop_assert_eq!(store.get(&k).unwrap(), model.get(&name).cloned());
        }
    }

    #[test]
    fn ids_of_events_are_never_the_same(times in prop::collection::vec(0i64..3, 2..200)) {
        let ids: std::collections::HashSet<_> = times.iter().map(|t| event_id(at(*t))).collect();
        prop_assert_eq!(ids.len(), times.len());
    }
}

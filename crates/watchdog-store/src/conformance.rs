//! What every engine must do, written against `&dyn Store` alone: a further engine is one more line in [`on_every_engine`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use proptest::prelude::*;

use super::tests::{Scratch, rollback_store};
use crate::engine::{
    AppendOutcome, EventCursor, EventRetention, ExpectedRevision, Lease, LeaseHold, NewEvent, PRUNED_AT_ONCE, RowRevision, Store,
    SwapOutcome,
};
use crate::journal::{event_id, kind};
use crate::records::{baseline, breaker, progress, session};
use crate::{RowKey, SqliteStore, journal, rebuild};

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(40);

fn on_every_engine(test: impl Fn(&dyn Store)) {
    let scratch = Scratch::new();
    test(&SqliteStore::open(&scratch.dir).unwrap());
    let scratch = Scratch::new();
    test(&rollback_store(&scratch.dir));
}

fn key(name: &str) -> RowKey {
    RowKey::new("test", &[name])
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn happened(second: i64) -> NewEvent {
    journal::event(at(second), "wt", Some("auth"), kind::PROBE, serde_json::json!({ "n": second }))
}

fn written(cas: SwapOutcome) -> RowRevision {
    match cas {
        SwapOutcome::Ok(rev) => rev,
        other => panic!("{other:?}"),
    }
}

fn taken(lease: Option<Lease>) -> Lease {
    lease.expect("nobody held the lease")
}

/// Waits for what must come true, at most ten seconds.
fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "it never came true");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn hints_are_kept_over_whatever_is_there_and_revisions_tell_what_changed() {
    on_every_engine(|store| {
        let (a, b, other) = (key("a"), key("b"), RowKey::new("testing", &["a"]));
        let first = written(store.cas(&a, ExpectedRevision::Absent, b"1").unwrap());
        store.keep_hints(&[(a.clone(), b"2".to_vec()), (b.clone(), b"3".to_vec()), (other, b"4".to_vec())]).unwrap();
        let there = store.revisions(&RowKey::prefix("test", &[])).unwrap();
        assert_eq!(there.iter().map(|(key, _)| key).collect::<Vec<_>>(), [&a, &b]);
        assert_eq!(store.get(&a).unwrap(), Some((there[0].1, b"2".to_vec())));
        assert_ne!(there[0].1, first);
        assert_eq!(store.cas(&a, ExpectedRevision::Rev(first), b"5").unwrap(), SwapOutcome::Conflict, "a hint is a write like any other");
        store.keep_hints(&[]).unwrap();
        assert_eq!(store.revisions("none/").unwrap(), []);
    });
}

#[test]
fn a_write_that_expects_something_else_changes_nothing() {
    on_every_engine(|store| {
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
    on_every_engine(|store| {
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
    on_every_engine(|store| {
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
fn a_place_in_the_stream_is_found_by_time() {
    on_every_engine(|store| {
        assert_eq!(store.cursor_at(at(5)).unwrap(), EventCursor::START, "nothing is there yet");
        let events: Vec<NewEvent> = [10, 20, 20, 30].map(happened).into();
        let _done = store.append(&events, None).unwrap();
        for (second, left) in [(0, 4), (10, 4), (11, 3), (20, 3), (21, 1), (30, 1), (31, 0)] {
            let (found, end) = store.read(store.cursor_at(at(second)).unwrap(), 100).unwrap();
            assert_eq!(found.len(), left, "from second {second}");
            assert_eq!(end, store.cursor_at(Timestamp::MAX).unwrap(), "nothing follows");
        }
    });
}

#[test]
fn the_way_back_through_the_stream_meets_every_event_once() {
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
fn the_way_back_may_lead_through_one_worktree_only() {
    on_every_engine(|store| {
        let of = |n: i64| NewEvent { worktree: if n % 3 == 0 { "mine" } else { "theirs" }.into(), ..happened(n) };
        let events: Vec<NewEvent> = (0..10).map(of).collect();
        let _done = store.append(&events, None).unwrap();
        let picked = |ns: &[usize]| ns.iter().map(|n| events[*n].clone()).collect::<Vec<_>>();
        let end = store.cursor_at(Timestamp::MAX).unwrap();
        let (newer, before) = store.read_back(end, Some("mine"), 3).unwrap();
        let (older, first) = store.read_back(before, Some("mine"), 3).unwrap();
        assert_eq!(newer, picked(&[3, 6, 9]));
        assert_eq!(older, picked(&[0]));
        assert_eq!(store.read_back(first, Some("mine"), 3).unwrap(), (Vec::new(), first));
        assert_eq!(store.read_back(end, Some("nobody"), 3).unwrap(), (Vec::new(), end));
    });
}

#[test]
fn a_lease_has_one_holder_and_its_fence_only_grows() {
    on_every_engine(|store| {
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
    on_every_engine(|store| {
        let k = key("lease");
        let lost = taken(store.acquire(&k, "a", SHORT).unwrap());
        let next = eventually(|| store.acquire(&k, "b", LONG).unwrap());
        assert!(next.fence > lost.fence);
        assert_eq!(store.renew(&lost, LONG).unwrap(), LeaseHold::Lost);
        assert!(!store.release(&lost).unwrap());
        assert_eq!(store.append(&[happened(1)], Some(&lost)).unwrap(), AppendOutcome::Fenced);
        assert_eq!(store.append(&[happened(2)], Some(&Lease { fence: next.fence, ..lost.clone() })).unwrap(), AppendOutcome::Fenced);
        assert_eq!(store.append(&[happened(3)], Some(&next)).unwrap(), AppendOutcome::Done);
        assert!(matches!(store.renew(&next, LONG).unwrap(), LeaseHold::Held(_)), "the stale holder did not disturb the new one");
        let (events, _) = store.read(EventCursor::START, 10).unwrap();
        assert_eq!(events.iter().map(|e| e.at).collect::<Vec<_>>(), [at(3)]);
    });
}

#[test]
fn an_expired_lease_is_lost_even_where_nobody_else_took_it() {
    on_every_engine(|store| {
        let lease = taken(store.acquire(&key("lease"), "a", SHORT).unwrap());
        let LeaseHold::Held(lease) = store.renew(&lease, SHORT).unwrap() else { panic!("lost while it stood") };
        eventually(|| (store.now().unwrap() >= lease.until).then_some(()));
        assert_eq!(store.renew(&lease, LONG).unwrap(), LeaseHold::Lost);
        assert_eq!(store.append(&[happened(1)], Some(&lease)).unwrap(), AppendOutcome::Fenced);
    });
}

#[test]
fn an_event_is_told_once_and_as_it_was_written() {
    on_every_engine(|store| {
        let mut event = happened(7);
        event.data = serde_json::json!({ "text": "ü\u{0}\n\"", "big": u64::MAX, "list": [1.5, null] });
        event.spec = None;
        assert_eq!(store.append(&[event.clone(), event.clone()], None).unwrap(), AppendOutcome::Done);
        let again = NewEvent { kind: "other".into(), ..event.clone() };
        assert_eq!(store.append(&[again], None).unwrap(), AppendOutcome::Done);
        assert_eq!(store.read(EventCursor::START, 10).unwrap().0, [event.clone()]);
        assert_eq!(store.newest(10).unwrap(), [event]);
    });
}

#[test]
fn a_reader_that_follows_misses_nothing_while_many_write() {
    on_every_engine(|store| {
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

#[test]
fn pruning_goes_by_age_and_count_and_spares_the_newest() {
    on_every_engine(|store| {
        let events: Vec<_> = (0..5000).map(happened).collect();
        assert_eq!(store.append(&events, None).unwrap(), AppendOutcome::Done);
        let keep = |older_than, at_least, at_most| EventRetention { older_than, at_least, at_most };
        assert_eq!(store.prune(&keep(at(0), 0, 100_000)).unwrap(), 0);
        assert_eq!(store.prune(&keep(at(100), 10, 100_000)).unwrap(), 100);
        let too_many = keep(at(0), 10, 1000);
        let batches = [0; 5].map(|_| store.prune(&too_many).unwrap());
        assert_eq!(
            batches,
            [PRUNED_AT_ONCE, PRUNED_AT_ONCE, PRUNED_AT_ONCE, 3900 - 3 * PRUNED_AT_ONCE, 0],
            "never more than a batch, so that nobody waits long"
        );
        assert_eq!(store.prune(&keep(Timestamp::MAX, 10, 1000)).unwrap(), 990, "a clock in the far future");
        let (left, cursor) = store.read(EventCursor::START, 100).unwrap();
        assert_eq!(left.iter().map(|e| e.at.as_second()).collect::<Vec<_>>(), (4990..5000).collect::<Vec<_>>());
        assert_eq!(store.append(&[happened(9)], None).unwrap(), AppendOutcome::Done);
        assert_eq!(store.read(cursor, 100).unwrap().0.len(), 1, "a cursor stays good across pruning");
    });
}

#[test]
fn the_newest_of_a_kind_is_found_for_many_worktrees_in_a_crowd_and_far_back() {
    on_every_engine(|store| {
        let of = |worktree: &str, spec: Option<&str>, kind: &str, second: i64| {
            journal::event(at(second), worktree, spec, kind, serde_json::json!({ "n": second }))
        };
        let mut events = vec![of("quiet", Some("s"), kind::VERDICT, 1), of("older", Some("s"), kind::VERDICT, 2)];
        events.extend((0..300).map(|n| of("older", Some("s"), kind::SNAPSHOT, 10 + n)));
        events.extend([of("both", Some("s"), kind::VERDICT, 400), of("both", Some("s"), kind::BASELINE, 401)]);
        events.extend([
            of("busy", Some("s"), kind::VERDICT, 500),
            of("busy", Some("t"), kind::VERDICT, 501),
            of("busy", None, kind::VERDICT, 502),
        ]);
        let _done = store.append(&events, None).unwrap();
        let asked = ["quiet", "older", "both", "busy", "nobody"].map(|worktree| (worktree.to_owned(), "s".to_owned()));
        let seconds = |kinds: &[&str], within| {
            let found = store.newest_of(&asked, kinds, within).unwrap();
            found.into_iter().map(|event| event.map(|event| event.at.as_second())).collect::<Vec<_>>()
        };
        assert_eq!(seconds(&[kind::VERDICT], 301), [Some(1), Some(2), Some(400), Some(500), None]);
        assert_eq!(seconds(&[kind::VERDICT, kind::BASELINE], 301), [Some(1), Some(2), Some(401), Some(500), None]);
        assert_eq!(seconds(&[kind::VERDICT], 300), [Some(1), None, Some(400), Some(500), None], "not looked for further back");
        assert_eq!(seconds(&[kind::PROBE], 301), [None; 5]);
        assert_eq!(store.newest_of(&[], &[kind::VERDICT], 10).unwrap(), []);
    });
}

#[test]
fn records_updated_by_many_at_once_lose_no_update() {
    use watchdog_core::config::settings::ConfigSettings;
    use watchdog_core::decision::breaker::{Breaker, BreakerInput};
    on_every_engine(|store| {
        let settings = ConfigSettings {
            breaker: watchdog_core::config::settings::BreakerSettings { limit: 0, ..ConfigSettings::default().breaker },
            ..ConfigSettings::default()
        };
        let tries = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        breaker::update(store, "wt", "auth", |breaker: &mut Breaker| {
                            tries.fetch_add(1, Ordering::Relaxed);
                            breaker.record(at(1), &settings.breaker, BreakerInput::Strike { why: "stalled".into() });
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(breaker::of(store, "wt", "auth").unwrap().strikes(), 200);
        assert!(tries.into_inner() >= 200);
        assert_eq!(breaker::of(store, "wt", "other").unwrap(), Breaker::default());
        breaker::reset(store, "wt", "auth").unwrap();
        assert_eq!(breaker::all(store, "wt").unwrap(), [("auth".to_string(), Breaker::default())]);
    });
}

fn some_refs(count: usize) -> Vec<(String, String)> {
    (0..count).map(|n| (format!("refs/heads/b{n}"), format!("{n:040x}"))).collect()
}

fn a_baseline(second: i64, refs: usize) -> baseline::BaselineRecord {
    baseline::BaselineRecord {
        commit: (second > 0).then(|| format!("{second:040x}")),
        branch: None,
        refs: baseline::BaselineRefs::Here(some_refs(refs)),
        at: at(second),
        worktree: std::ffi::OsStr::new("/src/10% ü").into(),
    }
}

#[test]
fn the_latest_baseline_is_found_without_a_spec() {
    on_every_engine(|store| {
        assert_eq!(baseline::latest(store, "wt").unwrap(), None);
        baseline::record(store, "wt", "z", &a_baseline(5, 0)).unwrap();
        baseline::record(store, "wt", "spec/auth", &a_baseline(9, 3000)).unwrap();
        baseline::record(store, "wt2", "late", &a_baseline(99, 0)).unwrap();
        assert_eq!(baseline::latest(store, "wt").unwrap(), Some(("spec/auth".into(), a_baseline(9, 3000))));
        baseline::record(store, "wt", "z", &a_baseline(0, 1)).unwrap();
        assert_eq!(baseline::of(store, "wt", "z").unwrap(), Some(a_baseline(0, 1)));
        baseline::forget(store, "wt", "z").unwrap();
        assert_eq!(baseline::of(store, "wt", "z").unwrap(), None);
    });
}

#[test]
fn rounds_of_once_add_up_until_a_new_baseline_and_the_streak_outlives_it() {
    on_every_engine(|store| {
        let round = |baseline: &str, now| {
            progress::update(store, "wt", "auth", Some(baseline), at(now), |p| {
                p.rounds_used += 1;
                p.nothing_to_do_streak += 1;
                p.fingerprint = Some(u64::MAX - 1);
                (p.rounds_used, p.nothing_to_do_streak)
            })
            .unwrap()
        };
        assert_eq!((round("aa", 1), round("aa", 2), round("bb", 3)), ((1, 1), (2, 2), (1, 3)));
        let kept = progress::of(store, "wt", "auth").unwrap().unwrap();
        assert_eq!((kept.fingerprint, kept.updated_at), (Some(u64::MAX - 1), at(3)));
    });
}

#[test]
fn a_session_is_found_again_and_its_end_is_written_beside_its_beginning() {
    on_every_engine(|store| {
        let began = session::SessionRecord { pid: Some(7), started_at: at(1), log: Some("/logs/a".into()), ..Default::default() };
        assert!(!session::update(store, "wt", "auth", |_| ()).unwrap());
        session::record(store, "wt", "auth", &began).unwrap();
        assert!(
            session::update(store, "wt", "auth", |s| {
                s.session_id = Some("4f1c".into());
                s.ended_at = Some(at(2));
            })
            .unwrap()
        );
        let (spec, found) = session::latest(store, "wt").unwrap().unwrap();
        assert_eq!(
            (spec.as_str(), found),
            ("auth", session::SessionRecord { session_id: Some("4f1c".into()), ended_at: Some(at(2)), ..began })
        );
    });
}

#[test]
fn rows_of_a_later_version_are_refused_and_garbage_only_until_it_is_recorded_anew() {
    on_every_engine(|store| {
        let k = RowKey::new("breaker", &["wt", "auth"]);
        let rev = written(store.cas(&k, ExpectedRevision::Absent, br#"{"v":2,"state":"ajar"}"#).unwrap());
        let newer =
            [breaker::of(store, "wt", "auth").map(drop), breaker::reset(store, "wt", "auth"), breaker::update(store, "wt", "auth", |_| ())];
        for error in newer.map(Result::unwrap_err) {
            assert!(error.to_string().contains("format 2"), "{error}");
        }
        assert_eq!(store.get(&k).unwrap().unwrap().0, rev, "nothing was written over it");
        written(store.cas(&k, ExpectedRevision::Rev(rev), b"\x00{").unwrap());
        let error = breaker::of(store, "wt", "auth").unwrap_err();
        assert!(error.to_string().contains("breaker of 'auth'") && error.hint().contains("breaker reset"), "{error}");
        breaker::reset(store, "wt", "auth").unwrap();
        assert_eq!(breaker::of(store, "wt", "auth").unwrap().strikes(), 0);
    });
}

#[test]
fn rebuilding_from_git_fills_gaps_and_touches_nothing_else() {
    on_every_engine(|store| {
        baseline::record(store, "wt", "auth", &a_baseline(9, 2)).unwrap();
        let known = rebuild::SnapshotFact {
            worktree_id: "wt".into(),
            spec: None,
            reference: "refs/watchdog/rescue/1".into(),
            commit: "aa".into(),
            at: at(4),
        };
        let event = journal::snapshot_event(known.at, "wt", Some("auth"), &known.reference, &known.commit);
        assert_eq!(store.append(&[event], None).unwrap(), AppendOutcome::Done);
        let fact = |spec: &str| rebuild::BaselineFact { worktree_id: "wt".into(), spec: spec.into(), baseline: a_baseline(1, 0) };
        let new = rebuild::SnapshotFact { reference: "refs/watchdog/rescue/2".into(), ..known.clone() };
        let facts = rebuild::RebuildFacts { baselines: vec![fact("auth"), fact("lost")], snapshots: vec![known, new] };
        for baselines in [1, 0] {
            assert_eq!(rebuild::rebuild(store, &facts).unwrap(), rebuild::RebuildResult { baselines, snapshots: 2 });
        }
        assert_eq!(baseline::of(store, "wt", "auth").unwrap(), Some(a_baseline(9, 2)));
        assert_eq!(baseline::of(store, "wt", "lost").unwrap(), Some(a_baseline(1, 0)));
        assert_eq!(store.read(EventCursor::START, 10).unwrap().0.len(), 2);
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

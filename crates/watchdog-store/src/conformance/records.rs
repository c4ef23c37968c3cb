//! The guarantees of the typed rows, on every engine of a machine.

use super::*;
use crate::records::RecordType;
use crate::records::baseline::BaselineRecord;
use watchdog_core::decision::breaker::Breaker;
use watchdog_facts::ref_list::RefList;

#[test]
fn concurrent_record_updates_are_never_lost() {
    use watchdog_core::config::settings::ConfigSettings;
    use watchdog_core::decision::breaker::BreakerInput;
    on_every_engine(|store| {
        let settings = ConfigSettings {
            breaker: watchdog_core::config::settings::BreakerSettings {
                limit: 0,
                ..ConfigSettings::default().breaker
            },
            ..ConfigSettings::default()
        };
        let tries = AtomicU64::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        Breaker::update_row(store, "wt", "auth", |breaker: &mut Breaker| {
                            tries.fetch_add(1, Ordering::Relaxed);
                            breaker.record(
                                at(1),
                                &settings.breaker,
                                BreakerInput::Strike {
                                    why: "stalled".into(),
                                },
                            );
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(
            Breaker::read_or_default(store, "wt", "auth")
                .unwrap()
                .strikes(),
            200
        );
        assert!(tries.into_inner() >= 200);
        assert_eq!(
            Breaker::read_or_default(store, "wt", "other").unwrap(),
            Breaker::default()
        );
        Breaker::default().write_row(store, "wt", "auth").unwrap();
        assert_eq!(
            Breaker::list_rows_of(store, "wt").unwrap(),
            [("auth".to_string(), Breaker::default())]
        );
    });
}

fn some_refs(count: usize) -> RefList {
    (0..count)
        .map(|n| (format!("refs/heads/b{n}"), format!("{n:040x}")))
        .collect()
}

fn a_baseline(second: i64, refs: usize) -> BaselineRecord {
    BaselineRecord {
        left_behind: Vec::new(),
        committer: None,
        commit: (second > 0).then(|| format!("{second:040x}")),
        branch: None,
        refs: baseline::BaselineRefs::Here(some_refs(refs)),
        at: at(second),
        worktree: std::ffi::OsStr::new("/src/10% ü").into(),
        clone_id: (second > 0).then(|| format!("{second:032x}")),
        blocked: None,
    }
}

#[test]
fn the_latest_baseline_is_found_without_a_spec() {
    on_every_engine(|store| {
        assert_eq!(baseline::read_latest_baseline(store, "wt").unwrap(), None);
        a_baseline(5, 0).write_row(store, "wt", "z").unwrap();
        a_baseline(9, 3000)
            .write_row(store, "wt", "spec/auth")
            .unwrap();
        a_baseline(99, 0).write_row(store, "wt2", "late").unwrap();
        assert_eq!(
            baseline::read_latest_baseline(store, "wt").unwrap(),
            Some(("spec/auth".into(), a_baseline(9, 3000)))
        );
        a_baseline(0, 1).write_row(store, "wt", "z").unwrap();
        assert_eq!(
            BaselineRecord::read_row(store, "wt", "z").unwrap(),
            Some(a_baseline(0, 1))
        );
        BaselineRecord::forget_row(store, "wt", "z").unwrap();
        assert_eq!(BaselineRecord::read_row(store, "wt", "z").unwrap(), None);
    });
}

#[test]
fn rounds_reset_at_new_baseline_but_streak_continues() {
    on_every_engine(|store| {
        let round = |baseline: &str, now| {
            progress::update_progress(store, "wt", "auth", Some(baseline), at(now), |p| {
                p.rounds_used += 1;
                p.nothing_to_do_streak += 1;
                p.fingerprint = Some(u64::MAX - 1);
                p.rounds_answered += 1;
                p.rounds_alive += 1;
                p.fruitless += 1;
                p.unmet += 7;
                (p.rounds_used, p.nothing_to_do_streak)
            })
            .unwrap()
        };
        assert_eq!(
            (round("aa", 1), round("aa", 2), round("bb", 3)),
            ((1, 1), (2, 2), (1, 3))
        );
        let restarted = progress::CheckProgress::read_row(store, "wt", "auth")
            .unwrap()
            .unwrap();
        assert_eq!(
            (restarted.fingerprint, restarted.updated_at),
            (Some(u64::MAX - 1), at(3))
        );
        assert_eq!((restarted.rounds_answered, restarted.rounds_alive), (1, 1));
        assert_eq!((restarted.fruitless, restarted.unmet), (3, 21));
    });
}

#[test]
fn session_end_is_written_beside_its_beginning() {
    on_every_engine(|store| {
        let began = session::SessionRecord {
            pid: Some(7),
            started_at: at(1),
            log: Some("/logs/a".into()),
            ..Default::default()
        };
        assert!(!session::update_session(store, "wt", "auth", |_| ()).unwrap());
        began.write_row(store, "wt", "auth").unwrap();
        assert!(
            session::update_session(store, "wt", "auth", |s| {
                s.session_id = Some("4f1c".into());
                s.ended_at = Some(at(2));
            })
            .unwrap()
        );
        let (spec, found) = session::read_latest_session(store, "wt").unwrap().unwrap();
        assert_eq!(
            (spec.as_str(), found),
            (
                "auth",
                session::SessionRecord {
                    session_id: Some("4f1c".into()),
                    ended_at: Some(at(2)),
                    ..began
                }
            )
        );
    });
}

#[test]
fn later_rows_are_refused_and_garbage_is_replaceable() {
    on_every_engine(|store| {
        let k = RowKey::new("breaker", &["wt", "auth"]);
        let rev = written(
            store
                .cas(&k, ExpectedRevision::Absent, br#"{"v":2,"state":"ajar"}"#)
                .unwrap(),
        );
        let newer = [
            Breaker::read_or_default(store, "wt", "auth").map(drop),
            Breaker::default().write_row(store, "wt", "auth"),
            Breaker::update_row(store, "wt", "auth", |_| ()),
        ];
        for error in newer.map(Result::unwrap_err) {
            assert!(error.to_string().contains("format 2"), "{error}");
        }
        assert_eq!(
            store.get(&k).unwrap().unwrap().0,
            rev,
            "nothing was written over it"
        );
        written(store.cas(&k, ExpectedRevision::Rev(rev), b"\x00{").unwrap());
        let error = Breaker::read_or_default(store, "wt", "auth").unwrap_err();
        assert!(
            error.to_string().contains("breaker of 'auth'")
                && error.hint().contains("breaker reset"),
            "{error}"
        );
        Breaker::default().write_row(store, "wt", "auth").unwrap();
        assert_eq!(
            Breaker::read_or_default(store, "wt", "auth")
                .unwrap()
                .strikes(),
            0
        );
    });
}

#[test]
fn rebuilding_from_git_only_fills_gaps() {
    on_every_engine(|store| {
        a_baseline(9, 2).write_row(store, "wt", "auth").unwrap();
        let known = rebuild::SnapshotFact {
            worktree_id: "wt".into(),
            spec: None,
            reference: "refs/watchdog/rescue/1".into(),
            commit: "aa".into(),
            at: at(4),
        };
        let event = journal::snapshot_event(
            known.at,
            "wt",
            Some("auth"),
            &known.reference,
            &known.commit,
        );
        assert_eq!(store.append(&[event], None).unwrap(), AppendOutcome::Done);
        let fact = |spec: &str| rebuild::BaselineFact {
            worktree_id: "wt".into(),
            spec: spec.into(),
            baseline: a_baseline(1, 0),
        };
        let new = rebuild::SnapshotFact {
            reference: "refs/watchdog/rescue/2".into(),
            ..known.clone()
        };
        let facts = rebuild::RebuildFacts {
            baselines: vec![fact("auth"), fact("lost")],
            snapshots: vec![known, new],
        };
        for baselines in [1, 0] {
            assert_eq!(
                rebuild::rebuild_rows(store, &facts).unwrap(),
                rebuild::RestoredRowCounts {
                    baselines,
                    snapshots: 2
                }
            );
        }
        assert_eq!(
            BaselineRecord::read_row(store, "wt", "auth").unwrap(),
            Some(a_baseline(9, 2))
        );
        assert_eq!(
            BaselineRecord::read_row(store, "wt", "lost").unwrap(),
            Some(a_baseline(1, 0))
        );
        assert_eq!(
            store.read_events(EventCursor::START, 10).unwrap().0.len(),
            2
        );
    });
}

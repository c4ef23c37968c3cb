//! Tests of the overview of a store's rows and events.

use std::time::Duration;

use serde_json::json;

use super::*;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::breaker::{Breaker, BreakerInput};
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_facts::verdict::Reason;
use watchdog_store::baseline::BaselineRefs;
use watchdog_store::journal::{kind, new_event};
use watchdog_store::lock::{LockAttempt, WorktreeLock};
use watchdog_store::{LocalStore, RecordType, RowKey, journal, open_store};

struct Ground {
    scratch: tempfile::TempDir,
    state: StateDir,
    store: std::sync::Arc<dyn LocalStore>,
}

impl Ground {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDir::resolve(Some(scratch.path().join("state")), None, None).unwrap();
        state.ensure().unwrap();
        let store = open_store(&state).unwrap();
        Ground {
            scratch,
            state,
            store,
        }
    }

    /// A baseline, in a folder of the worktree's name that is there.
    fn watch(&self, id: &str, spec: &str, second: i64) {
        let worktree = self.scratch.path().join(id);
        std::fs::create_dir_all(worktree.join(".git/objects")).unwrap();
        std::fs::create_dir_all(worktree.join(".git/refs")).unwrap();
        std::fs::write(worktree.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let record = BaselineRecord {
            left_behind: Vec::new(),
            committer: None,
            commit: Some("a".repeat(40)),
            branch: Some("main".into()),
            refs: BaselineRefs::Here(Default::default()),
            at: at(second),
            worktree,
            clone_id: None,
            blocked: None,
        };
        record.write_row(self.store.as_ref(), id, spec).unwrap();
        self.happens(id, spec, kind::BASELINE, second, json!({}));
    }

    fn happens(&self, id: &str, spec: &str, kind: &str, second: i64, data: Value) {
        let _done = self
            .store
            .append(&[new_event(at(second), id, Some(spec), kind, data)], None)
            .unwrap();
    }

    fn judge(&self, id: &str, spec: &str, reason: Reason, second: i64) {
        let data = json!({"status": reason.status().as_str(), "reason": reason.as_str(), "message": "m", "breaker": {"state": "closed", "strikes": 0, "limit": 3}});
        self.happens(id, spec, kind::VERDICT, second, data);
    }

    fn look(&self) -> StatusOverview {
        gather_overview(
            self.store.as_ref(),
            &self.state,
            &PathFilter::default(),
            at(10_000),
        )
        .unwrap()
    }

    fn only(&self) -> StatusRow {
        let mut found = self.look();
        assert_eq!(found.rows.len(), 1);
        found.rows.remove(0)
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn name(row: &StatusRow) -> String {
    row.worktree
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned()
}

#[test]
fn attention_rows_come_first_and_gone_last() {
    let ground = Ground::new();
    for (id, reason) in [
        ("complete", Some(Reason::NewCommits)),
        ("incomplete", Some(Reason::Working)),
        ("waiting", Some(Reason::RateLimited)),
        ("review", Some(Reason::Untrusted)),
        ("error", Some(Reason::GitError)),
        ("unjudged", None),
        ("gone", Some(Reason::Halted)),
        ("running", Some(Reason::Halted)),
    ] {
        ground.watch(id, "s", 10);
        if let Some(reason) = reason {
            ground.judge(id, "s", reason, 20 + i64::from(reason == Reason::GitError));
        }
    }
    std::fs::remove_dir_all(ground.scratch.path().join("gone")).unwrap();
    let own = SessionRecord {
        session_id: None,
        agent: None,
        agent_source: None,
        read_as: None,
        pid: Some(std::process::id()),
        started_at: Timestamp::now(),
        ended_at: None,
        exit: None,
        log: None,
        idle_limit: None,
        folder: None,
        survivors: Vec::new(),
        quiet: None,
    };
    own.write_row(ground.store.as_ref(), "running", "s")
        .unwrap();
    let found = ground.look();
    let names: Vec<String> = found.rows.iter().map(name).collect();
    assert_eq!(
        names,
        [
            "error",
            "review",
            "running",
            "incomplete",
            "waiting",
            "unjudged",
            "complete",
            "gone"
        ]
    );
    assert_eq!(
        found.rows.iter().filter(|row| row.needs_person()).count(),
        2
    );
    assert_eq!(found.rows[2].words(), ["failed", "running"]);
    assert_eq!(found.rows[7].words(), ["failed", "gone"]);
    assert!(found.notes.is_empty());
}

#[test]
fn verdict_before_baseline_belongs_to_earlier_work() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    assert!(ground.only().verdict.is_none());
    ground.judge("w", "s", Reason::Untrusted, 5_000);
    assert!(ground.only().is_judged() && ground.only().needs_person());
    // The clock was set back before the next session began.
    ground.watch("w", "s", 50);
    let row = ground.only();
    assert_eq!(
        row.verdict.as_ref().map(|verdict| verdict.since_baseline),
        Some(false)
    );
    assert_eq!(
        (row.words(), row.needs_person()),
        (vec!["review", "not_judged"], false)
    );
    ground.judge("w", "s", Reason::NewCommits, 60);
    assert_eq!(ground.only().words(), ["complete"]);
}

#[test]
fn each_open_spec_has_row_and_rest_count() {
    let ground = Ground::new();
    for (second, spec, reason) in [
        (10, "done", Some(Reason::NewCommits)),
        (20, "left", None),
        (30, "unmet", Some(Reason::ChecksUnmet)),
    ] {
        ground.watch("w", spec, second);
        if let Some(reason) = reason {
            ground.judge("w", spec, reason, second + 1);
        }
    }
    ground.watch("w", "runs", 35);
    let session = SessionRecord {
        pid: Some(std::process::id()),
        ..SessionRecord::began(Timestamp::now())
    };
    session
        .write_row(ground.store.as_ref(), "w", "runs")
        .unwrap();
    ground.watch("w", "new", 40);
    let found = ground.look();
    let specs: Vec<&str> = found.rows.iter().map(|row| row.spec.as_str()).collect();
    assert_eq!(specs, ["runs", "unmet", "new"]);
    let newest = found
        .rows
        .iter()
        .find(|row| row.is_newest)
        .expect("there is one");
    assert_eq!(
        (
            newest.spec.as_str(),
            newest.verdict.is_some(),
            newest.runs()
        ),
        ("new", false, false),
        "nobody judged the new work"
    );
    assert_eq!(
        newest.older,
        OlderSpecs {
            complete: 1,
            not_judged: 1,
            unfinished: 0
        }
    );
    let all = overview_of(
        ground.store.as_ref(),
        &ground.state,
        &PathFilter::default(),
        ShownSpecs::All,
        at(10_000),
    )
    .unwrap();
    assert_eq!(
        (
            all.rows.len(),
            all.rows.iter().map(|row| row.older.total()).sum::<u64>()
        ),
        (5, 0)
    );

    std::fs::remove_dir_all(ground.scratch.path().join("w/.git/objects")).unwrap();
    let broken = ground.look();
    assert_eq!(
        broken.rows.len(),
        3,
        "a broken worktree makes no work live that is over"
    );
    assert!(broken.rows.iter().all(|row| row.broken.is_some()));
    std::fs::remove_dir_all(ground.scratch.path().join("w")).unwrap();
    let gone = ground.look();
    assert_eq!(
        (gone.rows.len(), gone.rows[0].older),
        (
            1,
            OlderSpecs {
                complete: 1,
                not_judged: 2,
                unfinished: 1
            }
        )
    );
}

#[test]
fn only_deciding_hooks_count_as_judgement() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    let hook = |second, answer: &str, reason: Option<Reason>| {
        let data = json!({"event": "stop", "answer": answer, "message": "m", "reason": reason.map(Reason::as_str),
            "status": reason.map(|reason| reason.status().as_str())});
        ground.happens("w", "s", kind::HOOK, second, data);
    };
    hook(20, "let_go", None);
    assert_eq!(ground.only().words(), ["not_judged"]);
    ground.judge("w", "s", Reason::MaxProbes, 30);
    hook(40, "held", Some(Reason::ChecksUnmet));
    let row = ground.only();
    assert_eq!(
        (row.words(), row.breaker.limit),
        (vec!["incomplete"], Some(3)),
        "the limit is that of the last verdict"
    );
    let json = ground.look().to_json(|_| true)["worktrees"][0].clone();
    assert_eq!(
        (&json["judged_by"], &json["hook_answer"], &json["complete"]),
        (&json!("hook"), &json!("held"), &json!(false))
    );
    hook(50, "let_go", Some(Reason::ChecksPassed));
    let json = ground.look().to_json(|_| true)["worktrees"][0].clone();
    assert_eq!(
        (
            &json["hook_answer"],
            &json["complete"],
            &json["judged_since_baseline"]
        ),
        (&json!("let_go"), &json!(true), &json!(true))
    );
}

#[test]
fn events_beyond_the_journal_are_unknown_not_never() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    assert!(
        ground.only().judgement_known,
        "its baseline is in the journal, and no judgement since"
    );
    let record = BaselineRecord {
        left_behind: Vec::new(),
        committer: None,
        commit: None,
        branch: None,
        refs: BaselineRefs::Here(Default::default()),
        at: at(5),
        worktree: ground.scratch.path().join("old"),
        clone_id: None,
        blocked: None,
    };
    record.write_row(ground.store.as_ref(), "old", "s").unwrap();
    let found = ground.look();
    let old = found
        .rows
        .iter()
        .find(|row| name(row) == "old")
        .expect("it has a row");
    assert_eq!((old.judgement_known, old.verdict.is_some()), (false, false));
    for n in 0..1_500 {
        ground.happens("w", "s", kind::SNAPSHOT, 40 + n, json!({}));
    }
    ground.judge("elsewhere", "s", Reason::NewCommits, 2_000);
    assert!(
        ground
            .look()
            .rows
            .iter()
            .any(|row| name(row) == "w" && row.judgement_known),
        "behind 1,500 newer events"
    );
}

#[test]
fn verdict_is_found_behind_many_snapshots() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    ground.judge("w", "s", Reason::Working, 20);
    for n in 0..300 {
        ground.happens("w", "s", kind::SNAPSHOT, 30 + n, json!({}));
    }
    assert_eq!(ground.only().words(), ["incomplete"]);
}

#[test]
fn killed_session_or_loop_never_shows_as_running() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    let ended = SessionRecord {
        pid: Some(u32::MAX),
        ..SessionRecord::began(at(10))
    };
    ended.write_row(ground.store.as_ref(), "w", "s").unwrap();
    let looped = LoopRecord {
        standing: LoopStanding {
            finished: 2,
            ..LoopStanding::default()
        },
        at_most: Some(9),
        under_way: Some((3, at(12))),
        ..LoopRecord::new_begun(journal::event_id(at(10)), at(10))
    };
    looped.write_row(ground.store.as_ref(), "w", "s").unwrap();
    let row = ground.only();
    assert_eq!(
        (row.runs(), row.loops(), row.looped.is_some()),
        (false, false, true)
    );

    let holder = LockHolder {
        pid: std::process::id(),
        command: LOOP.into(),
        since: Timestamp::now(),
        session_active: true,
        spec: None,
    };
    let LockAttempt::Held(lock) = WorktreeLock::try_acquire(&ground.state, "w", holder).unwrap()
    else {
        panic!("nobody has it")
    };
    let found = ground.look();
    assert_eq!((found.rows[0].runs(), found.rows[0].loops()), (true, true));
    assert_eq!(
        found.to_json(|_| true)["worktrees"][0]["loop"]["iteration"],
        3
    );
    drop(lock);
    assert!(!ground.only().runs());

    LoopRecord {
        over: Some(Reason::ChecksPassed),
        ..looped
    }
    .write_row(ground.store.as_ref(), "w", "s")
    .unwrap();
    assert!(ground.only().looped.is_none());
}

#[test]
fn open_breaker_needs_attention_until_cooldown_ends() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    let settings = ConfigSettings::default().breaker;
    for second in [100, 200, 300] {
        Breaker::update_row(ground.store.as_ref(), "w", "s", |b| {
            b.record(
                at(second),
                &settings,
                BreakerInput::Strike {
                    why: "stalled".into(),
                },
            )
        })
        .unwrap();
    }
    let until = |seconds: u64| {
        at(300)
            .checked_add(Duration::from_secs(seconds))
            .unwrap()
            .to_string()
    };
    for (told, state, person, limit) in [
        (until(1800), "half_open", false, Some(3)),
        (until(99_999), "open", true, Some(3)),
        ("nonsense".into(), "open", true, None),
    ] {
        let verdict = json!({"status": "waiting", "reason": "locked", "breaker": {"state": "open", "strikes": 3, "limit": 3, "open_until": told}});
        ground.happens("w", "s", kind::VERDICT, 400, verdict);
        let row = ground.only();
        assert_eq!(
            (
                row.breaker.state.as_str(),
                row.needs_person(),
                row.breaker.limit
            ),
            (state, person, limit),
            "{told}"
        );
    }
}

#[test]
fn damaged_records_are_reported_without_hiding_intact_ones() {
    let ground = Ground::new();
    ground.watch("a", "s", 10);
    ground.happens("a", "s", kind::VERDICT, 20, json!({"status": 7}));
    ground.watch("b", "s", 10);
    for (row_kind, id) in [
        ("baseline", "c"),
        ("session", "b"),
        ("loop", "b"),
        ("breaker", "b"),
    ] {
        ground
            .store
            .keep_hints(&[(RowKey::new(row_kind, &[id, "s"]), b"{\"v\":1,".to_vec())])
            .unwrap();
    }
    ground
        .store
        .keep_hints(&[(RowKey::new("baseline", &["d", "s"]), b"{\"v\":99}".to_vec())])
        .unwrap();
    let found = ground.look();
    assert_eq!(found.rows.iter().map(name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(found.notes.len(), 5, "{:?}", found.notes);
    assert!(
        found.rows[0].needs_person(),
        "a verdict that cannot be read is none to pass over"
    );
    let json = found.to_json(|_| true);
    assert_eq!(
        (
            &json["worktrees"][0]["complete"],
            &json["worktrees"][0]["status"]
        ),
        (&json!(false), &Value::Null)
    );
}

//! Tests of the overview of a store's rows and events.

use std::time::Duration;

use serde_json::json;

use super::*;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_core::decision::breaker::BreakerInput;
use watchdog_core::decision::iteration::standing::LoopStanding;
use watchdog_facts::verdict::Reason;
use watchdog_store::baseline::BaselineRefs;
use watchdog_store::journal::event;
use watchdog_store::lock::{LockAttempt, WorktreeLock};
use watchdog_store::{LocalStore, RowKey, journal, open_store};

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
        Ground { scratch, state, store }
    }

    /// A baseline, in a folder of the worktree's name that is there.
    fn watch(&self, id: &str, spec: &str, second: i64) {
        let worktree = self.scratch.path().join(id);
        std::fs::create_dir_all(worktree.join(".git/objects")).unwrap();
        std::fs::create_dir_all(worktree.join(".git/refs")).unwrap();
        std::fs::write(worktree.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let record = BaselineRecord {
            commit: Some("a".repeat(40)),
            branch: Some("main".into()),
            refs: BaselineRefs::Here(Vec::new()),
            at: at(second),
            worktree,
        };
        baseline::record(self.store.as_ref(), id, spec, &record).unwrap();
        self.happens(id, spec, kind::BASELINE, second, json!({}));
    }

    fn happens(&self, id: &str, spec: &str, kind: &str, second: i64, data: Value) {
        let _done = self.store.append(&[event(at(second), id, Some(spec), kind, data)], None).unwrap();
    }

    fn judge(&self, id: &str, spec: &str, reason: Reason, second: i64) {
        let data = json!({"status": reason.status().as_str(), "reason": reason.as_str(), "message": "m", "breaker": {"limit": 3}});
        self.happens(id, spec, kind::VERDICT, second, data);
    }

    fn look(&self) -> StatusOverview {
        overview(self.store.as_ref(), &self.state, &PathFilter::default(), at(10_000)).unwrap()
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
    row.worktree.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn what_needs_a_person_comes_first_and_what_is_gone_comes_last() {
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
        pid: Some(std::process::id()),
        started_at: Timestamp::now(),
        ended_at: None,
        log: None,
        idle_limit: None,
        survivors: Vec::new(),
        quiet: None,
    };
    session::record(ground.store.as_ref(), "running", "s", &own).unwrap();
    let found = ground.look();
    let names: Vec<String> = found.rows.iter().map(name).collect();
    assert_eq!(names, ["error", "review", "running", "incomplete", "waiting", "unjudged", "complete", "gone"]);
    assert_eq!(found.rows.iter().filter(|row| row.needs_person()).count(), 2);
    assert_eq!(found.rows[2].words(), ["failed", "running"]);
    assert_eq!(found.rows[7].words(), ["failed", "gone"]);
    assert!(found.notes.is_empty());
}

#[test]
fn a_verdict_from_before_the_baseline_is_about_earlier_work_whatever_the_clock_said() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    assert!(ground.only().verdict.is_none());
    ground.judge("w", "s", Reason::Untrusted, 5_000);
    assert!(ground.only().is_judged() && ground.only().needs_person());
    // The clock was set back before the next session began.
    ground.watch("w", "s", 50);
    let row = ground.only();
    assert_eq!(row.verdict.as_ref().map(|verdict| verdict.since_baseline), Some(false));
    assert_eq!((row.words(), row.needs_person()), (vec!["review", "not_judged"], false));
    ground.judge("w", "s", Reason::NewCommits, 60);
    assert_eq!(ground.only().words(), ["complete"]);
}

#[test]
fn the_work_of_a_worktree_is_that_of_its_latest_baseline() {
    let ground = Ground::new();
    ground.watch("w", "old", 10);
    ground.judge("w", "old", Reason::NewCommits, 20);
    ground.watch("w", "new", 30);
    let row = ground.only();
    assert_eq!((row.spec.as_str(), row.verdict.is_some()), ("new", false));
    for n in 0..600 {
        ground.happens("w", "new", kind::SNAPSHOT, 40 + n, json!({}));
    }
    ground.judge("w", "old", Reason::GitError, 700);
    assert!(ground.only().verdict.is_none(), "nobody judged the new work");
}

#[test]
fn a_verdict_is_found_behind_the_snapshots_of_a_long_session() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    ground.judge("w", "s", Reason::Working, 20);
    for n in 0..300 {
        ground.happens("w", "s", kind::SNAPSHOT, 30 + n, json!({}));
    }
    assert_eq!(ground.only().words(), ["incomplete"]);
}

#[test]
fn only_what_lives_is_told_as_running_and_a_killed_loop_as_cut_short() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    let ended = SessionRecord { pid: Some(u32::MAX), ..SessionRecord::began(at(10)) };
    session::record(ground.store.as_ref(), "w", "s", &ended).unwrap();
    let looped = LoopRecord {
        id: journal::event_id(at(10)),
        begun_at: at(10),
        origin: None,
        refs: Vec::new(),
        standing: LoopStanding { finished: 2, ..LoopStanding::default() },
        records: Vec::new(),
        at_most: Some(9),
        under_way: Some((3, at(12))),
        feedback: None,
        session_id: None,
        over: None,
        birth: None,
    };
    looped::record(ground.store.as_ref(), "w", "s", &looped).unwrap();
    let row = ground.only();
    assert_eq!((row.runs(), row.loops(), row.looped.is_some()), (false, false, true));

    let holder = LockHolder { pid: std::process::id(), command: LOOP.into(), since: Timestamp::now(), session_active: true, spec: None };
    let LockAttempt::Held(lock) = WorktreeLock::try_acquire(&ground.state, "w", holder).unwrap() else { panic!("nobody has it") };
    let found = ground.look();
    assert_eq!((found.rows[0].runs(), found.rows[0].loops()), (true, true));
    assert_eq!(found.to_json(|_| true)["worktrees"][0]["loop"]["iteration"], 3);
    drop(lock);
    assert!(!ground.only().runs());

    looped::record(ground.store.as_ref(), "w", "s", &LoopRecord { over: Some(Reason::ChecksPassed), ..looped }).unwrap();
    assert!(ground.only().looped.is_none());
}

#[test]
fn an_open_breaker_needs_a_person_until_its_cooldown_is_over() {
    let ground = Ground::new();
    ground.watch("w", "s", 10);
    let settings = ConfigSettings::default().breaker;
    for second in [100, 200, 300] {
        breaker::update(ground.store.as_ref(), "w", "s", |b| {
            b.record(at(second), &settings, BreakerInput::Strike { why: "stalled".into() })
        })
        .unwrap();
    }
    let until = |seconds: u64| at(300).checked_add(Duration::from_secs(seconds)).unwrap().to_string();
    for (told, state, person) in [(until(1800), "half_open", false), (until(99_999), "open", true), ("nonsense".into(), "open", true)] {
        let verdict = json!({"status": "waiting", "reason": "locked", "breaker": {"limit": 3, "open_until": told}});
        ground.happens("w", "s", kind::VERDICT, 400, verdict);
        let row = ground.only();
        assert_eq!((row.breaker.state.as_str(), row.needs_person(), row.breaker.limit), (state, person, Some(3)), "{told}");
    }
}

#[test]
fn damaged_rows_and_verdicts_are_told_and_hide_nothing_else() {
    let ground = Ground::new();
    ground.watch("a", "s", 10);
    ground.happens("a", "s", kind::VERDICT, 20, json!({"status": 7}));
    ground.watch("b", "s", 10);
    for (row_kind, id) in [("baseline", "c"), ("session", "b"), ("loop", "b"), ("breaker", "b")] {
        ground.store.keep_hints(&[(RowKey::new(row_kind, &[id, "s"]), b"{\"v\":1,".to_vec())]).unwrap();
    }
    ground.store.keep_hints(&[(RowKey::new("baseline", &["d", "s"]), b"{\"v\":99}".to_vec())]).unwrap();
    let found = ground.look();
    assert_eq!(found.rows.iter().map(name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(found.notes.len(), 5, "{:?}", found.notes);
    assert!(found.rows[0].needs_person(), "a verdict that cannot be read is none to pass over");
    let json = found.to_json(|_| true);
    assert_eq!((&json["worktrees"][0]["complete"], &json["worktrees"][0]["status"]), (&json!(false), &Value::Null));
}

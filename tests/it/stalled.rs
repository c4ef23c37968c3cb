//! Whoever looks at a worktree whose session has stalled is told so: a person who types `check`, and `watch`.

use std::time::Duration;

use watchdog_git::Worktree;
use watchdog_store::session::SessionRecord;
use watchdog_store::{RecordType, StateDir, open_store};

use crate::support::watch::{SOON, Watch};
use crate::support::{Repo, Running, Step, TestEnv, WallClock, assert_parts, wait_until};

const HOUR: Duration = Duration::from_secs(3600);

/// A session that is on record and held by no watchdog: it runs, and has nothing more to say.
fn on_record<'env>(env: &'env TestEnv, repo: &Repo<'env>) -> (Running, impl Fn(bool)) {
    let agent = env.fake_agent("elsewhere", &[Step::hang()]);
    let alive = env
        .command(&agent[0], repo.path())
        .args([&agent[1]])
        .spawn();
    let store = open_store(&StateDir::resolve(Some(env.state()), None, None).unwrap()).unwrap();
    let id = Worktree::open(repo.path()).unwrap().worktree_id();
    let log = env.write("session.log", "the last words");
    let (pid, started_at) = (alive.pid(), jiff::Timestamp::now());
    let write = move |silent_at_once: bool| {
        let idle_limit = Some(if silent_at_once { Duration::ZERO } else { HOUR });
        let record = SessionRecord {
            pid: Some(pid),
            started_at,
            log: Some(log.clone()),
            idle_limit,
            ..SessionRecord::default()
        };
        record.write_row(store.as_ref(), &id, "main").unwrap();
    };
    (alive, write)
}

#[test]
fn check_reports_a_stalled_running_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let up = env.root().join("up");
    let agent = env.fake_agent(
        "session",
        &[
            Step::print("hello\n"),
            Step::write(&up.to_string_lossy(), ""),
            Step::hang(),
        ],
    );
    let running = repo.watchdog_spawn(&["run", "--", &agent[0], &agent[1]]);
    wait_until("the session runs", SOON, || up.exists());
    let clock = WallClock::new(&env);
    let check = || {
        clock
            .read_by(repo.watchdog_command(&["check", "--json", "-q"]))
            .run()
            .expect(11)
    };
    let alive = check();
    assert_eq!(alive.verdict(), "waiting/session_active", "{alive}");
    assert!(
        !alive.stdout.contains("stalled") && alive.json()["session"]["idle_seconds"].is_u64(),
        "{alive}"
    );
    clock.be_ahead_by(HOUR);
    let stalled = check();
    assert_eq!(stalled.verdict(), "waiting/session_active");
    let message = stalled.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert_parts(
        &message,
        &["under 'watchdog run'", "it has stalled: silent for 60 min"],
    );
    drop(running);
}

#[test]
fn check_beside_a_stalled_session_says_so() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let (alive, record) = on_record(&env, &repo);
    let check = || {
        repo.watchdog(&["check", "--no-probe", "--json", "-q"])
            .expect(11)
            .json()["message"]
            .to_string()
    };
    record(false);
    assert!(!check().contains("stalled"));
    record(true);
    let message = check();
    assert!(
        message.contains(&format!("(process {}); it has stalled", alive.pid())),
        "{message}"
    );
}

#[test]
fn watch_reports_a_stalled_session_once() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let (alive, record) = on_record(&env, &repo);
    record(false);
    let watch = Watch::start(&env, repo.path(), &["--poll-only", "--poll", "200ms"]);
    let told = || watch.0.stderr_so_far().matches("it has stalled").count();
    assert_eq!(told(), 0);
    record(true);
    wait_until("it tells of the stall", SOON, || told() == 1);
    repo.write("work.txt", "work");
    repo.commit_all("feat: work");
    // A session that lives is not judged, stalled or not.
    drop(alive);
    assert_eq!(watch.wait_for(1), "complete/new_commits of repo");
    assert_eq!(
        told(),
        1,
        "once, and it is no verdict: {}",
        watch.0.stderr_so_far()
    );
    watch.end();
}

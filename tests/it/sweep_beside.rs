//! Sweeps beside sessions, other sweeps and signals, and what cron starts.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use watchdog_git::Worktree;
use watchdog_store::session::SessionRecord;
use watchdog_store::{RecordType, StateDir, open_store};

use crate::support::{Repo, Running, Step, TestEnv, assert_parts, fill_line, wait_until};
use crate::sweep::{rows, word};

const SOON: Duration = Duration::from_secs(60);

#[test]
fn running_session_is_awaited_without_questions() {
    let env = TestEnv::new();
    let repo = env.repo();
    let go_on = env.root().join("go-on");
    let session = env.fake_agent(
        "session",
        &[
            Step::wait_for(&go_on),
            Step::write("a", "1"),
            Step::commit("feat: a"),
        ],
    );
    let asked = env.root().join("asked");
    let config = env.config_asking(&[Step::append(asked.to_str().unwrap(), "x")], json!({}));
    let config = config.to_str().unwrap();
    let running = repo.watchdog_spawn(&["--config", config, "run", "--", &session[0], &session[1]]);
    wait_until("the session runs", SOON, || {
        let swept = repo.watchdog(&["--config", config, "sweep", "--json", "-q", "--no-probe"]);
        swept.stdout.contains("\"session_active\"")
    });
    let swept = repo
        .watchdog(&["--config", config, "sweep", "--json", "-q"])
        .expect(0);
    assert_eq!(word(&rows(&swept)["repo"]), "waiting/session_active");
    fs::write(&go_on, "").unwrap();
    running.wait().expect(0);
    assert!(!asked.exists(), "nobody was asked");
    let swept = repo
        .watchdog(&["--config", config, "sweep", "--json", "-q"])
        .expect(0);
    assert_eq!(word(&rows(&swept)["repo"]), "complete/new_commits");
}

/// A process of a session that watchdog did not start.
fn start_elsewhere(env: &TestEnv, repo: &Repo<'_>) -> Running {
    let agent = env.fake_agent("elsewhere", &[Step::hang()]);
    let command = env.command(&agent[0], repo.path());
    command.args([&agent[1]]).spawn()
}

#[test]
fn recorded_session_counts_only_during_its_process_life() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let alive = start_elsewhere(&env, &repo);
    let record = |pid, started_at: jiff::Timestamp| {
        let state = StateDir::resolve(Some(env.state()), None, None).unwrap();
        let store = open_store(&state).unwrap();
        let id = Worktree::open(repo.path()).unwrap().worktree_id();
        let record = SessionRecord {
            pid: Some(pid),
            started_at,
            ..SessionRecord::default()
        };
        record.write_row(store.as_ref(), &id, "main").unwrap();
    };
    let sweep = || {
        word(
            &rows(
                &repo
                    .watchdog(&["sweep", "--no-probe", "--json", "-q"])
                    .expect(0),
            )["repo"],
        )
    };
    record(alive.pid(), jiff::Timestamp::now());
    assert_eq!(sweep(), "waiting/session_active");
    record(alive.pid(), jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(
        sweep(),
        "untouched",
        "a process that began after the session is another one with its number"
    );
    let ended = alive.pid();
    drop(alive);
    record(ended, jiff::Timestamp::now());
    assert_eq!(sweep(), "incomplete/unfinished");
}

#[test]
fn overlong_silence_marks_a_session_as_stalled() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let alive = start_elsewhere(&env, &repo);
    let log = env.write("session.log", "the last words");
    let state = StateDir::resolve(Some(env.state()), None, None).unwrap();
    let store = open_store(&state).unwrap();
    let id = Worktree::open(repo.path()).unwrap().worktree_id();
    let record = SessionRecord {
        pid: Some(alive.pid()),
        started_at: jiff::Timestamp::now(),
        log: Some(log),
        idle_limit: Some(Duration::from_secs(1)),
        ..SessionRecord::default()
    };
    record.write_row(store.as_ref(), &id, "main").unwrap();
    let mut swept = None;
    wait_until("the sweep tells that it stalled", SOON, || {
        let out = repo
            .watchdog(&["sweep", "--no-probe", "--json", "-q"])
            .expect(0);
        let row = rows(&out)["repo"].clone();
        assert_eq!(
            word(&row),
            "waiting/session_active",
            "nothing is judged while it runs: {out}"
        );
        let stalled = row["message"].as_str().unwrap().contains("stalled");
        swept = Some(row);
        stalled
    });
    assert!(
        swept.unwrap()["session"]["idle_seconds"]
            .as_u64()
            .is_some_and(|idle| idle >= 1)
    );
    let status = repo
        .watchdog(&["status", "--only", "stalled", "--json"])
        .expect(0);
    status.assert_values(json!({"/worktrees/0/session/state": "stalled"}));
    let shown = repo.watchdog(&["status"]).expect(0);
    assert!(shown.stdout.contains("stalled"), "{shown}");

    // Without a log or a transcript nobody can tell, and nothing is made of that.
    SessionRecord {
        log: None,
        ..record
    }
    .write_row(store.as_ref(), &id, "main")
    .unwrap();
    let status = repo.watchdog(&["status", "--json"]).expect(0);
    status.assert_values(json!({"/worktrees/0/session/state": "running"}));
    drop(alive);
}

#[test]
fn concurrent_sweeps_ask_once_without_waiting() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let (asked, go_on) = (env.root().join("asked"), env.root().join("go-on"));
    let working =
        Step::print_json(&json!({"status": "working", "message": "", "should_continue": true}));
    let steps = [
        Step::append(asked.to_str().unwrap(), "x"),
        Step::wait_for(&go_on),
        working,
    ];
    let config = env.config_asking(
        &steps,
        json!({"completion_check": {"probe_timeout_seconds": 60}}),
    );
    let args = fill_line("--config {} sweep --json -q", &[config.to_str().unwrap()]);
    let first = repo.watchdog_spawn(&args);
    wait_until("the first one asks", SOON, || asked.exists());
    let second = repo.watchdog(&args).expect(0);
    assert_eq!(word(&rows(&second)["repo"]), "waiting/locked");
    assert_parts(
        rows(&second)["repo"]["message"].as_str().unwrap(),
        &["watchdog sweep"],
    );
    fs::write(&go_on, "").unwrap();
    assert_eq!(
        word(&rows(&first.wait().expect(0))["repo"]),
        "incomplete/working"
    );
    assert_eq!(fs::read_to_string(&asked).unwrap(), "x");
}

#[test]
fn interrupted_sweep_ends_at_once_without_leftovers() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("draft", "1");
    let asked = env.root().join("asked");
    let config = env.config_asking(
        &[Step::append(asked.to_str().unwrap(), "x"), Step::hang()],
        json!({}),
    );
    let sweep = repo.spawn_line("--config {} sweep --json -q", &[config.to_str().unwrap()]);
    wait_until("the agent is asked", SOON, || asked.exists());
    sweep.signal(Signal::INT);
    let swept = sweep.wait().expect(14);
    assert_eq!(word(&rows(&swept)["repo"]), "stopped/interrupted");
    assert_eq!(repo.snapshots().len(), 1);
    env.assert_nothing_left();
}

#[test]
fn printed_crontab_and_units_work_unchanged() {
    let env = TestEnv::new();
    let repo = env.repo_named("50% of it's $HOME");
    repo.watchdog(&["snapshot"]).expect(0);
    fs::remove_file(repo.path().join(".git/HEAD")).unwrap();
    let top = env.root();
    let printed = env
        .watchdog(&top, &["init", "--cron", ".", "--json"])
        .expect(0)
        .json();
    let line = printed["crontab"].as_str().unwrap();
    let command = line
        .strip_prefix("*/10 * * * * ")
        .unwrap_or_else(|| panic!("{line}"))
        .replace("\\%", "%");
    let ran = env
        .command("sh", &env.home())
        .args(["-c", &command])
        .run()
        .expect(16);
    assert!(
        ran.stdout.contains("git_error") && ran.stderr.is_empty(),
        "{ran}"
    );

    let units = env.root().join("units");
    for (name, key) in [
        ("watchdog-sweep.service", "service"),
        ("watchdog-sweep.timer", "timer"),
    ] {
        env.write(&format!("units/{name}"), printed[key].as_str().unwrap());
    }
    let verified = env.command("systemd-analyze", &units).args(fill_line(
        "--user verify ./watchdog-sweep.timer ./watchdog-sweep.service",
        &[],
    ));
    let verified = verified.env("XDG_RUNTIME_DIR", env.root()).run();
    let complaints: Vec<&str> = verified
        .stderr
        .lines()
        .filter(|line| line.contains("watchdog-sweep"))
        .collect();
    assert!(
        complaints.is_empty() && verified.code == Some(0),
        "{verified}"
    );

    let people = env.watchdog(&top, &["init", "--cron"]).expect(0).stdout;
    let script = people
        .split("instead.\n")
        .nth(1)
        .unwrap()
        .split("systemctl")
        .next()
        .unwrap();
    env.command("sh", &top).args(["-c", script]).run().expect(0);
    assert_eq!(
        fs::read_to_string(env.home().join(".config/systemd/user/watchdog-sweep.timer")).unwrap(),
        printed["timer"].as_str().unwrap()
    );
}

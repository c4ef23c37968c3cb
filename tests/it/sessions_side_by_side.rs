//! Two sessions live in one worktree: the second one does not move the baseline of the first, however it begins.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{CommandOutput, Repo, Running, Step, TestEnv, assert_parts, wait_until};

const SOON: Duration = Duration::from_secs(60);

fn check(repo: &Repo<'_>) -> CommandOutput {
    repo.watchdog(&["check", "--json", "--no-probe", "--no-rescue"])
}

/// An agent that hooks told of, as it is seen from outside: a process that lives.
pub fn hooked<'env>(env: &'env TestEnv, repo: &Repo<'env>, session: &str) -> Running {
    let agent = env.command("sleep", repo.path()).args(["600"]).spawn();
    let input = json!({"session_id": session, "source": "startup", "cwd": repo.path()});
    let command = repo
        .watchdog_command(&["hook", "session-start"])
        .env("CLAUDE_PID", agent.pid().to_string());
    let _told = command
        .env("CLAUDE_CODE_SESSION_ID", session)
        .stdin(input.to_string())
        .run()
        .expect(0);
    agent
}

#[test]
fn live_session_prevents_another_of_its_spec() {
    let env = TestEnv::new();
    let repo = env.repo();
    let first = hooked(&env, &repo, "first");
    let baseline = repo.head();
    repo.write("a.txt", "a");
    repo.commit_all("feat: a");
    repo.write("draft.txt", "the first one is at it");
    let started = env.root().join("started");
    let touch = ["touch", started.to_str().unwrap()];
    for command in [
        &["run", "--json", "--no-probe"][..],
        &["loop", "--json", "--no-probe"],
    ] {
        let out = repo
            .watchdog(&[command, &["--"], &touch].concat())
            .expect(11);
        assert_eq!(out.verdict(), "waiting/session_active", "{out}");
        assert!(!started.exists(), "{out}");
        let message = out.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert_parts(&message, &[&format!("process {}", first.pid()), "--spec"]);
    }
    let out = check(&repo).expect(11);
    out.assert_verdict("waiting/session_active", json!({"baseline": baseline}));
    // One with a name of its own has a baseline of its own.
    let _other = repo.watchdog(
        &[
            &["run", "--json", "--no-probe", "--spec", "other", "--"],
            &touch[..],
        ]
        .concat(),
    );
    assert!(started.exists());
    std::fs::remove_file(&started).unwrap();
    drop(first);
    let out = repo
        .watchdog_line("check --json --no-probe --no-rescue --spec main", &[])
        .expect(0);
    out.assert_values(json!({"baseline": baseline, "made_here": 1}));
    let _later = repo.watchdog(
        &[
            &["run", "--json", "--no-probe", "--spec", "main", "--"],
            &touch[..],
        ]
        .concat(),
    );
    assert!(started.exists(), "it ended, and could not say so");
}

#[test]
fn concurrent_hooked_sessions_share_one_baseline() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head();
    let first = hooked(&env, &repo, "first");
    repo.write("a.txt", "a");
    repo.commit_all("feat: a");
    let second = hooked(&env, &repo, "second");
    repo.write("draft.txt", "of either");
    let end = json!({"session_id": "second", "reason": "other", "cwd": repo.path()});
    let _ended = repo
        .watchdog_command(&["hook", "session-end", "--within", "60s"])
        .stdin(end.to_string())
        .run()
        .expect(0);
    drop(second);
    repo.write("later.txt", "of the first");
    let out = repo
        .watchdog(&["sweep", "--json", "-q", "--no-probe"])
        .expect(0);
    assert_eq!(
        out.verdict(),
        "waiting/session_active",
        "the first still runs: {out}"
    );
    drop(first);
    let out = check(&repo).expect(0);
    out.assert_values(json!({
        "baseline": baseline, "made_here": 1, "inherited": 0, "changed_since_end": 0,
    }));
}

#[test]
fn session_outliving_a_killed_run_keeps_its_baseline() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head();
    let (up, go) = (env.root().join("up"), env.root().join("go"));
    let steps = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        Step::write(&up.to_string_lossy(), ""),
        Step::wait_for(&go),
    ];
    let late = [&steps[..], &[Step::write("b.txt", "b"), Step::commit("b")]].concat();
    let agent = env.fake_agent("session", &late);
    let running = repo.watchdog_spawn(&["run", "--json", "--no-probe", "--", &agent[0], &agent[1]]);
    wait_until("the session is at work", SOON, || up.exists());
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, Some(137));
    let second = repo
        .watchdog(&["run", "--json", "--no-probe", "--", "touch", "started"])
        .expect(11);
    assert_eq!(second.verdict(), "waiting/session_active", "{second}");
    assert!(!repo.has("started"), "{second}");
    std::fs::write(go, "").unwrap();
    env.assert_nothing_left();
    let out = check(&repo).expect(0);
    out.assert_values(json!({"baseline": baseline, "made_here": 2}));
    let _third = repo.watchdog(&["run", "--json", "--no-probe", "--", "touch", "started"]);
    assert!(repo.has("started") && Path::new(&agent[0]).exists());
}

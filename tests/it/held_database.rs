//! A process that holds the right to write the database and never frees it: each command waits once, judges all the same, and says so.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{CommandOutput, TestEnv};
use crate::sweep::{rows, word};

/// What a command waits in all, and what a loaded machine may add.
const PROMISED: Duration = Duration::from_secs(10 + 15);

/// Holds the right to write until it is dropped.
fn hold(env: &TestEnv) -> rusqlite::Connection {
    let database =
        rusqlite::Connection::open(env.state().join("watchdog.db")).expect("it is there");
    database
        .busy_timeout(Duration::from_secs(30))
        .expect("a number of seconds");
    database
        .execute_batch("BEGIN IMMEDIATE")
        .expect("nobody else holds it for long");
    database
}

fn timed(command: impl FnOnce() -> CommandOutput) -> (CommandOutput, Duration) {
    let begun = Instant::now();
    let out = command();
    let took = begun.elapsed();
    assert!(took < PROMISED, "{took:?}\n{out}");
    assert!(
        took >= Duration::from_secs(9),
        "it did not wait for a lock that may be freed: {took:?}\n{out}"
    );
    (out, took)
}

#[test]
fn held_database_delays_a_check_ten_seconds_overall() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("a", "1");
    repo.commit_all("feat: a");
    let held = hold(&env);
    let (out, _) = timed(|| repo.watchdog(&["check", "--json", "--no-probe"]).expect(0));
    out.assert_verdict("complete/new_commits", json!({"new_commits": 1}));
    let told = format!("{} {}", out.json()["degraded"], out.stderr);
    assert!(told.contains("in use by another process"), "{out}");
    drop(held);
    let out = repo.watchdog(&["check", "--json", "--no-probe"]).expect(0);
    assert_eq!(out.verdict(), "complete/new_commits", "{out}");
    assert!(
        !format!("{} {}", out.json()["degraded"], out.stderr).contains("in use"),
        "{out}"
    );
}

#[test]
fn held_database_delays_a_sweep_ten_seconds_overall() {
    let env = TestEnv::new();
    for (name, works) in [
        ("idle", false),
        ("one", true),
        ("two", true),
        ("three", true),
    ] {
        let repo = env.repo_named(name);
        repo.watchdog(&["snapshot"]).expect(0);
        if works {
            repo.write("a", "1");
            repo.commit_all("feat: a");
        }
    }
    let held = hold(&env);
    let (swept, _) = timed(|| {
        env.watchdog(
            &env.root(),
            &["sweep", ".", "--json", "-q", "--no-probe", "--jobs", "2"],
        )
    });
    let rows = rows(&swept);
    for (name, verdict) in [
        ("idle", "untouched"),
        ("one", "complete/new_commits"),
        ("two", "complete/new_commits"),
        ("three", "complete/new_commits"),
    ] {
        assert_eq!(word(&rows[name]), verdict, "{swept}");
    }
    drop(held);
}

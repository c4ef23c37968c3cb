//! What watchdog remembers from call to call: strikes, and which configurations a person has allowed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Repo, Step, TestEnv, WallClock, fill_line};

#[test]
fn breaker_admits_one_trial_after_its_cooldown() {
    let env = TestEnv::new();
    let repo = env.repo();
    let stalled = [Step::print("{\"status\": \"working\"}")];
    let settings = json!({"breaker": {"limit": 2, "cooldown_seconds": 600}, "completion_check": {"max_probes": 1}});
    let config = env
        .config_asking(&stalled, settings)
        .to_string_lossy()
        .into_owned();
    let baseline = repo.head();
    let clock = WallClock::new(&env);
    let line = "check --json --baseline {} --config {}";
    let args = fill_line(line, &[&baseline, &config]);
    let check = || clock.read_by(repo.watchdog_command(&args)).run();
    assert_eq!(check().expect(13).json()["breaker"]["state"], "closed");
    assert_eq!(check().expect(13).json()["breaker"]["state"], "open");
    let refused = check().expect(14);
    assert_eq!(refused.verdict(), "stopped/breaker_open");
    assert!(
        refused.json()["breaker"]["open_until"].is_string(),
        "{refused}"
    );
    let shown = repo.watchdog(&["breaker", "--json"]).expect(0);
    assert!(shown.stdout.contains("open"), "{shown}");
    clock.be_ahead_by(Duration::from_secs(3600));
    check().expect(13);
    assert_eq!(
        check().expect(14).verdict(),
        "stopped/breaker_open",
        "a failed trial opens it again"
    );
    repo.write("a.txt", "a");
    repo.commit_all("a");
    clock.be_ahead_by(Duration::from_secs(48 * 3600));
    check().expect(0);
    let closed = check().expect(0);
    closed.assert_values(json!({"/breaker/state": "closed", "/breaker/strikes": 0}));
}

#[test]
fn activity_in_the_worktree_is_no_strike() {
    let env = TestEnv::new();
    let repo = env.repo();
    let alive = [
        Step::append("ignored.log", "still at it\n"),
        Step::append("notes.txt", "still at it\n"),
        Step::print("{\"status\": \"working\"}"),
    ];
    let settings = json!({"rescue": {"mode": "off"}, "completion_check": {"max_probes": 2, "probe_interval_seconds": 0}});
    let config = env
        .config_asking(&alive, settings)
        .to_string_lossy()
        .into_owned();
    let out = repo
        .watchdog(&["check", "--json", "--baseline", "HEAD", "--config", &config])
        .expect(13);
    out.assert_values(json!({"strike": false, "not_a_strike_because": "activity_in_worktree"}));
}

#[test]
fn trusted_hash_holds_at_the_same_path_only() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("completion.json", own_configuration(&env));
    repo.commit_all("criteria");
    let out = repo.watchdog(&["trust", "--json"]).expect(0).json();
    let hash = out["trusted"].as_str().expect("a hash").to_owned();
    let is_used = |repo: &Repo<'_>, state: &str, trust: &str| {
        let check = repo.watchdog_command(&["check", "--json", "--no-probe", "--baseline", "HEAD"]);
        let out = check
            .env("WATCHDOG_STATE_DIR", env.root().join(state))
            .env("WATCHDOG_TRUST", trust)
            .run();
        !out.json()["degraded"]
            .as_array()
            .expect("a list")
            .contains(&json!("untrusted"))
    };
    let another = format!(
        "{}{}",
        &hash[..63],
        if hash.ends_with('0') { '1' } else { '0' }
    );
    assert!(!is_used(&repo, "runner-1", "") && !is_used(&repo, "runner-1", &another));
    assert!(is_used(
        &repo,
        "runner-1",
        &format!("0000, {}", hash.to_uppercase())
    ));
    let (path, elsewhere) = (repo.path().to_owned(), env.root().join("elsewhere"));
    let clone_to = |from: &Path, to: &Path| {
        env.command("git", &env.root())
            .args(["clone", "-q"])
            .args([from, to])
            .run()
            .expect(0)
    };
    clone_to(&path, &elsewhere);
    let clone = Repo::new(&env, elsewhere.clone());
    assert!(
        !is_used(&clone, "runner-2", &hash),
        "a clone elsewhere is another repository"
    );
    fs::remove_dir_all(&path).expect("it is ours");
    clone_to(&elsewhere, &path);
    assert!(
        is_used(&repo, "runner-2", &hash),
        "a fresh clone in the same folder"
    );
}

/// A configuration in the repository that runs a command, which leaves a mark.
fn own_configuration(env: &TestEnv) -> String {
    let mark = env.root().join("command-ran");
    let config: Value = json!({
        "version": 1,
        "checks": [{"type": "command", "name": "tests", "run": format!("touch '{}'", mark.display())}],
        "completion_check": {"max_probes": 0},
    });
    config.to_string()
}

#[test]
fn untrusted_repository_runs_no_command() {
    let env = TestEnv::new();
    let repo = env.repo();
    let ran = || env.root().join("command-ran").exists();
    repo.write("completion.json", own_configuration(&env));
    let baseline = repo.commit_all("configure");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("a.txt", "a");
    repo.commit_all("a");
    let check = || repo.watchdog(&["check", "--json", "--no-probe", "--baseline", &baseline]);

    let untrusted = check().expect(12);
    assert_eq!(untrusted.verdict(), "review/untrusted");
    assert!(
        untrusted.json()["message"]
            .as_str()
            .is_some_and(|message| message.ends_with(" trust")),
        "{untrusted}"
    );
    assert!(!ran());

    repo.watchdog(&["trust"]).expect(0);
    assert_eq!(check().expect(0).verdict(), "complete/checks_passed");
    assert!(ran());

    repo.watchdog(&["untrust"]).expect(0);
    assert_eq!(check().expect(12).verdict(), "review/untrusted");
}

#[test]
fn a_session_cannot_move_its_own_goalposts() {
    let env = TestEnv::new();
    let repo = env.repo();
    let strict = json!({"version": 1, "checks": [{"type": "files", "paths": ["wanted.txt"]}], "completion_check": {"max_probes": 0}});
    repo.write("completion.json", strict.to_string());
    let baseline = repo.commit_all("configure");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write(
        "completion.json",
        json!({"version": 1, "checks": [{"type": "always"}]}).to_string(),
    );
    repo.commit_all("make it easy");
    let out = repo
        .watchdog(&["check", "--json", "--no-probe", "--baseline", &baseline])
        .expect(10);
    assert_eq!(out.verdict(), "incomplete/checks_unmet");
    out.assert_has("degraded", "criteria_changed");
    out.assert_has("feedback", "wanted.txt");
}

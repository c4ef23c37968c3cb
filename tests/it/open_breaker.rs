//! An open breaker stops starting and asking, and never stops reading; a loop counts its own strikes.

use std::fs;

use serde_json::{Value, json};
use watchdog_store::{StateDir, open_store, sweep_cache::rows_of_worktrees};

use crate::support::{CommandOutput, Repo, TestEnv, assert_parts, fill_line};

/// Three sessions that come to nothing.
fn open_breaker(repo: &Repo<'_>) {
    for _ in 0..3 {
        assert_eq!(
            repo.watchdog(&["run", "--json", "--no-probe", "--", "true"])
                .json()["strike"],
            true
        );
    }
    assert_eq!(
        repo.watchdog(&["run", "--json", "--", "true"])
            .expect(14)
            .verdict(),
        "stopped/breaker_open"
    );
}

#[test]
fn open_breaker_still_reads_commits() {
    let env = TestEnv::new();
    for judge in [&["check", "--json"][..], &["sweep", "--json", "-q"]] {
        let repo = env.repo_named(judge[0]);
        open_breaker(&repo);
        let held = repo.watchdog(&["check", "--json"]).expect(14);
        let facts = (
            held.verdict(),
            held.json()["new_commits"].clone(),
            held.json()["changes"]["untracked"].clone(),
        );
        assert_eq!(
            facts,
            ("stopped/breaker_open".into(), json!(0), json!(0)),
            "{held}"
        );
        repo.write("a.txt", "a");
        repo.commit_all("feat: a");
        let out = repo.watchdog(judge).expect(0);
        let judged: Value =
            serde_json::from_str(out.stdout.lines().next().expect("a row")).expect("JSON");
        assert_eq!(
            (&judged["reason"], &judged["breaker"]["state"]),
            (&json!("new_commits"), &json!("closed")),
            "{out}"
        );
    }
}

#[test]
fn typed_check_rescues_what_a_sweep_saw() {
    let env = TestEnv::new();
    let repo = env.repo();
    open_breaker(&repo);
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("left.txt", "work");
    // The sweep judges the state, and commits nothing of a session whose end is unknown.
    let swept = repo.watchdog(&["sweep", "--json", "-q"]);
    assert!(
        !swept.stdout.contains("\"rescued\":true") && repo.file_in("HEAD", "left.txt").is_none(),
        "{swept}"
    );
    let out = repo.watchdog(&["check", "--json"]);
    out.assert_values(json!({"rescued": true}));
    assert_eq!(
        repo.file_in("HEAD", "left.txt").as_deref(),
        Some("work"),
        "{out}"
    );
    assert_eq!(
        repo.watchdog(&["check", "--json"]).expect(14).verdict(),
        "stopped/breaker_open",
        "now as it was judged"
    );
}

#[test]
fn open_breaker_runs_checks_where_work_moved() {
    let env = TestEnv::new();
    let repo = env.repo();
    let marks = env.root().join("ran");
    let run = format!("echo x >> {}; false", marks.display());
    repo.write(
        "completion.json",
        json!({"version": 1, "checks": [{"type": "command", "name": "tests", "run": run}]})
            .to_string(),
    );
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    open_breaker(&repo);
    let ran = || {
        fs::read_to_string(&marks)
            .expect("the check ran")
            .lines()
            .count()
    };
    let before = ran();
    repo.watchdog(&["check", "--json"]).expect(14);
    assert_eq!(ran(), before, "nothing moved");
    repo.write("a.txt", "a");
    repo.commit_all("feat: a");
    assert_eq!(
        repo.watchdog(&["check", "--json"]).expect(10).verdict(),
        "incomplete/checks_unmet"
    );
    assert!(ran() > before, "the commit is judged");
    let (again, held) = (ran(), repo.watchdog(&["check", "--json"]).expect(14));
    held.assert_values(json!({"new_commits": 1}));
    assert_eq!(ran(), again, "{held}");
}

#[test]
fn refused_run_changes_the_journal_alone() {
    let env = TestEnv::new();
    let repo = env.repo();
    open_breaker(&repo);
    let rows = || {
        let state = StateDir::resolve(Some(env.state()), None, None).expect("an absolute path");
        rows_of_worktrees(open_store(&state).expect("a store").as_ref()).expect("rows")
    };
    let before = rows();
    let refused = repo
        .watchdog(&["run", "--json", "--", "sh", "-c", "echo never > never.txt"])
        .expect(14);
    assert_eq!(
        (rows(), repo.has("never.txt")),
        (before, false),
        "{refused}"
    );
    assert!(
        refused.json()["retry_at"].is_string() && refused.json()["breaker"]["state"] == "open",
        "{refused}"
    );
}

fn idle_loop(env: &TestEnv, repo: &Repo<'_>, prompt: &str, cap: &str) -> CommandOutput {
    let config = env.config_asking(&[], json!({"limits": {"cooldown_seconds": 0}}));
    let limits = ["--no-probe", "--no-progress", "0", "--max-iterations", cap];
    repo.watchdog(
        &[
            &fill_line(
                "loop --json --config {} -p {}",
                &[config.to_str().expect("UTF-8"), prompt],
            ),
            &limits[..],
            &["--", "true"],
        ]
        .concat(),
    )
}

#[test]
fn strikes_of_runs_count_in_no_loop() {
    let env = TestEnv::new();
    let repo = env.repo();
    open_breaker(&repo);
    let out = idle_loop(&env, &repo, "work", "2").expect(12);
    out.assert_verdict("review/max_iterations", json!({"iterations": 2}));
}

#[test]
fn loop_counts_its_strikes_over_restarts() {
    let env = TestEnv::new();
    let repo = env.repo();
    assert_eq!(
        idle_loop(&env, &repo, "work", "2").expect(12).json()["breaker"]["strikes"],
        2
    );
    let third = idle_loop(&env, &repo, "work", "2").expect(14);
    third.assert_verdict("stopped/breaker_open", json!({"iterations": 1}));
    assert_eq!(
        idle_loop(&env, &repo, "work", "2").expect(14).json()["loop"],
        Value::Null,
        "no session begins"
    );
    repo.watchdog(&["breaker", "reset"]).expect(0);
    let reset = idle_loop(&env, &repo, "work", "9").expect(14);
    assert_eq!(
        reset.json()["breaker"]["strikes"],
        3,
        "it counts from zero: {reset}"
    );
}

#[test]
fn another_prompt_begins_another_loop() {
    let env = TestEnv::new();
    let repo = env.repo();
    let first = idle_loop(&env, &repo, "work", "9").expect(14);
    first.assert_verdict("stopped/breaker_open", json!({"iterations": 3}));
    repo.watchdog(&["breaker", "reset"]).expect(0);
    let second = idle_loop(&env, &repo, "other work", "2").expect(12);
    second.assert_values(json!({"iterations": 2, "/loop/resumed": false}));
}

#[test]
fn loop_prints_its_verdict_once() {
    let env = TestEnv::new();
    let repo = env.repo();
    let commits = "echo a > a.txt; git add a.txt; git commit -qm 'feat: a'";
    let out = repo
        .watchdog(&["loop", "--max-iterations", "2", "--", "sh", "-c", commits])
        .expect(0);
    assert_eq!(
        format!("{}{}", out.stdout, out.stderr)
            .matches("1 commit made since the baseline")
            .count(),
        1,
        "{out}"
    );
}

#[test]
fn loop_with_a_text_starts_the_configured_agent() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"version": 1, "agent": {"preset": "codex"}}).to_string(),
    );
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    let plan = repo
        .watchdog(&["loop", "-p", "Add a logout button", "--dry-run", "--json"])
        .expect(0)
        .json();
    assert_eq!(plan["agent"], "codex", "{plan}");
    assert_parts(plan["prompt"].as_str().unwrap(), &["Add a logout button"]);
    repo.watchdog(&["loop"]).expect(2);
}

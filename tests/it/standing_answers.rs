//! Nobody is asked twice about the same state: sweeps, watches and `--once` from cron live with the last answer until something moves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Repo, Step, TestEnv, assert_parts, fill_line};

const A: &str = "0a0a0a0a-0000-4000-8000-000000000001";
const B: &str = "0a0a0a0a-0000-4000-8000-000000000002";

/// A configuration whose agent gives this answer, and the file that has one letter for each question.
fn asking(env: &TestEnv, answer: &str) -> (PathBuf, PathBuf) {
    let asked = env.root().join("asked");
    fs::write(&asked, "").unwrap();
    let config = env.config_asking(
        &[
            Step::append(asked.to_str().unwrap(), "x"),
            Step::print(answer),
        ],
        json!({}),
    );
    (config, asked)
}

fn questions(asked: &Path) -> usize {
    fs::read_to_string(asked).unwrap().len()
}

#[test]
fn answer_given_inside_a_session_does_not_stand() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let answer = env.write("answer", r#"{"status": "complete"}"#);
    let probe = json!(["cat", answer]);
    let config = env.write(
        "asks.json",
        json!({"agent": {"probe": probe}, "rescue": {"mode": "snapshot"}}).to_string(),
    );
    env.set("CONFIG", &config);
    let repo = env.repo();
    let script = "echo '{\"session_id\": \"a\", \"source\": \"startup\"}' | $WATCHDOG hook session-start --within 60s > /dev/null; \
                  $WATCHDOG check --json --config $CONFIG > /dev/null; true";
    env.command("sh", repo.path())
        .args(["-c", script])
        .run()
        .expect(0);
    env.write(
        "answer",
        r#"{"status": "waiting", "message": "the agent itself says so"}"#,
    );
    let out = repo.watchdog_line(
        "check --json --once --config {}",
        &[config.to_str().unwrap()],
    );
    assert_ne!(out.json()["status"], "complete", "{out}");
}

#[test]
fn sweeps_over_quiet_worktrees_ask_once() {
    let env = TestEnv::new();
    env.linked_worktrees(&["a", "b", "c"]);
    let (config, asked) = asking(&env, r#"{"status": "working", "message": "on it"}"#);
    let sweep = || {
        env.watchdog(
            &env.root().join("all"),
            &fill_line("--config {} sweep --json -q", &[config.to_str().unwrap()]),
        )
    };
    let mut strikes = 0;
    for round in 1..=10 {
        let swept = sweep();
        assert_eq!(
            swept.code,
            Some(if round < 3 { 0 } else { 13 }),
            "its exit code stays, round {round}\n{swept}"
        );
        let rows = crate::sweep::rows(&swept);
        for name in ["a", "b", "c"] {
            let row = &rows[name];
            assert_eq!(
                row["unchanged_since"].is_string(),
                round != 1 && round != 3,
                "{name} in round {round}: {row}"
            );
            strikes += usize::from(row["strike"] == true);
            if round > 1 {
                assert_eq!(row["probe_usage"]["requests"], 0, "{row}");
            }
        }
    }
    assert_eq!(
        (questions(&asked), strikes),
        (3, 0),
        "one question each, and a round that reuses its answer is no strike"
    );

    Repo::new(&env, env.root().join("all/b")).write("draft", "1");
    sweep();
    assert_eq!(questions(&asked), 4, "one that changed is asked again");
}

#[test]
fn standing_answer_costs_no_sweep_question() {
    let env = TestEnv::new();
    env.linked_worktrees(&["a", "b"]);
    let (config, asked) = asking(&env, r#"{"status": "working", "message": "on it"}"#);
    for round in 1..=3 {
        let swept = env.watchdog(
            &env.root().join("all"),
            &["--config", config.to_str().unwrap(), "sweep"],
        );
        let says = format!("{}{}", swept.stdout, swept.stderr);
        assert_eq!(
            says.contains("2 questions asked"),
            round == 1,
            "round {round}\n{swept}"
        );
        assert_eq!(says.contains("asked"), round == 1, "round {round}\n{swept}");
    }
    assert_eq!(questions(&asked), 2);
}

#[test]
fn a_review_stands_and_asks_nobody_again() {
    let env = TestEnv::new();
    env.linked_worktrees(&["a"]);
    let (config, asked) = asking(&env, r#"{"status": "complete", "tasks_pending": ["docs"]}"#);
    for round in 1..=5 {
        let swept = env
            .watchdog(
                &env.root().join("all"),
                &fill_line("--config {} sweep --json -q", &[config.to_str().unwrap()]),
            )
            .expect(12);
        assert_eq!(
            crate::sweep::word(&crate::sweep::rows(&swept)["a"]),
            "review/disputed",
            "round {round}\n{swept}"
        );
    }
    assert_eq!(questions(&asked), 2, "the answer and its doubt, once");
}

#[test]
fn cron_mails_an_unchanged_state_once() {
    let env = TestEnv::new();
    let worktrees = env.linked_worktrees(&["a", "b"]);
    let (config, _) = asking(&env, r#"{"status": "complete", "tasks_pending": ["docs"]}"#);
    let args = fill_line(
        "--config {} sweep -q --news --only review,timeout,stopped,failed,error",
        &[config.to_str().unwrap()],
    );
    let mail = || {
        env.watchdog(&env.root().join("all"), &args)
            .expect(12)
            .stdout
    };
    assert_eq!(mail().matches("disputed").count(), 2);
    assert_eq!(mail(), "", "the exit code stays, and nothing is printed");
    worktrees[0].write("draft", "1");
    let third = mail();
    assert!(
        third.contains("all/a") && !third.contains("all/b"),
        "{third}"
    );
}

#[test]
fn idle_claim_counts_once_for_repeated_checks() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let (config, asked) = asking(&env, r#"{"status": "complete"}"#);
    for round in 1..=5 {
        let judged = repo
            .watchdog_line(
                "--config {} check --once --json -q",
                &[config.to_str().unwrap()],
            )
            .expect(0);
        assert_eq!(
            judged.verdict(),
            "complete/nothing_to_do",
            "round {round}\n{judged}"
        );
    }
    repo.watchdog_line("--config {} check --json -q", &[config.to_str().unwrap()])
        .expect(0);
    assert_eq!(questions(&asked), 1, "a complete stands for a person, too");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog_line(
        "--config {} check --once --json -q",
        &[config.to_str().unwrap()],
    )
    .expect(0);
    assert_eq!(questions(&asked), 2, "a new baseline is asked about anew");
}

#[test]
fn typed_check_after_new_work_asks_again() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let (config, asked) = asking(&env, r#"{"status": "working"}"#);
    let check = |more: &[&str]| {
        repo.watchdog(
            &[
                &fill_line("--config {} check --json -q", &[config.to_str().unwrap()]),
                more,
            ]
            .concat(),
        )
    };
    check(&["--once"]).expect(10);
    check(&["--once"]).expect(10);
    assert_eq!(questions(&asked), 1);
    check(&["--max-probes", "1"]).expect(13);
    assert_eq!(questions(&asked), 2);
}

#[test]
fn a_usage_limit_stands_until_it_is_lifted() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let (config, asked) = asking(&env, "You've hit your limit · resets in 3 hours");
    for _ in 0..3 {
        let judged = repo
            .watchdog_line("--config {} check --json -q", &[config.to_str().unwrap()])
            .expect(11);
        assert_eq!(judged.verdict(), "waiting/rate_limited", "{judged}");
    }
    assert_eq!(questions(&asked), 1);
}

/// A stand-in for Claude Code that writes its arguments down, and answers as the session that it is told to resume.
fn claude(env: &TestEnv, default: &str, status: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\nid={default}; prev=\nfor a in \"$@\"; do [ \"$prev\" = --resume ] && id=$a; prev=$a; done\necho \"$*\" >> {}\n\
         echo '{{\"type\":\"result\",\"subtype\":\"success\",\"session_id\":\"'$id'\",\"result\":\"{{\\\"status\\\":\\\"{status}\\\"}}\",\
         \"total_cost_usd\":0.01,\"usage\":{{\"input_tokens\":100,\"cache_read_input_tokens\":20,\"output_tokens\":7}}}}'\n",
        env.root().join("argv").display()
    );
    let path = env.write("claude", script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn transcript(env: &TestEnv, repo: &Repo<'_>, id: &str, text: &str) {
    let root = fs::canonicalize(repo.path()).unwrap();
    let slug: String = root
        .to_str()
        .unwrap()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    env.write(&format!("claude home/projects/{slug}/{id}.jsonl"), text);
}

fn with_claude(status: &str, before: &[&str]) -> (TestEnv, PathBuf) {
    let mut env = TestEnv::new();
    env.set("CLAUDE_CONFIG_DIR", env.root().join("claude home"));
    let program = claude(&env, before.last().unwrap_or(&B), status);
    env.set("WATCHDOG_AGENT_PROGRAM", program.clone());
    (env, program)
}

#[test]
fn only_conversation_since_the_baseline_is_asked() {
    let (env, _program) = with_claude("working", &[]);
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    transcript(&env, &repo, A, "{}\n");
    let check = || {
        repo.watchdog(&["check", "--once", "--json", "-q"])
            .expect(10)
            .json()
    };
    let first = check();
    assert_eq!(
        (&first["session"]["id"], &first["session"]["known_by"]),
        (&json!(A), &json!("transcript")),
        "{first}"
    );
    let usage = &first["probe_usage"];
    assert_eq!(
        (
            &usage["requests"],
            &usage["input_tokens"],
            &usage["output_tokens"]
        ),
        (&json!(1), &json!(120), &json!(7)),
        "{first}"
    );
    transcript(&env, &repo, B, "{}\n{}\n");
    repo.write("draft", "1");
    let second = check();
    assert_eq!(second["session"]["id"], A, "{second}");
    // Another commit in place of the baseline is no other session.
    repo.write("unrelated.txt", "x\n");
    repo.commit_all("unrelated");
    let third = repo
        .watchdog(&["check", "--once", "--json", "-q", "--baseline", "HEAD~0"])
        .expect(10)
        .json();
    assert_eq!(
        (&third["session"]["id"], &third["session"]["known_by"]),
        (&json!(A), &json!("transcript")),
        "{third}"
    );
    let argv = fs::read_to_string(env.root().join("argv")).unwrap();
    assert_eq!(
        argv.lines()
            .filter(|line| line.contains(&format!("--resume {A}")))
            .count(),
        3,
        "{argv}"
    );
}

#[test]
fn plain_run_asks_only_its_own_conversation() {
    let (env, _program) = with_claude("complete", &[]);
    let repo = env.repo();
    transcript(&env, &repo, B, "{}\n");
    transcript(&env, &repo, "mark", "");
    let folder = fs::read_dir(env.root().join("claude home/projects"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let session = format!(
        "echo '{{}}' > '{0}/{A}.jsonl'; sleep 0.1; echo '{{}}' >> '{0}/{B}.jsonl'; echo plain words",
        folder.display()
    );
    let judged = repo
        .watchdog(&["run", "--json", "-q", "--", "sh", "-c", &session])
        .expect(0);
    let verdict: Value = judged.json();
    assert_eq!(
        (&verdict["session"]["id"], &verdict["session"]["known_by"]),
        (&json!(A), &json!("transcript")),
        "{judged}"
    );
    let argv = fs::read_to_string(env.root().join("argv")).unwrap();
    assert!(
        argv.contains(&format!("--resume {A}")) && !argv.contains(B),
        "{argv}"
    );
}

#[test]
fn conversation_unchanged_since_the_baseline_completes_no_work() {
    let (env, _program) = with_claude("complete", &[A]);
    let repo = env.repo();
    transcript(&env, &repo, A, "{}\n");
    repo.watchdog(&["snapshot"]).expect(0);
    let judged = repo
        .watchdog(&["check", "--probe-interval", "0", "--json", "-q"])
        .expect(12);
    assert_eq!(judged.verdict(), "review/disputed", "{judged}");
    let verdict: Value = judged.json();
    assert_parts(verdict["message"].as_str().unwrap(), &["has not grown"]);
    assert_eq!(
        verdict["probe_usage"]["requests"], 1,
        "asking again could not change it: {judged}"
    );
    transcript(&env, &repo, A, "{}\n{}\n");
    repo.watchdog(&["check", "--json", "-q"]).expect(0);
}

#[test]
fn claim_naming_absent_commits_or_files_is_disputed() {
    let env = TestEnv::new();
    let repo = env.repo();
    for message in [
        "I wrote src/none.rs.",
        "All of it is in commit deadbe1.",
        "Everything is committed and pushed to origin.",
    ] {
        repo.watchdog(&["snapshot"]).expect(0);
        let (config, _) = asking(
            &env,
            &json!({"status": "complete", "message": message}).to_string(),
        );
        let judged = repo
            .watchdog_line("--config {} check --json -q", &[config.to_str().unwrap()])
            .expect(12);
        assert_eq!(judged.verdict(), "review/disputed", "{message}\n{judged}");
    }
}

//! Checks that ask programs, GitHub and models, or read what the agent gave, as `watchdog evaluate` judges them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{Claude, CommandOutput, Repo, Rule, TestEnv, assert_parts, fill_line};

/// The verdict on a context by these checks.
fn evaluate(env: &TestEnv, repo: &Repo<'_>, checks: Value, context: Value) -> CommandOutput {
    let config = env.write("criteria.json", json!({"checks": checks}).to_string());
    let config = config.to_string_lossy().into_owned();
    repo.watchdog_command(&["evaluate", "--config", &config])
        .stdin(context.to_string())
        .run()
}

/// An executable script.
fn script(env: &TestEnv, name: &str, text: &str) -> String {
    let path = env.write(name, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    path.to_string_lossy().into_owned()
}

#[track_caller]
fn ends(out: &CommandOutput, verdict: &str, words: &str) {
    let found = out.json();
    let feedback = format!(
        "{} {}",
        found["feedback"].as_str().unwrap_or_default(),
        found["message"]
    );
    assert_eq!(
        format!(
            "{}/{}",
            found["status"].as_str().unwrap(),
            found["reason"].as_str().unwrap()
        ),
        verdict,
        "{out}"
    );
    assert!(feedback.contains(words), "{out}");
}

#[test]
fn custom_program_reads_the_context_and_answers() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let judge = script(
        &env,
        "judge.py",
        r#"#!/usr/bin/env python3
import json, sys
context = json.load(sys.stdin)
made = sum(action["type"] == "decision" for summary in context["summaries"] for action in summary["detected_actions"])
assert context["schema"] == 1 and context["worktree"] and context["head"] == context["baseline"], context
print(json.dumps({"complete": made >= 3, "feedback": f"{made} of 3 decisions"}))
"#,
    );
    let context = |decisions: usize| {
        let summary = |n| json!({"iteration": n, "detected_actions": [{"type": "decision"}, {"type": "note"}]});
        json!({"schema": 1, "summaries": (1..=decisions).map(summary).collect::<Vec<_>>()})
    };
    let checks = json!([{"type": "custom", "run": [judge]}]);
    ends(
        &evaluate(&env, &repo, checks.clone(), context(2)),
        "incomplete/checks_unmet",
        "2 of 3 decisions",
    );
    let out = evaluate(&env, &repo, checks, context(3)).expect(0);
    assert_eq!(out.json()["evidence"], "committed");
    assert_eq!(
        out.json()["checks"][0]["feedback"],
        "3 of 3 decisions",
        "a check that passes keeps its words"
    );
    ends(
        &out,
        "complete/checks_passed",
        "every check passed (3 of 3 decisions)",
    );
    let missing = json!([{"type": "custom", "run": ["./not-there"]}]);
    ends(
        &evaluate(&env, &repo, missing, context(3)),
        "failed/verify_unrunnable",
        "not-there",
    );
}

#[test]
fn stream_program_answers_each_line_and_ends() {
    let env = TestEnv::new();
    let repo = env.repo();
    let stays = script(
        &env,
        "stays.py",
        r#"#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    context = json.loads(line)
    print(json.dumps({"complete": context.get("iteration", 0) >= 2, "feedback": "once more"}), flush=True)
"#,
    );
    let checks = json!([{"type": "custom", "run": [stays], "mode": "stream"}, {"type": "custom", "name": "again", "run": [stays], "mode": "stream"}]);
    ends(
        &evaluate(&env, &repo, checks.clone(), json!({"iteration": 1})),
        "incomplete/checks_unmet",
        "once more",
    );
    ends(
        &evaluate(&env, &repo, checks, json!({"iteration": 2})),
        "complete/checks_passed",
        "",
    );
    env.assert_nothing_left();
    let dies = json!([{"type": "custom", "run": ["sh", "-c", "exit 3"], "mode": "stream"}]);
    ends(
        &evaluate(&env, &repo, dies, json!({})),
        "review/verify_failed",
        "",
    );
}

#[test]
fn github_is_asked_through_its_own_command_line() {
    let env = TestEnv::new();
    let repo = env.repo();
    let checks = json!([{"type": "issue", "number": 7, "require_clean": true}]);
    ends(
        &evaluate(&env, &repo, checks.clone(), json!({})),
        "failed/verify_unrunnable",
        "gh auth login",
    );
    let gh = script(
        &env,
        "gh-script",
        "#!/bin/sh\necho \"$@\" >> ../gh-asked\ncat ../gh-answer\n",
    );
    env.install("gh", std::path::Path::new(&gh));
    env.write("gh-answer", r#"{"state": "OPEN", "labels": []}"#);
    ends(
        &evaluate(&env, &repo, checks.clone(), json!({})),
        "incomplete/checks_unmet",
        "issue #7 is not closed",
    );
    env.write("gh-answer", r#"{"state": "CLOSED", "labels": []}"#);
    let closed = evaluate(&env, &repo, checks.clone(), json!({}));
    ends(
        &closed,
        "complete/checks_passed",
        "every check passed (Issue #7 closed)",
    );
    closed.assert_values(json!({"/checks/0/feedback": "Issue #7 closed"}));
    assert_eq!(
        fs::read_to_string(env.root().join("gh-asked")).expect("it was asked"),
        "issue view 7 --json state,labels\n".repeat(2)
    );
    repo.write("left", "over");
    ends(
        &evaluate(&env, &repo, checks, json!({})),
        "incomplete/checks_unmet",
        "uncommitted changes (1 file): left",
    );
}

#[test]
fn checks_read_agent_output_from_the_context() {
    let env = TestEnv::new();
    let repo = env.repo();
    let rows = |rows: Value| {
        json!([{"role": "assistant", "tool_call": {"id": "1", "name": "execute_sql"}},
                                   {"role": "tool", "tool_result": {"id": "1", "content": json!({"columns": ["id"], "rows": rows}).to_string()}}])
    };
    let structured =
        || json!([{"type": "structured", "tag": "review", "required": {"status": "approved"}}]);
    let sql = || json!([{"type": "sql_result", "tool": "execute_sql", "expected_columns": ["id"], "min_rows": 1}]);
    let phase = || json!([{"type": "phase", "project": 9, "final": "complete"}]);
    for (checks, context, verdict, words) in [
        (
            structured(),
            json!({"output": "<review>{\"status\": \"approved\"}</review>"}),
            "complete/checks_passed",
            "",
        ),
        (
            structured(),
            json!({"output": "```review\n{\"status\": \"open\"}\n```"}),
            "incomplete/checks_unmet",
            "`status` is \"open\"",
        ),
        (
            structured(),
            json!({"tentative_output": {"status": "approved"}}),
            "complete/checks_passed",
            "",
        ),
        (
            sql(),
            json!({"messages": rows(json!([[1]]))}),
            "complete/checks_passed",
            "",
        ),
        (
            sql(),
            json!({"messages": rows(json!([]))}),
            "incomplete/checks_unmet",
            "too few rows",
        ),
        (
            sql(),
            json!({}),
            "incomplete/checks_unmet",
            "no `execute_sql` result",
        ),
        (
            phase(),
            json!({"summaries": [{"assistant_responses": ["Phase: complete"]}]}),
            "complete/checks_passed",
            "",
        ),
        (
            phase(),
            json!({"summaries": [{"assistant_responses": ["All tests pass. Project complete."]}]}),
            "complete/checks_passed",
            "",
        ),
        (
            phase(),
            json!({"output": "Is the project complete? Not yet."}),
            "incomplete/checks_unmet",
            "is mentioned, and not claimed",
        ),
        (
            phase(),
            json!({"summaries": [{"assistant_responses": ["Moving to review"]}]}),
            "incomplete/checks_unmet",
            "\"review\"",
        ),
        (
            json!([{"type": "iterations", "count": 5}]),
            json!({"iteration": 5}),
            "complete/checks_passed",
            "",
        ),
        (
            json!([{"type": "iterations", "count": 5}]),
            json!({"iteration": 4}),
            "incomplete/checks_unmet",
            "4 of 5",
        ),
        (
            json!([{"type": "iterations", "count": 5}]),
            json!({}),
            "review/verify_failed",
            "not known",
        ),
    ] {
        ends(&evaluate(&env, &repo, checks, context), verdict, words);
    }
    let counted = evaluate(
        &env,
        &repo,
        json!([{"type": "iterations", "count": 1}]),
        json!({"iteration": 1}),
    );
    assert_eq!(counted.json()["evidence"], "counted");
}

#[test]
fn custom_judge_accepts_only_a_plain_yes() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("dates.rs", "fn leap_years() {}\n");
    repo.commit_all("dates");
    let judge = script(
        &env,
        "judge.sh",
        "#!/bin/sh\ncat > ../judge-asked\ncat ../judge-answer\n",
    );
    let checks = json!([{"type": "judge", "question": "Are leap years read?", "rubric": "tests count", "run": [judge]}]);
    let context = json!({"output": "I read leap years."});
    env.write("judge-answer", "ANSWERED: NO\nno test reads 29 February\n");
    ends(
        &evaluate(&env, &repo, checks.clone(), context.clone()),
        "incomplete/checks_unmet",
        "no test reads 29 February",
    );
    let asked = fs::read_to_string(env.root().join("judge-asked")).expect("it was asked");
    for part in [
        "Are leap years read?",
        "tests count",
        "I read leap years.",
        "+fn leap_years() {}",
    ] {
        assert!(asked.contains(part), "{asked}");
    }
    env.write("judge-answer", "ANSWERED: YES\n");
    let out = evaluate(&env, &repo, checks.clone(), context.clone()).expect(0);
    assert_eq!(
        out.json()["evidence"],
        "claimed",
        "a model's word is a word"
    );
    env.write("judge-answer", "It looks good to me.\nANSWERED: YES\n");
    ends(
        &evaluate(&env, &repo, checks, context),
        "incomplete/checks_unmet",
        "neither yes nor no",
    );
}

#[test]
fn judge_without_baseline_learns_it_is_unknown() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("dates.rs", "fn leap_years() {}\n");
    let judge = script(
        &env,
        "judge.sh",
        "#!/bin/sh\ncat > ../judge-asked\necho ANSWERED: YES\n",
    );
    let checks = json!([{"type": "judge", "question": "Are leap years read?", "run": [judge]}]);
    let out = evaluate(&env, &repo, checks, json!({"output": "I read leap years."}));
    ends(&out, "complete/checks_passed", "");
    assert_eq!(out.json()["evidence"], "claimed", "{out}");
    let asked = fs::read_to_string(env.root().join("judge-asked")).expect("it was asked");
    assert_parts(
        &asked,
        &[
            "What is uncommitted (the start of its session is not known",
            "+fn leap_years() {}",
        ],
    );
    assert!(!out.stdout.contains("0000000"), "{out}");
}

#[test]
fn session_printed_result_is_only_a_claim() {
    let env = TestEnv::new();
    let repo = env.repo();
    let checks = json!([{"type": "sql_result", "tool": "execute_sql", "min_rows": 1}]);
    let config = env.write(
        "criteria.json",
        json!({"version": 1, "checks": checks, "require_evidence": "verified"}).to_string(),
    );
    let call = json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "tool_use", "id": "t", "name": "execute_sql", "input": {}}]}});
    let rows = json!({"columns": ["id"], "rows": [[1]]}).to_string();
    let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": rows}]}});
    let prints =
        format!("printf '%s\\n' '{call}' '{result}'; echo a > a.txt; git add -A; git commit -qm a");
    let args = fill_line(
        "run --json --no-probe --config {} -- sh -c {}",
        &[config.to_str().unwrap(), &prints],
    );
    let out = repo.watchdog(&args).expect(12);
    out.assert_verdict("review/disputed", json!({"/checks/0/evidence": "claimed"}));
}

#[test]
fn real_claude_judges_without_tools_or_session() {
    let claude =
        Claude::answering([Rule::text("ANSWERED: NO\nthe tests are missing")
            .when_last_user("Are leap years read?")]);
    let repo = claude.env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("dates.rs", "fn leap_years() {}\n");
    repo.commit_all("dates");
    let out = evaluate(
        &claude.env,
        &repo,
        json!([{"type": "judge", "question": "Are leap years read?"}]),
        json!({}),
    );
    ends(&out, "incomplete/checks_unmet", "the tests are missing");
    let asked = claude.api.messages().pop().expect("it was asked");
    assert!(asked.mentions("fn leap_years()"), "it sees the work");
    assert!(
        asked.tools().is_empty(),
        "it has no tools: {:?}",
        asked.tools()
    );
    assert!(
        claude.transcripts().is_empty(),
        "nothing is written into anybody's session"
    );
}

#[test]
fn sensor_halts_once_the_work_is_kept() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("draft", "1");
    let sensor = |answer: &str| json!({"limits": {"sensors": [["sh", "-c", format!("ls > ../seen; echo '{answer}'")]]}, "completion_check": {"max_probes": 0}});
    let check = |answer: &str| {
        let config = env.write("config/completion.json", sensor(answer).to_string());
        repo.watchdog_line(
            "check --json --config {}",
            &[config.to_str().expect("UTF-8")],
        )
    };
    ends(&check(r#"{"halt": false}"#), "incomplete/unfinished", "");
    let halted = check(r#"{"halt": true, "reason": "too warm"}"#).expect(15);
    ends(&halted, "failed/halted", "too warm");
    assert!(!repo.snapshots().is_empty(), "{halted}");
    let mute = check("hm");
    assert!(
        mute.stdout.contains("sensor_unread") && mute.json()["status"] != "failed",
        "{mute}"
    );
    // A file that nobody trusted runs nothing.
    std::fs::remove_file(env.root().join("seen")).expect("it ran");
    repo.write("completion.json", sensor(r#"{"halt": true}"#).to_string());
    let untrusted = repo.watchdog(&["check", "--json", "--no-probe"]);
    assert!(
        untrusted.json()["status"] != "failed" && !env.root().join("seen").exists(),
        "{untrusted}"
    );
}

#[test]
fn missing_number_starts_no_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let condition = r#"{"type": "meta:composite", "config": {"operator": "or", "conditions": [
        {"type": "poll:state", "config": {"resourceType": "github-issue"}}]}}"#;
    for (name, behavior) in [
        ("project", r#"{"behavior": {"completionType": "project"}}"#),
        ("issue", r#"{"behavior": {"completionType": "issue"}}"#),
        (
            "issue",
            &format!(r#"{{"name": "a", "runner": {{"verdict": {condition}}}}}"#),
        ),
    ] {
        let file = env.write("config/completion.json", behavior);
        let run = |more: &[&str]| {
            let file = file.to_str().expect("UTF-8");
            let begin = ["run", "--json", "--no-probe", "--config", file];
            repo.watchdog(&[&begin, more, &["--", "touch", "../started"]].concat())
        };
        ends(
            &run(&[]).expect(2),
            "error/config_error",
            "needs its number",
        );
        assert!(!env.root().join("started").exists(), "{behavior}");
        let numbered = run(&["--var", &format!("{name}=3")]);
        assert_ne!(numbered.json()["reason"], "config_error", "{numbered}");
        std::fs::remove_file(env.root().join("started")).expect("the session ran");
    }
}

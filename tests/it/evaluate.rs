//! `watchdog evaluate`: context in, verdict out, from a shell and from other languages.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv, assert_parts, fill_line};

/// A repository whose trusted configuration has these checks.
fn with_checks<'env>(env: &'env TestEnv, name: &str, config: &Value) -> Repo<'env> {
    let repo = env.repo_named(name);
    repo.write("completion.json", config.to_string());
    repo.commit_all("the criteria");
    env.watchdog(repo.path(), &["trust"]).expect(0);
    env.watchdog(repo.path(), &["snapshot"]).expect(0);
    repo
}

fn evaluate(env: &TestEnv, at: &Path, context: &Value, more: &[&str]) -> CommandOutput {
    let args: Vec<&str> = ["evaluate"].iter().chain(more).copied().collect();
    env.command(env!("CARGO_BIN_EXE_watchdog"), at)
        .args(args)
        .stdin(context.to_string())
        .run()
}

fn files() -> Value {
    json!({"checks": [{"type": "files", "paths": ["report.md"]}]})
}

#[test]
fn configured_checks_decide_and_feedback_names_the_missing() {
    let env = TestEnv::new();
    let repo = with_checks(&env, "repo", &files());
    let out = evaluate(&env, repo.path(), &json!({"schema": 1}), &[]).expect(10);
    out.assert_values(json!({"status": "incomplete", "reason": "checks_unmet"}));
    out.assert_has("feedback", "report.md");
    repo.write("report.md", "done");
    let found = evaluate(&env, repo.path(), &json!({"schema": 1}), &["--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&found["reason"], &found["evidence"]),
        (&json!("checks_passed"), &json!("verified"))
    );
    assert_eq!(
        repo.git(&["status", "--porcelain"]),
        "?? report.md",
        "nothing is committed"
    );
}

#[test]
fn limits_outrank_running_work_and_the_agent_reply() {
    let env = TestEnv::new();
    let config =
        json!({"checks": [{"type": "always"}], "limits": {"max_turns": 5, "max_iterations": 3}});
    let repo = with_checks(&env, "repo", &config);
    let spent = json!({"turns": 5});
    let running = json!([{"id": "1", "status": "running", "description": "the build"}]);
    for (context, code, reason) in [
        (
            json!({"usage": spent, "background_tasks": running, "claims_done": false}),
            14,
            "budget_exhausted",
        ),
        (
            json!({"background_tasks": running, "claims_done": false}),
            11,
            "background_work",
        ),
        (
            json!({"background_tasks": [{"id": "1", "status": "completed"}], "claims_done": false}),
            10,
            "unfinished",
        ),
        (
            json!({"claims_done": true, "usage": {"turns": 4}}),
            0,
            "checks_passed",
        ),
        (json!({"iteration": 3}), 0, "checks_passed"),
    ] {
        let found = evaluate(&env, repo.path(), &context, &[])
            .expect(code)
            .json();
        assert_eq!(found["reason"], reason, "{context}");
    }
    let repo = with_checks(
        &env,
        "capped",
        &json!({"checks": [{"type": "files", "paths": ["x"]}], "limits": {"max_iterations": 3}}),
    );
    for (iteration, code, reason) in [(2, 10, "checks_unmet"), (3, 12, "max_iterations")] {
        let found = evaluate(&env, repo.path(), &json!({"iteration": iteration}), &[])
            .expect(code)
            .json();
        assert_eq!(found["reason"], reason, "iteration {iteration}");
    }
}

#[test]
fn work_is_saved_before_check_programs_run() {
    let env = TestEnv::new();
    let repo = with_checks(
        &env,
        "repo",
        &json!({"checks": [{"type": "command", "run": "rm -f work.txt"}]}),
    );
    repo.write("work.txt", "hours of work");
    let found = evaluate(&env, repo.path(), &json!({}), &[])
        .expect(0)
        .json();
    let snapshot = found["rescue"]["snapshot"]
        .as_str()
        .expect("it was kept")
        .to_owned();
    assert_eq!(
        repo.git(&["show", &format!("{snapshot}:work.txt")]),
        "hours of work"
    );
}

#[test]
fn without_checks_commits_need_a_baseline_to_decide() {
    let env = TestEnv::new();
    let repo = env.repo();
    let found = evaluate(&env, repo.path(), &json!({}), &[])
        .expect(12)
        .json();
    assert_eq!(
        (&found["reason"], &found["baseline"]),
        (&json!("no_criteria"), &Value::Null)
    );
    env.watchdog(repo.path(), &["snapshot"]).expect(0);
    let before = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        evaluate(&env, repo.path(), &json!({}), &[])
            .expect(10)
            .json()["reason"],
        "unfinished"
    );
    repo.write("a", "b");
    repo.commit_all("work");
    let found = evaluate(&env, repo.path(), &json!({"baseline": before}), &[])
        .expect(0)
        .json();
    assert_eq!(
        (&found["reason"], &found["new_commits"]),
        (&json!("new_commits"), &json!(1))
    );
    let found = evaluate(&env, repo.path(), &json!({"baseline": "nonsense"}), &[])
        .expect(16)
        .json();
    assert_eq!(found["complete"], false);
}

#[test]
fn command_line_worktree_outranks_the_context() {
    let env = TestEnv::new();
    let (repo, other) = (with_checks(&env, "repo", &files()), env.repo_named("other"));
    let context = json!({"worktree": repo.path()});
    assert_eq!(
        evaluate(&env, &env.root(), &context, &[]).expect(10).json()["reason"],
        "checks_unmet"
    );
    let at = other.path().to_str().expect("a scratch path is UTF-8");
    assert_eq!(
        evaluate(&env, &env.root(), &context, &["-C", at])
            .expect(12)
            .json()["reason"],
        "no_criteria"
    );
    let file = env.write("context.json", context.to_string());
    let file = file.to_str().expect("a scratch path is UTF-8");
    assert_eq!(
        evaluate(&env, &env.root(), &json!(null), &["--context", file])
            .expect(10)
            .json()["reason"],
        "checks_unmet"
    );
}

#[test]
fn invalid_context_is_wrong_usage_naming_the_key() {
    let env = TestEnv::new();
    let repo = env.repo();
    for (context, word) in [
        (json!({"iteration": "three"}), "iteration"),
        (json!({"messages": [{"content": "x"}, 5]}), "messages["),
        (json!([1]), "object"),
        (json!({"schema": 2}), "schema"),
    ] {
        let out = evaluate(&env, repo.path(), &context, &[]).expect(2);
        assert!(out.stderr.contains(word), "{context}: {out}");
    }
    env.command(env!("CARGO_BIN_EXE_watchdog"), repo.path())
        .args(["evaluate"])
        .stdin("no JSON at all")
        .run()
        .expect(2);
    let found = evaluate(&env, &env.root(), &json!({}), &[])
        .expect(16)
        .json();
    assert_eq!(found["reason"], "not_a_repository");
}

#[test]
fn criteria_that_are_not_trusted_are_not_judged() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"checks": [{"type": "command", "run": "touch ../ran"}]}).to_string(),
    );
    repo.commit_all("criteria");
    let found = evaluate(&env, repo.path(), &json!({}), &[])
        .expect(12)
        .json();
    assert_eq!(found["reason"], "untrusted");
    assert!(!env.root().join("ran").exists());
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/evaluate")
}

/// Types the commands of an example as the page has them, in a folder that holds nothing but the two files that stand beside them: once with
/// its check unmet, once met.
fn types_the_example_for(language: &str, env: &TestEnv) {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/evaluate.md"))
            .expect("the page is there");
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| [evaluate.{language}]")))
        .expect("a row for the example");
    let folder = env.root().join("empty");
    std::fs::create_dir(&folder).expect("the scratch folder takes folders");
    for name in [
        format!("evaluate.{language}"),
        format!("watchdog_types.{language}"),
    ] {
        assert_parts(row, &[&format!("[{name}](examples/evaluate/{name})")]);
        std::fs::copy(examples().join(&name), folder.join(&name)).expect("the example is there");
    }
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = with_checks(env, "repo", &files());
    let command = row.split('`').nth(1).expect("a command").replace(
        "WORKTREE",
        repo.path().to_str().expect("a scratch path is UTF-8"),
    );
    let run = || {
        env.command("sh", &folder)
            .args(["-c", command.as_str()])
            .run()
    };
    let out = run().expect(10);
    assert!(
        out.stdout.starts_with("incomplete (checks_unmet, none): "),
        "{out}"
    );
    out.assert_printed(&["next prompt: ", "report.md"]);
    repo.write("report.md", "done");
    let out = run().expect(0);
    assert!(
        out.stdout
            .starts_with("complete (checks_passed, verified): "),
        "{out}"
    );
}

#[test]
fn python_example_runs_in_an_empty_folder() {
    types_the_example_for("py", &TestEnv::new());
}

#[test]
fn typescript_example_runs_in_an_empty_folder() {
    let env = TestEnv::new();
    let node = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/node/bin/node");
    assert!(
        node.exists(),
        "Node.js 22 is missing; scripts/test --install-only installs it"
    );
    env.install("node", &node);
    types_the_example_for("ts", &env);
}

#[test]
fn go_example_runs_in_an_empty_folder() {
    let mut env = TestEnv::new();
    env.set("GOTOOLCHAIN", "local");
    types_the_example_for("go", &env);
}

#[test]
fn the_example_in_typescript_passes_the_strict_compiler() {
    let env = TestEnv::new();
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/typescript/node_modules");
    let tsc = modules.join("typescript/bin/tsc");
    assert!(
        tsc.exists(),
        "the TypeScript compiler is missing; scripts/test --install-only installs it"
    );
    for name in ["evaluate.ts", "watchdog_types.ts"] {
        std::fs::copy(examples().join(name), env.root().join(name))
            .expect("the scratch folder takes files");
    }
    let types = modules.join("@types");
    let (tsc, types) = (tsc.to_str().expect("UTF-8"), types.to_str().expect("UTF-8"));
    let flags = [
        "--noEmit",
        "--strict",
        "--noUncheckedIndexedAccess",
        "--erasableSyntaxOnly",
        "--allowImportingTsExtensions",
    ];
    let target = fill_line(
        "--module nodenext --target es2022 --types node --typeRoots {} evaluate.ts",
        &[types],
    );
    let compile: Vec<&str> = [tsc].iter().chain(&flags).chain(&target).copied().collect();
    env.command("node", &env.root())
        .args(compile)
        .run()
        .expect(0);
}

#[test]
fn the_types_for_programs_follow_the_schemas() {
    let env = TestEnv::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = root.join("scripts/types");
    let script = script.to_str().expect("UTF-8");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        env.command("python3", root).args([script]).run().expect(0);
    }
    let out = env.command("python3", root).args([script, "--check"]).run();
    assert_eq!(
        out.code,
        Some(0),
        "run scripts/types, or these tests with UPDATE_EXPECT=1\n{out}"
    );
}

#[test]
fn fixture_of_other_implementations_holds() {
    let env = TestEnv::new();
    let repo = with_checks(&env, "repo", &json!({"checks": [{"type": "feature_list"}]}));
    let lines = include_str!("../fixtures/completion_checks/feature_list_complete.jsonl").lines();
    let cases: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    assert!(cases.len() > 10);
    for case in cases {
        std::fs::remove_file(repo.path().join("feature_list.json")).ok();
        if let Some(list) = case["feature_list"].as_str() {
            repo.write("feature_list.json", list);
        }
        let verdict = evaluate(&env, repo.path(), &case["context"], &["--json"]).json();
        assert_eq!(
            verdict["status"], case["expected"]["status"],
            "{case}: {verdict}"
        );
        let feedback = verdict["feedback"].as_str().unwrap_or_default();
        for part in case["expected"]["feedback_contains"]
            .as_array()
            .expect("a list")
        {
            assert!(
                feedback.contains(part.as_str().expect("a text")),
                "{case}: {feedback}"
            );
        }
    }
}

//! What a green check proves: suites that were green before, that ran no test, that lost tests, or that pass by what git does not have.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv, assert_parts, extended};

/// A test runner as `go test -v` prints: one test for each `*.case` file below `cases`, which passes where it says `pass`.
const RUNNER: &str = "#!/bin/sh
rm -f report.xml
ok=0
for case in cases/*.case; do
  [ -f \"$case\" ] || continue
  name=$(basename \"$case\" .case)
  echo \"=== RUN   Test$name\"
  if grep -q pass \"$case\"; then echo \"--- PASS: Test$name (0.00s)\"; elif grep -q skip \"$case\"; then echo \"--- SKIP: Test$name (0.00s)\";
  else echo \"    cases_test.go:1: $name wants pass\"; echo \"--- FAIL: Test$name (0.00s)\"; ok=1; fi
done
[ $ok = 0 ] && printf 'ok  \\tcases\\t0.01s\\n' || printf 'FAIL\\tcases\\t0.01s\\n'
exit $ok
";

/// A repository with that runner, these cases, and this check of it.
fn suite<'env>(env: &'env TestEnv, name: &str, cases: &[(&str, &str)], check: Value) -> Repo<'env> {
    let repo = env.repo_named(name);
    repo.write("run-cases", RUNNER);
    std::fs::set_permissions(
        repo.path().join("run-cases"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    for (case, text) in cases {
        repo.write(&format!("cases/{case}.case"), text);
    }
    let command = extended(
        json!({"type": "command", "name": "tests", "run": "./run-cases"}),
        &check,
    );
    let config = json!({"rescue": {"mode": "single"}, "completion_check": {"max_probes": 0}, "checks": [command]});
    repo.write("completion.json", config.to_string());
    repo.write(".gitignore", "ignored*\n");
    repo.commit_all("the suite");
    repo.watchdog(&["trust"]).expect(0);
    repo
}

fn run(repo: &Repo<'_>, script: &str) -> CommandOutput {
    repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script])
}

fn commit(script: &str) -> String {
    format!("{script}; git add -A; git commit -qm work")
}

#[track_caller]
fn complete(out: &CommandOutput, evidence: &str, before: &str) -> Value {
    let verdict = out.json();
    assert_eq!(out.verdict(), "complete/checks_passed", "{out}");
    assert_eq!(verdict["evidence"].as_str(), Some(evidence), "{out}");
    assert_eq!(verdict["checks"][0]["before"], before, "{out}");
    verdict
}

fn degraded<'v>(verdict: &'v Value, code: &str) -> Option<&'v str> {
    verdict["notes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|note| note["code"] == code)
        .and_then(|note| note["detail"].as_str())
}

#[test]
fn already_green_suite_completes_no_undone_work() {
    let env = TestEnv::new();
    let repo = suite(&env, "green", &[("A", "pass")], json!({}));
    let out = run(&repo, "true").expect(10);
    assert_eq!(
        out.verdict(),
        "incomplete/unfinished",
        "nobody is asked, and nothing was done: {out}"
    );
    assert_eq!(
        out.json()["checks"][0]["before"],
        "passed",
        "by identity: {out}"
    );
    // Commits are made, and the suite that was green before is green still: nothing judged what they do.
    let verdict = complete(
        &run(&repo, &commit("echo work > work.txt")).expect(0),
        "committed",
        "passed",
    );
    assert_parts(
        verdict["message"].as_str().unwrap(),
        &["as before the work began"],
    );
}

#[test]
fn unknown_before_is_at_most_committed() {
    let env = TestEnv::new();
    // The suite was green all along, and nobody looked before the junk.
    let repo = suite(&env, "run", &[("A", "pass")], json!({"proof": "off"}));
    let verdict = complete(
        &run(&repo, &commit("echo junk > junk.txt")).expect(0),
        "committed",
        "unknown",
    );
    assert_parts(
        verdict["message"].as_str().unwrap(),
        &["whether they passed before the work began is unknown"],
    );
    let repo = suite(&env, "loop", &[("A", "pass")], json!({"proof": "off"}));
    let script = commit("echo junk > junk.txt");
    complete(
        &repo
            .watchdog(&["loop", "--json", "--no-probe", "--", "sh", "-c", &script])
            .expect(0),
        "committed",
        "unknown",
    );
    let repo = suite(&env, "check", &[("A", "pass")], json!({"proof": "off"}));
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("junk.txt", "junk");
    repo.commit_all("junk");
    complete(
        &repo.watchdog(&["check", "--json", "--no-probe"]).expect(0),
        "committed",
        "unknown",
    );
    // That commits are new says nothing of the suite.
    let repo = suite(
        &env,
        "beside-git",
        &[("A", "pass")],
        json!({"proof": "off"}),
    );
    let command = json!({"type": "command", "name": "tests", "run": "./run-cases", "proof": "off"});
    repo.write(
        "completion.json",
        json!({"rescue": {"mode": "single"}, "checks": [command, {"type": "git"}]}).to_string(),
    );
    repo.commit_all("both");
    repo.watchdog(&["trust"]).expect(0);
    complete(
        &run(&repo, &commit("echo junk > junk.txt")).expect(0),
        "committed",
        "unknown",
    );
}

#[test]
fn checks_of_files_are_judged_before_the_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = json!({"rescue": {"mode": "single"}, "checks": [{"type": "files", "paths": ["report.txt"]}]});
    repo.write("completion.json", config.to_string());
    repo.commit_all("the criteria");
    repo.watchdog(&["trust"]).expect(0);
    complete(
        &run(&repo, &commit("echo done > report.txt")).expect(0),
        "verified",
        "failed",
    );
    // `snapshot` judges them as well.
    let spec = ["--spec", "other"];
    repo.git(&["rm", "-q", "report.txt"]);
    repo.commit_all("another report is wanted");
    repo.watchdog(&[&["snapshot"], &spec[..]].concat())
        .expect(0);
    repo.write("report.txt", "done");
    repo.commit_all("report");
    complete(
        &repo
            .watchdog(&[&["check", "--json", "--no-probe"], &spec[..]].concat())
            .expect(0),
        "verified",
        "failed",
    );
    // The file is there when the next work begins.
    complete(
        &run(&repo, &commit("echo more >> report.txt")).expect(0),
        "committed",
        "passed",
    );
}

#[test]
fn pass_found_during_a_session_expires_with_it() {
    let env = TestEnv::new();
    let cases = [
        (
            "hidden",
            "git update-index --skip-worktree cases/B.case; rm cases/B.case",
            "git update-index --no-skip-worktree cases/B.case; git checkout -q cases",
        ),
        ("ignored", "touch ignored.txt", "rm ignored.txt"),
    ];
    for (name, hide, put_back) in cases {
        let run_line = if name == "hidden" {
            "./run-cases"
        } else {
            "test -f ignored.txt"
        };
        let repo = suite(
            &env,
            name,
            &[("A", "pass"), ("B", "todo")],
            json!({"run": run_line}),
        );
        let watchdog = env!("CARGO_BIN_EXE_watchdog");
        let inside = env.root().join(format!("{name}.json"));
        let script = format!(
            "echo junk > junk.txt; git add -A; git commit -qm junk; {hide}; \
             echo '{{\"schema\": 1}}' | '{watchdog}' evaluate --json > '{}'; {put_back}",
            inside.display()
        );
        let out = run(&repo, &script).expect(10);
        let said = std::fs::read_to_string(inside).unwrap();
        assert!(
            said.contains("checks_passed"),
            "the session fools itself alone: {said}"
        );
        assert_eq!(out.verdict(), "incomplete/checks_unmet", "{name}: {out}");
    }
}

#[test]
fn check_that_commits_is_at_most_claimed() {
    let env = TestEnv::new();
    let line = "[ -e done.txt ] && git commit -q --allow-empty -m check";
    let repo = suite(
        &env,
        "commits",
        &[],
        json!({"run": line, "must_fail_first": true}),
    );
    let verdict = complete(
        &run(&repo, &commit("touch done.txt")).expect(0),
        "claimed",
        "failed",
    );
    assert_eq!(
        degraded(&verdict, "check_moved_head"),
        Some("tests: HEAD moved while it ran"),
        "{verdict}"
    );
}

#[test]
fn suite_turning_green_verifies_the_work() {
    let env = TestEnv::new();
    let repo = suite(&env, "red", &[("A", "pass"), ("B", "todo")], json!({}));
    let out = run(&repo, "true").expect(10);
    let feedback = out.json()["feedback"].as_str().unwrap().to_owned();
    assert!(
        feedback.starts_with(
            "test `TestB` fails: cases_test.go:1: B wants pass (`./run-cases` ended with exit 1"
        ),
        "{feedback}"
    );
    assert_eq!(feedback.lines().count(), 1, "one sharp fact: {feedback}");
    let verdict = complete(
        &run(&repo, &commit("echo pass > cases/B.case")).expect(0),
        "verified",
        "failed",
    );
    assert_eq!(
        verdict["checks"][0]["tests"],
        json!({"ran": 2, "failed": 0, "skipped": 0}),
        "{verdict}"
    );
    // The work is complete: the next one begins anew, with a suite that is green.
    complete(
        &run(&repo, &commit("echo more > more.txt")).expect(0),
        "committed",
        "passed",
    );
}

#[test]
fn suite_without_any_test_is_no_pass() {
    let env = TestEnv::new();
    let repo = suite(
        &env,
        "none",
        &[],
        json!({"run": "echo 'running 0 tests'; echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out'"}),
    );
    let out = run(&repo, &commit("echo work > work.txt")).expect(10);
    assert_eq!(out.verdict(), "incomplete/checks_unmet", "{out}");
    out.assert_has("feedback", "ran no test");
}

#[test]
fn removed_tests_make_a_pass_a_mere_claim() {
    for (name, script, code) in [
        ("deleted", "git rm -q cases/B.case", "tests_shrunk"),
        ("skipped", "echo skip > cases/B.case", "tests_shrunk"),
    ] {
        let env = TestEnv::new();
        let repo = suite(&env, name, &[("A", "pass"), ("B", "todo")], json!({}));
        run(&repo, "true").expect(10);
        let verdict = complete(&run(&repo, &commit(script)).expect(0), "claimed", "failed");
        assert!(degraded(&verdict, code).is_some(), "{verdict}");
    }
}

#[test]
fn deleted_test_file_is_told_without_earlier_counts() {
    let env = TestEnv::new();
    let repo = suite(&env, "uncounted", &[("A", "pass")], json!({}));
    repo.write(
        "tests/login_test.go",
        "package tests\n\nfunc TestLogin(t *testing.T) {\n}\n",
    );
    repo.commit_all("a test");
    let verdict = complete(
        &run(&repo, &commit("git rm -q tests/login_test.go")).expect(0),
        "committed",
        "passed",
    );
    assert_eq!(
        degraded(&verdict, "tests_deleted"),
        Some("`./run-cases`: the session deleted tests/login_test.go"),
        "{verdict}"
    );
    // One that merely moved is still there.
    repo.write(
        "tests/a_test.go",
        "package tests\n\nfunc TestA(t *testing.T) {\n}\n",
    );
    repo.commit_all("another test");
    let verdict = complete(
        &run(
            &repo,
            &commit("mkdir -p tests/deep; git mv tests/a_test.go tests/deep/a_test.go"),
        )
        .expect(0),
        "committed",
        "passed",
    );
    assert_eq!(degraded(&verdict, "tests_deleted"), None, "{verdict}");
}

#[test]
fn clean_check_sees_no_ignored_files() {
    let env = TestEnv::new();
    let dirty = suite(&env, "dirty", &[], json!({"run": "test -f ignored.txt"}));
    let script = commit("touch ignored.txt; echo work > work.txt");
    complete(&run(&dirty, &script).expect(0), "committed", "unknown");
    let clean = suite(
        &env,
        "clean",
        &[],
        json!({"run": "test -f ignored.txt", "clean": true}),
    );
    let out = run(&clean, &script).expect(10);
    assert_eq!(out.verdict(), "incomplete/checks_unmet", "{out}");
    // What the session left uncommitted is its work, and is there.
    let work = suite(
        &env,
        "work",
        &[],
        json!({"run": "test -f new.txt && pwd > /dev/null", "clean": true}),
    );
    let verdict = complete(
        &run(&work, "echo new > new.txt").expect(0),
        "committed",
        "unknown",
    );
    let tree = verdict["checks"][0]["tree"].as_str().unwrap().to_owned();
    assert_eq!(
        tree,
        work.git(&["rev-parse", "HEAD^{tree}"]).trim(),
        "the tree that was judged is the one that was committed"
    );
    let left = std::fs::read_dir(env.state().join("scratch"))
        .unwrap()
        .count();
    assert_eq!(left, 0, "the scratch checkouts are gone");
}

#[test]
fn passing_must_fail_first_check_starts_no_session() {
    let env = TestEnv::new();
    let repo = suite(
        &env,
        "passes",
        &[("A", "pass")],
        json!({"must_fail_first": true}),
    );
    let out = run(&repo, &commit("echo work > work.txt")).expect(12);
    assert_eq!(out.verdict(), "review/no_criteria", "{out}");
    out.assert_has("message", "the check 'tests' passes at the baseline");
    assert!(
        !repo.path().join("work.txt").exists(),
        "no session was started"
    );
    // An ignored file of the worktree is not in the checkout.
    let repo = suite(
        &env,
        "fails",
        &[],
        json!({"must_fail_first": true, "run": "test -f ignored.txt || test -f done.txt"}),
    );
    repo.write("ignored.txt", "x");
    let verdict = complete(
        &run(&repo, &commit("touch done.txt")).expect(0),
        "verified",
        "failed",
    );
    assert_eq!(verdict["strike"], false);
    let loops = suite(
        &env,
        "loops",
        &[("A", "pass")],
        json!({"must_fail_first": true}),
    );
    let out = loops
        .watchdog_line(
            "loop --json --no-probe --max-iterations 2 -- sh -c {}",
            &["touch started"],
        )
        .expect(12);
    assert_eq!(out.verdict(), "review/no_criteria", "{out}");
    assert!(
        !loops.path().join("started").exists(),
        "no session was started"
    );
}

#[test]
fn must_fail_first_check_runs_once_per_spec() {
    let env = TestEnv::new();
    let repo = suite(
        &env,
        "once",
        &[("A", "todo")],
        json!({"must_fail_first": true}),
    );
    let out = run(&repo, &commit("echo one > one.txt")).expect(10);
    assert_eq!(out.verdict(), "incomplete/checks_unmet", "{out}");
    repo.write("cases/A.case", "pass\n");
    repo.commit_all("a person ends the work between two sessions");
    // The check passes where this session begins; it failed where the work of the spec began.
    let out = run(&repo, &commit("echo two > two.txt")).expect(0);
    complete(&out, "verified", "failed");
}

#[test]
fn junit_file_counts_only_from_its_run() {
    let env = TestEnv::new();
    let report = |cases: usize| {
        format!(
            "<testsuites><testsuite>{}</testsuite></testsuites>",
            "<testcase name=\"a\"/>".repeat(cases)
        )
    };
    let check = |run: &str| json!({"run": run, "junit": "ignored/report.xml"});
    let repo = suite(
        &env,
        "junit",
        &[],
        check(&format!(
            "mkdir -p ignored; echo '{}' > ignored/report.xml",
            report(3)
        )),
    );
    let verdict = complete(
        &run(&repo, &commit("echo work > work.txt")).expect(0),
        "committed",
        "passed",
    );
    assert_eq!(
        verdict["checks"][0]["tests"],
        json!({"ran": 3, "failed": 0, "skipped": 0}),
        "{verdict}"
    );
    // One that was there before, with a time in the future, was not written by the run.
    let repo = suite(&env, "stale", &[], check("true"));
    let stale = format!(
        "mkdir -p ignored; echo '{}' > ignored/report.xml; touch -d '+1 day' ignored/report.xml",
        report(3)
    );
    let out = run(&repo, &commit(&format!("{stale}; echo work > work.txt"))).expect(12);
    assert_eq!(out.verdict(), "review/verify_failed", "{out}");
    out.assert_has("feedback", "ignored/report.xml was not written by this run");
    let repo = suite(
        &env,
        "empty",
        &[],
        check(&format!(
            "mkdir -p ignored; echo '{}' > ignored/report.xml",
            report(0)
        )),
    );
    let out = run(&repo, &commit("echo work > work.txt")).expect(10);
    out.assert_has("feedback", "ran no test");
}

#[test]
fn pass_beside_left_out_files_is_only_committed() {
    let env = TestEnv::new();
    let check =
        |clean: bool| json!({"run": "test -f new.txt", "clean": clean, "must_fail_first": true});
    let repo = suite(&env, "secret", &[], check(false));
    let verdict = complete(
        &run(&repo, "echo new > new.txt; echo KEY=1 > .env").expect(0),
        "committed",
        "failed",
    );
    assert_parts(
        degraded(&verdict, "judged_with_uncommitted").unwrap(),
        &[".env"],
    );
    let repo = suite(&env, "secret-clean", &[], check(true));
    let verdict = complete(
        &run(&repo, "echo new > new.txt; echo KEY=1 > .env").expect(0),
        "verified",
        "failed",
    );
    assert_eq!(
        degraded(&verdict, "judged_with_uncommitted"),
        None,
        "{verdict}"
    );
}

#[test]
fn uncommitted_undoing_of_committed_work_is_told() {
    let env = TestEnv::new();
    let repo = env.repo_named("undone");
    repo.write("a.txt", "one\n");
    repo.commit_all("the beginning");
    let script = "echo two > a.txt; echo b > b.txt; git add -A; git commit -qm work; echo one > a.txt; rm b.txt; echo c > c.txt";
    let out = repo.watchdog_line("run --json --no-probe --no-rescue -- sh -c {}", &[script]);
    let verdict = out.json();
    let told = "uncommitted changes undo what was committed since the baseline: a.txt, b.txt";
    assert_eq!(degraded(&verdict, "work_undone"), Some(told), "{out}");
}

#[test]
fn feedback_names_head_and_its_missing_path() {
    let env = TestEnv::new();
    let repo = env.repo_named("fact");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("a.rs", "fn a() {}\n");
    let out = repo.watchdog(&["check", "--json", "--no-probe"]).expect(10);
    let fact =
        "HEAD is still the baseline; `a.rs` is not committed. Finish the work and commit it.";
    assert_eq!(out.json()["feedback"], fact, "{out}");
}

#[test]
fn feedback_begins_with_the_uncommitted_work() {
    let fact = "HEAD is still the baseline; `a.rs` is not committed";
    let says =
        json!({"status": "working", "tasks_pending": ["the rest"], "message": "all is committed"});
    let snapshots = json!({"rescue": {"mode": "snapshot"}});
    let wants_a_commit =
        json!({"rescue": {"mode": "snapshot"}, "checks": [{"type": "git", "min_commits": 1}]});
    let (silent, sh) = (
        ["--idle-timeout", "3s", "--grace", "1s"],
        ["--", "sh", "-c"],
    );
    for (what, more, args, script, rest) in [
        (
            "the agent works on",
            &snapshots,
            &["check", "--once"][..],
            "",
            "Finish the work and commit it.",
        ),
        (
            "its session is over",
            &snapshots,
            &["run"],
            "echo a > a.rs",
            "Not done yet: the rest.",
        ),
        (
            "it fell silent",
            &snapshots,
            &[&["run"], &silent[..]].concat(),
            "echo a > a.rs; sleep 1000",
            "Go on from where it stopped",
        ),
        (
            "a check wants commits",
            &wants_a_commit,
            &["run"],
            "echo a > a.rs",
            "1 new commit is wanted",
        ),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let config = env.config_asking(&[Step::print_json(&says)], more.clone());
        let config = ["--json", "--config", config.to_str().expect("UTF-8")];
        let session = [&sh[..], &[script]].concat();
        if script.is_empty() {
            repo.watchdog(&["snapshot"]).expect(0);
            repo.write("a.rs", "a");
        }
        let out = repo
            .watchdog(
                &[
                    args,
                    &config,
                    if script.is_empty() { &[] } else { &session[..] },
                ]
                .concat(),
            )
            .expect(10);
        let feedback = out.json()["feedback"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            feedback.contains(fact) && feedback.contains(rest),
            "{what}: {feedback}\n{out}"
        );
        assert!(
            feedback.starts_with(fact) || more["checks"].is_array(),
            "{what}: {feedback}"
        );
    }
    // Beside commits of its own, what is left is named alone.
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.config_asking(&[Step::print_json(&says)], snapshots);
    let script = "echo b > b.rs; git add b.rs; git commit -qm b; echo a > a.rs";
    let out = repo
        .watchdog_line(
            "run --json --config {} -- sh -c {}",
            &[config.to_str().expect("UTF-8"), script],
        )
        .expect(10);
    out.assert_values(json!({
        "feedback": "`a.rs` is not committed. Not done yet: the rest. Finish this, and commit.",
    }));
}

#[test]
fn pass_beside_older_files_is_only_committed() {
    let env = TestEnv::new();
    let made = commit("echo new > new.txt").replace("git add -A", "git add new.txt");
    let repo = suite(
        &env,
        "beside",
        &[],
        json!({"run": "test -f new.txt", "must_fail_first": true}),
    );
    repo.write("notes.txt", "mine\n");
    let verdict = complete(&run(&repo, &made).expect(0), "committed", "failed");
    assert!(
        degraded(&verdict, "judged_with_uncommitted").is_some(),
        "{verdict}"
    );
    // A scratch checkout has HEAD and the session's work, and nothing else.
    let repo = suite(
        &env,
        "beside-clean",
        &[],
        json!({"run": "test -f new.txt && ! test -e notes.txt", "clean": true, "must_fail_first": true}),
    );
    repo.write("notes.txt", "mine\n");
    let verdict = complete(&run(&repo, &made).expect(0), "verified", "failed");
    assert_eq!(
        degraded(&verdict, "judged_with_uncommitted"),
        None,
        "{verdict}"
    );
    assert_eq!(
        verdict["checks"][0]["tree"],
        repo.git(&["rev-parse", "HEAD^{tree}"]).trim(),
        "{verdict}"
    );
}

//! Criteria that hold from session to session: what a session may try, and who may move them.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv};

/// A repository whose criteria are trusted: a test that fails, and a file that must be there.
fn repo<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = env.repo_named(name);
    repo.write("tests/login.test", "test -f login.txt\n");
    repo.write("completion.json", criteria("tests").to_string());
    repo.commit_all("the criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo
}

fn criteria(name: &str) -> Value {
    json!({
        "guards": ["tests/**"],
        "rescue": {"mode": "single"},
        "completion_check": {"max_probes": 0},
        "checks": [{"type": "command", "name": name, "run": "sh tests/login.test"}],
    })
}

/// One session that does what `script` says.
fn run(repo: &Repo<'_>, script: &str) -> CommandOutput {
    repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script])
}

const REMOVE: &str = "git rm -q completion.json; git commit -qm 'no criteria'";
const JUNK: &str = "echo junk >> junk.txt; git add junk.txt; git commit -qm junk";

fn never_complete(what: &str, out: &CommandOutput) {
    assert_ne!(out.json()["status"], "complete", "{what}: {out}");
}

#[test]
fn criteria_that_one_session_removes_govern_the_next() {
    let env = TestEnv::new();
    let repo = repo(&env, "removed");
    never_complete("removes the criteria", &run(&repo, REMOVE));
    let out = run(&repo, JUNK).expect(10);
    assert_eq!(
        out.verdict(),
        "incomplete/checks_unmet",
        "the criteria hold"
    );
    out.assert_printed(&["criteria_changed", "completion.json was removed"]);
    // Even where the work is done, a person must say that there are no criteria any more.
    let out = run(
        &repo,
        "touch login.txt; git add login.txt; git commit -qm login",
    )
    .expect(12);
    assert_eq!(out.verdict(), "review/criteria_changed", "{out}");
    repo.watchdog(&["untrust"]).expect(0);
    assert_eq!(run(&repo, JUNK).expect(0).verdict(), "complete/new_commits");
}

#[test]
fn criteria_that_one_session_weakens_govern_the_next() {
    let env = TestEnv::new();
    let repo = repo(&env, "weakened");
    let weaker = json!({"checks": [{"type": "always"}]}).to_string();
    let script = format!("echo '{weaker}' > completion.json; git commit -qam weaker");
    let out = run(&repo, &script).expect(10);
    assert!(
        out.stdout.contains("\"criteria_changed\"")
            && out.stdout.contains("completion.json differs"),
        "run says so itself: {out}"
    );
    assert_eq!(
        run(&repo, JUNK).expect(10).verdict(),
        "incomplete/checks_unmet"
    );
    // A spec with another name in the same worktree is judged by them as well.
    repo.git(&["checkout", "-q", "-b", "elsewhere"]);
    assert_eq!(
        run(&repo, JUNK).expect(10).verdict(),
        "incomplete/checks_unmet"
    );
    repo.watchdog(&["trust"]).expect(0);
    assert_eq!(
        run(&repo, JUNK).expect(0).verdict(),
        "complete/checks_passed",
        "a person allowed the weaker ones"
    );
}

#[test]
fn weakened_guarded_test_is_told_until_accepted() {
    let env = TestEnv::new();
    let repo = repo(&env, "guards");
    let broken = "echo 'test -f other.txt' > tests/login.test; git commit -qam weaker";
    assert_eq!(
        run(&repo, broken).expect(10).verdict(),
        "incomplete/checks_unmet"
    );
    let out = run(
        &repo,
        "touch other.txt; git add other.txt; git commit -qm other",
    )
    .expect(12);
    assert_eq!(out.verdict(), "review/criteria_changed", "{out}");
    assert!(out.stdout.contains("tests/login.test"), "{out}");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("more.txt", "x");
    repo.commit_all("more");
    let check = || repo.watchdog(&["check", "--json", "--no-probe"]);
    assert_eq!(
        check().expect(12).verdict(),
        "review/criteria_changed",
        "a new baseline moves no anchor"
    );
    repo.watchdog(&["snapshot", "--accept-criteria"]).expect(0);
    repo.write("most.txt", "x");
    repo.commit_all("most");
    assert_eq!(check().expect(0).verdict(), "complete/checks_passed");
}

#[test]
fn hooks_hold_later_sessions_by_the_first_criteria() {
    let env = TestEnv::new();
    let repo = repo(&env, "hooked");
    let hook = |event: &str, name: &str, session: &str| {
        let input = json!({"hook_event_name": name, "session_id": session, "cwd": repo.path(), "stop_hook_active": false, "source": "startup"});
        repo.watchdog_command(&["hook", event, "--within", "60s"])
            .stdin(input.to_string())
            .run()
            .expect(0)
    };
    let _begun = hook("session-start", "SessionStart", "one");
    repo.git(&["rm", "-q", "completion.json"]);
    repo.commit_all("no criteria");
    let _ended = hook("session-end", "SessionEnd", "one");
    let _begun = hook("session-start", "SessionStart", "two");
    repo.write("junk.txt", "x");
    repo.commit_all("junk");
    let out = hook("stop", "Stop", "two");
    assert_eq!(out.json()["decision"], "block", "{out}");
    assert!(out.stdout.contains("completion.json was removed"), "{out}");
}

#[test]
fn complete_verdict_and_upstream_changes_move_the_anchor() {
    let env = TestEnv::new();
    let repo = repo(&env, "upstream");
    let upstream = env
        .root()
        .join("upstream.git")
        .to_string_lossy()
        .into_owned();
    repo.git(&["clone", "-q", "--bare", ".", &upstream]);
    repo.git(&["remote", "add", "origin", &upstream]);
    repo.git(&["fetch", "-q", "origin"]);
    repo.git(&["branch", "-q", "--set-upstream-to", "origin/main"]);
    assert_eq!(
        run(
            &repo,
            "touch login.txt; git add login.txt; git commit -qm login"
        )
        .expect(0)
        .verdict(),
        "complete/checks_passed"
    );
    // A person's own change of a guarded file, between two pieces of work that are complete.
    let other = Repo::new(&env, env.root().join("other"));
    repo.git(&["clone", "-q", &upstream, &other.path().to_string_lossy()]);
    other.write(
        "tests/login.test",
        "test -f login.txt && test -f logout.txt\n",
    );
    other.commit_all("a better test");
    other.git(&["push", "-q", "origin", "main"]);
    assert_eq!(
        run(
            &repo,
            "echo x > half.txt; git add half.txt; git commit -qm half"
        )
        .expect(0)
        .verdict(),
        "complete/checks_passed"
    );
    repo.git(&["pull", "-q", "--rebase"]);
    let out = run(
        &repo,
        "touch logout.txt; git add logout.txt; git commit -qm logout",
    )
    .expect(0);
    out.assert_verdict("complete/checks_passed", json!({"degraded": []}));
    // The same pull inside of a session is no excuse.
    other.write("tests/login.test", "true\n");
    other.commit_all("whoever pushed this");
    other.git(&["push", "-q", "origin", "main"]);
    let out = run(
        &repo,
        "git pull -q --rebase; echo y > more.txt; git add more.txt; git commit -qm more",
    )
    .expect(12);
    assert_eq!(out.verdict(), "review/criteria_changed", "{out}");
}

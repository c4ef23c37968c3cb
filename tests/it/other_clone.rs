//! A repository that is deleted and cloned anew at the same place, by a person and by a session.

use std::fs;

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv, fill_line};
use crate::sweep::{rows, word};

/// A clone with a commit of its own that its upstream lacks.
fn cloned(env: &TestEnv) -> Repo<'_> {
    let upstream = env.repo_named("upstream");
    upstream.write("tests/login.test", "test -f login.txt\n");
    upstream.commit_all("a test");
    let repo = clone_anew(env);
    repo.write("own.txt", "1");
    repo.commit_all("not pushed");
    repo
}

/// Deletes the clone, and clones the upstream at its place.
fn clone_anew(env: &TestEnv) -> Repo<'_> {
    let place = env.root().join("repo");
    if place.exists() {
        fs::remove_dir_all(&place).expect("it is ours");
    }
    env.command("git", &env.root())
        .args(["clone", "-q", "upstream", "repo"])
        .run()
        .expect(0);
    Repo::new(env, place)
}

fn id_of(repo: &Repo<'_>) -> Option<String> {
    fs::read_to_string(repo.path().join(".git/watchdog/id")).ok()
}

fn run(repo: &Repo<'_>, script: &str) -> CommandOutput {
    repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script])
}

fn warns(out: &CommandOutput) -> bool {
    out.json()["degraded"]
        .as_array()
        .is_some_and(|notes| notes.contains(&json!("another_clone")))
}

/// The finding of `doctor` about the clone.
fn clone_finding(repo: &Repo<'_>) -> Option<Value> {
    let doctor = repo.watchdog(&["doctor", "--json"]).json();
    doctor["findings"]
        .as_array()?
        .iter()
        .find(|finding| finding["what"] == "clone")
        .cloned()
}

/// The verdict where no baseline is recorded for the clone.
const NO_BASELINE: &str = "error/no_baseline";

const WORK: &str = "echo x >> work.txt; git add work.txt; git commit -qm work";

/// Replaces the repository from inside of the session by a clone that lacks the recorded commits.
const REPLACE: &str = "cd ..; rm -rf repo; git clone -q upstream repo; cd repo";

#[test]
fn new_clone_at_same_place_begins_anew() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    assert_eq!(run(&repo, WORK).expect(0).verdict(), "complete/new_commits");
    let first_id = id_of(&repo);

    let repo = clone_anew(&env);
    assert_eq!(id_of(&repo), None, "no clone copies it");
    let check = repo.watchdog(&["check", "--json", "--no-probe"]).expect(16);
    assert_eq!(check.verdict(), NO_BASELINE);
    check.assert_printed(&["another clone", "snapshot"]);
    let swept = repo.watchdog(&["sweep", "--json", "--no-probe"]).expect(0);
    assert_eq!(word(&rows(&swept)["repo"]), "no_baseline", "{swept}");
    repo.watchdog(&["sweep", "--no-probe"])
        .expect(0)
        .assert_printed(&["another clone"]);
    assert!(clone_finding(&repo).is_some_and(|finding| {
        finding["mend"]
            .as_str()
            .is_some_and(|mend| mend.ends_with("snapshot"))
    }));

    let out = run(&repo, WORK).expect(0);
    assert_eq!(out.verdict(), "complete/new_commits");
    assert!(warns(&out), "it says so: {out}");
    assert!(id_of(&repo).is_some() && id_of(&repo) != first_id);
    assert!(!warns(&run(&repo, WORK).expect(0)), "once");
}

#[test]
fn loop_and_snapshot_begin_anew_too() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    for begin in [
        &["snapshot"][..],
        &fill_line("loop --no-probe --max-iterations 1 -- sh -c {}", &[WORK]),
    ] {
        assert_eq!(run(&repo, WORK).expect(0).verdict(), "complete/new_commits");
        let repo = clone_anew(&env);
        let out = repo.watchdog(begin).expect(0);
        assert!(out.stderr.contains("another clone"), "{out}");
        repo.write("own.txt", "1");
        repo.commit_all("not pushed");
        assert_eq!(
            repo.watchdog(&["check", "--json", "--no-probe"])
                .expect(0)
                .verdict(),
            "complete/new_commits"
        );
    }
}

#[test]
fn lost_baseline_of_own_clone_stays_an_error() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    assert_eq!(run(&repo, WORK).expect(0).verdict(), "complete/new_commits");
    let id = id_of(&repo).expect("the baseline wrote it");
    let repo = clone_anew(&env);
    fs::create_dir(repo.path().join(".git/watchdog")).expect("a folder");
    fs::write(repo.path().join(".git/watchdog/id"), id).expect("a file");
    assert_eq!(
        repo.watchdog(&["check", "--json", "--no-probe"])
            .expect(16)
            .verdict(),
        "error/git_error"
    );
    assert_eq!(run(&repo, "true").expect(16).verdict(), "error/git_error");
}

#[test]
fn lost_baseline_of_a_clone_is_told_once() {
    for begin in [
        &["snapshot"][..],
        &["run", "--no-probe", "--", "sh", "-c", WORK],
    ] {
        let env = TestEnv::new();
        let repo = cloned(&env);
        repo.watchdog(&["snapshot"]).expect(0);
        fs::remove_dir_all(repo.path().join(".git/refs/watchdog")).expect("the baseline's refs");
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
        repo.git(&["reflog", "expire", "--expire=now", "--all"]);
        repo.git(&["gc", "-q", "--prune=now"]);
        assert_eq!(
            repo.watchdog(&["check", "--json", "--no-probe"])
                .expect(16)
                .verdict(),
            "error/git_error"
        );
        assert!(
            clone_finding(&repo)
                .is_some_and(|finding| finding["detail"].to_string().contains("lost the commit"))
        );
        let says = |out: CommandOutput| {
            format!("{}{}", out.stdout, out.stderr).contains("lost the commit")
        };
        assert!(says(repo.watchdog(begin).expect(0)), "{begin:?}");
        assert!(!says(repo.watchdog(begin).expect(0)), "{begin:?}: once");
        assert_eq!(clone_finding(&repo), None);
    }
}

#[test]
fn clone_without_its_id_is_named_so() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    assert_eq!(run(&repo, WORK).expect(0).verdict(), "complete/new_commits");
    fs::remove_dir_all(repo.path().join(".git/watchdog")).expect("its id");
    let says = |text: &str| text.contains("watchdog/id was removed");
    let out = repo.watchdog(&["check", "--json", "--no-probe"]).expect(12);
    assert!(
        out.verdict() == "review/disputed" && says(&out.stdout),
        "{out}"
    );
    assert!(clone_finding(&repo).is_some_and(|finding| says(&finding.to_string())));
    repo.watchdog(&["snapshot"]).expect(0);
    assert_eq!(clone_finding(&repo), None, "as it says");
}

#[test]
fn session_that_replaces_its_clone_gets_no_credit() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    repo.write(
        "completion.json",
        json!({"guards": ["tests/**"], "checks": [{"type": "command", "run": "sh tests/login.test"}]}).to_string(),
    );
    repo.commit_all("the criteria");
    repo.watchdog(&["trust"]).expect(0);
    // Without the recorded commits, and weaker guarded tests.
    let out = run(
        &repo,
        &format!("{REPLACE}; echo true > tests/login.test; git commit -qam weaker; {WORK}"),
    );
    assert!(
        matches!(out.code, Some(12 | 16)) && out.stdout.contains("another_clone"),
        "{out}"
    );
    // Nor does the session after it begin anew: a person must.
    let next = run(&repo, WORK).expect(16);
    assert_eq!(next.verdict(), NO_BASELINE);
    assert!(next.stdout.contains("was not seen to end"), "{next}");
    repo.watchdog(&["snapshot"]).expect(0);
    // With the recorded commits, which it pushed.
    let push = format!("git push -q origin HEAD:kept; {REPLACE}; git checkout -q kept; {WORK}");
    let out = run(&repo, &push).expect(12);
    assert_eq!(out.verdict(), "review/disputed");
    assert!(out.stdout.contains("another clone"), "{out}");
}

#[test]
fn session_cannot_begin_anew_from_inside() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    let watchdog = env!("CARGO_BIN_EXE_watchdog");
    let inner = format!(
        "git checkout -q --orphan bare; git commit -qm new; rm -rf .git/watchdog .git/refs/watchdog .git/logs .git/refs/remotes .git/packed-refs; \
         git branch -q -D main; git reflog expire --expire=now --all; git prune --expire=now; \
         {watchdog} snapshot --spec other; {watchdog} run --spec other --no-probe -- true; {watchdog} check --spec other --no-probe; true"
    );
    let out = run(&repo, &inner);
    assert_ne!(out.json()["status"], "complete", "{out}");
    out.assert_told(&["was refused", "(session_active)"]);
}

#[test]
fn live_session_keeps_its_records_in_another_clone() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    let input = json!({"hook_event_name": "SessionStart", "session_id": "one", "cwd": repo.path(), "source": "startup"});
    repo.watchdog_command(&["hook", "session-start", "--within", "60s"])
        .stdin(input.to_string())
        .run()
        .expect(0);
    let repo = clone_anew(&env);
    let out = repo
        .watchdog_line("run --json --spec other --no-probe -- true", &[])
        .expect(16);
    assert_eq!(out.verdict(), "error/git_error");
    out.assert_printed(&["while the session of 'main' runs"]);
}

#[test]
fn linked_worktree_replaced_by_a_clone_completes_nothing() {
    let env = TestEnv::new();
    let repo = cloned(&env);
    repo.git(&["worktree", "add", "-q", "../side", "-b", "side"]);
    let side = Repo::new(&env, env.root().join("side"));
    let config = json!({"rescue": {"mode": "single"}, "checks": [{"type": "command", "run": "test -f work.txt"}]});
    let config = env.write("config/completion.json", config.to_string());
    let script = format!("cd ..; mv side kept; git clone -q upstream side; cd side; {WORK}");
    let args = fill_line(
        "run --json --no-probe --config {} -- sh -c {}",
        &[config.to_str().expect("UTF-8"), &script],
    );
    let out = side.watchdog(&args);
    assert_ne!(out.json()["status"], "complete", "{out}");
    assert!(warns(&out), "{out}");
}

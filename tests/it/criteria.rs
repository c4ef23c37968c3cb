//! Checks in a real repository, as `watchdog check` judges them: what an agent may try, and what comes of it.

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv, assert_parts};

/// The verdict on a repository since `baseline`, by these checks.
#[track_caller]
fn verdict(env: &TestEnv, repo: &Repo<'_>, baseline: &str, checks: Value) -> Value {
    let config = env.write(
        "criteria.json",
        json!({"rescue": {"mode": "snapshot"}, "checks": checks}).to_string(),
    );
    let config = config.to_string_lossy().into_owned();
    let output = repo.watchdog_line(
        "check --json --no-probe --baseline {} --config {}",
        &[baseline, &config],
    );
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[track_caller]
fn unmet(verdict: &Value, words: &str) {
    assert_eq!(verdict["status"], "incomplete", "{verdict}");
    assert_ne!(verdict["evidence"], "verified");
    assert!(
        verdict["feedback"].as_str().unwrap().contains(words),
        "{verdict}"
    );
}

#[track_caller]
fn complete(verdict: &Value, evidence: &str) {
    assert_eq!(
        (verdict["status"].as_str(), verdict["evidence"].as_str()),
        (Some("complete"), Some(evidence)),
        "{verdict}"
    );
}

#[test]
fn protected_paths_must_stay_unchanged() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("tests/login.sh", "exit 1\n");
    let baseline = repo.commit_all("a failing test");
    let checks = json!([{"type": "git", "protected": ["tests/**"]}]);
    repo.write("work", "done\n");
    repo.commit_all("work");
    complete(&verdict(&env, &repo, &baseline, checks.clone()), "verified");
    repo.git(&["rm", "-q", "tests/login.sh"]);
    repo.commit_all("no more failing tests");
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "protected paths changed since the anchor: tests/login.sh",
    );
    repo.git(&["revert", "--no-edit", "HEAD"]);
    complete(&verdict(&env, &repo, &baseline, checks.clone()), "verified");
    repo.git(&["update-index", "--assume-unchanged", "tests/login.sh"]);
    repo.write("tests/login.sh", "exit 0 # passes\n");
    unmet(&verdict(&env, &repo, &baseline, checks), "tests/login.sh");
}

#[test]
fn a_clean_worktree_has_no_hidden_entries() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("tests/login.sh", "exit 1\n");
    let baseline = repo.commit_all("a failing test");
    let checks = json!([{"type": "git", "require_clean": true}]);
    repo.write("work", "done\n");
    repo.commit_all("work");
    complete(&verdict(&env, &repo, &baseline, checks.clone()), "verified");
    repo.git(&["update-index", "--skip-worktree", "tests/login.sh"]);
    std::fs::remove_file(repo.path().join("tests/login.sh")).unwrap();
    unmet(
        &verdict(&env, &repo, &baseline, checks),
        "1 file is hidden from git by skip-worktree or assume-unchanged, `tests/login.sh`",
    );
}

#[test]
fn frozen_list_cannot_shrink_and_ticks_are_claims() {
    let env = TestEnv::new();
    let repo = env.repo();
    let list = |marks: [bool; 2]| {
        json!([{"name": "login", "passes": marks[0]}, {"name": "logout", "passes": marks[1]}])
            .to_string()
    };
    repo.write("feature_list.json", list([false, false]));
    let baseline = repo.commit_all("the list");
    let checks = json!([{"type": "feature_list", "freeze": true}]);
    repo.write("feature_list.json", list([true, false]));
    repo.commit_all("one");
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "1 of 2 features of `feature_list.json` do not pass: logout",
    );
    repo.write(
        "feature_list.json",
        json!([{"name": "login", "passes": true}]).to_string(),
    );
    repo.commit_all("all that is left");
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "removed or reworded, and only `passes` may change: logout",
    );
    repo.write("feature_list.json", list([true, true]));
    repo.commit_all("both");
    complete(&verdict(&env, &repo, &baseline, checks), "claimed");
}

#[test]
fn boxes_that_the_agent_ticks_are_its_word() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("TODO.md", "- [ ] one\n- [ ] two\n");
    let baseline = repo.commit_all("list");
    let checks = json!([{"type": "plan", "path": "TODO.md"}]);
    repo.write("TODO.md", "- [x] one\n- [ ] two\n");
    repo.commit_all("tick");
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "`TODO.md` has 1 incomplete task(s) out of 2; do them and mark them there: two",
    );
    repo.write("TODO.md", "- [x] one\n- [x] two\n");
    repo.commit_all("tick all, do nothing");
    complete(&verdict(&env, &repo, &baseline, checks), "claimed");
}

#[test]
fn empty_commits_and_conflict_markers_fail_the_check() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head();
    let checks = json!([{"type": "git", "no_conflict_markers": true}]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "done"]);
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "leaves the tree as it was",
    );
    repo.write("merged.rs", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n");
    repo.commit_all("merge by hand");
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "marks of a conflict are left in merged.rs",
    );
    repo.write("merged.rs", "a\nb\n");
    repo.commit_all("resolved");
    complete(&verdict(&env, &repo, &baseline, checks), "verified");
}

#[test]
fn file_checks_never_follow_links_outside() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head();
    env.write("secret.txt", "all tests pass\n");
    let checks = json!([{"type": "files", "paths": ["report.txt"], "contains": "all tests pass"}]);
    std::os::unix::fs::symlink("../secret.txt", repo.path().join("report.txt")).unwrap();
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "missing files: report.txt",
    );
    std::fs::remove_file(repo.path().join("report.txt")).unwrap();
    repo.write("report.txt", "some tests pass\n");
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "files without \"all tests pass\": report.txt",
    );
    repo.write("report.txt", "so\nall tests pass\n");
    repo.commit_all("report");
    complete(&verdict(&env, &repo, &baseline, checks), "committed");
    let outside = json!([{"type": "plan", "path": "list.md"}]);
    env.write("list.md", "- [x] nothing of this worktree\n");
    std::os::unix::fs::symlink("../list.md", repo.path().join("list.md")).unwrap();
    let found = verdict(&env, &repo, &baseline, outside);
    assert_eq!(
        (found["status"].as_str(), found["reason"].as_str()),
        (Some("review"), Some("verify_failed")),
        "{found}"
    );
    assert_parts(
        found["checks"][0]["feedback"].as_str().unwrap(),
        &["a symbolic link leads out of the worktree"],
    );
}

#[test]
fn pushed_means_that_a_remote_has_it() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo.head();
    let checks = json!([{"type": "git", "require_pushed": true}]);
    repo.write("work", "x");
    repo.commit_all("work");
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "no branch of a remote is known here",
    );
    let remote = env.root().join("remote.git").to_string_lossy().into_owned();
    repo.git(&["init", "-q", "--bare", &remote]);
    repo.git(&["remote", "add", "origin", &remote]);
    repo.git(&["push", "-q", "origin", "HEAD~1:refs/heads/main"]);
    unmet(
        &verdict(&env, &repo, &baseline, checks.clone()),
        "1 commit is not on any remote; push the work",
    );
    repo.git(&["push", "-q", "origin", "HEAD:refs/heads/main"]);
    complete(&verdict(&env, &repo, &baseline, checks), "verified");
}

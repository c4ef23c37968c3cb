//! A person works in the worktree between two sessions of a spec: finishes, undoes, commits what was left, or only edits.

use serde_json::json;

use crate::branch_switches;
use crate::support::{CommandOutput, Repo, TestEnv};

/// A repository with a check that wants a file, after a session that committed one half of the work and left the other uncommitted.
fn after_a_session<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = branch_switches::repo(env, name);
    run(
        &repo,
        "echo half > half.txt; git add half.txt; git commit -qm half; echo draft > draft.txt",
    )
    .expect(10);
    repo
}

fn run(repo: &Repo<'_>, script: &str) -> CommandOutput {
    repo.watchdog_line("run --json --no-probe --no-rescue -- sh -c {}", &[script])
}

fn check(repo: &Repo<'_>) -> CommandOutput {
    repo.watchdog(&["check", "--json", "--no-probe"])
}

#[test]
fn pass_resting_on_later_edits_is_only_committed() {
    let env = TestEnv::new();
    let repo = after_a_session(&env, "edits");
    repo.write("done.txt", "by hand, and in no commit");
    let out = check(&repo).expect(0);
    out.assert_verdict("complete/checks_passed", json!({"evidence": "committed"}));
    out.assert_values(json!({"changed_since_end": 1, "degraded": ["judged_with_uncommitted"]}));
    assert_eq!(
        (
            repo.file_in("HEAD", "draft.txt").is_some(),
            repo.status().as_str()
        ),
        (true, "?? done.txt"),
        "the session's is rescued alone"
    );
}

#[test]
fn work_that_a_person_commits_completes_the_spec() {
    let env = TestEnv::new();
    let repo = after_a_session(&env, "finishes");
    repo.git(&["add", "draft.txt"]);
    repo.git(&["commit", "-q", "-m", "what it left"]);
    let out = check(&repo).expect(10);
    out.assert_verdict(
        "incomplete/checks_unmet",
        json!({"made_here": 2, "rescued": false}),
    );
    repo.write("done.txt", "by hand");
    repo.commit_all("done by a person");
    let out = check(&repo).expect(0);
    out.assert_verdict("complete/checks_passed", json!({"evidence": "committed"}));
    out.assert_values(json!({"made_here": 3, "imported_commits": 0}));
}

#[test]
fn work_that_a_person_undoes_no_longer_counts() {
    let env = TestEnv::new();
    let repo = after_a_session(&env, "undoes");
    repo.git(&["revert", "--no-edit", "HEAD"]);
    let out = check(&repo).expect(10);
    out.assert_values(json!({"net_change": false, "degraded": ["no_net_change"]}));
    let out = run(
        &repo,
        "touch done.txt; git add done.txt; git commit -qm done",
    )
    .expect(0);
    out.assert_verdict(
        "complete/checks_passed",
        json!({"made_here": 1, "inherited": 0}),
    );
}

#[test]
fn edits_between_sessions_are_inherited_by_the_next() {
    let env = TestEnv::new();
    let repo = after_a_session(&env, "beside");
    repo.write("mine.txt", "mine");
    repo.write("draft.txt", "a person went on with the draft\n");
    let out = run(
        &repo,
        "touch done.txt; git add done.txt; git commit -qm done",
    )
    .expect(0);
    out.assert_verdict("complete/checks_passed", json!({"evidence": "committed"}));
    out.assert_values(json!({"inherited": 2}));
    assert_eq!(repo.status().as_str(), "?? draft.txt\n?? mine.txt", "{out}");
    assert!(!repo.snapshots().is_empty(), "and kept all the same");
}

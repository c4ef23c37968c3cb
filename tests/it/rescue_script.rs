//! `scripts/commit-rescue`, the rescue command that users copy: commits what may be committed, discards nothing.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Claude, CommandOutput, Repo, Rule, TestEnv, config_asking};

fn script() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/commit-rescue")
}

fn run(env: &TestEnv, repo: &Repo<'_>, args: &[&str]) -> CommandOutput {
    env.command(script(), repo.path()).args(args).run()
}

/// Work in every state, and a secret of each kind.
fn leave_work(repo: &Repo<'_>) {
    repo.write("old/gone", "g");
    repo.write("old/staged gone", "g");
    repo.commit_all("more");
    repo.write("README.md", "changed\n");
    repo.write("src/new one.rs", "fn main() {}\n");
    repo.write("src/staged.rs", "first\n");
    repo.git(&["add", "src/staged.rs"]);
    repo.write("src/staged.rs", "second\n");
    repo.write("docs/:(top)x", "odd\n");
    std::fs::remove_file(repo.path().join("old/gone")).unwrap();
    repo.git(&["rm", "-q", "old/staged gone"]);
    repo.write(".env", "PASSWORD=hunter2\n");
    repo.write("src/token.rs", format!("{}{}\n", "ghp_", "a1B2".repeat(9)));
}

#[test]
fn without_an_agent_each_folder_is_a_commit() {
    let env = TestEnv::new();
    let repo = env.repo();
    leave_work(&repo);
    let baseline = repo.head();
    let out = run(&env, &repo, &["auth"]).expect(0);
    let mut subjects = repo.subjects_since(&baseline);
    subjects.sort();
    assert_eq!(
        subjects,
        [
            "chore(auth): rescue uncommitted work",
            "chore(docs): rescue uncommitted work",
            "chore(old): rescue uncommitted work",
            "chore(src): rescue uncommitted work"
        ]
    );
    assert_eq!(repo.status(), "?? .env\n?? src/token.rs", "{out}");
    assert_eq!(
        repo.file_in("HEAD", "src/staged.rs").as_deref(),
        Some("second\n")
    );
    assert!(
        out.stderr.contains("left out: .env")
            && out.stderr.contains("left out: src/token.rs")
            && !out.stderr.contains("hunter2"),
        "{out}"
    );
    run(&env, &repo, &[]).expect(0);
}

#[test]
fn refused_commit_is_told_and_keeps_the_index() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("README.md", "changed\n");
    repo.write("src/new.rs", "n\n");
    repo.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho 'lint: no' >&2\nexit 1\n",
    );
    repo.git(&["config", "core.hooksPath", ".git/hooks"]);
    std::fs::set_permissions(
        repo.path().join(".git/hooks/pre-commit"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let status = repo.status();
    let out = run(&env, &repo, &["auth"]).expect(1);
    assert!(out.stderr.contains("lint: no"), "{out}");
    assert_eq!(repo.status(), status);
}

#[test]
fn states_that_allow_no_commit_are_refused() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new", "n");
    repo.git(&["switch", "-q", "--detach"]);
    run(&env, &repo, &[]).expect(3);
    repo.git(&["switch", "-q", "main"]);
    repo.write(".git/MERGE_HEAD", repo.head());
    run(&env, &repo, &[]).expect(3);
    run(&env, &repo, &["--no-such"]).expect(2);
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1");
}

#[test]
fn worktree_script_is_found_and_its_commits_counted() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("scripts/commit-rescue", std::fs::read(script()).unwrap());
    std::fs::set_permissions(
        repo.path().join("scripts/commit-rescue"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    repo.commit_all("the script");
    leave_work(&repo);
    let baseline = repo.head();
    let config = config_asking(
        &env,
        json!({"probe": ["echo", r#"{"status": "complete"}"#]}),
        json!({"rescue": {"mode": "command"}}),
    );
    let out = repo
        .watchdog_line(
            "check --json --spec auth --baseline {} --config {}",
            &[&baseline, config.to_str().unwrap()],
        )
        .expect(0);
    out.assert_verdict("complete/rescued", json!({"/rescue/commits": 4}));
    let snapshot = out.json()["rescue"]["snapshot"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        repo.git_line(
            "log -1 --format=%(trailers:key=Watchdog-Snapshot,valueonly)",
            &[]
        )
        .trim(),
        snapshot
    );
}

#[test]
fn real_agent_can_only_commit() {
    let claude = Claude::answering([
        Rule::bash("git reset --hard && git clean -fdx")
            .when_last_user("Commit it now")
            .when_offered("Bash"),
        Rule::bash("rm -f README.md").when_offered("Bash"),
        Rule::bash("git add src && git commit -qm 'feat(auth): add login'").when_offered("Bash"),
        Rule::text("Done.").always(),
    ]);
    let repo = claude.env.repo();
    let baseline = repo.head();
    repo.write("src/login.rs", "fn login() {}\n");
    repo.write("docs/login.md", "# Login\n");
    let out = run(&claude.env, &repo, &["auth"]).expect(0);
    assert_eq!(
        repo.subjects_since(&baseline),
        [
            "chore(docs): rescue uncommitted work",
            "feat(auth): add login"
        ],
        "{out}"
    );
    assert_eq!(
        repo.status(),
        "",
        "the README is there, and the rest was committed without the agent"
    );
    let asked = &claude.api.messages()[0];
    for part in [
        "git status and git diff",
        "tasks.md",
        "atomic conventional commits",
        "partly done is In Progress",
        "separately",
        "clean tree",
        "Do not ask questions",
    ] {
        assert!(asked.last_user().contains(part), "{part}");
    }
}

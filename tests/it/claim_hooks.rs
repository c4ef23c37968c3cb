//! The claims of last words at a stop without criteria: held once where git excludes them, shown where nothing decides, else silence.

use serde_json::{Value, json};

use crate::support::{Repo, TestEnv};

#[track_caller]
fn hook(repo: &Repo<'_>, event: &str, input: Value) -> Value {
    let command = repo.watchdog_command(&["hook", event]);
    command.stdin(input.to_string()).run().expect(0).json()
}

/// A repository without criteria, in which a session began.
fn begun(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.write("mine.txt", "of the user");
    hook(
        &repo,
        "session-start",
        json!({"session_id": "s", "source": "startup", "cwd": repo.path()}),
    );
    repo
}

/// The answer to these last words, behind a transcript of these commands with their results.
fn stop((env, repo): (&TestEnv, &Repo<'_>), words: &str, calls: &[(&str, &str)]) -> Value {
    let mut transcript = String::new();
    for (line, result) in calls {
        let call =
            json!({"type": "tool_use", "id": line, "name": "Bash", "input": {"command": line}});
        let result = json!({"type": "tool_result", "tool_use_id": line, "content": result, "is_error": result.starts_with("Exit code")});
        for (kind, block) in [("assistant", call), ("user", result)] {
            let event = json!({"type": kind, "cwd": repo.path(), "message": {"content": [block]}});
            transcript.push_str(&format!("{event}\n"));
        }
    }
    let transcript = env.write("transcript.jsonl", transcript);
    hook(
        repo,
        "stop",
        json!({"session_id": "s", "prompt_id": "p", "hook_event_name": "Stop", "stop_hook_active": false,
               "last_assistant_message": words, "transcript_path": transcript, "background_tasks": []}),
    )
}

fn reason(answer: &Value) -> &str {
    assert_eq!(answer["decision"], "block", "{answer}");
    answer["reason"].as_str().unwrap_or_default()
}

#[test]
fn contradicted_commit_holds_once() {
    let env = TestEnv::new();
    let repo = begun(&env);
    let committed = "All changes are committed.";
    assert_eq!(
        stop((&env, &repo), committed, &[]),
        json!({}),
        "it changed nothing"
    );
    repo.write("work.txt", "x");
    assert_eq!(stop((&env, &repo), "I did not commit.", &[]), json!({}));
    assert_eq!(
        reason(&stop((&env, &repo), committed, &[])),
        "You said \"All changes are committed\": HEAD is still the baseline; `work.txt` is not committed. Do it, or correct what you said."
    );
    assert_eq!(stop((&env, &repo), committed, &[]), json!({}), "once");
    repo.git(&["add", "work.txt"]);
    repo.git(&["commit", "-qm", "work"]);
    assert_eq!(
        stop((&env, &repo), committed, &[]),
        json!({}),
        "the user's file is no work"
    );
}

#[test]
fn failed_tests_hold_and_piped_tests_are_shown() {
    let env = TestEnv::new();
    let repo = begun(&env);
    repo.write("work.txt", "x");
    let piped = stop(
        (&env, &repo),
        "All tests pass.",
        &[("pytest | tail -1", "1 passed")],
    );
    let shown = piped["systemMessage"].as_str().unwrap_or_default();
    assert!(
        shown.starts_with("watchdog: unproved: \"All tests pass\""),
        "{piped}"
    );
    assert_eq!(piped["decision"], Value::Null, "{piped}");
    let failed = stop(
        (&env, &repo),
        "All tests pass.",
        &[("pytest", "Exit code 1\n1 failed")],
    );
    assert!(
        reason(&failed).contains("'pytest', failed (exit code 1)"),
        "{failed}"
    );
    assert_eq!(
        stop((&env, &repo), "All tests pass.", &[("pytest", "1 passed")]),
        json!({})
    );
}

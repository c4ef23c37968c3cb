//! The claims of last words at a stop without criteria: held once where git excludes them, shown where nothing decides, else silence.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv, assert_parts};

/// The answer of a hook to this input.
#[track_caller]
pub fn hook(repo: &Repo<'_>, event: &str, input: Value) -> Value {
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
#[track_caller]
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

const WRITES: (&str, &str) = ("echo x > work.txt", "");
const SAID: &str = "All changes are committed.";

#[test]
fn contradicted_commit_holds_once() {
    let env = TestEnv::new();
    let repo = begun(&env);
    assert_eq!(
        stop((&env, &repo), SAID, &[]),
        json!({}),
        "it changed nothing"
    );
    repo.write("work.txt", "x");
    assert_eq!(
        stop((&env, &repo), "I did not commit.", &[WRITES]),
        json!({})
    );
    let shown = stop((&env, &repo), SAID, &[]);
    assert_eq!(shown["decision"], Value::Null, "a person's file: {shown}");
    // The same fact, now about its own work.
    let sentence = "You said \"All changes are committed\": HEAD is still the baseline; `work.txt` is not committed. Do it, or correct what you said.";
    assert_eq!(reason(&stop((&env, &repo), SAID, &[WRITES])), sentence);
    assert_eq!(stop((&env, &repo), SAID, &[WRITES]), json!({}), "once");
    repo.git(&["add", "work.txt"]);
    repo.git(&["commit", "-qm", "work"]);
    assert_eq!(
        stop((&env, &repo), SAID, &[WRITES]),
        json!({}),
        "the user's file is no work"
    );
}

#[test]
fn claims_hold_thrice_also_after_a_resume() {
    let env = TestEnv::new();
    let repo = begun(&env);
    let name = |round: u8| format!("work{round}.txt");
    (0..5).for_each(|round| repo.write(&name(round), "x"));
    for round in 0..5 {
        let line = format!("echo x > {}", name(round));
        let answer = stop((&env, &repo), SAID, &[(&line, "")]);
        if round < 3 {
            assert!(
                answer["reason"]
                    .as_str()
                    .is_some_and(|why| why.starts_with("You said")),
                "{round} {answer}"
            );
        } else {
            let shown = answer["systemMessage"].as_str().unwrap_or_default();
            assert!(shown.starts_with("watchdog: contradicted"), "{answer}");
        }
        let id =
            json!({"session_id": "s", "cwd": repo.path(), "source": "resume", "reason": "other"});
        hook(&repo, "session-end", id.clone());
        hook(&repo, "session-start", id);
    }
}

#[test]
fn failed_tests_hold_and_piped_tests_are_shown() {
    let env = TestEnv::new();
    let repo = begun(&env);
    repo.write("work.txt", "x");
    let claim = "All tests pass.";
    let piped = stop((&env, &repo), claim, &[("pytest | tail -1", "1 passed")]);
    let shown = piped["systemMessage"].as_str().unwrap_or_default();
    assert!(
        shown.starts_with("watchdog: unproved: \"All tests pass\""),
        "{piped}"
    );
    assert_eq!(piped["decision"], Value::Null, "{piped}");
    let failed = stop((&env, &repo), claim, &[("pytest", "Exit code 1\n1 failed")]);
    assert_parts(reason(&failed), &["'pytest', failed (exit code 1)"]);
    assert_eq!(
        stop((&env, &repo), claim, &[("pytest", "1 passed")]),
        json!({})
    );
}

#[test]
fn missing_files_and_pull_requests_hold() {
    let env = TestEnv::new();
    let repo = begun(&env);
    repo.write("work.txt", "x");
    let said = "I created `src/gone.py`.";
    assert_eq!(
        reason(&stop((&env, &repo), said, &[("git status", "")])),
        "You said \"I created `src/gone.py`\": there is no src/gone.py. Do it, or correct what you said."
    );
    repo.write("src/made.py", "x");
    assert_eq!(
        stop((&env, &repo), "I created `src/made.py`.", &[]),
        json!({})
    );
    let opened = |number: u8| stop((&env, &repo), &format!("Opened PR #{number}."), &[]);
    let unseen = opened(4)["systemMessage"].to_string();
    assert!(unseen.contains("no pull request is seen"), "{unseen}");
    env.install_script(
        "gh",
        "#!/bin/sh\n[ \"$1 $2 $3\" = 'pr view 4' ] && exit 0\n\
         echo \"GraphQL: Could not resolve to a PullRequest with the number of $3. (repository.pullRequest)\" >&2\nexit 1\n",
    );
    assert_eq!(opened(4), json!({}));
    let refused = opened(12);
    assert_parts(reason(&refused), &["GitHub has no pull request 12"]);
}

#[test]
fn moves_of_a_person_hold_nobody() {
    let env = TestEnv::new();
    let repo = begun(&env);
    repo.write("work.txt", "x");
    repo.git(&["add", "work.txt"]);
    let printed = repo.git(&["commit", "-m", "work"]);
    repo.git(&["reset", "-q", "--soft", "HEAD~1"]);
    let calls = [
        WRITES,
        ("git add work.txt && git commit -m work", printed.as_str()),
    ];
    let answer = stop((&env, &repo), SAID, &calls);
    assert_eq!(answer["decision"], Value::Null, "{answer}");
    let shown = answer["systemMessage"].as_str().unwrap_or_default();
    assert!(shown.starts_with("watchdog: unproved"), "{answer}");
}

#[test]
fn push_claim_is_compared_with_the_remote() {
    let env = TestEnv::new();
    let repo = begun(&env);
    repo.git(&["init", "-q", "--bare", "../remote.git"]);
    repo.git(&["remote", "add", "origin", "../remote.git"]);
    repo.git(&["push", "-q", "origin", "HEAD:main"]);
    repo.write("work.txt", "x");
    repo.git(&["add", "work.txt"]);
    let printed = repo.git(&["commit", "-m", "work"]);
    let calls = [("git commit -m work", printed.as_str())];
    let claim = "Committed and pushed.";
    let answer = stop((&env, &repo), claim, &calls);
    assert!(
        reason(&answer).contains("1 commit of HEAD is on no remote-tracking branch"),
        "{answer}"
    );
    repo.git(&["push", "-q", "origin", "HEAD:main"]);
    assert_eq!(stop((&env, &repo), claim, &calls), json!({}));
}

/// The verdict on a session with these last words, whose last test run failed, where the agent says that all is done.
fn judged(env: &TestEnv, words: &str, work: &[Step]) -> CommandOutput {
    const ID: &str = "11111111-2222-4333-8444-555555555555";
    let repo = env.repo();
    let call =
        json!({"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "pytest"}});
    let failed = json!({"type": "tool_result", "tool_use_id": "a", "content": "Exit code 1\n1 failed", "is_error": true});
    let folder = repo.path().canonicalize().expect("it exists");
    let event = |kind: &str, block: &Value| json!({"type": kind, "cwd": folder, "message": {"content": [block]}});
    let transcript = format!(
        "{}\n{}\n",
        event("assistant", &call),
        event("user", &failed)
    );
    let slug = (folder.display().to_string()).replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    env.write(
        &format!("home/.claude/projects/{slug}/{ID}.jsonl"),
        transcript,
    );
    let end = json!({"type": "result", "subtype": "success", "is_error": false, "session_id": ID, "result": words});
    let agent = env.fake_agent("session", &[work, &[Step::print_json(&end)]].concat());
    let complete = Step::print_json(&json!({"status": "complete", "message": "scripted"}));
    let config = env
        .config_asking(&[complete], json!({}))
        .display()
        .to_string();
    repo.watchdog(&[
        "run", "--json", "--config", &config, "--", &agent[0], &agent[1],
    ])
}

#[test]
fn verdict_on_a_contradicted_word_is_disputed() {
    let out = judged(&TestEnv::new(), "All tests pass.", &[]);
    out.assert_verdict("review/disputed", json!({"evidence": "none"}));
    let claims = &out.json()["claims"];
    assert_eq!(
        (
            &claims[0]["claim"],
            &claims[0]["state"],
            &claims[0]["quote"]
        ),
        (
            &json!("tests_passed"),
            &json!("contradicted"),
            &json!("All tests pass")
        ),
        "{out}"
    );
}

#[test]
fn contradicted_claim_beside_a_commit_is_only_said() {
    let work = [Step::write("a.txt", "a"), Step::commit("feat: a")];
    let out = judged(&TestEnv::new(), "All tests pass.", &work);
    out.assert_verdict("complete/new_commits", json!({"evidence": "committed"}));
    let message = out.json()["message"].to_string();
    assert!(message.contains("; contradicted: "), "{message}");
    let silent = judged(&TestEnv::new(), "The tests are for you to run.", &work);
    assert_eq!(silent.json()["claims"], json!([]), "{silent}");
}

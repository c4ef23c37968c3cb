//! Agents that print plain text and answer in prose: what their words are taken for, and what they are not.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv};

/// A configuration whose agent answers with these words.
fn config(env: &TestEnv, answer: &str, more: &Value) -> String {
    env.config_asking(&[Step::print(answer)], more.clone())
        .to_string_lossy()
        .into_owned()
}

#[track_caller]
fn run(repo: &Repo<'_>, config: &str, script: &str) -> CommandOutput {
    repo.watchdog_line("run --json --config {} -- sh -c {}", &[config, script])
}

#[test]
fn prose_answer_counts_only_if_unambiguous() {
    let fenced = "I looked at everything again.\n\n```json\n{\"status\": \"complete\"}\n```\n\nHave a nice day!\n";
    let denied = "I am not done. When I am, I will say {\"status\":\"complete\"}.\n";
    let two = "{\"status\": \"working\"}\n... \n{\"status\": \"complete\"}\n";
    let templated = "I am supposed to answer with {\"status\": \"complete|waiting|working\"}, so here you are.\n";
    for (answer, verdict, code) in [
        (fenced, "complete/rescued", 0),
        (denied, "review/disputed", 12),
        (two, "review/disputed", 12),
        (
            "{\"status\": \"working\", \"status\": \"complete\"}\n",
            "review/disputed",
            12,
        ),
        (
            "{\"status\": \"complete\", \"tasks_pending\": [\"x\"], \"tasks_pending\": []}\n",
            "review/disputed",
            12,
        ),
        (
            "Everything is finished and all tests pass.\n",
            "error/probe_error",
            16,
        ),
        (templated, "", 0),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let config = config(&env, answer, &json!({}));
        let out = run(
            &repo,
            &config,
            "echo 'I am making a.txt'; echo a > a.txt; echo 'Done! All tests pass.'",
        );
        if verdict.is_empty() {
            assert_ne!(out.json()["status"], "complete", "{answer}: {out}");
            continue;
        }
        assert_eq!(
            (out.verdict().as_str(), out.code),
            (verdict, Some(code)),
            "{answer}: {out}"
        );
        assert!(
            !repo.snapshots().is_empty(),
            "whatever it comes to, the work is kept: {out}"
        );
    }
}

#[test]
fn plain_text_claim_is_believed_only_with_git() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = config(
        &env,
        "{\"status\": \"working\", \"tasks_pending\": [\"commit\"]}",
        &json!({}),
    );
    let out = run(
        &repo,
        &config,
        "echo 'All done. I committed everything and pushed it.'; echo a > a.txt",
    )
    .expect(10);
    out.assert_verdict("incomplete/unfinished", json!({"rescued": true}));
    let out = run(
        &repo,
        &config,
        "echo 'I could not do it, sorry.'; echo b > b.txt; git add b.txt; git commit -qm 'feat: b'",
    )
    .expect(0);
    assert_eq!(out.verdict(), "complete/new_commits", "{out}");
}

#[test]
fn plain_signal_is_a_claim_on_its_line() {
    let signal = json!({"checks": [{"type": "signal", "text": "TASK_DONE", "match": "line"}]});
    let work = "echo a > a.txt; git add a.txt; git commit -qm 'feat: a'";
    for (words, verdict, evidence) in [
        (
            "echo 'I will print TASK_DONE when I am done'",
            "incomplete/checks_unmet",
            "none",
        ),
        (
            "echo working; echo TASK_DONE",
            "complete/checks_passed",
            "claimed",
        ),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let config = config(&env, "{\"status\": \"working\"}", &signal);
        let out = run(&repo, &config, &format!("{work}; {words}"));
        out.assert_verdict(verdict, json!({"evidence": evidence}));
    }
}

#[test]
fn plain_text_agent_is_told_the_missing_work() {
    let env = TestEnv::new();
    let repo = env.repo();
    let script = env.write(
        "check.sh",
        "test -f b.txt || { echo 'b.txt is missing'; exit 1; }",
    );
    let check =
        json!({"type": "command", "name": "there", "run": ["sh", script.to_str().unwrap()]});
    let config = config(
        &env,
        "I think so.",
        &json!({"limits": {"cooldown_seconds": 0}, "checks": [check]}),
    );
    // It does what it reads: first its task, then what is missing.
    let agent = "read -r line; cat > rest; if grep -q 'b.txt is missing' rest; then f=b.txt; else f=a.txt; fi; rm rest; \
        echo x > $f; git add $f; git commit -qm \"feat: $f\"; echo 'I am done!'";
    let prompt = env.write("prompt.md", "Build it.\n\nAll of it.\n");
    let out = repo
        .watchdog_line(
            "loop --json --config {} --prompt {} -- sh -c {}",
            &[&config, prompt.to_str().unwrap(), agent],
        )
        .expect(0);
    out.assert_verdict("complete/checks_passed", json!({"iterations": 2}));
    assert_eq!(
        repo.subjects_since("HEAD~2"),
        ["feat: b.txt", "feat: a.txt"]
    );
}

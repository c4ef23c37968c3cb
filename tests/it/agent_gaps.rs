//! What an agent cannot report, and where that is said: before its session, and in its verdict.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv, extended, fill_line};

fn run_idle_codex(more: &Value) -> CommandOutput {
    let env = TestEnv::new();
    let config = install_idle_codex(&env, more);
    run_codex(&env.repo(), &config, "--json")
}

fn run_codex(repo: &Repo<'_>, config: &str, flag: &str) -> CommandOutput {
    repo.watchdog_command(&fill_line(
        "run {} --config {} -- codex exec --json {}",
        &[flag, config, "do it"],
    ))
    .run()
}

/// Installs a Codex that says that it could do nothing, and works no more when it is asked. Returns its configuration.
fn install_idle_codex(env: &TestEnv, more: &Value) -> String {
    let said = |text: &str| {
        let events = [
            json!({"type": "thread.started", "thread_id": "01a20210-5f8a-7a32-b14b-ca588022d080"}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": text}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 300, "cached_input_tokens": 0, "output_tokens": 60}}),
        ];
        events.map(|event| format!("{event}\n")).concat()
    };
    let (asked, worked) = (
        said(r#"{"status": "working"}"#),
        said("I could do nothing."),
    );
    let text = format!(
        "#!/bin/sh\nif [ -n \"$WATCHDOG_QUESTION\" ]; then cat > /dev/null; cat <<'END'\n{asked}END\nexit 0; fi\ncat <<'END'\n{worked}END\n"
    );
    env.install_script("codex", text);
    let config = extended(
        json!({
            "version": 1, "completion_check": {"max_probes": 1, "probe_interval_seconds": 0, "probe_timeout_seconds": 30},
        }),
        more,
    );
    env.write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned()
}

fn notes(out: &CommandOutput, code: &str) -> Vec<String> {
    let json = out.json();
    let noted = json["notes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|note| note["code"] == code);
    noted
        .map(|note| note["detail"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn empty_session_hints_at_silently_refused_tools() {
    let out = run_idle_codex(&json!({}));
    assert_eq!(out.json()["status"], "incomplete", "{out}");
    let lacks = notes(&out, "agent_lacks");
    assert!(
        lacks.len() == 1
            && lacks[0].contains("Codex CLI")
            && lacks[0].contains("may have been refused"),
        "{lacks:?}\n{out}"
    );
}

#[test]
fn unenforceable_limit_is_told_at_start_and_verdict() {
    let out = run_idle_codex(&json!({"limits": {"max_cost_usd": 1}}));
    out.assert_told(&["Codex CLI does not report what max_cost_usd limits"]);
    assert!(
        notes(&out, "budget_unknown")
            .iter()
            .any(|detail| detail.contains("max_cost_usd")),
        "{out}"
    );
    let other = run_idle_codex(&json!({"limits": {"max_total_tokens": 1_000_000}}));
    assert!(
        !other.stderr.contains("does not report") && notes(&other, "budget_unknown").is_empty(),
        "{other}"
    );
}

#[test]
fn agent_gaps_are_shown_once_then_verbose() {
    let env = TestEnv::new();
    let (repo, config) = (
        env.repo(),
        install_idle_codex(&env, &json!({"breaker": {"limit": 9}})),
    );
    let run = |flag: &str| run_codex(&repo, &config, flag);
    let times_shown = |out: &CommandOutput| out.stderr.matches("Codex CLI: ").count();
    let [first, second, verbose] = ["--color=never", "--color=never", "--verbose"].map(run);
    assert_eq!(
        (times_shown(&first), times_shown(&second)),
        (1, 0),
        "{first}\n{second}"
    );
    assert!(verbose.stderr.contains("(agent_lacks)"), "{verbose}");
    assert_eq!(
        notes(&run("--json"), "agent_lacks").len(),
        1,
        "programs get it each time"
    );
}

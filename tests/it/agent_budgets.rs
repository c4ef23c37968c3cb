//! What an agent may cost in a loop or task: a session that spends it is ended, the next agent takes over, and where nobody is left the
//! work stops and says whose budget it was.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::another_agent::{
    calls, changes_of_agents, claude, codex, config, looped, needs, program, prompt,
};
use crate::support::{CommandOutput, Repo, TestEnv, assert_parts, fill_line};

const SPENDER_ID: &str = "ses_0123456789abcdefABCDEFGHIJ";

/// A program that tells of each step what it cost, as opencode does. `step` costs 0.30 USD; `$n` is the number of its session.
fn spender(env: &TestEnv, name: &str, sessions: &str) {
    let event = |kind: &str, part: Value| {
        json!({"type": kind, "sessionID": SPENDER_ID, "part": part}).to_string()
    };
    let tokens =
        json!({"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let step = event(
        "step_finish",
        json!({"reason": "tool-calls", "cost": 0.3, "tokens": tokens}),
    );
    let last = event(
        "step_finish",
        json!({"reason": "stop", "cost": 0.0, "tokens": tokens}),
    );
    let words = format!(
        "step() {{ echo '{}'; echo '{step}'; }}\nanswer() {{ echo '{}'; echo '{last}'; }}",
        event("step_start", json!({})),
        event("text", json!({"text": "not yet"}))
    );
    program(env, name, &words, sessions);
}

/// An entry of `agents` that may cost half a dollar.
fn entry(name: &str, fallback: &[&str]) -> Value {
    json!({"name": name, "command": [name], "max_cost_usd": 0.5, "fallback": fallback})
}

fn message(out: &CommandOutput) -> String {
    out.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Runs tasks until all of them are over.
fn task_work(repo: &Repo<'_>, config: &str) -> CommandOutput {
    let args = fill_line(
        "task work --agents 1 --json --no-probe --config {}",
        &[config],
    );
    repo.watchdog_command(&args)
        .timeout(Duration::from_secs(150))
        .run()
}

#[test]
fn spent_agent_budget_hands_over_to_next_agent() {
    let env = TestEnv::new();
    let repo = env.repo();
    spender(
        &env,
        "main",
        "echo half > half.txt; step; step; exec sleep 600",
    );
    codex(&env, "commit ok.txt; answer done");
    let mut more =
        json!({"agents": [entry("main", &["spare"]), {"name": "spare", "preset": "codex"}]});
    more["checks"] = needs("ok.txt")["checks"].clone();
    let out = looped(&env, &repo, &config(&env, more), &["--agent", "main"]).expect(0);
    let json = out.json();
    out.assert_verdict("complete/checks_passed", json!({"iterations": 2}));
    assert_eq!(calls(&env), ["main session 1", "codex session 1"], "{out}");
    let change = &changes_of_agents(&repo)[0];
    assert_eq!(
        (&change["from"], &change["to"], &change["why"]),
        (&json!("main"), &json!("spare"), &json!("budget")),
        "{change}"
    );
    assert_parts(
        &prompt(&env, "codex", 1),
        &["from another agent, main: its budget is spent."],
    );
    let first = &json["loop"]["history"][0];
    assert_eq!(
        (&first["reason"], &first["agent"]),
        (&json!("budget_exhausted"), &json!("main")),
        "{out}"
    );
    out.assert_told(&["the budget of the agent main is spent (agents[].max_cost_usd): its sessions cost 0.60 of 0.50 USD"]);
    out.assert_values(json!({"/loop/agents/0/spent/cost_usd": 0.6, "/loop/agents/1/sessions": 1}));
    assert_eq!(
        repo.git(&["show", "HEAD~1:half.txt"]),
        "half",
        "what it left was rescued\n{out}"
    );
}

#[test]
fn loop_stops_when_every_agent_budget_is_spent() {
    let env = TestEnv::new();
    let repo = env.repo();
    spender(&env, "main", "commit a.txt; step; step; exec sleep 600");
    spender(&env, "spare", "commit b$n.txt; step; answer");
    let both = config(
        &env,
        json!({"agents": [entry("main", &["spare"]), entry("spare", &[])], "checks": needs("ok.txt")["checks"]}),
    );
    let out = looped(&env, &repo, &both, &["--agent", "main"]).expect(14);
    assert_eq!(out.verdict(), "stopped/budget_exhausted", "{out}");
    assert_parts(&message(&out), &["the budgets of main and spare are spent"]);
    assert_eq!(
        calls(&env),
        ["main session 1", "spare session 1", "spare session 2"],
        "each session counts: {out}"
    );
    let alone = config(
        &env,
        json!({"agents": [entry("main", &[])], "checks": needs("ok.txt")["checks"]}),
    );
    let out = looped(&env, &repo, &alone, &["--agent", "main", "--restart"]).expect(14);
    assert_eq!(out.verdict(), "stopped/budget_exhausted", "{out}");
    assert_parts(&message(&out), &["the budget of main is spent"]);
    assert_eq!(calls(&env).len(), 4, "{out}");
    let again = looped(&env, &repo, &alone, &["--agent", "main"]).expect(14);
    assert_eq!(
        calls(&env).len(),
        4,
        "a loop that is started again has no more to spend: {again}"
    );
}

#[test]
fn task_changes_agent_at_limit_or_spent_budget() {
    let env = TestEnv::new();
    let repo = env.repo();
    let reset = jiff::Timestamp::now().as_second() + 7200;
    spender(&env, "main", "step; step; exec sleep 600");
    claude(&env, &format!("limit {reset}"));
    codex(&env, "commit $WATCHDOG_SPEC.txt; answer done");
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: About T1\n---\n\nDo T1.\n",
    );
    repo.commit_all("a task");
    let agents = json!([entry("main", &["second", "third"]), {"name": "second", "preset": "claude"}, {"name": "third", "preset": "codex"}]);
    let config = config(
        &env,
        json!({"agents": agents, "completion_check": {"max_probes": 0}}),
    );
    let out = task_work(&repo, &config);
    assert_eq!(
        calls(&env),
        ["main session 1", "claude session 1", "codex session 1"],
        "{out}"
    );
    for change in [
        "the budget of main is spent; second takes over",
        "second met a usage limit; third takes over until ",
    ] {
        assert!(out.stderr.contains(change), "{change}\n{out}");
    }
    let list = repo.watchdog(&["task", "list", "--json"]).expect(0).json();
    assert_eq!(
        (&list["tasks"][0]["status"], &list["tasks"][0]["reason"]),
        (&json!("complete"), &json!("new_commits")),
        "{list}\n{out}"
    );
    assert!(prompt(&env, "codex", 1).contains("Do T1."), "{out}");
}

#[test]
fn rescue_plan_asks_the_agent_of_the_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    claude(
        &env,
        &format!("limit {}", jiff::Timestamp::now().as_second() + 7200),
    );
    codex(
        &env,
        "echo left > left.txt; mkdir docs; echo too > docs/too.md; answer done",
    );
    let config = config(&env, json!({"rescue": {"mode": "plan"}}));
    let out = looped(
        &env,
        &repo,
        &config,
        &fill_line("--agent claude --fallback codex --max-iterations 1", &[]),
    );
    let asked = |name: &str| {
        fs::read_to_string(env.root().join(format!("asked.{name}"))).unwrap_or_default()
    };
    assert!(
        asked("codex").contains("COMMIT PLAN") && asked("codex").contains("left.txt"),
        "{:?}\n{out}",
        calls(&env)
    );
    assert_eq!(
        asked("claude"),
        "",
        "it knows nothing of that session\n{out}"
    );
    repo.write("late.txt", "late");
    repo.write("docs/late.md", "late");
    let rescued = repo.watchdog(&["rescue", "--config", &config]).expect(0);
    assert!(
        asked("codex").contains("late.txt") && asked("claude").is_empty(),
        "{rescued}"
    );
}

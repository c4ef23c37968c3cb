//! The budget of an account counts over its machines: each spends what it drew, and with the server gone no more than that.

use std::fs;
use std::time::Duration;

use serde_json::json;

use crate::another_agent::{calls, claude, codex, config, looped, needs, program};
use crate::fleet_account::{AccountFleet, fleet};
use crate::support::{Gate, TestEnv, wait_until};

/// A machine of the account `team`, whose budget is this.
fn with_budget(shared: &AccountFleet, name: &str, usd: &str) -> TestEnv {
    let env = shared.machine(name, Some("team"));
    fleet(&env, &["account", "--max-cost-usd-per-day", usd]).expect(0);
    env
}

/// A machine of the account `team` that reaches the server through a gate.
fn behind_a_gate(shared: &AccountFleet) -> (TestEnv, Gate) {
    let env = TestEnv::new();
    let gate = Gate::to(shared.database.port());
    let port = |port: u16| format!(":{port}/");
    let address = shared
        .database
        .full_address("worker")
        .replace(&port(shared.database.port()), &port(gate.port));
    fleet(
        &env,
        &["join", &address, "--name", "build-1", "--account", "team"],
    )
    .expect(0);
    (env, gate)
}

/// How much of today the machines hold or spent, in cents.
fn drawn(shared: &AccountFleet) -> String {
    shared
        .database
        .sql("SELECT round(drawn_usd * 100)::text FROM watchdog.account")
}

#[test]
fn what_one_machine_spends_the_others_cannot_spend_again() {
    let shared = AccountFleet::new();
    let first = with_budget(&shared, "build-1", "0.4");
    // Each session costs 0.25 USD, which it tells at its end.
    claude(&first, "commit a$n.txt; answer 'not yet'");
    let out = looped(
        &first,
        &first.repo(),
        &config(&first, needs("ok.txt")),
        &["--agent", "claude"],
    )
    .expect(14);
    assert_eq!(out.verdict(), "stopped/budget_exhausted", "{out}");
    let message = out.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        message.contains(
            "the budget of the account 'team' is spent for today (0.40 USD for all of its machines)"
        ),
        "{message}"
    );
    assert_eq!(
        calls(&first).len(),
        2,
        "the second began with what the first left: {out}"
    );

    let second = shared.machine("build-2", Some("team"));
    claude(&second, "commit ok.txt; answer done");
    let config = config(&second, needs("ok.txt"));
    let refused = looped(&second, &second.repo(), &config, &["--agent", "claude"]).expect(14);
    assert_eq!(
        (refused.verdict().as_str(), calls(&second).len()),
        ("stopped/budget_exhausted", 0),
        "{refused}"
    );
    let run = second
        .repo_named("run")
        .watchdog(&["run", "--no-probe", "--json", "--", "claude"])
        .expect(14);
    assert_eq!(calls(&second).len(), 0, "{run}");
    fleet(&second, &["account", "--max-cost-usd-per-day", "9"]).expect(0);
    looped(
        &second,
        &second.repo_named("again"),
        &config,
        &["--agent", "claude"],
    )
    .expect(0);
    let shown = fleet(&second, &["account", "--json"]).expect(0).json();
    assert_eq!(
        shown["budget"]["max_cost_usd_per_day"],
        json!(9.0),
        "{shown}"
    );
    assert!(
        shown["budget"]["drawn_today_usd"]
            .as_f64()
            .is_some_and(|usd| (0.7..1.1).contains(&usd)),
        "what was left is given back: {shown}"
    );
}

#[test]
fn with_the_server_gone_a_machine_spends_what_it_drew_and_then_says_why_it_stops() {
    let shared = AccountFleet::new();
    let admin = with_budget(&shared, "admin", "5");
    let (env, gate) = behind_a_gate(&shared);
    claude(
        &env,
        "while [ ! -e \"$root/go\" ]; do sleep 0.1; done; commit a$n.txt; answer 'not yet'",
    );
    let (repo, config) = (env.repo(), config(&env, needs("ok.txt")));
    let task = env.write("PROMPT.md", "Build the thing.");
    let args = [
        "loop",
        "--json",
        "--config",
        &config,
        "--prompt",
        task.to_str().expect("UTF-8"),
        "--agent",
        "claude",
    ];
    let running = repo.watchdog_spawn(&args);
    wait_until("the first session runs", Duration::from_secs(60), || {
        calls(&env).len() == 1
    });
    gate.shut();
    fs::write(env.root().join("go"), "").unwrap();
    let out = running.wait();
    assert_eq!(
        (out.code, out.verdict().as_str()),
        (Some(14), "stopped/budget_exhausted"),
        "{out}"
    );
    let message = out.json()["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(
        message.contains("the fleet's server is gone")
            && message.contains("watchdog fleet account --own"),
        "{message}"
    );
    // It drew 0.50 and a little for questions; a session costs 0.25.
    let sessions = calls(&env).len();
    assert!((2..=3).contains(&sessions), "{sessions}: {out}");
    repo.watchdog(&["check", "--no-probe"]);
    gate.open();
    fleet(&env, &["sync"]).expect(0);
    let spent: f64 = drawn(&shared).parse().unwrap();
    assert!(
        spent >= 25.0 * sessions as f64 - 0.5,
        "what was spent is told when the server is back: {spent} of {sessions} sessions"
    );
    drop(admin);
}

#[test]
fn what_a_machine_overspent_counts_once_however_many_of_its_commands_tell_it() {
    let shared = AccountFleet::new();
    let admin = with_budget(&shared, "admin", "0.1");
    let (env, gate) = behind_a_gate(&shared);
    claude(
        &env,
        "while [ ! -e \"$root/go\" ]; do sleep 0.1; done; commit ok.txt; answer done",
    );
    let (repo, config) = (env.repo(), config(&env, needs("ok.txt")));
    let task = env.write("PROMPT.md", "Build the thing.");
    let args = [
        "loop",
        "--json",
        "--config",
        &config,
        "--prompt",
        task.to_str().expect("UTF-8"),
        "--agent",
        "claude",
    ];
    let running = repo.watchdog_spawn(&args);
    wait_until("the session runs", Duration::from_secs(60), || {
        calls(&env).len() == 1
    });
    gate.shut();
    fs::write(env.root().join("go"), "").unwrap();
    running.wait().expect(0);
    gate.open();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| fleet(&env, &["sync"]).expect(0));
        }
    });
    // A session costs 0.25; what is kept for questions was drawn from what was left.
    let spent: f64 = drawn(&shared).parse().unwrap();
    assert!((25.0..26.5).contains(&spent), "{spent}");
    drop(admin);
}

#[test]
fn a_session_that_is_killed_has_spent_what_it_held() {
    let shared = AccountFleet::new();
    let env = with_budget(&shared, "build-1", "10");
    claude(&env, "exec sleep 600");
    let (repo, config) = (env.repo(), config(&env, needs("ok.txt")));
    let task = env.write("PROMPT.md", "Build the thing.");
    let args = [
        "loop",
        "--json",
        "--config",
        &config,
        "--prompt",
        task.to_str().expect("UTF-8"),
        "--agent",
        "claude",
    ];
    let running = repo.watchdog_spawn(&args);
    wait_until("the session runs", Duration::from_secs(60), || {
        calls(&env).len() == 1
    });
    running.signal(rustix::process::Signal::KILL);
    let _ = running.wait();
    let free = || {
        fleet(&env, &["account", "--json"]).expect(0).json()["budget"]["free_here_usd"]
            .as_f64()
            .expect("a budget")
    };
    fleet(&env, &["sync"]).expect(0);
    assert!(free() < 0.2, "{}", free());
    assert!(
        drawn(&shared).parse::<f64>().unwrap() >= 100.0,
        "a tenth of the day was its part: {}",
        drawn(&shared)
    );
    fleet(&env, &["leave"]).expect(0);
    assert!(
        drawn(&shared).parse::<f64>().unwrap() >= 100.0,
        "and is not given back"
    );
    for process in env.processes_left() {
        process.kill();
    }
}

#[test]
fn a_question_without_a_share_is_not_asked_and_an_agent_that_tells_no_cost_is_named() {
    let shared = AccountFleet::new();
    let env = with_budget(&shared, "build-1", "0");
    program(
        &env,
        "advisor",
        r#"answer() { echo '{"status": "working"}'; }"#,
        "answer",
    );
    let asked = config(&env, json!({"agent": {"probe": ["advisor"]}}));
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let held = repo
        .watchdog(&["check", "--json", "--config", &asked])
        .expect(11);
    assert_eq!(
        (held.verdict().as_str(), calls(&env).len()),
        ("waiting/rate_limited", 0),
        "{held}"
    );
    assert!(
        held.json()["message"]
            .as_str()
            .is_some_and(|said| said.contains("no share left")),
        "{held}"
    );
    let found = env.watchdog(&env.root(), &["doctor", "--json"]).json();
    let of_account: Vec<_> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|found| found["what"] == "account")
        .collect();
    assert_eq!(
        (&of_account[0]["state"], &of_account[1]["state"]),
        (&json!("ok"), &json!("wrong")),
        "{of_account:?}"
    );
    let spent = "the budget of the account 'team' (0.00 USD a day) is spent or held";
    assert!(
        of_account[1]["detail"]
            .as_str()
            .is_some_and(|said| said.contains(spent)),
        "{of_account:?}"
    );
    let status = fleet(&env, &["status", "--json"]).expect(0).json();
    assert!(
        status["account_standing"]["problems"][0]
            .as_str()
            .is_some_and(|said| said.contains(spent)),
        "{status}"
    );
    let shown = fleet(&env, &["status"]).expect(0).stdout;
    assert!(
        shown.contains("budget    0.00 USD a day; 0.00 drawn today") && shown.contains(spent),
        "{shown}"
    );
    fleet(&env, &["account", "--max-cost-usd-per-day", "20"]).expect(0);
    repo.watchdog(&["check", "--json", "--config", &asked]);
    assert_eq!(calls(&env).len(), 1);
    codex(&env, "commit ok.txt; answer done");
    let out = looped(
        &env,
        &env.repo_named("other"),
        &config(&env, needs("ok.txt")),
        &["--agent", "codex"],
    )
    .expect(0);
    assert!(
        out.stderr
            .contains("does not report what the budget of the account limits"),
        "{out}"
    );
}

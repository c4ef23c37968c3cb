//! Machines that share an account: a limit that one of them met holds the others, without a session, a question or a token.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::another_agent::{calls, claude, codex, config, looped, needs, program};
use crate::support::test_database::TestDatabase;
use crate::support::{CommandOutput, Gate, TestEnv, assert_parts, fill_line, wait_until};

pub fn fleet(env: &TestEnv, args: &[&str]) -> CommandOutput {
    env.watchdog(&env.root(), &[&["fleet"], args].concat())
}

/// A fleet, and machines that join it.
pub struct AccountFleet {
    pub database: TestDatabase,
}

impl AccountFleet {
    pub fn new() -> Self {
        let (database, env) = (TestDatabase::new(), TestEnv::new());
        fleet(
            &env,
            &fill_line(
                "init {} --worker worker",
                &[&database.full_address("owner")],
            ),
        )
        .expect(0);
        AccountFleet { database }
    }

    /// A machine of its own home and state, on an account or on its own.
    pub fn machine(&self, name: &str, account: Option<&str>) -> TestEnv {
        let env = TestEnv::new();
        let address = self.database.full_address("worker");
        let account = account.map_or(vec![], |account| vec!["--account", account]);
        fleet(
            &env,
            &[&["join", &address, "--name", name], &account[..]].concat(),
        )
        .expect(0);
        env
    }

    /// A machine that met a limit of Claude until then, and told of it.
    fn that_met_a_limit(&self, name: &str, account: &str, until: i64) -> TestEnv {
        let env = self.machine(name, Some(account));
        claude(&env, &format!("limit {until}"));
        let out = looped(
            &env,
            &env.repo(),
            &config(&env, needs("ok.txt")),
            &["--agent", "claude", "--max-wait", "1s"],
        );
        assert_eq!(out.verdict(), "waiting/rate_limited", "{out}");
        fleet(&env, &["sync"]).expect(0);
        env
    }
}

pub fn in_seconds(seconds: i64) -> i64 {
    Timestamp::now().as_second() + seconds
}

/// Has an agent that would complete the work.
fn willing(env: &TestEnv) -> String {
    claude(env, "commit ok.txt; answer done");
    codex(env, "commit ok.txt; answer done");
    config(env, needs("ok.txt"))
}

fn limits(env: &TestEnv) -> Vec<Value> {
    fleet(env, &["account", "--json"]).expect(0).json()["limits"]
        .as_array()
        .expect("a list")
        .clone()
}

#[test]
fn limit_holds_every_machine_of_the_account_only() {
    let shared = AccountFleet::new();
    let reset = in_seconds(7200);
    let first = shared.that_met_a_limit("build-1", "team", reset);
    let second = shared.machine("build-2", Some("team"));
    fleet(&second, &["sync"]).expect(0);
    let known = &limits(&second)[0];
    assert_eq!(
        (&known["agent"], &known["machine"]),
        (&json!("claude"), &json!("build-1")),
        "{known}"
    );

    let status = fleet(&second, &["status", "--json"]).expect(0).json();
    assert_eq!(
        status["account_standing"]["limits"][0]["agent"],
        json!("claude"),
        "{status}"
    );
    let doctor = second.watchdog(&second.root(), &["doctor"]).stdout;
    assert_parts(
        &doctor,
        &["note   account       claude met its usage limit on build-1 and is held until"],
    );

    let (repo, config) = (second.repo(), willing(&second));
    let held = looped(
        &second,
        &repo,
        &config,
        &["--agent", "claude", "--max-wait", "1s"],
    )
    .expect(11);
    assert_eq!(
        (held.verdict().as_str(), calls(&second).len()),
        ("waiting/rate_limited", 0),
        "no session: {held}"
    );
    held.assert_told(&["claude met its limit on build-1, which shares the account"]);
    let told: Timestamp = held.json()["retry_at"]
        .as_str()
        .and_then(|at| at.parse().ok())
        .expect("when it goes on");
    assert!((told.as_second() - reset).abs() < 30, "{told}");
    let other = looped(&second, &repo, &config, &["--agent", "codex", "--restart"]).expect(0);
    assert_eq!(
        calls(&second),
        ["codex session 1"],
        "Claude's limit does not hold Codex: {other}"
    );

    let own = shared.machine("build-3", None);
    fleet(&own, &["sync"]).expect(0);
    let config = willing(&own);
    looped(&own, &own.repo(), &config, &["--agent", "claude"]).expect(0);
    assert_eq!(
        calls(&own),
        ["claude session 1"],
        "an account that nobody named is the machine's own"
    );

    let again = looped(
        &first,
        &first.repo_named("again"),
        &self::config(&first, needs("ok.txt")),
        &["--agent", "claude", "--max-wait", "1s"],
    );
    assert_eq!(
        calls(&first).len(),
        2,
        "where it was met it is tried as without a fleet: {again}"
    );
}

/// Has a program of the person's own that is asked, and what it answers.
fn advised(env: &TestEnv, answer: &str) -> String {
    program(
        env,
        "advisor",
        &format!("answer() {{ echo '{answer}'; }}"),
        "answer",
    );
    config(env, json!({"agent": {"probe": ["advisor"]}}))
}

#[test]
fn probe_limit_holds_all_probes_until_cleared() {
    let shared = AccountFleet::new();
    let first = shared.machine("build-1", Some("team"));
    let limited = advised(&first, "Usage limit reached. Resets in 3 hours.");
    let repo = first.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let met = repo.watchdog(&["check", "--json", "--config", &limited]);
    assert_eq!(met.verdict(), "waiting/rate_limited", "{met}");
    assert_eq!(calls(&first).len(), 1, "{met}");
    fleet(&first, &["sync"]).expect(0);

    let second = shared.machine("build-2", Some("team"));
    fleet(&second, &["sync"]).expect(0);
    let (repo, config) = (
        second.repo(),
        advised(&second, r#"{"status": "working", "message": "on it"}"#),
    );
    repo.watchdog(&["snapshot"]).expect(0);
    let check = || repo.watchdog(&["check", "--json", "--config", &config]);
    for _ in 0..2 {
        let held = check().expect(11);
        assert_eq!(held.verdict(), "waiting/rate_limited", "{held}");
        assert_eq!(calls(&second).len(), 0, "{held}");
        held.assert_has("message", "build-1");
        held.assert_values(json!({"/probe_usage/requests": 0, "strike": false}));
    }
    let cleared = fleet(&second, &["account", "--clear-limit", "--agent", "advisor"]).expect(0);
    cleared.assert_printed(&["1 usage limit of the account 'team' cleared"]);
    let out = check();
    assert_eq!(calls(&second).len(), 1, "{out}");
    fleet(&second, &["sync"]).expect(0);
    assert_eq!(limits(&second).len(), 0);
}

#[test]
fn foreign_machine_limit_hands_over_to_next_agent() {
    let shared = AccountFleet::new();
    let _first = shared.that_met_a_limit("build-1", "team", in_seconds(7200));
    let second = shared.machine("build-2", Some("team"));
    fleet(&second, &["sync"]).expect(0);
    let config = willing(&second);
    let out = looped(
        &second,
        &second.repo(),
        &config,
        &["--agent", "claude", "--fallback", "codex"],
    )
    .expect(0);
    assert_eq!(calls(&second), ["codex session 1"], "{out}");
}

#[test]
fn cleared_limit_resumes_loops_on_other_machines() {
    let shared = AccountFleet::new();
    let first = shared.that_met_a_limit("build-1", "team", in_seconds(7200));
    let second = shared.machine("build-2", Some("team"));
    fleet(&second, &["sync"]).expect(0);
    let (repo, config) = (second.repo(), willing(&second));
    let task = second.write("PROMPT.md", "Build the thing.");
    let args = fill_line(
        "loop --json --config {} --prompt {} --agent claude",
        &[&config, task.to_str().expect("UTF-8")],
    );
    let running = repo.watchdog_spawn(&args);
    wait_until("the loop waits", Duration::from_secs(60), || {
        running.stderr_so_far().contains("which shares the account")
    });
    assert_eq!(calls(&second).len(), 0);
    fleet(&first, &["account", "--clear-limit"]).expect(0);
    let out = running.wait();
    assert_eq!(
        (out.code, calls(&second)),
        (Some(0), vec!["claude session 1".to_owned()]),
        "{out}"
    );
}

#[test]
fn printed_limit_expires_within_eight_days() {
    let shared = AccountFleet::new();
    let forged = shared.that_met_a_limit("build-1", "team", in_seconds(30 * 86_400));
    let left = shared
        .database
        .sql("SELECT (until - clock_timestamp()) <= interval '8 days' FROM watchdog.usage_limit");
    assert_eq!(left, "t");
    fleet(&forged, &["account", "--clear-limit"]).expect(0);
    let late = shared.that_met_a_limit("build-2", "other", in_seconds(7200));
    let in_force =
        "SELECT string_agg(account, ' ') FROM watchdog.usage_limit WHERE until > clock_timestamp()";
    assert_eq!(shared.database.sql(in_force), "other");
    fleet(&late, &["account", "--own"]).expect(0);
    fleet(&late, &["status"])
        .expect(0)
        .assert_printed(&["watchdog fleet account NAME --use"]);
}

#[test]
fn offline_machine_uses_the_last_known_limits() {
    let shared = AccountFleet::new();
    let _first = shared.that_met_a_limit("build-1", "team", in_seconds(7200));
    let second = TestEnv::new();
    let gate = Gate::to(shared.database.port());
    let address = shared.database.address_by("worker", gate.port);
    fleet(
        &second,
        &["join", &address, "--name", "build-2", "--account", "team"],
    )
    .expect(0);
    fleet(&second, &["sync"]).expect(0);
    gate.shut();
    let config = config(&second, needs("ok.txt"));
    claude(&second, "commit ok.txt; answer done");
    let held = looped(
        &second,
        &second.repo(),
        &config,
        &["--agent", "claude", "--max-wait", "1s"],
    )
    .expect(11);
    assert_eq!(calls(&second).len(), 0, "{held}");
    let reset = in_seconds(7200);
    codex(
        &second,
        "fails \"You've hit your usage limit. Try again in 2 hours.\"",
    );
    let met = looped(
        &second,
        &second.repo_named("other"),
        &config,
        &["--agent", "codex", "--max-wait", "1s"],
    );
    assert_eq!(met.verdict(), "waiting/rate_limited", "{met}");
    gate.open();
    fleet(&second, &["sync"]).expect(0);
    let told = format!(
        "SELECT machine || ' ' || (abs(extract(epoch FROM until) - {reset}) < 120)::text FROM watchdog.usage_limit WHERE agent = 'codex'"
    );
    let told = shared.database.sql(&told);
    assert_eq!(told, "build-2 true");
}

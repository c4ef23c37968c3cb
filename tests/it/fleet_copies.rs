//! What happens on a machine is copied to its fleet, beside the work: once, in order, and without what only this machine should know.

use std::time::Duration;

use serde_json::json;

use crate::fleet_proof::rough_way::RoughWay;
use crate::support::test_database::TestDatabase;
use crate::support::{Gate, TestEnv, assert_parts, fill_line, wait_until};

/// Joins the fleet by another port than the one of its server.
fn join(env: &TestEnv, database: &TestDatabase, port: u16) {
    let address = database.address_by("worker", port);
    env.watchdog(
        &env.root(),
        &["fleet", "join", &address, "--name", "build-1"],
    )
    .expect(0);
}

/// A machine that joined, and the way to its server.
fn joined(env: &TestEnv) -> (TestDatabase, Gate) {
    let database = env.fleet();
    let gate = Gate::to(database.port());
    join(env, &database, gate.port);
    (database, gate)
}

const SESSION: &str =
    "echo only this machine knows; echo done > f && git add -A && git commit -qm 'feat: f'";

#[test]
fn events_are_copied_once_without_their_output() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["run", "--no-probe", "--", "true"]);
    let (database, _gate) = joined(&env);
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", SESSION])
        .expect(0);
    assert_eq!(
        database.sql("SELECT count(*) FROM watchdog.event"),
        "0",
        "a short command waits for no server"
    );
    let waiting = env
        .watchdog(&env.root(), &["fleet", "status"])
        .expect(0)
        .stdout;
    assert_parts(&waiting, &["to look at: watchdog fleet sync"]);
    let said = env
        .watchdog(&env.root(), &["fleet", "sync"])
        .expect(0)
        .stdout;
    assert_parts(&said, &["were copied to the fleet on localhost"]);
    let kinds = database.sql("SELECT string_agg(kind, ' ' ORDER BY seq) FROM watchdog.event");
    assert_eq!(
        kinds, "baseline session_started session_ended breaker verdict",
        "only what happened since it joined, in order"
    );
    let verdict = database.sql("SELECT data->>'status' || ' ' || (data->>'machine') FROM watchdog.event WHERE kind = 'verdict'");
    assert_eq!(verdict, "complete build-1");
    assert_eq!(
        database
            .sql("SELECT count(*) FROM watchdog.event WHERE data::text LIKE '%only this machine%'"),
        "0"
    );
    let again = env
        .watchdog(&env.root(), &["fleet", "sync", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&again["copied"], &again["missed"], &again["busy"]),
        (&json!(0), &json!(0), &json!(false)),
        "{again}"
    );
    env.watchdog(&env.root(), &["fleet", "status"])
        .expect(0)
        .assert_printed(&["everything is copied"]);
}

/// Every event that the loop is to share, once, in the order of its journal.
fn assert_all_there_once_in_order(env: &TestEnv, database: &TestDatabase) {
    let there = database.sql("SELECT id FROM watchdog.event ORDER BY seq");
    let journal = env
        .watchdog(&env.root(), &["events", "--all", "--json", "-n", "1000"])
        .expect(0)
        .stdout;
    let events = journal
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a line is an object"));
    let ids: Vec<String> = events
        .filter_map(|event| event["id"].as_str().map(str::to_owned))
        .filter(|id| there.contains(id))
        .collect();
    assert_eq!(there.lines().collect::<Vec<_>>(), ids);
}

#[test]
fn final_loop_events_arrive_without_another_command() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (database, _gate) = joined(&env);
    repo.watchdog(&["loop", "--no-probe", "--", "sh", "-c", SESSION])
        .expect(0);
    wait_until(
        "the loop's verdict is there",
        Duration::from_secs(60),
        || database.sql("SELECT count(*) FROM watchdog.event WHERE kind = 'complete'") == "1",
    );
    assert_all_there_once_in_order(&env, &database);
}

#[test]
fn loop_end_never_waits_for_a_slow_server() {
    let env = TestEnv::new();
    let repo = env.repo();
    let database = env.fleet();
    let way = RoughWay::to(database.port());
    join(&env, &database, way.port);
    way.cut();
    // Longer than any test takes: a loop that waited for one packet would never end.
    way.delay_by(Duration::from_secs(3600));
    let before = way.passed();
    repo.watchdog(&["loop", "--no-probe", "--", "sh", "-c", SESSION])
        .expect(0);
    assert_eq!(way.passed(), before, "nothing reached the server");
    way.delay_by(Duration::ZERO);
    env.watchdog(&env.root(), &["fleet", "sync"]).expect(0);
    // The process that was handed what was left may be at it.
    wait_until(
        "the loop's verdict is there",
        Duration::from_secs(60),
        || {
            env.watchdog(&env.root(), &["fleet", "sync"]).expect(0);
            database.sql("SELECT count(*) FROM watchdog.event WHERE kind = 'complete'") == "1"
        },
    );
    assert_all_there_once_in_order(&env, &database);
}

#[test]
fn lost_server_changes_no_verdict_and_catches_up() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (database, gate) = joined(&env);
    gate.shut();
    // A session that lasts until the loop has met it.
    let met = format!(
        "until {} fleet status --json | grep -q '\"failing_since\":\"'; do sleep 0.1; done",
        env!("CARGO_BIN_EXE_watchdog")
    );
    let looped = repo
        .watchdog_line(
            "loop --no-probe -- sh -c {}",
            &[&format!("{met}; {SESSION}")],
        )
        .expect(0);
    assert_eq!(
        looped.stderr.matches("the work goes on").count(),
        1,
        "said once: {looped}"
    );
    let refused = env.watchdog(&env.root(), &["fleet", "sync"]).expect(16);
    assert!(refused.stderr.contains("localhost"), "{refused}");
    repo.watchdog(&["check", "--no-probe"]);
    gate.open();
    env.watchdog(&env.root(), &["fleet", "sync"]).expect(0);
    assert_eq!(
        database.sql("SELECT count(*) FROM watchdog.event WHERE kind = 'complete'"),
        "1"
    );
    let ordered = "SELECT bool_and(ordered) FROM (SELECT at >= lag(at, 1, at) OVER (ORDER BY seq) - interval '1 second' AS ordered FROM watchdog.event) e";
    assert_eq!(
        database.sql(ordered),
        "t",
        "in the order of this machine's journal"
    );
}

#[test]
fn offline_fleet_status_tells_why_it_is_old() {
    let env = TestEnv::new();
    let (database, gate) = joined(&env);
    let status = |code: i32| {
        env.watchdog(&env.root(), &["fleet", "status", "--json"])
            .expect(code)
            .json()
    };
    let before = status(0);
    gate.shut();
    env.repo()
        .watchdog(&["run", "--no-probe", "--", "sh", "-c", SESSION])
        .expect(0);
    let gone = status(16);
    assert!(
        gone["message"]
            .as_str()
            .is_some_and(|said| said.contains("localhost"))
            && gone["hint"].is_string(),
        "{gone}"
    );
    assert_eq!(
        (&gone["status"], &gone["reason"]),
        (&json!("error"), &json!("store_error")),
        "{gone}"
    );
    for (member, value) in before.as_object().expect("an object") {
        let knows_here = fill_line(
            "schema joined machine account server database user known_format sslmode repositories",
            &[],
        );
        match member.as_str() {
            "copies" => assert!(
                gone["copies"]["waiting"].as_u64() > value["waiting"].as_u64(),
                "{gone}"
            ),
            "account_standing" => assert_eq!(value["limits"], gone[member]["limits"], "{gone}"),
            name if knows_here.contains(&name) => assert_eq!(value, &gone[name], "{name}: {gone}"),
            name => assert_eq!(
                gone.get(name),
                Some(&json!(null)),
                "only the server knows {name}: {gone}"
            ),
        }
    }
    let said = env.watchdog(&env.root(), &["fleet", "status"]).expect(16);
    for wanted in [
        "as 'worker'",
        "to look at: watchdog fleet sync",
        "account   this machine's own",
    ] {
        assert!(said.stdout.contains(wanted), "{wanted}: {said}");
    }
    gate.open();
    assert_eq!(status(0)["server"], before["server"]);
    assert_eq!(
        database.sql("SELECT count(*) FROM watchdog.event"),
        "0",
        "a look copies nothing"
    );
}

#[test]
fn a_machine_that_left_shares_nothing_any_more() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (database, gate) = joined(&env);
    env.watchdog(&env.root(), &["fleet", "leave"]).expect(0);
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", SESSION])
        .expect(0);
    env.watchdog(&env.root(), &["fleet", "sync"])
        .expect(0)
        .assert_printed(&["in no fleet"]);
    join(&env, &database, gate.port);
    env.watchdog(&env.root(), &["fleet", "sync"]).expect(0);
    assert_eq!(
        database.sql("SELECT count(*) FROM watchdog.event"),
        "0",
        "what happened in between is nobody else's"
    );
}

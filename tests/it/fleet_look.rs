//! One look at all machines of a fleet: what happened, what needs a person, and what it came to, seen from one of them.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::test_database::TestDatabase;
use crate::support::{CommandOutput, Gate, Repo, Running, TestEnv, wait_until};

/// A fleet on a server of its own.
fn fleet() -> TestDatabase {
    let database = TestDatabase::new();
    let owner = TestEnv::new();
    owner.watchdog(&owner.root(), &["fleet", "init", &database.full_address("owner"), "--worker", "worker"]).expect(0);
    database
}

fn join(env: &TestEnv, address: &str, name: &str) {
    env.watchdog(&env.root(), &["fleet", "join", address, "--name", name]).expect(0);
}

fn at(env: &TestEnv, args: &[&str]) -> CommandOutput {
    env.watchdog(&env.root(), args)
}

/// A session that commits, judged, and copied.
fn judged(env: &TestEnv, repo: &Repo, name: &str) {
    let session = format!("echo {name} > {name} && git add -A && git commit -qm 'feat: {name}'");
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", &session]).expect(0);
    at(env, &["fleet", "sync"]).expect(0);
}

fn lines(text: &str) -> Vec<Value> {
    // The last one may be half written.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn ids(text: &str) -> Vec<String> {
    lines(text).iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

fn wait_for_count(what: &str, follower: &Running, count: usize) {
    wait_until(what, Duration::from_secs(60), || ids(&follower.stdout_so_far()).len() >= count);
}

#[test]
fn events_of_all_machines_come_in_the_order_of_the_server_with_the_machine_of_each() {
    let database = fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let (mine, other) = (one.repo(), two.repo());
    join(&one, &database.full_address("worker"), "build-1");
    join(&two, &database.full_address("worker"), "build-2");
    judged(&one, &mine, "a");
    judged(&two, &other, "b");
    judged(&one, &mine, "c");
    let found = at(&one, &["events", "--fleet", "--json", "-n", "1000"]).expect(0).stdout;
    let shown: Vec<String> =
        lines(&found).iter().map(|event| format!("{} {}", event["id"].as_str().unwrap(), event["machine"].as_str().unwrap())).collect();
    let expected = database.sql("SELECT id || ' ' || machine FROM watchdog.event ORDER BY seq");
    assert_eq!(shown.join("\n"), expected);
    let of_two = at(&one, &["events", "--fleet", "--machine", "build-2", "--kind", "complete", "--json"]).expect(0).stdout;
    assert_eq!(lines(&of_two).len(), 1, "{of_two}");
    assert_eq!(lines(&of_two)[0]["machine"], json!("build-2"));
    let last = at(&one, &["events", "--fleet", "-n", "3", "--json"]).expect(0).stdout;
    assert_eq!(ids(&last), ids(&found)[ids(&found).len() - 3..]);
    let said = at(&one, &["events", "--fleet", "--since", "2h", "--utc"]).expect(0);
    let folder = |repo: &Repo| repo.path().file_name().unwrap().to_str().unwrap().to_owned();
    for wanted in [format!("build-1: {}", folder(&mine)), format!("build-2: {}", folder(&other)), "complete (new_commits)".into()] {
        assert!(said.stdout.contains(&wanted), "{wanted}: {said}");
    }
    assert!(!said.stdout.contains("\"machine\""), "every event has a sentence: {said}");
    let kept = at(&one, &["events", "--fleet", "--kind", "check,verdict"]).expect(0);
    assert!(kept.stderr.contains("not shared with the fleet, and so not shown: check"), "{kept}");
}

#[test]
fn a_machine_in_no_fleet_is_told_how_to_join_one() {
    let env = TestEnv::new();
    let refused = at(&env, &["events", "--fleet"]).expect(2);
    assert!(refused.stderr.contains("in no fleet") && refused.stderr.contains("fleet join"), "{refused}");
}

#[test]
fn a_follower_shows_each_event_once_and_in_order_while_its_connection_is_cut_and_the_server_is_gone() {
    let database = fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let gate = Gate::to(database.port());
    join(&one, &database.full_address("worker").replace(&format!(":{}/", database.port()), &format!(":{}/", gate.port)), "one");
    join(&two, &database.full_address("worker"), "two");
    let repo = two.repo();
    judged(&two, &repo, "before");
    let follower = one.watchdog_spawn(&one.root(), &["events", "--fleet", "--follow", "--json", "-n", "1000"]);
    let count = || database.sql("SELECT count(*) FROM watchdog.event").parse::<usize>().unwrap();
    wait_for_count("what was there is shown", &follower, count());
    for name in ["a", "b"] {
        judged(&two, &repo, name);
        gate.shut();
        gate.open();
    }
    wait_for_count("what came is shown", &follower, count());
    gate.shut();
    judged(&two, &repo, "while-away");
    gate.open();
    wait_for_count("what came meanwhile is shown", &follower, count());
    follower.signal(Signal::INT);
    let done = follower.wait().expect(130);
    let expected = database.sql("SELECT id FROM watchdog.event ORDER BY seq");
    assert_eq!(ids(&done.stdout).join("\n"), expected);
    let (away, back) = (done.stderr.matches("trying again until it answers").count(), done.stderr.matches("answers again").count());
    assert!(away == back && (1..=3).contains(&away), "each break is said once: {done}");
}

#[test]
fn a_follower_behind_a_pooler_looks_each_second_and_misses_nothing() {
    let database = fleet();
    let env = TestEnv::new();
    let repo = env.repo();
    join(&env, &database.pooler_address("worker").expect("pgbouncer is installed: scripts/test does that"), "pooled");
    let follower = env.watchdog_spawn(&env.root(), &["events", "--fleet", "--follow", "--json", "-n", "0"]);
    for name in ["a", "b", "c"] {
        judged(&env, &repo, name);
    }
    let shown = || database.sql("SELECT string_agg(id, E'\\n' ORDER BY seq) FROM watchdog.event");
    wait_until("the last event is shown", Duration::from_secs(60), || {
        let (seen, all) = (ids(&follower.stdout_so_far()), shown());
        seen.last().map(String::as_str) == all.lines().last()
    });
    follower.signal(Signal::TERM);
    let done = follower.wait().expect(143);
    let seen = ids(&done.stdout);
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len(), "none twice");
    assert!(shown().ends_with(&seen.join("\n")), "none left out once it began: {done}");
}

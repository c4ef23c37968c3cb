//! One look at all machines of a fleet: what happened, what needs a person, and what it came to, seen from one of them.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    CommandOutput, Gate, Repo, Running, TestEnv, fill_line, full_screen, keys, wait_until,
};

fn join(env: &TestEnv, address: &str, name: &str) {
    env.watchdog(&env.root(), &["fleet", "join", address, "--name", name])
        .expect(0);
}

fn at(env: &TestEnv, args: &[&str]) -> CommandOutput {
    env.watchdog(&env.root(), args)
}

/// A session that commits, judged, and copied.
fn judged(env: &TestEnv, repo: &Repo, name: &str) {
    let session = format!("echo {name} > {name} && git add -A && git commit -qm 'feat: {name}'");
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", &session])
        .expect(0);
    at(env, &["fleet", "sync"]).expect(0);
}

fn lines(text: &str) -> Vec<Value> {
    // The last one may be half written.
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn ids(text: &str) -> Vec<String> {
    lines(text)
        .iter()
        .map(|event| event["id"].as_str().unwrap().to_owned())
        .collect()
}

fn wait_for_count(what: &str, follower: &Running, count: usize) {
    wait_until(what, Duration::from_secs(60), || {
        ids(&follower.stdout_so_far()).len() >= count
    });
}

#[test]
fn fleet_events_keep_server_order_and_name_machines() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let (mine, other) = (one.repo(), two.repo());
    join(&one, &database.full_address("worker"), "build-1");
    join(&two, &database.full_address("worker"), "build-2");
    judged(&one, &mine, "a");
    judged(&two, &other, "b");
    judged(&one, &mine, "c");
    let found = at(&one, &["events", "--fleet", "--json", "-n", "1000"])
        .expect(0)
        .stdout;
    let shown: Vec<String> = lines(&found)
        .iter()
        .map(|event| {
            format!(
                "{} {}",
                event["id"].as_str().unwrap(),
                event["machine"].as_str().unwrap()
            )
        })
        .collect();
    let expected = database.sql("SELECT id || ' ' || machine FROM watchdog.event ORDER BY seq");
    assert_eq!(shown.join("\n"), expected);
    let of_two = at(
        &one,
        &fill_line(
            "events --fleet --machine build-2 --kind complete --json",
            &[],
        ),
    )
    .expect(0)
    .stdout;
    assert_eq!(lines(&of_two).len(), 1, "{of_two}");
    assert_eq!(lines(&of_two)[0]["machine"], json!("build-2"));
    let last = at(&one, &["events", "--fleet", "-n", "3", "--json"])
        .expect(0)
        .stdout;
    assert_eq!(ids(&last), ids(&found)[ids(&found).len() - 3..]);
    let said = at(&one, &["events", "--fleet", "--since", "2h", "--utc"]).expect(0);
    let folder = |repo: &Repo| {
        repo.path()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    for wanted in [
        format!("build-1: {}", folder(&mine)),
        format!("build-2: {}", folder(&other)),
        "complete (new_commits)".into(),
    ] {
        assert!(said.stdout.contains(&wanted), "{wanted}: {said}");
    }
    assert!(
        !said.stdout.contains("\"machine\""),
        "every event has a sentence: {said}"
    );
    let kept = at(&one, &["events", "--fleet", "--kind", "check,verdict"]).expect(0);
    kept.assert_told(&["not shared with the fleet, and so not shown: check"]);
}

#[test]
fn machine_without_fleet_learns_how_to_join() {
    let env = TestEnv::new();
    let refused = at(&env, &["events", "--fleet"]).expect(2);
    refused.assert_told(&["in no fleet", "fleet join"]);
}

#[test]
fn follower_shows_each_event_once_despite_broken_connections() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let gate = Gate::to(database.port());
    join(&one, &database.address_by("worker", gate.port), "one");
    join(&two, &database.full_address("worker"), "two");
    let repo = two.repo();
    judged(&two, &repo, "before");
    let follower = one.watchdog_spawn(
        &one.root(),
        &["events", "--fleet", "--follow", "--json", "-n", "1000"],
    );
    let count = || {
        database
            .sql("SELECT count(*) FROM watchdog.event")
            .parse::<usize>()
            .unwrap()
    };
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
    let (away, back) = (
        done.stderr.matches("trying again until it answers").count(),
        done.stderr.matches("answers again").count(),
    );
    assert!(
        away == back && (1..=3).contains(&away),
        "each break is said once: {done}"
    );
}

#[test]
fn follower_behind_a_pooler_misses_no_event() {
    let database = TestEnv::new().fleet();
    let env = TestEnv::new();
    let repo = env.repo();
    join(
        &env,
        &database
            .pooler_address("worker")
            .expect("pgbouncer is installed: scripts/test does that"),
        "pooled",
    );
    let follower = env.watchdog_spawn(
        &env.root(),
        &["events", "--fleet", "--follow", "--json", "-n", "0"],
    );
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
    assert_eq!(
        seen.iter().collect::<HashSet<_>>().len(),
        seen.len(),
        "none twice"
    );
    assert!(
        shown().ends_with(&seen.join("\n")),
        "none left out once it began: {done}"
    );
}

#[test]
fn events_restored_on_the_server_are_shown_once() {
    let database = TestEnv::new().fleet();
    let (one, two, three) = (TestEnv::new(), TestEnv::new(), TestEnv::new());
    let gate = Gate::to(database.port());
    join(&one, &database.address_by("worker", gate.port), "one");
    join(&two, &database.full_address("worker"), "two");
    join(&three, &database.full_address("worker"), "three");
    let (repo, other) = (two.repo(), three.repo());
    let newest = || database.sql("SELECT max(seq) FROM watchdog.event");
    let behind = |seq: &str| {
        database.sql(&format!(
            "SELECT string_agg(id, E'\\n' ORDER BY seq) FROM watchdog.event WHERE seq > {seq}"
        ))
    };
    judged(&two, &repo, "kept");
    let kept = newest();
    judged(&two, &repo, "lost");
    let before = behind("0");
    let follower = one.watchdog_spawn(
        &one.root(),
        &["events", "--fleet", "--follow", "--json", "-n", "1000"],
    );
    wait_for_count("what was there is shown", &follower, before.lines().count());
    let sessions =
        || at(&one, &["report", "--fleet", "--json"]).expect(0).json()["sessions"]["ended"].clone();
    assert_eq!(sessions(), json!(2));
    gate.shut();
    wait_until("the break is told", Duration::from_secs(60), || {
        follower.stderr_so_far().contains("trying again")
    });
    // As where a standby lacked the last events: others take their numbers, and then they come again.
    database.sql(&format!(
        "CREATE TABLE lost AS SELECT * FROM watchdog.event WHERE seq > {kept}"
    ));
    database.sql(&format!("DELETE FROM watchdog.event WHERE seq > {kept}; SELECT setval('watchdog.event_number', {kept})"));
    judged(&three, &other, "meanwhile");
    let meanwhile = behind(&kept);
    let again = newest();
    database.sql(&format!("UPDATE lost SET seq = seq - {kept} + {again}; INSERT INTO watchdog.event SELECT * FROM lost"));
    database.sql("SELECT setval('watchdog.event_number', (SELECT max(seq) FROM watchdog.event))");
    let again = newest();
    judged(&two, &repo, "after");
    let expected = [before, meanwhile, behind(&again)].join("\n");
    gate.open();
    wait_for_count(
        "what came meanwhile is shown",
        &follower,
        expected.lines().count(),
    );
    assert_eq!(
        sessions(),
        json!(4),
        "what is kept for one look is read anew"
    );
    follower.signal(Signal::INT);
    let done = follower.wait().expect(130);
    assert_eq!(ids(&done.stdout).join("\n"), expected);
    assert_eq!(
        done.stderr.matches("lacks events that were shown").count(),
        1,
        "{done}"
    );
}

/// The rows of `status --json`, by machine and spec.
fn rows(found: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    found["worktrees"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(&row["machine"]), text(&row["status"])))
        .collect()
}

#[test]
fn fleet_status_lists_urgent_machines_first() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let (mine, other) = (one.repo(), two.repo());
    join(&one, &database.full_address("worker"), "build-1");
    join(&two, &database.full_address("worker"), "build-2");
    judged(&one, &mine, "a");
    // Nothing was done, and nobody says that it is.
    other.write(
        "completion.json",
        r#"{"checks": [{"type": "command", "name": "tests", "run": "true"}]}"#,
    );
    other.commit_all("chore: criteria");
    other.watchdog_line(
        "run --no-probe -- sh -c {}",
        &["echo b > b && git add b && git commit -qm 'feat: b'"],
    );
    at(&two, &["fleet", "sync"]).expect(0);
    let found = at(&one, &["status", "--fleet", "--json"]).expect(0).json();
    let expected = [("build-2", "review"), ("build-1", "complete")]
        .map(|(machine, status)| (machine.to_owned(), status.to_owned()));
    assert_eq!(rows(&found), expected, "{found}");
    let there = &found["worktrees"][0];
    assert_eq!(
        (&there["needs_person"], &there["reason"], &there["running"]),
        (&json!(true), &json!("untrusted"), &json!(false))
    );
    assert_eq!(
        there["worktree"],
        json!(other.path().canonicalize().unwrap()),
        "its folder there"
    );
    assert_eq!(
        (&found["fleet"]["machine"], &found["fleet"]["away"]),
        (&json!("build-1"), &Value::Null)
    );
    let of_two = at(
        &one,
        &["status", "--fleet", "--machine", "build-2", "--json"],
    )
    .expect(0)
    .json();
    assert_eq!(rows(&of_two), expected[..1]);
    let shown = at(&one, &["status", "--fleet"]).expect(0);
    let folder = format!("build-2:{}", other.path().canonicalize().unwrap().display());
    assert!(
        shown.stdout.contains(&folder) && shown.stdout.contains("on build-2: watchdog -C"),
        "{shown}"
    );
    shown.assert_told(&["this one is build-1", "build-2: last seen"]);
    let local = at(&one, &["status", "--json"]).expect(0).json();
    assert!(
        local["fleet"].is_null() && local["worktrees"].as_array().unwrap().len() == 1,
        "{local}"
    );
    assert!(local["worktrees"][0].get("machine").is_none());
}

#[test]
fn silent_working_machine_needs_a_person() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let repo = two.repo();
    join(&one, &database.full_address("worker"), "build-1");
    join(&two, &database.full_address("worker"), "build-2");
    let mut looped = repo.watchdog_spawn(&["loop", "--no-probe", "--", "sh", "-c", "sleep 600"]);
    wait_until("its session is known", Duration::from_secs(60), || {
        database.sql("SELECT count(*) FROM watchdog.event WHERE kind = 'session_started'") == "1"
    });
    let row = || at(&one, &["status", "--fleet", "--json"]).expect(0).json();
    let running = row();
    assert_eq!(
        (
            &running["worktrees"][0]["running"],
            &running["worktrees"][0]["needs_person"]
        ),
        (&json!(true), &json!(false)),
        "{running}"
    );
    looped.signal(Signal::KILL);
    wait_until("the loop is dead", Duration::from_secs(60), || {
        looped.ended()
    });
    database.sql(
        "UPDATE watchdog.machine SET seen_at = seen_at - interval '200 s' WHERE name = 'build-2'",
    );
    let silent = row();
    let there = &silent["worktrees"][0];
    assert_eq!(there["needs_person"], json!(true), "{silent}");
    assert!(there["silent_seconds"].as_u64().unwrap() >= 200, "{silent}");
    let named: Vec<&Value> = silent["fleet"]["machines"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["silent"] == true)
        .collect();
    assert!(
        named.len() == 1 && named[0]["name"] == "build-2",
        "{silent}"
    );
    let shown = at(&one, &["status", "--fleet", "--only", "silent"]).expect(0);
    shown.assert_printed(&["its machine 'build-2' has been silent for"]);
    shown.assert_told(&["silent, though it was at work"]);
}

#[test]
fn offline_fleet_status_shows_age_and_exits_nonzero() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let gate = Gate::to(database.port());
    join(&one, &database.address_by("worker", gate.port), "one");
    join(&two, &database.full_address("worker"), "two");
    let repo = two.repo();
    judged(&two, &repo, "a");
    gate.shut();
    let never = at(&one, &["status", "--fleet"]).expect(16);
    never.assert_told(&["nothing is known of other machines"]);
    gate.open();
    assert_eq!(
        rows(&at(&one, &["status", "--fleet", "--json"]).expect(0).json()).len(),
        1
    );
    gate.shut();
    let away = at(&one, &["status", "--fleet", "--json"]).expect(16).json();
    assert_eq!(rows(&away), [("two".to_owned(), "complete".to_owned())]);
    assert!(
        away["fleet"]["away"].is_string() && away["fleet"]["read_at"].is_string(),
        "{away}"
    );
    let shown = at(&one, &["status", "--fleet"]).expect(16);
    assert!(
        shown
            .stderr
            .contains("other machines are shown as they were")
            && shown.stdout.contains("two:/"),
        "{shown}"
    );
    let report = at(&one, &["report", "--fleet"]).expect(16);
    report.assert_told(&["as the fleet could not be read"]);
    let events = at(&one, &["events", "--fleet"]).expect(16);
    assert!(events.stderr.contains("localhost"), "{events}");
    at(&one, &["fleet", "leave"]).expect(0);
    assert!(
        !one.state().join("fleet-mirror").exists(),
        "what was read of others goes with the fleet"
    );
}

#[test]
fn fleet_report_counts_shared_events_of_all_machines() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let (mine, other) = (one.repo(), two.repo());
    join(&one, &database.full_address("worker"), "build-1");
    join(&two, &database.full_address("worker"), "build-2");
    judged(&one, &mine, "a");
    judged(&two, &other, "b");
    judged(&two, &other, "c");
    let found = at(&one, &["report", "--fleet", "--json"]).expect(0).json();
    assert_eq!(
        found["sessions"],
        json!({"started": 3, "ended": 3}),
        "{found}"
    );
    assert_eq!(found["verdicts"]["by_reason"], json!({"new_commits": 3}));
    let mut worktrees: Vec<&str> = found["worktrees"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["worktree"].as_str().unwrap())
        .collect();
    worktrees.sort_unstable();
    assert!(
        worktrees.len() == 2
            && worktrees[0].starts_with("build-1:/")
            && worktrees[1].starts_with("build-2:/"),
        "{worktrees:?}"
    );
    crate::report::assert_valid(&found);
    for rows in ["worktrees", "specs"] {
        let mut machines: Vec<&str> = found[rows]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["machine"].as_str().unwrap())
            .collect();
        machines.sort_unstable();
        assert_eq!(machines, ["build-1", "build-2"], "{rows}");
    }
    assert_eq!(
        at(&one, &["report", "--json"]).expect(0).json()["worktrees"][0].get("machine"),
        None,
        "of this machine alone"
    );
    judged(&one, &mine, "d");
    let again = at(&one, &["report", "--fleet", "--json"]).expect(0).json();
    assert_eq!(
        again["sessions"],
        json!({"started": 4, "ended": 4}),
        "read on, and nothing twice"
    );
    let page = one.root().join("fleet.html");
    at(
        &one,
        &["report", "--fleet", "--html", page.to_str().unwrap()],
    )
    .expect(0);
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("build-2:/"),
        "the page names the machine"
    );
    // A server that has an older state than was read: everything is read anew.
    database
        .sql("DELETE FROM watchdog.event WHERE seq > (SELECT min(seq) + 5 FROM watchdog.event)");
    let restored = at(&one, &["report", "--fleet", "--json"]).expect(0).json();
    assert_eq!(restored["sessions"]["ended"], json!(1), "{restored}");
}

#[test]
fn fleet_lines_appear_as_machines_change() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let repo = two.repo();
    join(&one, &database.full_address("worker"), "build-1");
    join(&two, &database.full_address("worker"), "build-2");
    let view = one.watchdog_spawn(&one.root(), &["status", "--watch", "--fleet", "--plain"]);
    judged(&two, &repo, "a");
    wait_until("its line comes", Duration::from_secs(60), || {
        view.stdout_so_far().contains("+ complete     build-2:/")
    });
    let json = one.watchdog_spawn(&one.root(), &["status", "--watch", "--fleet", "--json"]);
    wait_until("its object comes", Duration::from_secs(60), || {
        lines(&json.stdout_so_far())
            .iter()
            .any(|found| found["worktrees"][0]["machine"] == "build-2")
    });
    for view in [view, json] {
        view.signal(Signal::INT);
        view.wait().expect(130);
    }
}

#[test]
fn live_fleet_view_names_the_unshared_parts() {
    let database = TestEnv::new().fleet();
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let repo = two.repo();
    join(&one, &database.full_address("worker"), "build-1");
    join(&two, &database.full_address("worker"), "build-2");
    judged(&two, &repo, "a");
    let mut view = one
        .watchdog_command(&one.root(), &["status", "--watch", "--fleet"])
        .at_terminal_of(100, "xterm-256color");
    for (keys, words) in [
        (&[][..], "build-2:/"),
        (&["a"], "is acted on there"),
        // Any key closes it.
        (&["x"], "type: on build-2: "),
        (&[keys::ENTER], "a session started"),
        (&["2"], "not shared: the output"),
        (&["3"], "unsaved work: not shared"),
    ] {
        view.press(keys);
        wait_until(words, Duration::from_secs(60), || {
            full_screen(&view.shown(), (100, 40))
                .unwrap_or_default()
                .iter()
                .any(|line| line.contains(words))
        });
    }
    view.press(&[keys::CTRL_C]);
    assert_eq!(view.wait().0, 130);
}

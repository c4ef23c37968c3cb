//! Old events go from a fleet's server while others read, and a machine that somebody took out stays out until it joins again.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fleet_account::{AccountFleet, fleet};
use crate::support::{Repo, TestEnv, fill_line, wait_until};

/// A session that commits, judged.
fn judged(repo: &Repo<'_>, name: &str) {
    let session = format!("echo {name} > {name} && git add -A && git commit -qm 'feat: {name}'");
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", &session])
        .expect(0);
}

#[test]
fn old_events_go_and_a_follower_goes_on() {
    let shared = AccountFleet::new();
    let (env, watcher) = (
        shared.machine("build-1", None),
        shared.machine("build-2", None),
    );
    let repo = env.repo();
    judged(&repo, "today");
    fleet(&env, &["sync"]).expect(0);
    for days in [200, 100, 40, 29] {
        shared.database.sql(&format!(
            "INSERT INTO watchdog.event (id, at, machine, worktree, kind, data) \
             VALUES ('old {days}', (current_date - {days})::timestamp AT TIME ZONE 'UTC' + interval '12 hours', 'build-1', 'w', 'limit', '{{}}')"
        ));
    }
    let old = || {
        shared.database.sql("SELECT coalesce(string_agg(id, ', ' ORDER BY at), '') FROM watchdog.event WHERE id LIKE 'old %'")
    };
    for (wrong, why) in [
        ("29d", "the last 30 days are kept"),
        ("90", "no number of days"),
        ("-90d", "days"),
        ("0d", "days"),
    ] {
        let refused = fleet(&env, &["prune", &format!("--older-than={wrong}")]).expect(2);
        assert!(refused.stderr.contains(why), "{wrong}: {refused}");
    }
    assert_eq!(old(), "old 200, old 100, old 40, old 29");

    let follower = watcher.watchdog_spawn(
        &watcher.root(),
        &["events", "--fleet", "--follow", "--json", "-n", "1000"],
    );
    let shows = |name: &str| follower.stdout_so_far().contains(name);
    wait_until(
        "the follower shows what is there",
        Duration::from_secs(60),
        || shows("old 29"),
    );
    let gone = fleet(&env, &["prune", "--older-than", "90d", "--json"])
        .expect(0)
        .json();
    assert_eq!(gone["dropped"], json!({"events": 2}), "{gone}");
    assert_eq!(old(), "old 40, old 29");
    let again = fleet(&env, &["prune", "--older-than", "90d"]).expect(0);
    assert!(again.stdout.contains("0 events were deleted"), "{again}");
    fleet(&env, &["prune", "--older-than", "30d"]).expect(0);
    assert_eq!(old(), "old 29");
    judged(&repo, "later");
    fleet(&env, &["sync"]).expect(0);
    let last = shared
        .database
        .sql("SELECT id FROM watchdog.event ORDER BY seq DESC LIMIT 1");
    wait_until("the follower goes on", Duration::from_secs(60), || {
        shows(&last)
    });
    follower.signal(Signal::INT);
    let done = follower.wait().expect(130);
    assert!(!done.stderr.contains("trying again"), "{done}");
    // What is kept for one look goes by its own age.
    watcher
        .watchdog(&watcher.root(), &["report", "--fleet", "--json"])
        .expect(0);
    let outside = TestEnv::new();
    let refused = fleet(&outside, &["prune", "--older-than", "90d"]).expect(2);
    assert!(refused.stderr.contains("in no fleet"), "{refused}");
}

#[test]
fn removed_machine_stops_copying_until_it_rejoins() {
    let shared = AccountFleet::new();
    let (env, other) = (
        shared.machine("build-1", None),
        shared.machine("build-2", None),
    );
    let repo = env.repo();
    shared
        .database
        .sql("DELETE FROM watchdog.machine WHERE name = 'build-1'");
    let copied = || {
        shared
            .database
            .sql("SELECT count(*) FROM watchdog.event WHERE machine = 'build-1'")
            .parse::<u32>()
            .unwrap()
    };
    let work =
        |name: &str| format!("echo {name} > {name} && git add -A && git commit -qm 'feat: {name}'");
    let said = |text: &str| text.matches("was removed from the fleet").count();
    // A loop that ends sooner than the server answers leaves it to the next command.
    let go_on = env.root().join("go-on");
    let session = format!(
        "until [ -e '{}' ]; do sleep 0.05; done; {}",
        go_on.display(),
        work("a")
    );
    let looping = repo.watchdog_spawn(&["loop", "--no-probe", "--", "sh", "-c", &session]);
    wait_until("the loop says so", Duration::from_secs(60), || {
        said(&looping.stderr_so_far()) > 0
    });
    env.write("go-on", "");
    let looped = looping.wait().expect(0);
    assert_eq!(said(&looped.stderr), 1, "{looped}");
    let again = repo
        .watchdog_line("loop --restart --no-probe -- sh -c {}", &[&work("b")])
        .expect(0);
    assert_eq!(
        (said(&again.stderr), copied()),
        (0, 0),
        "it was said, and nothing is copied: {again}"
    );
    let refused = fleet(&env, &["sync"]).expect(16);
    assert!(
        said(&refused.stderr) == 1 && refused.stderr.contains("fleet join URL --name NAME"),
        "{refused}"
    );
    let status = fleet(&env, &["status", "--json"]).expect(0).json();
    assert_eq!(
        (
            &status["removed"],
            status["machines"].as_array().map(Vec::len)
        ),
        (&json!(true), Some(1)),
        "{status}"
    );
    let shown = fleet(&env, &["status"]).expect(0);
    shown.assert_printed(&["removed   somebody took this machine out"]);
    let seen: Value = other
        .watchdog(&other.root(), &["status", "--fleet", "--json"])
        .json();
    let names: Vec<&Value> = seen["machines"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|machine| &machine["name"])
        .collect();
    assert!(!names.contains(&&json!("build-1")), "{seen}");

    fleet(
        &env,
        &fill_line(
            "join {} --name build-1",
            &[&shared.database.full_address("worker")],
        ),
    )
    .expect(0);
    assert_eq!(
        fleet(&env, &["status", "--json"]).expect(0).json()["removed"],
        json!(false)
    );
    fleet(&env, &["sync"]).expect(0);
    assert!(copied() > 0, "what waited is copied");
    let complete = shared
        .database
        .sql("SELECT count(*) FROM watchdog.event WHERE kind = 'complete' AND machine = 'build-1'");
    assert_eq!(complete, "2", "both loops");
}

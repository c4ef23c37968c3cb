//! No more questions run at a time than the cap allows, on one machine and over the machines of an account; one without a slot is not asked,
//! and work, checks and commits do not wait for one.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::another_agent::{calls, config, program};
use crate::fleet_account::{AccountFleet, fleet};
use crate::support::{CommandOutput, Gate, Repo, Running, TestEnv, wait_until};

/// Has a program that is asked, and answers when the file `go` is there. It is asked for plans, too.
fn advised(env: &TestEnv) -> String {
    let answer = r#"answer() { while [ ! -e "$root/go" ]; do sleep 0.05; done; echo '{"status": "working", "message": "on it"}'; }"#;
    program(env, "advisor", answer, "answer");
    config(
        env,
        json!({"agent": {"probe": ["advisor"]}, "rescue": {"mode": "plan"}}),
    )
}

fn go(env: &TestEnv) {
    fs::write(env.root().join("go"), "").unwrap();
}

/// A repository whose question is under way.
fn asking<'e>(env: &'e TestEnv, name: &str, config: &str) -> (Repo<'e>, Running) {
    let repo = env.repo_named(name);
    repo.watchdog(&["snapshot"]).expect(0);
    let before = calls(env).len();
    let running = repo.watchdog_spawn(&["check", "--json", "--config", config]);
    wait_until("the question is put", Duration::from_secs(60), || {
        calls(env).len() > before
    });
    (repo, running)
}

/// What one round comes to that cannot ask, and has no time to wait.
#[track_caller]
fn not_asked(repo: &Repo<'_>, config: &str, why: &str) -> CommandOutput {
    let hasty = fs::read_to_string(config).unwrap().replace(
        "\"probe_timeout_seconds\":30",
        "\"probe_timeout_seconds\":1",
    );
    let hasty_config = config.replace("completion.json", "hasty.json");
    fs::write(&hasty_config, hasty).unwrap();
    let asked = repo
        .watchdog(&["check", "--once", "--json", "--config", &hasty_config])
        .expect(11);
    let verdict = asked.json();
    assert_eq!(asked.verdict(), "waiting/rate_limited", "{asked}");
    let said = verdict["message"].as_str().unwrap_or_default();
    assert!(
        said.contains(why) && said.starts_with("the agent was not asked: "),
        "{why}: {asked}"
    );
    let wait = verdict["retry_at"]
        .as_str()
        .and_then(|at| at.parse::<Timestamp>().ok())
        .expect("when it goes on");
    assert!(
        wait.duration_since(Timestamp::now()).as_secs() <= 30,
        "{asked}"
    );
    assert_eq!(
        (&verdict["strike"], &verdict["probe_usage"]["requests"]),
        (&json!(false), &json!(0)),
        "{asked}"
    );
    asked
}

fn questions(env: &TestEnv) -> Value {
    fleet(env, &["account", "--json"]).expect(0).json()["parallel_questions"].clone()
}

#[test]
fn a_machine_alone_puts_no_more_questions_at_a_time_than_its_cap_and_the_next_one_waits_for_its_turn()
 {
    let env = TestEnv::new();
    let config = advised(&env);
    let said = fleet(&env, &["account", "--max-parallel-questions", "1"]).expect(0);
    assert!(
        said.stdout
            .contains("at most 1 question to agents at a time"),
        "{said}"
    );
    let (_first, running) = asking(&env, "first", &config);
    assert_eq!(
        questions(&env),
        json!({"max": 1, "own": true, "taken": null, "under_way_here": 1, "ready_here": 0})
    );
    let repo = env.repo_named("second");
    repo.watchdog(&["snapshot"]).expect(0);
    for _ in 0..2 {
        not_asked(&repo, &config, "at most 1 question to agents at a time");
    }
    let typed = repo
        .watchdog(&["probe", "--probe-timeout", "1s", "--config", &config])
        .expect(11);
    assert!(
        typed
            .stdout
            .contains("at most 1 question to agents at a time")
            && calls(&env).len() == 1,
        "{typed}"
    );
    // A rescue does not wait for a plan, and its work is committed.
    repo.write("left.txt", "left");
    let rescued = repo
        .watchdog(&["rescue", "--json", "--config", &config])
        .expect(0);
    assert_eq!(
        (
            repo.git(&["status", "--porcelain"]).as_str(),
            calls(&env).len()
        ),
        ("", 1),
        "{rescued}"
    );
    repo.write("work.txt", "work");
    repo.commit_all("feat: work");
    let judged = repo
        .watchdog(&["check", "--json", "--config", &config])
        .expect(0);
    assert_eq!(
        (judged.verdict().as_str(), calls(&env).len()),
        ("complete/new_commits", 1),
        "commits are judged at once: {judged}"
    );

    let third = env.repo_named("third");
    third.watchdog(&["snapshot"]).expect(0);
    let waiting = third.watchdog_spawn(&["check", "--json", "--config", &config]);
    wait_until("it waits for its turn", Duration::from_secs(60), || {
        waiting.stderr_so_far().contains("waiting to ask")
    });
    assert_eq!(calls(&env).len(), 1);
    go(&env);
    let (first, third) = (running.wait(), waiting.wait());
    assert_eq!(calls(&env).len(), 2, "{first}\n{third}");
    assert_eq!(third.json()["probe_usage"]["requests"], json!(1), "{third}");
    assert_eq!(
        questions(&env)["under_way_here"],
        json!(0),
        "both gave their slot back"
    );

    let doctor = || -> Vec<Value> {
        let found = fleet_doctor(&env);
        found
            .into_iter()
            .filter(|found| found["what"] == "account")
            .collect()
    };
    assert!(
        doctor()[0]["detail"]
            .as_str()
            .is_some_and(|said| said.contains("at most 1 question at a time")),
        "{:?}",
        doctor()
    );
    fleet(&env, &["account", "--max-parallel-questions", "none"]).expect(0);
    assert_eq!(doctor(), Vec::<Value>::new());
}

fn fleet_doctor(env: &TestEnv) -> Vec<Value> {
    env.watchdog(&env.root(), &["doctor", "--json"]).json()["findings"]
        .as_array()
        .expect("a list")
        .clone()
}

#[test]
fn a_cap_counts_over_the_machines_of_an_account_and_a_machine_that_dies_gives_its_slot_back() {
    let shared = AccountFleet::new();
    let (first, second) = (
        shared.machine("build-1", Some("team")),
        shared.machine("build-2", Some("team")),
    );
    let configs = [advised(&first), advised(&second)];
    fleet(&first, &["account", "--max-parallel-questions", "1"]).expect(0);
    fleet(&second, &["sync"]).expect(0);
    let (_repo, mut running) = asking(&first, "repo", &configs[0]);
    assert_eq!(
        (&questions(&second)["max"], &questions(&second)["taken"]),
        (&json!(1), &json!(1))
    );
    let repo = second.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    not_asked(
        &repo,
        &configs[1],
        "the machines of the account 'team' put at most 1 question to agents at a time",
    );
    assert_eq!(calls(&second).len(), 0);

    running.signal(Signal::KILL);
    wait_until("it is dead", Duration::from_secs(30), || running.ended());
    for process in first.processes_left() {
        process.kill();
    }
    not_asked(&repo, &configs[1], "every slot is taken");
    let left = shared.database.sql(
        "SELECT (until - clock_timestamp()) <= interval '60 seconds' FROM watchdog.question_slot",
    );
    assert_eq!(left, "t", "a slot ends soon after its question would");
    shared
        .database
        .sql("UPDATE watchdog.question_slot SET until = clock_timestamp()");
    go(&second);
    let asked = repo.watchdog(&["check", "--once", "--json", "--config", &configs[1]]);
    assert_eq!(
        (
            asked.json()["probe_usage"]["requests"].clone(),
            calls(&second).len()
        ),
        (json!(1), 1),
        "{asked}"
    );
    assert_eq!(
        shared
            .database
            .sql("SELECT count(*) FROM watchdog.question_slot WHERE until > clock_timestamp()"),
        "0"
    );

    // A machine whose account is its own is held by no cap of another's.
    let own = shared.machine("build-3", None);
    let config = advised(&own);
    go(&own);
    fleet(&own, &["sync"]).expect(0);
    let repo = own.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog(&["check", "--once", "--json", "--config", &config]);
    assert_eq!(calls(&own).len(), 1);
}

#[test]
fn with_the_server_gone_a_machine_asks_with_the_slots_that_it_keeps_ready_and_no_more() {
    let shared = AccountFleet::new();
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
    fleet(&env, &["account", "--max-parallel-questions", "2"]).expect(0);
    assert_eq!(
        questions(&env),
        json!({"max": 2, "own": false, "taken": 1, "under_way_here": 0, "ready_here": 1})
    );
    gate.shut();
    let config = advised(&env);
    let (_first, running) = asking(&env, "first", &config);
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let refused = not_asked(&repo, &config, "the fleet's server is gone");
    assert_eq!(calls(&env).len(), 1, "{refused}");
    repo.write("left.txt", "left");
    repo.watchdog(&["rescue", "--json", "--config", &config])
        .expect(0);
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    go(&env);
    let _ = running.wait();
    repo.write("more.txt", "more");
    let again = repo.watchdog(&["check", "--once", "--json", "--config", &config]);
    assert_eq!(
        calls(&env)
            .iter()
            .filter(|call| call.contains("advisor"))
            .count(),
        calls(&env).len(),
        "{again}"
    );
    assert!(
        calls(&env).len() >= 2,
        "the slot that is ready is used again: {again}"
    );
    let found: Vec<Value> = fleet_doctor(&env)
        .into_iter()
        .filter(|found| found["what"] == "account")
        .collect();
    let said = |word: &str| {
        found.iter().any(|found| {
            found["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains(word))
        })
    };
    assert!(
        said("at most 2 questions at a time")
            && said("the server is not asked about the account 'team'"),
        "{found:?}"
    );
    let status = fleet(&env, &["status"]).expect(16);
    assert!(
        status.stdout.contains("questions at most 2 at a time"),
        "{status}"
    );
    let status = fleet(&env, &["status", "--json"]).expect(16).json();
    assert_eq!(
        status["account_standing"]["parallel_questions"]["ready_here"],
        json!(1),
        "{status}"
    );

    gate.open();
    fleet(&env, &["sync"]).expect(0);
    let (_third, running) = {
        fs::remove_file(env.root().join("go")).unwrap();
        asking(&env, "third", &config)
    };
    let (_fourth, other) = asking(&env, "fourth", &config);
    assert_eq!(
        (
            &questions(&env)["under_way_here"],
            &questions(&env)["taken"]
        ),
        (&json!(2), &json!(2)),
        "one more of the server's"
    );
    let status = fleet(&env, &["status", "--json"]).expect(0).json();
    assert_eq!(
        status["account_standing"]["parallel_questions"]["under_way_here"],
        json!(2),
        "{status}"
    );
    go(&env);
    let _ = (running.wait(), other.wait());
    fleet(&env, &["account", "--max-parallel-questions", "none"]).expect(0);
    assert_eq!(questions(&env), Value::Null);
}

#[test]
fn a_machine_that_leaves_gives_its_ready_slots_back_and_says_where_it_cannot() {
    let shared = AccountFleet::new();
    let env = TestEnv::new();
    let gate = Gate::to(shared.database.port());
    let port = |port: u16| format!(":{port}/");
    let address = shared
        .database
        .full_address("worker")
        .replace(&port(shared.database.port()), &port(gate.port));
    let there = |account: &str| {
        let count = "SELECT count(*) FROM watchdog.question_slot WHERE until > clock_timestamp() AND account =";
        shared.database.sql(&format!("{count} '{account}'"))
    };
    let join = || {
        fleet(
            &env,
            &["join", &address, "--name", "build-1", "--account", "team"],
        )
        .expect(0)
    };
    join();
    fleet(&env, &["account", "--max-parallel-questions", "4"]).expect(0);
    assert_eq!(
        (there("team").as_str(), &questions(&env)["ready_here"]),
        ("2", &json!(2))
    );
    fleet(&env, &["account", "other", "--use"]).expect(0);
    assert_eq!(there("team"), "0", "another account");
    fleet(&env, &["account", "team", "--use"]).expect(0);
    assert_eq!(there("team"), "2");
    let left = fleet(&env, &["leave", "--json"]).expect(0);
    assert_eq!(
        (there("team").as_str(), &left.json()["slots_left"]),
        ("0", &json!(0)),
        "{left}"
    );

    join();
    assert_eq!(there("team"), "2");
    gate.shut();
    let left = fleet(&env, &["leave"]).expect(0);
    assert!(
        left.stderr
            .contains("2 slots for questions could not be given back"),
        "{left}"
    );
    assert_eq!(there("team"), "2", "they end by themselves");
    assert!(
        fleet(&env, &["status"])
            .expect(0)
            .stdout
            .contains("in no fleet")
    );
}

#[test]
fn a_loop_waits_for_a_slot_of_the_fleet_and_goes_on_without_another_session() {
    let shared = AccountFleet::new();
    let (first, second) = (
        shared.machine("build-1", Some("team")),
        shared.machine("build-2", Some("team")),
    );
    let asking_config = advised(&first);
    program(
        &second,
        "advisor",
        r#"answer() { echo '{"status": "complete", "message": "done"}'; }"#,
        "answer",
    );
    let completion =
        json!({"max_probes": 1, "probe_interval_seconds": 0, "probe_timeout_seconds": 300});
    let config = config(
        &second,
        json!({"agent": {"probe": ["advisor"]}, "completion_check": completion}),
    );
    fleet(&first, &["account", "--max-parallel-questions", "1"]).expect(0);
    fleet(&second, &["sync"]).expect(0);
    let (_repo, running) = asking(&first, "repo", &asking_config);

    let repo = second.repo();
    let session = "echo session >> sessions.txt";
    let sessions = || fs::read_to_string(repo.path().join("sessions.txt")).unwrap_or_default();
    let looped = repo.watchdog_spawn(&[
        "loop", "--json", "--config", &config, "--", "sh", "-c", session,
    ]);
    wait_until(
        "the loop waits for its turn",
        Duration::from_secs(120),
        || looped.stderr_so_far().contains("waiting to ask"),
    );
    assert_eq!(
        (calls(&second).len(), sessions().as_str()),
        (0, "session\n"),
        "its session is over, and nobody was asked"
    );
    assert_eq!(questions(&second)["taken"], json!(1));
    go(&first);
    let first = running.wait();
    assert_eq!(first.json()["probe_usage"]["requests"], json!(1), "{first}");
    let looped = looped.wait().expect(0);
    assert_eq!(looped.verdict(), "complete/rescued", "{looped}");
    assert_eq!(
        (calls(&second).len(), sessions().as_str()),
        (1, "session\n"),
        "{looped}"
    );
    assert_eq!(
        shared
            .database
            .sql("SELECT count(*) FROM watchdog.question_slot WHERE until > clock_timestamp()"),
        "0"
    );
}

#[test]
fn judges_of_one_work_take_turns_within_the_cap_and_each_is_asked() {
    let env = TestEnv::new();
    let answer = r#"answer() { mkdir "$root/asking" || touch "$root/two-at-once"; sleep 0.3; rmdir "$root/asking"; echo 'ANSWERED: YES'; }"#;
    program(&env, "advisor", answer, "answer");
    let judge = |question: &str| json!({"type": "judge", "question": question});
    let checks = [
        judge("Is it there?"),
        judge("Is it right?"),
        judge("Is it short?"),
    ];
    let config = config(
        &env,
        json!({"agent": {"probe": ["advisor"]}, "checks": checks}),
    );
    fleet(&env, &["account", "--max-parallel-questions", "1"]).expect(0);
    let repo = env.repo();
    let baseline = repo.head();
    repo.write("work.txt", "work");
    repo.commit_all("feat: work");
    let judged = repo
        .watchdog(&[
            "check",
            "--json",
            "--baseline",
            &baseline,
            "--config",
            &config,
        ])
        .expect(0);
    assert_eq!(
        (calls(&env).len(), &judged.json()["probe_usage"]["requests"]),
        (3, &json!(3)),
        "{judged}"
    );
    assert!(!env.root().join("two-at-once").exists(), "{judged}");
}

#[test]
fn a_session_cannot_lift_the_cap() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    fleet(&env, &["account", "--max-parallel-questions", "1"]).expect(0);
    let repo = env.repo();
    let script = "$WATCHDOG fleet account --max-parallel-questions none 2>errors; echo $? > code";
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", script]);
    assert_eq!(fs::read_to_string(repo.path().join("code")).unwrap(), "2\n");
    assert_eq!(questions(&env)["max"], json!(1));
}

//! `notify`: who is told what, when nobody listens, and that no work ever waits for it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Receiver, Reply, Repo, TestEnv, wait_until};

const SOON: Duration = Duration::from_secs(60);

fn config(env: &TestEnv, rules: Value) -> PathBuf {
    env.write(
        "config/completion.json",
        json!({"version": 1, "notify": rules}).to_string(),
    )
}

/// A repository with one commit since its baseline.
fn repo_with_a_commit(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.watchdog(&["snapshot", "--spec", "auth"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    repo
}

/// What the journal says about being told.
fn told(repo: &Repo<'_>) -> Vec<Value> {
    let out = repo
        .watchdog(&["events", "--json", "--kind", "notify"])
        .expect(0);
    out.stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a JSON line")["data"].clone())
        .collect()
}

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn failed_webhook_is_delivered_by_a_later_call() {
    let env = TestEnv::new();
    let repo = repo_with_a_commit(&env);
    let receiver = Receiver::start(&[Reply::Status(500), Reply::Status(204)]);
    let config = config(&env, json!([{"on": ["complete"], "url": receiver.url()}]));
    let check = || {
        repo.watchdog(&["check", "--json", "--config", text(&config)])
            .expect(0)
    };
    let out = check();
    out.assert_told(&["1 notification to be delivered; the next watchdog tries again"]);
    assert_eq!(receiver.got().len(), 1);
    wait_until("the next call tells it", SOON, || {
        check();
        receiver.got().len() > 1
    });
    let got = receiver.got();
    assert!(
        got[0].head.starts_with("POST /hook HTTP/1.1\r\n"),
        "{}",
        got[0].head
    );
    let head = got[0].head.to_ascii_lowercase();
    for line in [
        "content-type: application/json",
        "x-watchdog-event: verdict",
        "user-agent: watchdog/",
    ] {
        assert!(head.contains(line), "{line} is missing in {head}");
    }
    let event = &got[0].body;
    assert_eq!(
        (&event["schema"], &event["kind"], &event["spec"]),
        (&json!(1), &json!("verdict"), &json!("auth"))
    );
    assert_eq!(
        (&event["data"]["status"], &event["data"]["reason"]),
        (&json!("complete"), &json!("new_commits"))
    );
    assert_eq!(event["path"], text(repo.path()));
    assert!(
        head.contains(&format!(
            "x-watchdog-delivery: {}",
            event["id"].as_str().expect("an id")
        )),
        "{head}"
    );
    assert_eq!(&got[1].body, event, "the second time it is the same event");
    let told = told(&repo);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["delivered"], &told[0]["attempts"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(
        told[0]["to"],
        format!("http://127.0.0.1:{}", receiver.port),
        "the path may be a secret"
    );
}

#[test]
fn what_nobody_heard_waits_until_somebody_listens() {
    let env = TestEnv::new();
    let repo = repo_with_a_commit(&env);
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("it is bound").port();
    drop(free);
    let config = config(
        &env,
        json!([{"on": ["complete"], "url": format!("http://127.0.0.1:{port}/")}]),
    );
    let check = || {
        repo.watchdog(&["check", "--config", text(&config)])
            .expect(0)
    };
    check();
    let receiver = Receiver::on(
        TcpListener::bind(("127.0.0.1", port)).expect("it is free again"),
        &[Reply::Status(200)],
    );
    wait_until("a later call tells it", SOON, || {
        check();
        !receiver.got().is_empty()
    });
    assert_eq!(receiver.got().len(), 1);
}

#[test]
fn session_events_are_told_during_the_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let config = config(
        &env,
        json!([{"on": ["session_started", "incomplete"], "url": receiver.url()}]),
    );
    let gate = env.root().join("gate");
    let script = format!("until [ -e '{}' ]; do sleep 0.05; done", text(&gate));
    let running = repo.spawn_line(
        "run --no-probe --config {} -- sh -c {}",
        &[text(&config), &script],
    );
    assert_eq!(receiver.wait_for(1)[0].body["kind"], "session_started");
    env.write("gate", "open");
    running.wait().expect(10);
    assert_eq!(receiver.wait_for(2)[1].body["data"]["status"], "incomplete");
}

#[test]
fn silent_server_never_delays_the_verdict() {
    let env = TestEnv::new();
    let repo = repo_with_a_commit(&env);
    let receiver = Receiver::start(&[Reply::Hang]);
    let config = config(
        &env,
        json!([{"on": ["complete"], "url": receiver.url(), "timeout_seconds": 600}]),
    );
    let begun = Instant::now();
    let running = repo.watchdog_spawn(&["check", "--json", "--config", text(&config)]);
    wait_until("the verdict is printed", SOON, || {
        running.stdout_so_far().contains("\"complete\"")
    });
    running.wait().expect(0);
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn notified_program_gets_stdin_and_environment() {
    let env = TestEnv::new();
    let repo = repo_with_a_commit(&env);
    let script = "cat > ../told.json; echo \"$WATCHDOG_EVENT $WATCHDOG_STATUS $WATCHDOG_REASON $WATCHDOG_SPEC $WATCHDOG_WORKTREE\" > ../told.txt";
    let config = config(
        &env,
        json!([{"on": ["new_commits"], "command": ["sh", "-c", script]}]),
    );
    repo.watchdog(&["check", "--config", text(&config)])
        .expect(0);
    let read = |name: &str| {
        std::fs::read_to_string(env.root().join(name)).expect("it was told in the worktree")
    };
    assert_eq!(
        read("told.txt").trim(),
        format!("verdict complete new_commits auth {}", text(repo.path()))
    );
    let event: Value = serde_json::from_str(&read("told.json")).expect("the event");
    assert_eq!(event["data"]["reason"], "new_commits");
    env.assert_nothing_left();
}

#[test]
fn undeliverable_notice_is_dropped_with_its_reason_logged() {
    let env = TestEnv::new();
    let repo = repo_with_a_commit(&env);
    let secure = Receiver::start(&[Reply::Status(200)]);
    let rules = json!([
        {"on": ["complete"], "command": ["sh", "-c", "echo 'no bus' >&2; exit 3"], "retries": 0},
        {"on": ["complete"], "command": ["no-such-program"], "retries": 0},
        {"on": ["complete"], "command": ["sleep", "60"], "retries": 0, "timeout_seconds": 1},
        {"on": ["complete"], "url": format!("https://127.0.0.1:{}/", secure.port), "retries": 0},
    ]);
    let config = config(&env, rules);
    let out = repo
        .watchdog(&["check", "--config", text(&config)])
        .expect(0);
    assert!(!out.stderr.contains("to be delivered"), "{out}");
    let told = told(&repo);
    let why: Vec<&str> = told
        .iter()
        .filter_map(|data| data["why"].as_str())
        .collect();
    assert_eq!(why.len(), 4, "{told:?}");
    for (why, words) in why.iter().zip([
        "exit code 3: no bus",
        "cannot run 'no-such-program'",
        "still ran after 1 s",
        "",
    ]) {
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(
        secure.got().len(),
        0,
        "nothing is sent in the clear where https was asked for"
    );
    env.assert_nothing_left();
}

#[test]
fn slow_notification_program_is_called_once() {
    let env = TestEnv::new();
    let repo = repo_with_a_commit(&env);
    let gate = env.root().join("gate");
    let script = format!(
        "echo begun >> ../told.txt; until [ -e '{}' ]; do sleep 0.05; done; echo ended >> ../told.txt",
        text(&gate)
    );
    let config = config(
        &env,
        json!([{"on": ["complete"], "command": ["sh", "-c", script], "timeout_seconds": 60}]),
    );
    let check = || {
        repo.watchdog(&["check", "--config", text(&config)])
            .expect(0)
    };
    let out = check();
    assert!(!out.stderr.contains("to be delivered"), "{out}");
    check();
    env.write("gate", "open");
    let read = || std::fs::read_to_string(env.root().join("told.txt")).unwrap_or_default();
    wait_until("the program ended by itself", SOON, || {
        read().contains("ended")
    });
    assert_eq!(read(), "begun\nended\n");
}

#[test]
fn verdict_is_notified_once_per_session() {
    let env = TestEnv::new();
    let repo = repo_with_a_commit(&env);
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let config = config(&env, json!([{"on": ["complete"], "url": receiver.url()}]));
    for _ in 0..3 {
        repo.watchdog(&["check", "--config", text(&config)])
            .expect(0);
    }
    assert_eq!(receiver.got().len(), 1);
    for times in 2..4 {
        let session = format!("echo {times} > new.txt; git commit -qam work");
        repo.watchdog_line(
            "run --spec auth --config {} -- sh -c {}",
            &[text(&config), &session],
        )
        .expect(0);
        receiver.wait_for(times);
    }
    assert_eq!(receiver.got().len(), 3);
}

#[test]
fn a_file_that_is_not_trusted_tells_nobody() {
    let env = TestEnv::new();
    let repo = env.repo();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let rules = json!([{"on": ["review", "complete"], "url": receiver.url()}, {"on": ["review"], "command": ["touch", "../told"]}]);
    repo.write(
        "completion.json",
        json!({"version": 1, "notify": rules}).to_string(),
    );
    repo.commit_all("a configuration");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    assert_eq!(
        repo.watchdog(&["check", "--json"]).expect(12).verdict(),
        "review/untrusted"
    );
    assert!(receiver.got().is_empty() && !env.root().join("told").exists());
    let shown = repo.watchdog(&["trust"]).expect(0);
    assert!(
        shown.stdout.contains(&format!("POST {}", receiver.url()))
            || shown.stderr.contains("POST http"),
        "{shown}"
    );
    repo.watchdog(&["check"]).expect(0);
    receiver.wait_for(1);
}

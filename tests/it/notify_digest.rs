//! A sweep is one message for the same people, however many worktrees and repositories it judged, and a sweep that is killed loses none.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Receiver, Reply, Repo, TestEnv, assert_parts, fill_line, wait_until};

const SOON: Duration = Duration::from_secs(60);

/// Two repositories in the folder `all`, three worktrees, each with a baseline and one commit since.
fn three_worktrees(env: &TestEnv) -> Vec<Repo<'_>> {
    let one = env.repo_named("all/one");
    let two = env.repo_named("all/two");
    two.git(&["worktree", "add", "-q", "../three", "-b", "three"]);
    let worktrees = vec![one, two, Repo::new(env, env.root().join("all/three"))];
    for worktree in &worktrees {
        let name = worktree
            .path()
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        worktree.watchdog(&["snapshot", "--spec", &name]).expect(0);
        worktree.write("new.txt", &name);
        worktree.commit_all("feat: new");
    }
    worktrees
}

fn config(env: &TestEnv, rules: &Value) -> String {
    let path = env.write(
        "config/completion.json",
        json!({"version": 1, "notify": rules}).to_string(),
    );
    path.to_str().expect("UTF-8").to_owned()
}

fn sweep(env: &TestEnv, config: &str) {
    env.watchdog(
        &env.root().join("all"),
        &["sweep", "--no-probe", "--config", config],
    )
    .expect(0);
}

#[test]
fn sweep_sends_people_one_message_for_all_worktrees() {
    let env = TestEnv::new();
    three_worktrees(&env);
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let people = |path: &str| format!("{}/{path}", receiver.url());
    let rules = json!([
        {"on": ["complete"], "url": people("people"), "template": "slack"},
        {"on": ["complete"], "url": people("programs")},
    ]);
    let config = config(&env, &rules);
    sweep(&env, &config);
    let got = receiver.wait_for(4);
    let to = |path: &str| {
        got.iter()
            .filter(|got| got.head.starts_with(&format!("POST /hook/{path}")))
            .collect::<Vec<_>>()
    };
    assert_eq!((to("people").len(), to("programs").len()), (1, 3));
    let text = to("people")[0].body["text"]
        .as_str()
        .expect("a text")
        .to_owned();
    assert!(
        text.starts_with("watchdog: 3 worktrees: 3 complete\n"),
        "{text}"
    );
    for name in ["one", "two", "three"] {
        assert_parts(&text, &[&format!("\n- {name}: complete (new_commits): ")]);
    }
    assert!(
        text.ends_with(" status") && text.contains("\n\nwatchdog --state-dir "),
        "{text}"
    );
    sweep(&env, &config);
    assert_eq!(receiver.got().len(), 4, "the same states are told once");
    let told = env
        .watchdog(
            &env.root(),
            &["events", "--all", "--json", "--kind", "notify"],
        )
        .expect(0);
    assert_eq!(
        told.stdout.matches("\"delivered\":true").count(),
        6,
        "{told}"
    );
}

#[test]
fn returning_receiver_gets_one_collected_message() {
    let env = TestEnv::new();
    three_worktrees(&env);
    let receiver = Receiver::start(&[Reply::Status(503), Reply::Status(200)]);
    let config = config(
        &env,
        &json!([{"on": ["complete"], "url": receiver.url(), "template": "{title}"}]),
    );
    sweep(&env, &config);
    wait_until("a later sweep tells it", SOON, || {
        sweep(&env, &config);
        receiver.got().len() > 1
    });
    let texts: Vec<String> = receiver.got().into_iter().map(|got| got.text).collect();
    assert_eq!(texts, ["watchdog: 3 worktrees: 3 complete"; 2]);
}

#[test]
fn killed_sweep_loses_no_notices() {
    let env = TestEnv::new();
    let worktrees = three_worktrees(&env);
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let rules = json!([{"on": ["complete"], "url": receiver.url(), "template": "{title}\n{text}"}]);
    let gate = env.root().join("gate");
    // The last worktree's check holds the sweep until it is killed; the others are judged by then.
    let holds = format!(
        "case \"$PWD\" in */three) echo > '{0}'; sleep 600;; esac",
        gate.display()
    );
    let check = json!({"type": "command", "name": "gate", "run": holds, "timeout_seconds": 900});
    let path = env.write(
        "config/slow.json",
        json!({"version": 1, "checks": [check], "notify": rules}).to_string(),
    );
    let all = env.root().join("all");
    let args = fill_line(
        "sweep --no-probe --jobs 3 --json --config {}",
        &[path.to_str().expect("UTF-8")],
    );
    let mut running = env.watchdog_spawn(&all, &args);
    wait_until("two are judged and one is held", SOON, || {
        gate.exists() && running.stdout_so_far().lines().count() == 2
    });
    assert_eq!(
        receiver.got().len(),
        0,
        "people are told when the sweep is over"
    );
    running.signal(Signal::KILL);
    wait_until("it is dead", SOON, || running.ended());
    // Its verdict is the same once more, so what arrives is what the killed sweep left.
    wait_until("the next watchdog tells it", SOON, || {
        worktrees[0].watchdog(&["check", "--no-probe", "--config", args[6]]);
        !receiver.got().is_empty()
    });
    let text = &receiver.got()[0].text;
    assert!(
        text.starts_with("watchdog: 2 worktrees: 2 complete\n"),
        "{text}"
    );
    assert_parts(text, &["- one: ", "- two: "]);
}

#[test]
fn an_untrusted_configuration_tells_nobody_of_a_sweep() {
    let env = TestEnv::new();
    let receiver = Receiver::start(&[Reply::Status(200)]);
    let repo = env.repo_named("all/one");
    let rules = json!([{"on": ["review", "complete"], "url": receiver.url(), "template": "slack"}]);
    repo.write(
        "completion.json",
        json!({"version": 1, "notify": rules}).to_string(),
    );
    repo.commit_all("a configuration");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    env.watchdog(&env.root().join("all"), &["sweep", "--no-probe"])
        .expect(12);
    assert!(receiver.got().is_empty());
}

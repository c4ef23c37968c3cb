//! Sessions that crash with work in their hands, and watchdog itself crashing with them: what is judged, whose the work is, and that it
//! is all there.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::sessions_side_by_side::hooked;
use crate::support::watch::SOON;
use crate::support::{CommandOutput, Repo, Running, Step, TestEnv, at_once, wait_until};

fn config(env: &TestEnv, answer: &str, more: &Value) -> String {
    let asked = Step::append(&env.root().join("asked").to_string_lossy(), "x");
    let answer = Step::print_json(&json!({"status": answer, "message": "scripted"}));
    env.config_asking(&[asked, answer], more.clone())
        .to_string_lossy()
        .into_owned()
}

fn questions(env: &TestEnv) -> usize {
    std::fs::read(env.root().join("asked")).map_or(0, |asked| asked.len())
}

fn wants(file: &str) -> Value {
    json!({"checks": [{"type": "command", "name": "there", "run": format!("test -f {file}")}]})
}

#[track_caller]
fn run(repo: &Repo<'_>, config: &str, script: &str) -> CommandOutput {
    repo.watchdog_line("run --json --config {} -- sh -c {}", &[config, script])
}

#[test]
fn crash_is_judged_by_leftovers_and_agent_reply() {
    let crash = "echo half > half.txt; kill -SEGV $$";
    let cases = [
        ("working", json!({}), "incomplete/unfinished", 10),
        ("complete", json!({}), "complete/rescued", 0),
        (
            "complete",
            wants("never.txt"),
            "incomplete/checks_unmet",
            10,
        ),
        ("working", wants("half.txt"), "complete/checks_passed", 0),
    ];
    at_once(cases, |(answer, more, verdict, code)| {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.write("mine.txt", "mine");
        let config = config(&env, answer, &more);
        let out = run(&repo, &config, crash).expect(code);
        out.assert_verdict(verdict, json!({"rescued": true, "strike": false}));
        assert_eq!(
            questions(&env),
            usize::from(more == json!({})),
            "checks decide about a session that is over: {out}"
        );
        assert_eq!(
            (
                repo.file_in("HEAD", "half.txt").as_deref(),
                repo.status().as_str()
            ),
            (Some("half\n"), "?? mine.txt"),
            "{out}"
        );
    });
}

#[test]
fn crash_before_any_work_is_a_strike() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = config(&env, "working", &json!({}));
    let out = run(&repo, &config, "kill -SEGV $$").expect(10);
    out.assert_verdict("incomplete/unfinished", json!({"strike": true}));
}

/// Everything dies at once, as when the machine loses its power: the session with half of its work, and watchdog with it.
fn everything_dies(env: &TestEnv, repo: &Repo<'_>, config: &str) {
    let up = env.root().join("up");
    let agent = env.fake_agent(
        "session",
        &[
            Step::write("half.txt", "half"),
            Step::write(&up.to_string_lossy(), ""),
            Step::hang(),
        ],
    );
    let running: Running = repo.spawn_line(
        "run --json --config {} -- {} {}",
        &[config, &agent[0], &agent[1]],
    );
    wait_until("the session is at work", SOON, || up.exists());
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, Some(137));
    env.processes_left().iter().for_each(|left| left.kill());
    env.assert_nothing_left();
}

#[test]
fn check_after_total_crash_knows_the_session_files() {
    for (answer, more, verdict, code) in [
        ("complete", json!({}), "complete/rescued", 0),
        ("working", json!({}), "incomplete/unfinished", 10),
        (
            "complete",
            wants("never.txt"),
            "incomplete/checks_unmet",
            10,
        ),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        repo.write("mine.txt", "mine");
        let config = config(&env, answer, &more);
        everything_dies(&env, &repo, &config);
        let out = repo
            .watchdog(&["check", "--json", "--config", &config])
            .expect(code);
        out.assert_verdict(verdict, json!({"inherited": 1}));
        assert_eq!(
            questions(&env),
            usize::from(more == json!({})),
            "asked once at most: no answer can change any more: {out}"
        );
        assert_eq!(
            (
                repo.file_in("HEAD", "half.txt").as_deref(),
                repo.status().as_str()
            ),
            (Some("half"), "?? mine.txt"),
            "{out}"
        );
    }
}

#[test]
fn next_session_resumes_work_after_total_crash() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "mine");
    let config = config(&env, "complete", &json!({}));
    everything_dies(&env, &repo, &config);
    assert_eq!(
        repo.status(),
        "?? half.txt\n?? mine.txt",
        "nothing was touched in between"
    );
    let out = run(&repo, &config, "echo rest > rest.txt").expect(0);
    out.assert_verdict("complete/rescued", json!({"inherited": 1}));
    assert_eq!(
        repo.git(&["show", "--name-only", "--format=", "HEAD"]),
        "half.txt\nrest.txt",
        "{out}"
    );
    assert_eq!(repo.status(), "?? mine.txt");
}

#[test]
fn snapshot_keeps_files_a_dead_session_destroyed() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "mine");
    let up = env.root().join("up");
    let agent = env.fake_agent(
        "session",
        &[
            Step::git(&["clean", "-qfdx"]),
            Step::write(&up.to_string_lossy(), ""),
            Step::hang(),
        ],
    );
    let running = repo.watchdog_spawn(&["run", "--json", "--no-probe", "--", &agent[0], &agent[1]]);
    wait_until("the session is at work", SOON, || up.exists());
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, Some(137));
    env.processes_left().iter().for_each(|left| left.kill());
    env.assert_nothing_left();
    let out = repo.watchdog(&["check", "--json", "--no-probe"]).expect(10);
    assert!(
        out.json()["degraded"]
            .to_string()
            .contains("inherited_overwritten"),
        "what is gone is named: {out}"
    );
    repo.watchdog(&["rescue", "restore", "latest"]).expect(0);
    assert_eq!(
        std::fs::read_to_string(repo.path().join("mine.txt")).unwrap(),
        "mine"
    );
}

#[test]
fn killed_hooked_session_leaves_work_to_the_next() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("mine.txt", "mine");
    let begins = |session: &str| hooked(&env, &repo, session);
    let first = begins("first");
    repo.write("half.txt", "half");
    // It cannot say that it ended.
    drop(first);
    let second = begins("second");
    repo.write("rest.txt", "rest");
    drop(second);
    let config = config(&env, "complete", &json!({}));
    let out = repo
        .watchdog(&["check", "--json", "--config", &config])
        .expect(0);
    out.assert_verdict("complete/rescued", json!({"inherited": 1}));
    assert_eq!(
        (
            repo.git(&["show", "--name-only", "--format=", "HEAD"])
                .as_str(),
            repo.status().as_str()
        ),
        ("half.txt\nrest.txt", "?? mine.txt")
    );
}

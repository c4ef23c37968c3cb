//! Loops that are interrupted or killed, and go on where they were.

use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::looped::{config, needs, prompts, sessions, started};
use crate::support::{Repo, Step, TestEnv, assert_parts, fill_line, wait_until};

const LONG: Duration = Duration::from_secs(60);

/// Kills this command once `up` is there, and all that it had started.
#[track_caller]
pub fn kill_in_its_session(env: &TestEnv, repo: &Repo<'_>, args: &[&str], up: &Path) {
    let running = repo.watchdog_spawn(args);
    wait_until("its session runs", LONG, || up.exists());
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, Some(137));
    for left in env.processes_left() {
        left.kill();
    }
    wait_until("what it had started ends", LONG, || {
        env.processes_left().is_empty()
    });
}

#[test]
fn killed_loop_resumes_at_its_current_iteration() {
    let env = TestEnv::new();
    let repo = env.repo();
    let first = repo.head();
    let up = env.root().join("up");
    let a = [
        Step::write("a.txt", "a"),
        Step::commit("a"),
        Step::print("made a\n"),
    ];
    let hangs = [
        Step::write("half.txt", "half"),
        Step::write(&up.to_string_lossy(), ""),
        Step::hang(),
    ];
    let ok = [Step::write("ok.txt", "ok"), Step::commit("ok")];
    let agent = sessions(&env, &[&a, &hangs, &ok]);
    let config = config(&env, needs("ok.txt"));
    let args = fill_line(
        "loop --json --config {} --no-probe -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    kill_in_its_session(&env, &repo, &args, &up);
    let out = repo.watchdog(&args).expect(0);
    out.assert_verdict("complete/checks_passed", json!({"iterations": 3}));
    assert_eq!(started(&env), 3, "{out}");
    out.assert_values(json!({
        "/loop/resumed": true, "/loop/first_baseline": first,
        "/loop/history/1/crash": "it was cut off, and so was watchdog",
    }));
    out.assert_told(&["at iteration 2/30"]);
    assert_parts(&prompts(&env)[2], &["Iteration 1: made a"]);
    assert_eq!(
        repo.file_in("HEAD", "half.txt").as_deref(),
        Some("half"),
        "what the killed session wrote is not lost"
    );
    let plan = fill_line(
        "loop --json --dry-run --config {} --no-probe -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    let anew = repo.watchdog(&plan).expect(0);
    anew.assert_values(json!({"resumed": false, "iteration": 1}));
}

#[test]
fn resumed_loop_awaits_the_surviving_session() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (up, go) = (env.root().join("up"), env.root().join("go"));
    let late = [
        Step::write(&up.to_string_lossy(), ""),
        Step::wait_for(&go),
        Step::write("late.txt", "late"),
        Step::commit("late"),
    ];
    let agent = sessions(&env, &[&late]);
    let config = config(&env, json!({}));
    let args = fill_line(
        "loop --json --config {} -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    let running = repo.watchdog_spawn(&args);
    wait_until("the session runs", LONG, || up.exists());
    let recorded = || {
        repo.watchdog(&["status", "--json"]).expect(0).json()["worktrees"][0]["session"]["pid"]
            .is_number()
    };
    wait_until("the session is recorded", LONG, recorded);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, Some(137));
    let second = repo.watchdog_spawn(&args);
    wait_until("the second watchdog waits", LONG, || {
        second.stderr_so_far().contains("still runs")
    });
    env.write("go", "");
    let out = second.wait().expect(0);
    assert_eq!(out.verdict(), "complete/new_commits", "{out}");
    assert_eq!(started(&env), 1, "{out}");
    assert_eq!(out.json()["commits"][0]["subject"], "late");
}

#[test]
fn interrupted_loop_saves_work_and_can_resume() {
    let env = TestEnv::new();
    let repo = env.repo();
    let up = env.root().join("up");
    let hangs = [
        Step::write("half.txt", "half"),
        Step::daemon(&[Step::hang()]),
        Step::write(&up.to_string_lossy(), ""),
        Step::hang(),
    ];
    let agent = sessions(&env, &[&hangs]);
    let config = config(&env, json!({}));
    let args = fill_line(
        "loop --json --config {} --grace 1s -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    let running = repo.watchdog_spawn(&args);
    wait_until("the session runs", LONG, || up.exists());
    running.signal(Signal::INT);
    let out = running.wait().expect(14);
    out.assert_verdict("stopped/interrupted", json!({"/loop/over": false}));
    env.assert_nothing_left();
    assert!(
        repo.snapshots()
            .iter()
            .any(|snapshot| repo.file_in(snapshot, "half.txt").is_some()),
        "{out}"
    );
    out.assert_has("message", "type the same loop command again");
    let planned = |more: &[&str], agent: &[&str]| {
        repo.watchdog(&[&["loop", "--json", "--dry-run"], more, &["--"], agent].concat())
            .expect(0)
            .json()
    };
    let same = [agent[0].as_str(), agent[1].as_str()];
    let plan = planned(&[], &same);
    assert_eq!(
        (&plan["resumed"], &plan["iteration"]),
        (&json!(true), &json!(1)),
        "{plan:#}"
    );
    assert_eq!(planned(&["--restart"], &same)["resumed"], json!(false));
    assert_eq!(
        planned(&[], &["x"])["resumed"],
        json!(false),
        "another command line is another loop"
    );
}

#[test]
fn signals_end_the_wait_between_iterations() {
    for (signal, why) in [
        (Signal::TERM, "interrupted between two iterations"),
        (Signal::USR1, "paused between two iterations"),
    ] {
        let env = TestEnv::new();
        let repo = env.repo();
        let agent = sessions(&env, &[&[Step::write("a.txt", "a"), Step::commit("a")]]);
        let config = config(&env, needs("never.txt"));
        let running = repo.spawn_line(
            "loop --json --config {} --cooldown 1h -- {} {}",
            &[&config, &agent[0], &agent[1]],
        );
        wait_until("the first iteration is over", LONG, || {
            running.stderr_so_far().contains("iteration 1 after")
        });
        running.signal(signal);
        let out = running.wait().expect(14);
        out.assert_verdict("stopped/interrupted", json!({"iterations": 1}));
        assert_eq!(started(&env), 1, "{out}");
        assert!(
            out.json()["message"].as_str().unwrap().starts_with(why),
            "{out}"
        );
    }
}

#[test]
fn pausing_loop_judges_its_session_first() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (up, go) = (env.root().join("up"), env.root().join("go"));
    let first = [
        Step::write(&up.to_string_lossy(), ""),
        Step::wait_for(&go),
        Step::write("a.txt", "a"),
        Step::commit("a"),
    ];
    let agent = sessions(
        &env,
        &[&first, &[Step::write("b.txt", "b"), Step::commit("b")]],
    );
    let config = config(&env, needs("b.txt"));
    let args = fill_line(
        "loop --json --config {} -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    let running = repo.watchdog_spawn(&args);
    wait_until("the session runs", LONG, || up.exists());
    running.signal(Signal::USR1);
    env.write("go", "");
    let out = running.wait().expect(14);
    let json = out.json();
    out.assert_verdict("stopped/interrupted", json!({"iterations": 1}));
    assert_eq!(&json["loop"]["over"], &json!(false), "{out}");
    assert!(
        json["message"]
            .as_str()
            .unwrap()
            .starts_with("paused between two iterations, as was asked for"),
        "{out}"
    );
    assert_eq!(
        json["commits"][0]["subject"], "a",
        "the session was not cut short"
    );
    let out = repo.watchdog(&args).expect(0);
    out.assert_verdict("complete/checks_passed", json!({"/loop/resumed": true}));
    assert_eq!(started(&env), 2, "{out}");
}

#[test]
fn two_loops_never_work_in_one_worktree() {
    let env = TestEnv::new();
    let repo = env.repo();
    let (up, go) = (env.root().join("up"), env.root().join("go"));
    let waits = [
        Step::write(&up.to_string_lossy(), ""),
        Step::wait_for(&go),
        Step::write("a.txt", "a"),
        Step::commit("a"),
    ];
    let agent = sessions(&env, &[&waits]);
    let config = config(&env, json!({}));
    let args = fill_line(
        "loop --json --config {} -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    let running = repo.watchdog_spawn(&args);
    wait_until("the session runs", LONG, || up.exists());
    let other = repo.watchdog(&args).expect(11);
    assert_eq!(other.verdict(), "waiting/session_active", "{other}");
    assert_eq!(started(&env), 1, "{other}");
    env.write("go", "");
    assert_eq!(running.wait().expect(0).verdict(), "complete/new_commits");
}

#[test]
fn loop_restarts_in_a_recreated_repository() {
    let env = TestEnv::new();
    let repo = env.repo();
    let up = env.root().join("up");
    let agent = sessions(
        &env,
        &[&[Step::write(&up.to_string_lossy(), ""), Step::hang()]],
    );
    let config = config(&env, json!({}));
    let args = fill_line(
        "loop --json --config {} --grace 1s -- {} {}",
        &[&config, &agent[0], &agent[1]],
    );
    let running = repo.watchdog_spawn(&args);
    wait_until("the session runs", LONG, || up.exists());
    running.signal(Signal::INT);
    running.wait().expect(14);
    let plan = || {
        repo.watchdog(&["loop", "--json", "--dry-run", "--", &agent[0], &agent[1]])
            .expect(0)
            .json()
    };
    assert_eq!(plan()["resumed"], json!(true));
    std::fs::remove_dir_all(repo.path().join(".git")).expect("a folder");
    repo.git(&["init", "-q", "-b", "main"]);
    repo.commit_all("start");
    assert_eq!(
        plan()["resumed"],
        json!(false),
        "the same commit, in another repository"
    );
}

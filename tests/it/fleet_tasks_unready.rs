//! Tasks of a fleet where the remote or the repository is in no state for them: each ends with what is true, and nothing is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use watchdog_git::Worktree;

use crate::fleet_tasks_travel::{Fleet, HONEST, agent, config, task};
use crate::support::{Repo, TestEnv, assert_parts, fill_line, wait_until};

/// How long something may take that happens by itself, on a machine with other things to do.
const SOON: Duration = Duration::from_secs(90);

/// An honest session during which the remote goes away, and where it went.
fn losing(env: &TestEnv, fleet: &Fleet) -> (PathBuf, String) {
    let away = env.root().join("away.git");
    let script = format!(
        "mv '{}' '{}'; {HONEST}",
        fleet.remote.display(),
        away.display()
    );
    (away, script)
}

#[test]
fn work_waits_as_review_until_its_remote_returns() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let (away, script) = losing(&env, &fleet);
    let config = config(&env);
    let options = fill_line("run T1 --json --push-retry 1s --config {}", &[&config]);
    let base = repo.head();
    let out = repo.watchdog(&agent(&options, &script)).expect(16);
    let message = out.json()["message"].as_str().unwrap().to_owned();
    assert_eq!(out.verdict(), "error/git_error");
    assert_parts(&message, &["done and was not pushed", "task run T1"]);
    assert!(out.stderr.contains("tried again"), "{out}");
    let work = repo.head();
    assert_eq!(repo.subjects_since(&base), ["feat: T1"]);
    assert_eq!(task(&repo, "T1")["status"], "review");

    fs::rename(&away, &fleet.remote).unwrap();
    let again = agent(&options, "touch ../started; exit 1");
    let done = repo.watchdog(&again).expect(0);
    assert!(
        !env.root().join("started").exists(),
        "no session is paid for work that is done: {done}"
    );
    assert_eq!(
        (
            task(&repo, "T1")["status"].as_str(),
            fleet.git(&env, &["rev-parse", "watchdog/T1"])
        ),
        (Some("complete"), work)
    );
}

#[test]
fn work_of_own_agent_worktree_is_pushed_there() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let (away, script) = losing(&env, &fleet);
    let config = config(&env);
    repo.watchdog(&agent(
        &fill_line("work --agents 1 --push-retry 1s --config {}", &[&config]),
        &script,
    ))
    .expect(12);
    let left = task(&repo, "T1");
    let own = left["worktree"].as_str().unwrap();
    assert_parts(
        left["message"].as_str().unwrap(),
        &[&format!("watchdog -C {own} task run T1")],
    );
    fs::rename(&away, &fleet.remote).unwrap();
    let own = Repo::new(&env, own.into());
    own.watchdog(&agent(
        &["run", "T1", "--config", &config],
        "touch ../started",
    ))
    .expect(0);
    assert_eq!(fleet.git(&env, &["rev-parse", "watchdog/T1"]), own.head());
    assert!(
        !own.path().join("../started").exists(),
        "no session is paid for work that is done"
    );
}

#[test]
fn work_completes_when_its_remote_returns() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let (away, script) = losing(&env, &fleet);
    let config = config(&env);
    let running = repo.watchdog_spawn(&agent(
        &fill_line("run T1 --json --push-retry 10m --config {}", &[&config]),
        &script,
    ));
    wait_until("the push is tried again", SOON, || {
        running.stderr_so_far().contains("tried again")
    });
    fs::rename(&away, &fleet.remote).unwrap();
    running.wait().expect(0);
    assert_eq!(task(&repo, "T1")["status"], "complete");
    assert_eq!(fleet.git(&env, &["rev-parse", "watchdog/T1"]), repo.head());
}

#[test]
fn task_never_begins_in_a_repository_without_commits() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    repo.git(&["checkout", "-q", "--orphan", "empty"]);
    let before = fleet.git(&env, &["for-each-ref"]);
    let out = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config(&env)],
            "touch ../begun",
        ))
        .expect(11);
    out.assert_has("message", "no commit yet; make a first one");
    let pool = repo
        .watchdog(&agent(
            &["work", "--agents", "1", "--config", &config(&env)],
            "touch ../begun",
        ))
        .expect(16);
    assert!(pool.stderr.contains("no commit yet"), "{pool}");
    assert_eq!(
        (
            task(&repo, "T1")["status"].as_str(),
            env.root().join("begun").exists()
        ),
        (Some("pending"), false)
    );
    assert_eq!(
        fleet.git(&env, &["for-each-ref"]),
        before,
        "nothing went to the remote"
    );
}

/// Stops in the middle of a rebase.
fn rebase_half(repo: &Repo<'_>) {
    repo.commit_all("once more");
    let out = repo.try_git(&fill_line(
        "-c {} rebase -i HEAD~1",
        &["sequence.editor=sed -i s/^pick/edit/"],
    ));
    assert!(
        repo.path().join(".git").exists() && out.code == Some(0),
        "{out}"
    );
}

/// A person's word that a task in review is to be done anew.
fn reopen(repo: &Repo<'_>) {
    repo.watchdog(&["task", "set", "T1", "complete", "--reason", "so far"])
        .expect(0);
    repo.watchdog(&["task", "set", "T1", "pending", "--reason", "anew"])
        .expect(0);
}

#[test]
fn rebase_in_progress_starts_no_branch() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    repo.write("draft", "1");
    rebase_half(&repo);
    let before = fleet.git(&env, &["for-each-ref"]);
    let config = config(&env);
    let out = repo
        .watchdog(&agent(
            &["run", "T1", "--json", "--config", &config],
            "touch ../begun",
        ))
        .expect(12);
    let message = out.json()["message"].as_str().unwrap().to_owned();
    assert_parts(&message, &["a rebase is in progress", "finish or abort it"]);
    assert_eq!(
        (
            env.root().join("begun").exists(),
            fleet.git(&env, &["for-each-ref"])
        ),
        (false, before)
    );

    assert_eq!(task(&repo, "T1")["status"], "review");
    reopen(&repo);
    let running = repo.watchdog_spawn(&agent(
        &["work", "--agents", "1", "--config", &config],
        HONEST,
    ));
    wait_until("it waits for the rebase", SOON, || {
        running.stderr_so_far().contains("a rebase is in progress")
    });
    assert!(
        repo.try_git(&["rev-parse", "-q", "--verify", "watchdog/T1"])
            .code
            != Some(0)
    );
    repo.git(&["rebase", "--abort"]);
    running.wait().expect(0);
    assert_eq!(
        (
            task(&repo, "T1")["status"].as_str(),
            task(&repo, "T2")["status"].as_str()
        ),
        (Some("complete"), Some("complete"))
    );
}

#[test]
fn task_worktree_during_a_rebase_needs_a_person() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let config = config(&env);
    let work = fill_line(
        "work --agents 1 --json --no-progress 1 --config {}",
        &[&config],
    );
    repo.watchdog(&agent(&work, "echo 1 > draft")).expect(12);
    let own = Repo::new(&env, task(&repo, "T1")["worktree"].as_str().unwrap().into());
    rebase_half(&own);
    let (head, listed) = (own.head(), fleet.git(&env, &["rev-parse", "watchdog/T1"]));
    reopen(&repo);
    let out = repo.watchdog(&agent(&work, "touch ../begun")).expect(12);
    let message = task(&repo, "T1")["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("a rebase is in progress")
            && message.contains(&own.path().display().to_string()),
        "{message} {out}"
    );
    assert_eq!(
        (own.head(), fleet.git(&env, &["rev-parse", "watchdog/T1"])),
        (head, listed),
        "everything is as it was"
    );
    assert!(own.try_git(&["rebase", "--continue"]).code == Some(0));
}

#[test]
fn missing_start_commit_names_its_source() {
    let (one, other) = (TestEnv::new(), TestEnv::new());
    let fleet = Fleet::new(&one);
    let (first, second) = (fleet.machine(&one, "a"), fleet.machine(&other, "b"));
    first.write("completion.json", json!({"version": 1}).to_string());
    let begun = first.commit_all("a commit that is on this machine alone");
    first
        .watchdog(&agent(
            &["run", "T1", "--no-progress", "1", "--config", &config(&one)],
            "true",
        ))
        .expect(12);
    // Somebody removed what was pushed.
    for name in ["refs/heads/watchdog/T1", "refs/watchdog/fence/T1"] {
        fleet.git(&one, &["update-ref", "-d", name]);
    }
    let out = second.watchdog(&agent(&["run", "T1", "--json"], HONEST));
    assert_ne!(out.code, Some(0), "what governs is unknown: {out}");
    let message = out.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains(&begun[..12]) && message.contains("not in this clone"),
        "{out}"
    );
    first.git(&["push", "-q", "origin", &format!("{begun}:refs/heads/kept")]);
    second.git(&["fetch", "-q", "origin"]);
    second.watchdog(&["trust", "--rev", &begun[..12]]).expect(0);
    second.watchdog(&agent(&["run", "T1"], HONEST)).expect(0);
}

/// An `ssh` that runs the far side here, and waits for ever where it may ask; it notes its arguments.
const SSH: &str = r#"#!/bin/sh
echo "$@" >> "$0.log"
case "$*" in *BatchMode=yes*) ;; *) exec sleep 600;; esac
if [ -e "$0.denied" ]; then echo 'Permission denied (publickey,password).' >&2; exit 255; fi
for last; do :; done
exec sh -c "$last"
"#;

#[test]
fn ssh_never_prompts_and_keeps_the_user_command() {
    let env = TestEnv::new();
    let fleet = Fleet::new(&env);
    let repo = fleet.machine(&env, "a");
    let ssh = env.write("own/ssh", SSH);
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let local = Worktree::open(repo.path()).unwrap().repository_id();
    let url = format!("ssh://git@host.example{}", fleet.remote.display());
    let shared = json!({"local": local, "id": "team/app", "remote": "origin", "url": url});
    let file = env.state().join("fleet-repositories.json");
    fs::write(&file, json!({"v": 1, "repositories": [shared]}).to_string()).unwrap();
    repo.git_line(
        "config --global core.sshCommand {}",
        &[&format!("{} -i key", ssh.display())],
    );
    let denied = env.write("own/ssh.denied", "");
    let run = ["run", "T1", "--json", "--config", &config(&env)];
    let out = repo.watchdog(&agent(&run, "touch ../begun")).expect(11);
    out.assert_has("message", "Permission denied (publickey,password)");
    fs::remove_file(denied).unwrap();
    repo.watchdog(&agent(&run, HONEST)).expect(0);
    assert_eq!(fleet.git(&env, &["rev-parse", "watchdog/T1"]), repo.head());
    let log = fs::read_to_string(env.root().join("own/ssh.log")).unwrap();
    assert!(
        log.lines()
            .all(|line| line.starts_with("-i key -o BatchMode=yes")),
        "{log}"
    );
}

//! `watchdog watch` where something is lost: movements that the system dropped, time while the machine slept or the process was
//! stopped, or the store.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use watchdog_store::lock::named_holder;
use watchdog_store::{StateDir, open_store};

use crate::support::watch::{SOON, Watch, commit};
use crate::support::{Repo, TestEnv, WallClock, is_stopped, wait_until};

/// Hears nothing, and would look for itself in an hour.
const DEAF: [&str; 3] = ["--poll-only", "--poll", "1h"];

/// Work that a watch judges at its start.
fn with_work(repo: &Repo<'_>) {
    repo.watchdog(&["snapshot"]).expect(0);
    commit(repo, "before");
}

/// A watch whose first looks are over, so that nothing but what happens from now on makes it look again.
fn settled(watch: Watch) -> Watch {
    assert_eq!(watch.wait_for(1), "complete/new_commits of repo");
    watch
}

fn stop(watch: &Watch) {
    watch.0.signal(Signal::STOP);
    wait_until("it is stopped", SOON, || is_stopped(watch.0.pid()));
}

/// Moves more in a folder than the system keeps for one who does not listen.
fn flood(folder: &Path) {
    let kept =
        fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("every Linux has it");
    let kept: usize = kept.trim().parse().expect("a number");
    let noise = folder.join("noise");
    // Each turn is four movements, none like the one before: equal ones would be kept as one.
    for _ in 0..kept / 2 {
        File::create(&noise).expect("the folder takes a file");
        fs::remove_file(&noise).expect("it is there");
    }
}

/// Moves a branch as a fetch into it would, and returns the commit.
fn move_from_elsewhere(repo: &Repo<'_>, branch: &str) -> String {
    let name = format!("refs/heads/{branch}");
    let tree = repo.git(&["rev-parse", &format!("{name}^{{tree}}")]);
    let commit = repo.git(&["commit-tree", &tree, "-p", &name, "-m", "from elsewhere"]);
    repo.git(&["update-ref", &name, &commit]);
    commit
}

#[test]
fn dropped_movements_cause_a_look_at_everything() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.git(&["worktree", "add", "-q", "-b", "deep/task", "../task"]);
    let _recorded = env
        .watchdog(&env.root().join("task"), &["snapshot"])
        .expect(0);
    repo.git(&["pack-refs", "--all", "--prune"]);
    let folder = repo.path().join(".git/refs/heads/deep");
    assert!(
        !folder.exists(),
        "git makes the folder of the branch anew, unheard, with the first commit below"
    );
    with_work(&repo);
    let watch = settled(Watch::start(&env, repo.path(), &["-v"]));
    stop(&watch);
    flood(&repo.path().join(".git"));
    let first = move_from_elsewhere(&repo, "deep/task");
    assert!(folder.exists());
    watch.0.signal(Signal::CONT);
    assert!(
        watch.wait_for(2).ends_with(" of task"),
        "{:?}",
        watch.verdicts()
    );
    assert_eq!(watch.verdicts()[1]["head"], first.as_str());
    let said = watch.0.stderr_so_far();
    // Where the stop itself lasted long enough to be noticed, that is the reason it names.
    let reasons = [
        "movements were dropped",
        "the machine slept, or this process was stopped",
    ];
    assert!(
        reasons
            .iter()
            .any(|why| said.contains(&format!("every worktree is looked at why=\"{why}\""))),
        "{said}"
    );
    let second = move_from_elsewhere(&repo, "deep/task");
    assert!(
        watch.wait_for(3).ends_with(" of task"),
        "{:?}",
        watch.verdicts()
    );
    assert_eq!(watch.verdicts()[2]["head"], second.as_str());
    watch.end();
}

#[test]
fn changes_with_dropped_movements_are_judged_when_quiet() {
    let env = TestEnv::new();
    let (repo, loud) = (env.repo(), env.repo_named("loud"));
    with_work(&repo);
    let watch = settled(Watch::start(
        &env,
        &env.root(),
        &[".", "--work-trees", "--quiet-for", "300ms"],
    ));
    stop(&watch);
    flood(loud.path());
    repo.write("src/new.txt", "half done");
    watch.0.signal(Signal::CONT);
    assert_eq!(watch.wait_for(2), "complete/new_commits of repo");
    // Its folder came unheard.
    repo.write("src/another.txt", "half done, too");
    assert_eq!(watch.wait_for(3), "complete/new_commits of repo");
    watch.end();
}

#[test]
fn waking_machine_looks_at_everything() {
    let env = TestEnv::new();
    let repo = env.repo();
    with_work(&repo);
    let clock = WallClock::new(&env);
    let args = [&["watch", "--json"], DEAF.as_slice()].concat();
    let watch = settled(Watch::of(
        clock.read_by(env.watchdog_command(repo.path(), &args)),
    ));
    commit(&repo, "from another machine, meanwhile");
    clock.be_ahead_by(Duration::from_secs(3600));
    assert_eq!(watch.wait_for(2), "complete/new_commits of repo");
    watch.end();
}

#[test]
fn continued_process_looks_at_everything() {
    let env = TestEnv::new();
    let repo = env.repo();
    with_work(&repo);
    let watch = settled(Watch::start(&env, repo.path(), &DEAF));
    stop(&watch);
    let stopped = Instant::now();
    commit(&repo, "meanwhile");
    wait_until("longer than any turn of its loop", SOON, || {
        stopped.elapsed() > Duration::from_secs(6)
    });
    watch.0.signal(Signal::CONT);
    assert_eq!(watch.wait_for(2), "complete/new_commits of repo");
    watch.end();
}

#[test]
fn watch_survives_a_damaged_store_after_new_baseline() {
    let env = TestEnv::new();
    let repo = env.repo();
    with_work(&repo);
    let watch = settled(Watch::start(&env, repo.path(), &[]));
    // Replaced rather than overwritten: a file that is in everybody's memory ends whoever reads it once it is cut short.
    for beside in ["watchdog.db-wal", "watchdog.db-shm"] {
        fs::remove_file(env.state().join(beside))
            .expect("it is there while somebody has the database open");
    }
    fs::rename(
        env.write("nonsense", "nonsense"),
        env.state().join("watchdog.db"),
    )
    .expect("it is ours");
    wait_until("it says so", SOON, || {
        watch.0.stderr_so_far().contains("watchdog.db.corrupt-")
    });
    repo.watchdog(&["snapshot"]).expect(0);
    commit(&repo, "after");
    assert_eq!(watch.wait_for(2), "complete/new_commits of repo");
    watch.end();
}

#[test]
fn repository_removed_during_judgement_is_no_error() {
    let env = TestEnv::new();
    let (repo, other) = (env.repo(), env.repo_named("other"));
    repo.watchdog(&["snapshot"]).expect(0);
    let state = StateDir::resolve(Some(env.state()), None, None).expect("it is there");
    let id = open_store(&state)
        .expect("it opens")
        .newest(1)
        .expect("it can be read")
        .remove(0)
        .worktree;
    other.watchdog(&["snapshot"]).expect(0);
    let watch = Watch::start(&env, &env.root(), &["."]);
    // A branch that cannot be read is looked at again for a while, in which the judgement holds the lock.
    fs::write(repo.path().join(".git/refs/heads/main"), "garbage\n").expect("it is ours");
    wait_until("it is being judged", SOON, || {
        named_holder(&state, &id).is_some()
    });
    fs::remove_dir_all(repo.path()).expect("it is ours");
    wait_until("the judgement is over", SOON, || {
        named_holder(&state, &id).is_none()
    });
    commit(&other, "one");
    assert_eq!(watch.wait_for(1), "complete/new_commits of other");
    watch.end();
}

//! `watchdog watch` with real git around it: what is judged, when, how often, and what keeps it going.

use std::fs;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::json;
use watchdog_judge::clock::now;
use watchdog_store::journal::{kind, new_event};
use watchdog_store::{StateDir, open_store};

use crate::support::watch::{SOON, Watch, commit, gist, linked};
use crate::support::{Repo, Step, TestEnv, assert_parts, wait_for, wait_until};

#[test]
fn watch_judges_each_commit_exactly_once() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let task = linked(&env, &repo, "task");
    let unwatched = env.repo_named("unwatched");
    let watch = Watch::start(&env, &env.root(), &["."]);
    commit(&repo, "one");
    assert_eq!(watch.wait_for(1), "complete/new_commits of repo");
    commit(&task, "two");
    assert_eq!(watch.wait_for(2), "complete/new_commits of task");
    // None of this moves HEAD, and nobody asked for that other repository.
    repo.write("work.txt", "more");
    repo.git(&["add", "-A"]);
    repo.git(&["pack-refs", "--all"]);
    repo.git(&["branch", "another"]);
    commit(&unwatched, "three");
    task.git(&["commit", "-q", "--amend", "-m", "amended"]);
    assert_eq!(watch.wait_for(3), "complete/new_commits of task");
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(
        watch.wait_for(4),
        "incomplete/unfinished of repo",
        "what was undone is judged as well"
    );
    let out = watch.end();
    assert_eq!(out.stdout.lines().count(), 4, "{out}");
}

#[test]
fn branch_moved_from_elsewhere_is_judged() {
    let env = TestEnv::new();
    let repo = env.repo();
    let task = linked(&env, &repo, "task");
    let watch = Watch::start(&env, repo.path(), &[]);
    // Nothing in the linked worktree's own git directory changes by this.
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let empty = repo.git(&["commit-tree", &tree, "-p", "HEAD", "-m", "from elsewhere"]);
    repo.git(&["update-ref", "refs/heads/task", &empty]);
    assert!(
        watch.wait_for(1).ends_with(" of task"),
        "{:?}",
        watch.verdicts()
    );
    assert_eq!(watch.verdicts()[0]["head"], empty.as_str());
    repo.git(&["pack-refs", "--all", "--prune"]);
    commit(&task, "after the refs were packed");
    assert_eq!(watch.wait_for(2), "complete/new_commits of task");
    watch.end();
}

#[test]
fn ever_moving_branch_is_judged_at_bounded_rate() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let commits: Vec<String> = (0..2)
        .map(|n| repo.git(&["commit-tree", &tree, "-p", "HEAD", "-m", &format!("{n}")]))
        .collect();
    let watch = Watch::start(&env, repo.path(), &[]);
    let begun = Instant::now();
    // To and fro: the first look may begin where HEAD is at the end, and judge where it is in between.
    for n in 0..101 {
        repo.git(&["update-ref", "refs/heads/main", &commits[n % 2]]);
    }
    let last = commits[0].as_str();
    wait_until("the last move is judged", SOON, || {
        watch
            .verdicts()
            .last()
            .is_some_and(|verdict| verdict["head"] == last)
    });
    let at_most = begun.elapsed().as_millis() / 250 + 2;
    let judged = watch.verdicts().len() as u128;
    assert!(
        judged <= at_most,
        "{judged} judgements where {at_most} would do"
    );
    watch.end();
}

#[test]
fn worktrees_that_come_go_and_move_are_followed() {
    let env = TestEnv::new();
    let repo = env.repo();
    let watch = Watch::start(&env, &env.root(), &["."]);
    let first = linked(&env, &repo, "first");
    commit(&first, "one");
    assert_eq!(watch.wait_for(1), "complete/new_commits of first");
    repo.git(&["worktree", "move", "../first", "../moved"]);
    let moved = Repo::new(&env, env.root().join("moved"));
    commit(&moved, "two");
    assert_eq!(watch.wait_for(2), "complete/new_commits of moved");
    repo.git(&["worktree", "remove", "../moved"]);
    let second = linked(&env, &repo, "second");
    commit(&second, "three");
    assert_eq!(watch.wait_for(3), "complete/new_commits of second");
    // The whole repository under another name is another one in the records.
    fs::rename(repo.path(), env.root().join("renamed")).expect("it can be renamed");
    let renamed = Repo::new(&env, env.root().join("renamed"));
    renamed.watchdog(&["snapshot"]).expect(0);
    commit(&renamed, "four");
    assert_eq!(watch.wait_for(4), "complete/new_commits of renamed");
    watch.end();
}

#[test]
fn what_happened_while_nobody_watched_is_judged_first() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let task = linked(&env, &repo, "task");
    commit(&task, "before");
    let watch = Watch::start(&env, repo.path(), &[]);
    assert_eq!(watch.wait_for(1), "complete/new_commits of task");
    watch.end();
}

#[test]
fn session_end_triggers_the_question_not_a_commit() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot", "--spec", "auth"]).expect(0);
    let config = env.config_asking(
        &[Step::print_json(
            &json!({"status": "complete", "message": "all done"}),
        )],
        json!({}),
    );
    let watch = Watch::start(
        &env,
        repo.path(),
        &["--config", config.to_str().expect("UTF-8")],
    );
    repo.git(&["commit", "-q", "--allow-empty", "-m", "nothing in it"]);
    assert_eq!(watch.wait_for(1), "incomplete/unfinished of repo");
    assert_eq!(watch.verdicts()[0]["probes_used"], 0);
    // As a hook writes it down.
    let state = StateDir::resolve(Some(env.state()), None, None).expect("it is there");
    let store = open_store(&state).expect("it opens");
    let newest = store.newest(1).expect("it can be read").remove(0);
    let ended = new_event(
        now(),
        &newest.worktree,
        Some("auth"),
        kind::SESSION_ENDED,
        json!({"end": "exit code 0"}),
    );
    let _done = store.append(&[ended], None).expect("it can be written");
    assert_eq!(watch.wait_for(2), "complete/nothing_to_do of repo");
    watch.end();
}

#[test]
fn watch_judges_a_run_only_after_its_kill() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let watch = Watch::start(&env, repo.path(), &[]);
    repo.watchdog_line(
        "run -- sh -c {}",
        &["echo 1 > work.txt; git add -A; git commit -qm one"],
    )
    .expect(0);
    let gate = env.root().join("gate");
    let over = env.root().join("over");
    let (committed, end) = (gate.display(), over.display());
    let script = format!(
        "echo 2 > work.txt; git commit -qam two; touch '{committed}'; until [ -e '{end}' ]; do sleep 0.1; done"
    );
    let run = repo.watchdog_spawn(&["run", "--", "sh", "-c", &script]);
    wait_until("the session committed", SOON, || gate.exists());
    run.signal(Signal::KILL);
    drop(run);
    // The session lives on: it is waited for.
    std::fs::write(&over, "").unwrap();
    assert_eq!(watch.wait_for(1), "complete/new_commits of repo");
    assert_eq!(
        watch.verdicts()[0]["commits"][0]["subject"],
        "two",
        "the first session was judged by run alone"
    );
    watch.end();
}

#[test]
fn quiet_changes_are_judged_in_watched_worktrees() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(".gitignore", "built/\n");
    repo.commit_all("ignore");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("before.txt", "left alone while nobody watched");
    let watch = Watch::start(&env, repo.path(), &["--work-trees", "--quiet-for", "300ms"]);
    assert_eq!(watch.wait_for(1), "incomplete/unfinished of repo");
    repo.write("built/x", "ignored by git");
    repo.write("src/deep/new.txt", "half done");
    assert_eq!(watch.wait_for(2), "incomplete/unfinished of repo");
    repo.write("built/x", "again");
    commit(&repo, "done");
    assert_eq!(watch.wait_for(3), "complete/new_commits of repo");
    watch.end();
}

#[test]
fn unwatchable_places_are_polled() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let watch = Watch::start(&env, repo.path(), &["--poll-only", "--poll", "200ms"]);
    commit(&repo, "one");
    assert_eq!(watch.wait_for(1), "complete/new_commits of repo");
    watch.end();
}

#[test]
fn system_limit_is_named_and_polling_continues() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    // A user namespace of its own has limits of its own.
    let script =
        "echo 2 > /proc/sys/user/max_inotify_watches && exec watchdog watch --json --poll 200ms";
    let running = env
        .command("unshare", repo.path())
        .args(["--user", "--map-root-user", "sh", "-c", script])
        .spawn();
    wait_until("it says so", SOON, || {
        running
            .stderr_so_far()
            .contains("looking every 0.2 s instead")
    });
    assert_parts(&running.stderr_so_far(), &["fs.inotify.max_user_watches"]);
    commit(&repo, "one");
    let watch = Watch(running);
    assert_eq!(watch.wait_for(1), "complete/new_commits of repo");
    watch.end();
}

#[test]
fn broken_repository_never_ends_the_watch_over_others() {
    let env = TestEnv::new();
    let (repo, other) = (env.repo(), env.repo_named("other"));
    for one in [&repo, &other] {
        one.watchdog(&["snapshot"]).expect(0);
    }
    let watch = Watch::start(&env, &env.root(), &["."]);
    fs::write(
        repo.path().join(".git/HEAD"),
        "ref: refs/heads/\u{1b}[31mnonsense",
    )
    .expect("it is ours");
    fs::write(repo.path().join(".git/packed-refs"), [0xff; 100]).expect("it is ours");
    commit(&other, "one");
    let seen = wait_for(SOON, || {
        watch
            .verdicts()
            .iter()
            .map(gist)
            .find(|gist| gist == "complete/new_commits of other")
    });
    assert!(seen.is_some(), "{:?}", watch.verdicts());
    watch.end();
}

#[test]
fn path_without_a_repository_is_refused_at_once() {
    let env = TestEnv::new();
    let out = env
        .watchdog(&env.root(), &["watch", "--json", "home"])
        .expect(16);
    assert_eq!(out.verdict(), "error/not_a_repository", "{out}");
    out.assert_told(&["name a repository, or a folder with repositories in it"]);
    env.watchdog(&env.root(), &["watch", "no-such-folder"])
        .expect(16);
}

#[test]
#[cfg(target_env = "gnu")]
fn its_threads_share_two_arenas_of_memory() {
    let env = TestEnv::new();
    let repo = env.repo();
    let task = linked(&env, &repo, "task");
    let watch = Watch::start(&env, &env.root(), &["."]);
    commit(&task, "one");
    watch.wait_for(1);
    let maps = fs::read_to_string(format!("/proc/{}/maps", watch.0.pid())).expect("it runs");
    // The first arena is the heap. Each other one begins at a multiple of 64 MiB, which glibc reserves for it.
    let begins_an_arena = |line: &&str| {
        let (range, rest) = line.split_once(' ').unwrap_or_default();
        let begin = range
            .split('-')
            .next()
            .and_then(|begin| u64::from_str_radix(begin, 16).ok());
        rest.starts_with("rw-p 00000000 00:00 0")
            && begin.is_some_and(|begin| begin % (64 << 20) == 0)
    };
    let others = maps.lines().filter(begins_an_arena).count();
    assert_eq!(others, 1, "{maps}");
    watch.end();
}

#[test]
fn interrupt_or_lost_reader_ends_the_watch() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let watch = Watch::start(&env, repo.path(), &[]);
    watch.0.signal(Signal::INT);
    watch.0.wait().expect(130);
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let piped = env
        .command("sh", repo.path())
        .args(["-c", "watchdog watch | head -n 1"])
        .spawn();
    wait_until("it watches", SOON, || {
        piped.stderr_so_far().contains("watching ")
    });
    commit(&repo, "one");
    wait_until("one line is read", SOON, || {
        !piped.stdout_so_far().is_empty()
    });
    commit(&repo, "two");
    let out = piped.wait().expect(0);
    out.assert_printed(&["complete", "/repo  new_commits: "]);
    assert!(!out.stderr.contains("panicked"), "{out}");
}

#[test]
fn broken_repository_is_told_once_until_repaired() {
    let env = TestEnv::new();
    let (repo, other) = (env.repo(), env.repo_named("other"));
    for one in [&repo, &other] {
        one.watchdog(&["snapshot"]).expect(0);
    }
    let watch = Watch::start(&env, &env.root(), &["."]);
    let outside = tempfile::tempdir_in(env.root().parent().expect("a folder")).expect("a folder");
    fs::rename(repo.path(), outside.path().join("repo")).expect("it is ours");
    wait_until("it is noticed", SOON, || {
        watch.0.stderr_so_far().contains("watching 1 worktree of")
    });
    commit(&other, "one");
    assert_eq!(watch.wait_for(1), "complete/new_commits of other");
    let head = other.path().join(".git/HEAD");
    for (count, part, instead) in [
        (2, "HEAD", "nothing"),
        (4, "HEAD", "a pipe"),
        (6, "objects", "nothing"),
    ] {
        let (there, away) = (other.path().join(".git").join(part), env.root().join(part));
        fs::rename(&there, &away).expect("it is ours");
        if instead == "a pipe" {
            // Whoever opens it waits for ever.
            mknodat(CWD, &there, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                .expect("the folder takes one");
        }
        if part != "HEAD" {
            fs::write(&head, "ref: refs/heads/moved\n").expect("it is ours");
        }
        assert_eq!(
            watch.wait_for(count),
            "error/git_error of other",
            "{instead} for {part}"
        );
        fs::rename(&away, &there).expect("it is ours");
        fs::write(&head, "ref: refs/heads/main\n").expect("it is ours");
        commit(&other, &count.to_string());
        assert_eq!(
            watch.wait_for(count + 1),
            "complete/new_commits of other",
            "with {part} again"
        );
    }
    watch.end();
}

//! What a person sees: the screens of the commands, held as text, in a terminal of 80 columns, there without colours, and in a pipe.
//!
//! `UPDATE_EXPECT=1 cargo test --test it screens` writes them anew.

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use crate::support::{Repo, Run, TestEnv, fill_line, screen};

const COLUMNS: u16 = 80;
/// More than any line has: nothing wraps on such a screen.
const ENDLESS: usize = 10_000;

/// What varies from call to call, by words of its own.
fn normal(env: &TestEnv, text: &str) -> String {
    let mut text = text.replace(&env.root().display().to_string(), "[ROOT]");
    for (pattern, word) in [
        (r"\b[0-9a-f]{40}\b", "[COMMIT]"),
        (r"\d{4}-\d\d-\d\dT[\d:]+(\.\d+)?Z", "[TIME]"),
        (r"\d{8}T\d{6}Z-\d", "00000000T000000Z-0"),
        (r"logs/\S+\.log", "logs/[LOG].log"),
        (r"\d{4}-\d\d-\d\d", "2026-03-04"),
        (r"git version .*", "git version [VERSION]"),
        (r"baseline [0-9a-f]{10}\b", "baseline 0123456789"),
        (r"(?m)^  [0-9a-f]{10} ", "  0123456789 "),
        (r"\d+\.\d s\b", "0.1 s"),
        (r"\b\d\d:\d\d:\d\d\b", "05:06:07"),
        (r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,", "Wednesday,"),
        (r"recorded at [0-9a-f]{10}\b", "recorded at 0123456789"),
    ] {
        text = Regex::new(pattern)
            .expect("a fixed pattern")
            .replace_all(&text, word)
            .into_owned();
    }
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/fixtures/screens/{name}.txt"))
}

/// The screen of a terminal, which fits it.
#[track_caller]
fn terminal(env: &TestEnv, run: Run) -> (String, String) {
    let (_, shown) = run.at_terminal_of(COLUMNS, "xterm-256color").wait();
    let lines = screen(&shown, ENDLESS);
    for line in &lines {
        // A command is pasted in one piece, a path is no sentence, and a line of a file stays one.
        let in_one_piece = line.contains(" -C ")
            || line.starts_with("    {\"")
            || line.contains(&env.root().display().to_string());
        assert!(
            line.width() <= COLUMNS.into() || in_one_piece,
            "wider than {COLUMNS} columns: {line}"
        );
    }
    (normal(env, &lines.join("\n")), shown)
}

/// Holds the screens of a command; `args` is called once for each, after `before`.
#[track_caller]
fn hold(env: &TestEnv, repo: &Repo<'_>, name: &str, args: &[&str], before: impl Fn()) {
    before();
    let (coloured, _) = terminal(env, repo.watchdog_command(args));
    expect_file![fixture(&format!("{name}.terminal"))].assert_eq(&coloured);
    before();
    let (plain, raw) = terminal(env, repo.watchdog_command(args).env("NO_COLOR", "1"));
    assert_eq!(plain, coloured, "without colours it is the same text");
    let colour = Regex::new(r"\x1b\[[0-9;]*m").expect("a fixed pattern");
    assert!(!colour.is_match(&raw), "NO_COLOR is honoured: {raw:?}");
    before();
    let piped = repo.watchdog_command(args).run();
    assert!(
        !piped.stdout.contains('\x1b') && !piped.stderr.contains('\x1b'),
        "{piped}"
    );
    let both = format!("--- stdout\n{}--- stderr\n{}", piped.stdout, piped.stderr);
    expect_file![fixture(&format!("{name}.pipe"))].assert_eq(&normal(env, &both));
}

/// Where git is the only program: what else a machine has would be on the screen.
fn without_tools() -> TestEnv {
    let mut env = scratch();
    env.set("PATH", env.root().join("bin"));
    env
}

/// A repository below the home folder, with wide characters in its path, and criteria that are not met yet.
fn shop(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo_named("home/projects/日本 shop");
    repo.write(
        "completion.json",
        "{\"version\": 1, \"checks\": [{\"type\": \"command\", \"name\": \"tests\", \"run\": \"test -e done\"}]}\n",
    );
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo
}

/// As in the beginning, and without what watchdog remembers.
fn anew(repo: &Repo<'_>, start: &str) {
    repo.git(&["reset", "-q", "--hard", start]);
    repo.git(&["clean", "-q", "-fdx"]);
    // Work of an earlier play that the reflog still has would be brought, not made.
    repo.git(&["reflog", "expire", "--expire=all", "--all"]);
    repo.watchdog(&["forget", "--yes", "--all", "--snapshots"])
        .expect(0);
    repo.watchdog(&["trust"]).expect(0);
}

/// Where a line is broken depends on the length of the paths in it, so they are as long on every machine.
fn scratch() -> TestEnv {
    TestEnv::below(Path::new("/tmp"))
}

#[test]
fn run_says_its_action_and_its_outcome() {
    let env = scratch();
    let repo = shop(&env);
    let start = repo.head();
    let before = || anew(&repo, &start);
    let work = fill_line(
        "run --timeout 1h -- sh -c {}",
        &["echo reading; touch done; git add done; git commit -q -m 'feat: done'"],
    );
    hold(&env, &repo, "run-complete", &work, before);
    let unmet = fill_line(
        "run --no-probe -- sh -c {}",
        &["echo reading; echo half > half.txt"],
    );
    hold(&env, &repo, "run-unmet", &unmet, || {
        anew(&repo, &start);
        repo.write("mine.txt", "mine\n");
    });
}

#[test]
fn check_says_what_is_missing() {
    let env = scratch();
    let repo = shop(&env);
    let start = repo.head();
    hold(&env, &repo, "check-unmet", &["check", "--no-probe"], || {
        anew(&repo, &start);
        repo.watchdog(&["snapshot"]).expect(0);
        repo.write("half.txt", "half\n");
        repo.git(&["add", "-A"]);
        repo.git_line(
            "commit -q -m {}",
            &["feat: the first half of what is to be done here"],
        );
    });
    hold(&env, &repo, "check-no-baseline", &["check"], || {
        anew(&repo, &start)
    });
    hold(
        &env,
        &repo,
        "check-untrusted",
        &["check", "--no-probe"],
        || {
            anew(&repo, &start);
            repo.watchdog(&["untrust"]).expect(0);
            repo.watchdog(&["snapshot"]).expect(0);
            repo.write("work.txt", "work\n");
            repo.git(&["add", "-A"]);
            repo.git(&["commit", "-q", "-m", "feat: work"]);
        },
    );
}

#[test]
fn status_and_sweep_say_where_everything_stands() {
    let env = scratch();
    let repo = shop(&env);
    let elsewhere =
        env.repo_named("home/projects/a rather long name of a folder/that has worktrees/checkout");
    let unjudged = || {
        for repo in [&repo, &elsewhere] {
            repo.watchdog(&["snapshot"]).expect(0);
        }
        // Another content each time, as an empty commit is no work.
        repo.write("half.txt", repo.head());
        repo.watchdog(&["untrust"]).expect(0);
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "feat: half"]);
        let _judged = repo.watchdog(&["check", "--no-probe"]);
    };
    hold(&env, &repo, "status", &["-C", "/", "status"], unjudged);
    let projects = env.home().join("projects").display().to_string();
    hold(
        &env,
        &repo,
        "sweep",
        &["sweep", "--no-probe", &projects],
        unjudged,
    );
    let empty = scratch();
    let nowhere = empty.repo_named("home/new");
    hold(&empty, &nowhere, "status-empty", &["status"], || {});
}

#[test]
fn events_are_sentences() {
    let env = scratch();
    let repo = shop(&env);
    let start = repo.head();
    let judged = || {
        anew(&repo, &start);
        repo.watchdog(&["snapshot", "--spec", "feat/checkout"])
            .expect(0);
        repo.write("half.txt", "half\n");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "feat: half"]);
        let _judged = repo.watchdog(&["check", "--no-probe", "--spec", "feat/checkout"]);
    };
    hold(&env, &repo, "events", &["events"], judged);
}

#[test]
fn doctor_tells_each_fault_and_its_remedy() {
    let env = without_tools();
    let repo = shop(&env);
    hold(&env, &repo, "doctor", &["doctor"], || {
        repo.watchdog(&["untrust"]).expect(0);
    });
}

#[test]
fn snapshots_and_figures_are_listed() {
    let env = scratch();
    let repo = shop(&env);
    let start = repo.head();
    hold(&env, &repo, "rescue-list", &["rescue", "list"], || {
        anew(&repo, &start);
        repo.write("half.txt", "half\n");
        let _kept = repo.watchdog_line(
            "run --no-probe --no-rescue -- sh -c {}",
            &["echo more >> half.txt"],
        );
    });
    hold(&env, &repo, "report", &["report", "."], || {
        anew(&repo, &start);
        let _judged = repo.watchdog(&["run", "--no-probe", "--", "true"]);
    });
}

#[test]
fn init_shows_what_it_would_write() {
    let env = without_tools();
    let repo = env.repo_named("home/new");
    repo.write(
        "Cargo.toml",
        "[package]\nname = \"new\"\nversion = \"0.1.0\"\n",
    );
    repo.write("src/lib.rs", "#[test]\nfn it_works() {}\n");
    repo.commit_all("a crate");
    hold(&env, &repo, "init-dry-run", &["init", "--dry-run"], || {});
}

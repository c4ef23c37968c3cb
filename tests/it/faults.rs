//! Faults that a user can meet: each says what happened, why, and what to do next, and none is taken for an answer.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{CommandOutput, TestEnv, assert_parts, fill_line};

/// An error verdict whose message has all of these in it.
#[track_caller]
fn assert_error(out: &CommandOutput, verdict: &str, words: &[&str]) {
    assert_eq!(out.verdict(), verdict, "{out}");
    assert_eq!(out.code, Some(16), "{out}");
    let json = out.json();
    out.assert_values(json!({"complete": false, "strike": false}));
    let message = format!(
        "{} {}",
        json["message"].as_str().unwrap_or_default(),
        out.stderr
    );
    for word in words {
        assert!(message.contains(word), "\"{word}\" is not said\n{out}");
    }
}

#[test]
fn a_folder_that_is_no_repository() {
    let env = TestEnv::new();
    let folder = env.root().join("plain");
    fs::create_dir(&folder).expect("a new folder");
    let out = env.watchdog(&folder, &["check", "--json", "--no-probe"]);
    assert_error(
        &out,
        "error/not_a_repository",
        &["plain", "not in a git repository", "-C PATH"],
    );
    assert_eq!(
        env.watchdog(&folder, &["run", "--json", "--", "touch", "ran"])
            .verdict(),
        "error/not_a_repository"
    );
    assert!(
        !folder.join("ran").exists(),
        "a session that cannot be judged is not begun"
    );
}

#[test]
fn home_folder_is_judged_only_by_name() {
    let env = TestEnv::new();
    let home = env.repo_named("home");
    let project = env.home().join("project");
    fs::create_dir(&project).expect("a new folder");
    let words = ["git init", "--worktree"];
    for command in [
        &["check", "--json"][..],
        &["run", "--json", "--", "touch", "ran"],
    ] {
        assert_error(
            &env.watchdog(&project, command),
            "error/not_a_repository",
            &words,
        );
    }
    env.watchdog(home.path(), &["snapshot"]).expect(16);
    env.watchdog(home.path(), &["-C", "project", "rescue"])
        .expect(16);
    for line in [
        &["doctor", "--json"][..],
        &["status", "--json"],
        &["explain"],
        &["logs"],
    ] {
        let out = env.watchdog(&project, line);
        let told = format!("{}{}", out.stdout, out.stderr);
        assert_parts(&told, &["a whole home", "--worktree"]);
    }
    let swept = env.watchdog(&project, &["sweep", "--json"]).expect(0);
    assert_eq!(swept.stdout, "", "{swept}");
    let hook = env
        .watchdog_command(&project, &["hook", "stop"])
        .stdin("{}");
    assert_eq!(hook.run().expect(0).stdout.trim(), "{}");
    assert!(!project.join("ran").exists());
    assert_eq!(home.git(&["for-each-ref", "refs/watchdog"]), "");
    env.watchdog(&project, &["--worktree", "..", "snapshot"])
        .expect(0);
}

#[test]
fn unreadable_merge_state_prevents_complete() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("work", "done");
    repo.commit_all("work");
    // A link to itself: the system does not say what is there.
    let mark = repo.path().join(".git/MERGE_HEAD");
    std::os::unix::fs::symlink(&mark, &mark).expect("a new link");
    let out = repo.watchdog(&["check", "--json", "--no-probe"]);
    assert_error(&out, "error/git_error", &["half done"]);
}

#[test]
fn a_bare_repository() {
    let env = TestEnv::new();
    let repo = env.repo();
    let bare = env.root().join("bare.git");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().expect("UTF-8")]);
    assert_error(
        &env.watchdog(&bare, &["check", "--json", "--no-probe"]),
        "error/not_a_repository",
        &["bare"],
    );
}

#[test]
fn an_unknown_baseline_is_named() {
    let env = TestEnv::new();
    let repo = env.repo();
    let gone = "1234567890123456789012345678901234567890";
    for revision in ["no-such-branch", gone, "HEAD~5"] {
        let out = repo.watchdog(&["check", "--json", "--no-probe", "--baseline", revision]);
        assert_error(&out, "error/git_error", &[revision]);
        assert_eq!(
            out.json()["new_commits"],
            json!(null),
            "unknown is never zero\n{out}"
        );
    }
}

#[test]
fn check_without_baseline_tells_how_to_record_one() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo.watchdog(&["check", "--json", "--no-probe"]).expect(16);
    let said = format!("{} {}", out.json()["message"], out.stderr);
    assert_parts(&said, &["baseline", " snapshot"]);
}

#[test]
fn unborn_baseline_sees_the_first_commit() {
    let env = TestEnv::new();
    let repo = env.unborn_repo("repo");
    assert_eq!(
        repo.watchdog(&["snapshot"]).expect(0).stdout.trim(),
        "unborn"
    );
    repo.write("a.txt", "a");
    repo.commit_all("first");
    let out = repo.watchdog(&["check", "--json"]).expect(0);
    out.assert_verdict(
        "complete/new_commits",
        json!({"baseline": "unborn", "new_commits": 1}),
    );
}

#[test]
fn missing_objects_are_an_error_not_an_absence() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("a.txt", "a");
    let lost = repo.commit_all("a");
    repo.write("b.txt", "b");
    repo.commit_all("b");
    fs::remove_file(
        repo.path()
            .join(".git/objects")
            .join(&lost[..2])
            .join(&lost[2..]),
    )
    .expect("a loose object");
    let out = repo.watchdog(&["check", "--json", "--no-probe"]);
    assert_error(&out, "error/git_error", &[]);
    assert_eq!(out.json()["new_commits"], json!(null), "{out}");
}

#[test]
fn unreadable_index_is_an_error_not_clean() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.config_asking(
        &[crate::support::Step::print("{\"status\": \"complete\"}")],
        json!({}),
    );
    repo.write("a.txt", "a");
    fs::write(repo.path().join(".git/index"), b"DIRC garbage").expect("a damaged index");
    let args = fill_line(
        "check --json --baseline HEAD --config {}",
        &[config.to_str().expect("UTF-8")],
    );
    assert_error(&repo.watchdog(&args), "error/git_error", &["index"]);
}

#[test]
fn a_state_folder_that_cannot_be_written() {
    let env = TestEnv::new();
    let repo = env.repo();
    let file = env.write("not-a-folder", "");
    let out = repo.watchdog_line(
        "check --json --no-probe --baseline HEAD --state-dir {}",
        &[file.to_str().expect("UTF-8")],
    );
    assert_error(&out, "error/store_error", &["not-a-folder"]);
    let out = repo.watchdog_line(
        "check --json --no-probe --baseline HEAD --state-dir /proc/no-such-place",
        &[],
    );
    assert_error(&out, "error/store_error", &["/proc/no-such-place"]);
}

#[test]
fn bad_configuration_names_line_and_nearest_key() {
    let env = TestEnv::new();
    let repo = env.repo();
    let config = env.write(
        "c.json",
        "{\n  \"version\": 1,\n  \"completion_check\": {\n    \"max_probs\": 3\n  }\n}\n",
    );
    let out = repo
        .watchdog_line(
            "check --no-probe --baseline HEAD --config {}",
            &[config.to_str().expect("UTF-8")],
        )
        .expect(2);
    for word in ["c.json", "max_probs", "max_probes", "4"] {
        assert!(out.stderr.contains(word), "\"{word}\" is not said\n{out}");
    }
}

#[test]
fn wrong_usage_exits_2_with_the_nearest_word() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo.watchdog(&["chekc"]).expect(2);
    assert!(
        out.stderr.contains("check") && out.stdout.is_empty(),
        "{out}"
    );
    repo.watchdog(&["check", "--probe-interval", "soon"])
        .expect(2);
    repo.watchdog(&["run", "--spec", "x"]).expect(2);
}

#[test]
fn a_session_that_cannot_be_started() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo
        .watchdog(&["run", "--json", "--", "no-such-agent", "-p"])
        .expect(15);
    assert_eq!(out.verdict(), "failed/agent_unrunnable");
    out.assert_has("message", "no-such-agent");
    let script = env.write("not-executable", "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).expect("our own file");
    let out = repo
        .watchdog(&["run", "--json", "--", script.to_str().expect("UTF-8")])
        .expect(15);
    assert_eq!(out.verdict(), "failed/agent_unrunnable");
}

#[test]
fn a_repository_owned_by_someone_else() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give a folder away. scripts/test runs as root on a fresh machine and in containers.
        println!("NOT CHECKED: only root can make a repository of another owner");
        return;
    }
    let env = TestEnv::new();
    let repo = env.repo();
    for path in [repo.path().to_owned(), repo.path().join(".git")] {
        std::os::unix::fs::chown(path, Some(12345), Some(12345)).expect("root may");
    }
    let out = repo.watchdog(&["check", "--json", "--no-probe", "--baseline", "HEAD"]);
    assert_error(&out, "error/git_error", &["owned by", "safe.directory"]);
}

#[test]
fn pipe_in_place_of_a_file_is_refused() {
    let env = TestEnv::new();
    let in_common_dir = fill_line(
        "config packed-refs shallow info/grafts objects/info/alternates refs/heads/main",
        &[],
    );
    let in_git_dir = ["HEAD", "index", "logs/HEAD", "commondir"];
    for name in in_common_dir.iter().chain(&in_git_dir) {
        let repo = env.repo_named(&format!("of-{}", name.replace('/', "-")));
        repo.watchdog(&["snapshot"]).expect(0);
        let path = repo.path().join(".git").join(name);
        make_pipe(&path);
        let out = repo.watchdog(&["check", "--json", "--no-probe"]);
        let told = if *name == "HEAD" {
            "HEAD is missing or damaged"
        } else {
            "is no file: to open it would be to wait for ever"
        };
        assert_error(
            &out,
            "error/git_error",
            &[told, path.to_str().expect("UTF-8")],
        );
    }
    let repo = env.repo_named("of-worktree");
    repo.watchdog(&["snapshot"]).expect(0);
    make_pipe(&repo.path().join("completion.json"));
    let out = repo.watchdog(&["check", "--json", "--no-probe"]);
    assert_eq!(out.verdict(), "error/config_error", "{out}");
    assert_eq!(out.code, Some(2), "{out}");
    let message = out.json()["message"].to_string();
    assert_parts(&message, &["completion.json: not a regular file"]);
}

fn make_pipe(path: &Path) {
    // It may be there or not.
    let _ = fs::remove_file(path);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
    assert!(
        Command::new("mkfifo")
            .arg(path)
            .status()
            .expect("mkfifo is there")
            .success()
    );
}

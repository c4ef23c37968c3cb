//! Results that cannot be written: no command ends with success where nobody got what it had to say.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Step, TestEnv};

/// Every command that prints a result, with what makes it come to one at once.
const COMMANDS: &[&[&str]] = &[
    &["snapshot"],
    &["snapshot", "--json"],
    &["check", "--no-probe", "--baseline", "HEAD"],
    &["check", "--json", "--no-probe", "--baseline", "HEAD"],
    &["run", "--json", "--max-probes", "0", "--", "true"],
    &["loop", "--json", "--dry-run", "--", "true"],
    &["sweep", "--no-probe"],
    &["sweep", "--json", "--no-probe"],
    &["probe", "--parse", "reply.json"],
    &["rescue", "--dry-run"],
    &["rescue", "list"],
    &["rescue", "list", "--json"],
    &["rescue", "show", "latest"],
    &["evaluate", "--context", "context.json"],
    &["breaker", "show"],
    &["breaker", "reset"],
    &["trust", "--list"],
    &["doctor"],
    &["doctor", "--json"],
    &["status"],
    &["status", "--json"],
    &["report"],
    &["report", "--json"],
    &["events"],
    &["events", "--json"],
    &["task", "list"],
    &["schema", "verdict"],
    &["schema", "config"],
    &["completions", "bash"],
    &["man"],
    &["--help"],
    &["check", "--help"],
    &["--version"],
];

#[test]
fn unwritten_result_makes_the_command_fail() {
    if !Path::new("/dev/full").exists() {
        // Only Linux has a device that is always full.
        return;
    }
    let env = TestEnv::new();
    let repo = env.repo();
    env.config_asking(&[Step::print("{\"status\": \"complete\"}")], json!({}));
    repo.write("reply.json", "{\"status\": \"complete\"}");
    repo.write("context.json", "{\"schema\": 1}");
    repo.write(".watchdog/tasks/T1.md", "---\nid: T1\ntitle: one\n---\n");
    repo.commit_all("what the commands read");
    repo.write("work.txt", "uncommitted");
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog(&["check", "--no-probe", "--json"]).expect(10);
    for args in COMMANDS {
        let out = repo.watchdog_command(args).stdout_to("/dev/full").run();
        assert_eq!(out.code, Some(16), "watchdog {}\n{out}", args.join(" "));
        assert!(
            out.stderr
                .contains("failed to write the result to stdout: No space left"),
            "watchdog {}\n{out}",
            args.join(" ")
        );
    }
}

#[test]
fn hook_exits_zero_and_tells_an_unwritten_answer() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo
        .watchdog_command(&["hook", "stop"])
        .stdin("{}")
        .stdout_to("/dev/full")
        .run();
    assert_eq!(out.code, Some(0), "{out}");
    out.assert_told(&["failed to write the result to stdout: No space left"]);
}

#[test]
fn a_reader_that_went_away_is_no_fault() {
    let env = TestEnv::new();
    let repo = env.repo();
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let line = "{ watchdog man; echo $? > ../code; } | true";
    env.command("sh", repo.path())
        .args(["-c", line])
        .run()
        .expect(0);
    assert_eq!(
        fs::read_to_string(repo.path().join("../code"))
            .expect("it ended")
            .trim(),
        "0"
    );
}

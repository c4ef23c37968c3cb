//! The loop in plain shell that a recipe shows, run as it stands there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::support::{TestEnv, wait_until};

const SOON: Duration = Duration::from_secs(60);

/// The block of shell that defines the session.
fn shell_loop() -> String {
    let recipe = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recipes/shell-loop.md"),
    )
    .expect("a page");
    let blocks: Vec<&str> = recipe
        .split("```sh\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .collect();
    blocks
        .into_iter()
        .find(|block| block.contains("while :"))
        .expect("the recipe has a loop")
        .to_owned()
}

fn program(env: &TestEnv, name: &str, text: &str) {
    let path = env.write(&format!("programs/{name}"), format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    env.install(name, &path);
}

#[test]
fn recipe_loop_restarts_only_after_a_fresh_look() {
    let mut env = TestEnv::new();
    let config = env.write(
        "config.json",
        json!({"checks": [{"type": "files", "paths": ["ok.txt"]}], "completion_check": {"max_probes": 0}, "rescue": {"mode": "single"}})
            .to_string(),
    );
    env.set("WATCHDOG_CONFIG", config);
    let marks = env.root().join("marks");
    fs::create_dir(&marks).expect("a folder");
    env.set("MARKS", &marks);
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    program(
        &env,
        "claude",
        "echo \"$*\" >> $MARKS/sessions; echo ok > ok.txt; git add -A; git commit -qm 'feat: ok'",
    );
    // Time passes: the other session ends, and only then does the pause.
    program(
        &env,
        "sleep",
        "echo \"$1\" >> $MARKS/slept; touch $MARKS/go; while [ ! -e $MARKS/over ]; do /bin/sleep 0.05; done",
    );
    let repo = env.repo();
    repo.write("PROMPT.md", "Build the thing.");
    repo.commit_all("a prompt");
    let other = "touch $MARKS/up; while [ ! -e $MARKS/go ]; do /bin/sleep 0.05; done; echo a > a.txt; git add -A; git commit -qm 'feat: a'";
    let first = repo.spawn_line("run --json --spec auth --no-probe -- sh -c {}", &[other]);
    wait_until("another session runs", SOON, || marks.join("up").exists());
    let mut looping = env
        .command("sh", repo.path())
        .args(["-c", &shell_loop()])
        .spawn();
    let over = marks.join("over");
    let ended = first.wait();
    assert!(
        marks.join("slept").exists(),
        "the loop waited for it: {ended}"
    );
    assert!(
        !marks.join("sessions").exists() && !looping.ended(),
        "no session beside the one that runs"
    );
    fs::write(over, "").expect("a file");
    let out = looping.wait().expect(0);
    assert!(out.stdout.ends_with("done\n"), "{out}");
    assert_eq!(
        fs::read_to_string(marks.join("slept")).expect("it slept"),
        "300\n",
        "{out}"
    );
    let sessions = fs::read_to_string(marks.join("sessions")).expect("a session");
    assert_eq!(
        sessions, "-p Build the thing. --allowedTools Bash Edit Write\n",
        "one session, after the look said that more work is wanted: {out}"
    );
    assert_eq!(repo.subjects_since("HEAD~2"), ["feat: ok", "feat: a"]);
}

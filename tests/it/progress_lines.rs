//! The lines of progress of `loop`, `task run`, `task work` and `sweep` in a terminal: there while something goes on, gone at the end.

use std::fs;
use std::time::Duration;

use regex::Regex;

use crate::support::{AtTerminal, Repo, TestEnv, fill_line, screen, wait_until};

const XTERM: &str = "xterm-256color";
const PATIENCE: Duration = Duration::from_secs(60);

/// Says something, waits for the file `go` beside the worktree, and commits.
fn session(env: &TestEnv) -> String {
    let go = env.root().join("go").display().to_string();
    format!(
        "echo reading the tests; while [ ! -e '{go}' ]; do sleep 0.02; done; date +%N > w.txt; git add -A; git commit -qm work"
    )
}

fn with_task(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: About T1\n---\n\nDo it.\n",
    );
    repo.write("completion.json", "{\"version\": 1, \"limits\": {\"cooldown_seconds\": 0}, \"completion_check\": {\"max_probes\": 0}}");
    repo.commit_all("a task");
    repo.watchdog(&["trust"]).expect(0);
    repo
}

/// Waits until the last lines of the screen have these words, then lets the session end; returns the screen of the end.
#[track_caller]
fn shown_until_the_end(env: &TestEnv, at: AtTerminal, words: &[&str]) -> Vec<String> {
    wait_until(
        &format!("{words:?} stand at the lower end"),
        PATIENCE,
        || {
            let seen = screen(&at.shown(), 100);
            let lower = seen[seen.len().saturating_sub(2)..].concat();
            words.iter().all(|word| lower.contains(word))
        },
    );
    fs::write(env.root().join("go"), "").expect("the scratch folder takes files");
    screen(&at.wait().1, 100)
}

#[test]
fn progress_lines_appear_and_disappear_completely() {
    for (args, words) in [
        (
            &["loop", "--max-iterations", "1"][..],
            &[
                "main · iteration 1/1 · 0:0",
                "session 0:0",
                ": reading the tests",
            ][..],
        ),
        (
            &["task", "run", "T1"],
            &["T1 · iteration 1/", "session 0:0", ": reading the tests"],
        ),
        (
            &["task", "work", "--agents", "1"],
            &[
                "agent-1: T1 · iteration 1/",
                " · session 0:0",
                ": reading the tests",
            ],
        ),
    ] {
        let env = TestEnv::new();
        let repo = with_task(&env);
        let script = session(&env);
        let at = repo
            .watchdog_command(&[args, &["--no-probe", "--", "sh", "-c", &script]].concat())
            .at_terminal_of(100, XTERM);
        let end = shown_until_the_end(&env, at, words);
        assert!(
            !end.iter().any(|line| line.contains("session 0:0")),
            "{args:?}: {end:#?}"
        );
        assert!(
            end.iter().any(|line| line.contains("complete")),
            "{args:?}: {end:#?}"
        );
    }
}

#[test]
fn piped_loop_tells_its_progress_with_time() {
    let env = TestEnv::new();
    let repo = with_task(&env);
    let script = session(&env);
    let args = fill_line("loop --max-iterations 1 --timeout 30m --no-probe", &[]);
    let args = [&args[..], &["--", "sh", "-c", &script]].concat();
    let running = repo.watchdog_command(&args).spawn();
    let line = r"(?m)^\d{4}-\S+Z watchdog: main · iteration 1/1 · 0:\d\d · .*session 0:\d\d of 30:00: reading the tests$";
    let line = Regex::new(line).expect("a fixed pattern");
    wait_until("the line is told", PATIENCE, || {
        line.is_match(&running.stderr_so_far())
    });
    fs::write(env.root().join("go"), "").expect("the scratch folder takes files");
    running.wait().expect(0);
}

#[test]
fn a_long_sweep_says_how_far_it_is() {
    let env = TestEnv::new();
    let (fast, slow) = (env.repo_named("all/fast"), env.repo_named("all/slow"));
    let go = env.root().join("go").display().to_string();
    let run = format!("while [ ! -e '{go}' ]; do sleep 0.02; done");
    slow.write(
        "completion.json",
        serde_json::json!({"checks": [{"type": "command", "name": "waits", "run": run}]})
            .to_string(),
    );
    slow.commit_all("criteria");
    slow.watchdog(&["trust"]).expect(0);
    for repo in [&fast, &slow] {
        repo.watchdog(&["snapshot"]).expect(0);
        repo.write("new.txt", "new");
        repo.commit_all("feat: new");
    }
    let all = env.root().join("all").display().to_string();
    let at = env
        .watchdog_command(&env.root(), &["sweep", "--no-probe", "--jobs", "2", &all])
        .at_terminal_of(100, XTERM);
    let end = shown_until_the_end(&env, at, &["1 of 2 worktrees · 0:0"]);
    assert!(
        !end.iter().any(|line| line.contains("of 2 worktrees ·")),
        "{end:#?}"
    );
    assert!(
        end.iter()
            .any(|line| line.starts_with("2 worktrees: 2 complete")),
        "{end:#?}"
    );
}

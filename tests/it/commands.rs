//! Commands around a judgement, as a newcomer types them.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::{Repo, TestEnv, wait_until};

/// An executable shell script in the environment's PATH.
fn script(env: &TestEnv, name: &str, text: &str) {
    env.install_script(name, format!("#!/bin/sh\n{text}"));
}

#[test]
fn demo_shows_every_kind_of_ending() {
    let env = TestEnv::new();
    let out = env.watchdog(&env.root(), &["demo"]).expect(0);
    for code in [
        "exit code 0",
        "exit code 10",
        "exit code 13",
        "exit code 14",
    ] {
        assert!(out.stdout.contains(code), "{code} is not shown\n{out}");
    }
    for number in 1..=7 {
        assert!(
            out.stdout.contains(&format!("\n{number}/7  ")),
            "example {number} has no title\n{out}"
        );
    }
    let commands: Vec<&str> = out
        .stdout
        .lines()
        .filter(|line| line.starts_with("$ watchdog "))
        .collect();
    assert!(
        commands.len() >= 9
            && commands
                .iter()
                .all(|line| line.len() <= 120 && !line.contains('\'')),
        "{commands:#?}"
    );
    assert!(
        out.stdout
            .contains("forgets.sh | echo 'fn logout() {}' > logout.rs"),
        "the script is shown before it runs\n{out}"
    );
    assert!(
        fs::read_dir(env.root().join("tmp"))
            .expect("it is there")
            .next()
            .is_none(),
        "the scratch repository is gone\n{out}"
    );
    env.assert_nothing_left();
}

#[test]
fn signal_ends_the_demo_and_its_processes() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let env = TestEnv::new();
        let demo = env.watchdog_spawn(&env.root(), &["demo"]);
        wait_until("the third example runs", Duration::from_secs(60), || {
            demo.stdout_so_far()
                .contains("$ watchdog --config ../background.json")
        });
        demo.signal(signal);
        let out = demo.wait().expect(code);
        assert!(out.stderr.contains("the demo was interrupted"), "{out}");
        assert!(
            fs::read_dir(env.root().join("tmp"))
                .expect("it is there")
                .next()
                .is_none(),
            "the scratch repository is gone\n{out}"
        );
        env.assert_nothing_left();
    }
}

#[test]
fn recipe_loop_repeats_only_on_exit_code_10() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("PROMPT.md", "MAIN TASK");
    repo.commit_all("the prompt");
    // The first session is cut short by nothing but itself: the agent, asked, still works; the second one commits.
    script(
        &env,
        "claude",
        r#"case "$*" in
  *--version*) echo "2.0.0 (scripted)" ;;
  *"MAIN TASK"*) if [ -e ../first ]; then echo x > done.txt; git add done.txt; git commit -qm "feat: done"; else touch ../first; echo half done > half.txt; sleep 30; fi ;;
esac
"#,
    );
    let recipe = include_str!("../../docs/recipes/shell-loop.md");
    let from = recipe.find("session() {").expect("the recipe shows a loop");
    let text = &recipe[from..from + recipe[from..].find("```").expect("the block ends")];
    let text = text.replace("--timeout 1h", "--timeout 5s --grace 1s");
    env.install(
        "watchdog",
        std::path::Path::new(env!("CARGO_BIN_EXE_watchdog")),
    );
    let out = env
        .command("sh", repo.path())
        .args(["-c", &text])
        .run()
        .expect(0);
    assert!(out.stdout.ends_with("done\n"), "{out}");
    out.assert_told(&["incomplete (unfinished)", "complete (new_commits)"]);
    assert_eq!(
        repo.subjects_since("HEAD~2"),
        ["feat: done", "chore(auth): rescue uncommitted work"]
    );
}

#[test]
fn completions_and_the_manual_page_know_every_command() {
    let env = TestEnv::new();
    let man = env.watchdog(&env.root(), &["man"]).expect(0);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let out = env.watchdog(&env.root(), &["completions", shell]).expect(0);
        for command in [
            "snapshot", "check", "run", "probe", "rescue", "breaker", "status", "report", "trust",
            "doctor", "demo",
        ] {
            assert!(
                out.stdout.contains(command),
                "{shell} does not know {command}"
            );
            assert!(
                man.stdout.contains(&format!("watchdog\\-{command}(1)")),
                "the manual does not know {command}"
            );
        }
    }
    let syntax = env
        .command("bash", &env.root())
        .args([
            "-n",
            "-c",
            &env.watchdog(&env.root(), &["completions", "bash"]).stdout,
        ])
        .run();
    syntax.expect(0);
}

#[test]
fn every_flag_has_a_variable_and_beats_it() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG_SPEC", "from-the-variable");
    let repo = env.repo();
    let spec = |args: &[&str]| repo.watchdog(args).expect(0).json()["spec"].clone();
    assert_eq!(spec(&["snapshot", "--json"]), "from-the-variable");
    assert_eq!(
        spec(&["snapshot", "--json", "--spec", "from-the-flag"]),
        "from-the-flag"
    );
}

fn recorded(repo: &Repo<'_>) -> serde_json::Value {
    repo.watchdog(&["check", "--no-probe", "--json"]).json()["baseline"].clone()
}

#[test]
fn a_lost_database_is_brought_back_from_git() {
    let env = TestEnv::new();
    let repo = env.repo();
    let baseline = repo
        .watchdog(&["snapshot", "--spec", "my work"])
        .expect(0)
        .stdout
        .trim()
        .to_string();
    repo.write("new.txt", "new");
    repo.watchdog(&["check", "--no-probe"]).expect(10);
    let before = repo.watchdog(&["rescue", "list"]).expect(0).stdout;
    for entry in fs::read_dir(env.state()).expect("it is there") {
        let path = entry.expect("it is there").path();
        if path.is_file() {
            fs::remove_file(path).expect("it is ours");
        }
    }
    let out = repo.watchdog(&["check", "--no-probe", "--json"]).expect(16);
    assert_eq!(out.verdict(), "error/no_baseline", "{out}");
    let out = repo.watchdog(&["doctor", "--rebuild", "--json"]).expect(0);
    assert_eq!(out.json()["baselines"], 1, "{out}");
    assert_eq!(
        out.json()["without_anchor"],
        serde_json::json!(["my work"]),
        "{out}"
    );
    let told = repo.watchdog(&["doctor", "--rebuild"]).expect(0);
    told.assert_printed(&["the anchors of my work", "--accept-criteria"]);
    assert_eq!(recorded(&repo), baseline.as_str());
    assert_eq!(
        repo.watchdog(&["rescue", "list"])
            .expect(0)
            .stdout
            .lines()
            .count(),
        before.lines().count()
    );
    repo.watchdog(&["snapshot", "--spec", "my work", "--accept-criteria"])
        .expect(0);
    let out = repo.watchdog(&["doctor", "--rebuild", "--json"]).expect(0);
    assert_eq!(out.json()["without_anchor"], serde_json::json!([]), "{out}");
}

#[test]
fn doctor_names_a_damaged_database_until_rebuilt() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let is_named = || {
        let answer = repo.watchdog(&["doctor", "--json"]).json();
        let findings = answer["findings"].as_array().expect("a list").iter();
        let mut records = findings.filter(|finding| finding["what"] == "records");
        records.any(|finding| finding["detail"].to_string().contains("was put aside"))
    };
    assert!(!is_named());
    let database = env.state().join("watchdog.db");
    fs::write(&database, [b'x'; 8192]).expect("it is ours");
    // It holds what the database is to hold next.
    let _ = fs::remove_file(database.with_extension("db-wal"));
    let out = repo.watchdog(&["check", "--no-probe", "--json"]).expect(16);
    assert_eq!(out.verdict(), "error/no_baseline", "{out}");
    assert!(is_named());
    repo.watchdog(&["doctor", "--rebuild"]).expect(0);
    assert!(!is_named());
}

#[test]
fn snapshots_are_listed_shown_restored_and_dropped() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("new.txt", "precious");
    repo.watchdog(&["check", "--baseline", "HEAD", "--no-probe"])
        .expect(10);
    let list = repo
        .watchdog(&["rescue", "list", "--json"])
        .expect(0)
        .json();
    let id = list["snapshots"][0]["id"]
        .as_str()
        .expect("there is one")
        .to_string();
    let shown = repo.watchdog(&["rescue", "show", &id]).expect(0);
    assert!(shown.stdout.contains("new.txt"), "{shown}");
    fs::remove_file(repo.path().join("new.txt")).expect("it is there");
    repo.watchdog(&["rescue", "restore", &id]).expect(0);
    assert_eq!(
        fs::read_to_string(repo.path().join("new.txt")).expect("it is back"),
        "precious"
    );
    repo.watchdog(&["rescue", "drop", &id]).expect(0);
    assert_eq!(
        repo.watchdog(&["rescue", "list", "--json"])
            .expect(0)
            .json()["snapshots"],
        serde_json::json!([])
    );
    repo.watchdog(&["rescue", "restore", &id])
        .expect(2)
        .assert_told(&["rescue list"]);
}

#[test]
fn first_configuration_is_trusted_until_it_changes() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write("Makefile", "test:\n\ttrue\n");
    repo.watchdog(&["init"]).expect(0);
    repo.watchdog(&["init"]).expect(2);
    repo.commit_all("chore: watch");
    let judged = || {
        let baseline = repo.head();
        repo.write("work.txt", std::process::id().to_string() + &baseline);
        repo.commit_all("feat: work");
        repo.watchdog(&["check", "--baseline", &baseline, "--json"])
    };
    assert_eq!(judged().verdict(), "complete/checks_passed");
    repo.write(
        "completion.json",
        r#"{"version": 1, "breaker": {"limit": 9}}"#,
    );
    repo.commit_all("chore: another limit");
    let out = judged().expect(12);
    assert_eq!(out.verdict(), "review/untrusted", "{out}");
    let message = out.json()["message"]
        .as_str()
        .expect("it says what to do")
        .to_string();
    assert!(
        message.ends_with(&format!("watchdog -C {} trust", repo.path().display())),
        "{message}"
    );
    repo.watchdog(&["trust"]).expect(0);
    assert_eq!(judged().verdict(), "complete/new_commits");
    repo.watchdog(&["untrust"]).expect(0);
    assert_eq!(judged().verdict(), "review/untrusted");
}

#[test]
fn reply_parsing_reads_file_or_stdin_without_asking() {
    let env = TestEnv::new();
    let file = env.write(
        "reply.txt",
        "Well:\n```json\n{\"status\": \"Done\", \"tasks_pending\": [\"b\"]}\n```\n",
    );
    let out = env
        .watchdog(
            &env.root(),
            &["probe", "--parse", file.to_str().expect("UTF-8"), "--json"],
        )
        .expect(0);
    assert_eq!(out.json()["reply"]["status"], "complete");
    out.assert_has("disputed", "pending");
    for (text, outcome, code) in [
        ("", "empty", 16),
        ("no idea", "unreadable", 16),
        (
            "You've hit your limit · resets 7pm (America/Los_Angeles)",
            "rate_limited",
            11,
        ),
    ] {
        let file = env.write("reply.txt", text);
        let out = env
            .watchdog(
                &env.root(),
                &["probe", "--parse", file.to_str().expect("UTF-8"), "--json"],
            )
            .expect(code);
        assert_eq!(out.json()["outcome"], outcome, "{out}");
    }
}

#[test]
fn version_and_help_work_without_repository_and_home() {
    let env = TestEnv::new();
    assert!(
        env.watchdog(&env.root(), &["--version"])
            .expect(0)
            .stdout
            .starts_with("watchdog ")
    );
    let help = env.watchdog(&env.root(), &["--help"]).expect(0);
    help.assert_printed(&["Exit codes:", "Start here:"]);
}

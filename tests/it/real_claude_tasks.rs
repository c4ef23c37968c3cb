//! A queue of tasks worked on by the real Claude Code CLI, with one watchdog and its session killed midway.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Claude, Rule, Running, config_asking, fill_line, processes_with, wait_until};

#[test]
fn killed_agent_leaves_dependent_tasks_to_the_other() {
    let gate = tempfile::tempdir().expect("a scratch folder");
    let (begun, go) = (gate.path().join("begun"), gate.path().join("go"));
    let commit =
        |id: &str| format!("echo {id} > {id}.txt && git add -A && git commit -qm 'feat: {id}'");
    let held_up = format!(
        "touch '{}'; while [ ! -e '{}' ]; do sleep 0.1; done; {}",
        begun.display(),
        go.display(),
        commit("A2")
    );
    let mut rules: Vec<Rule> = ["A1", "B1", "B2", "C", "D"]
        .map(|id| {
            Rule::bash(&commit(id))
                .when_offered("Bash")
                .when_last_user(&format!("Do {id}\\."))
                .always()
        })
        .into();
    rules.push(
        Rule::bash(&held_up)
            .when_offered("Bash")
            .when_last_user("Do A2\\.")
            .always(),
    );
    rules.push(Rule::text("I have done it.").when_offered("Bash").always());
    let claude = Claude::answering(rules);
    let repo = claude.env.repo();
    for (id, wanted) in [
        ("A1", ""),
        ("A2", ""),
        ("B1", "A1"),
        ("B2", "A2"),
        ("C", "B1, B2"),
        ("D", "C"),
    ] {
        repo.write(
            &format!(".watchdog/tasks/{id}.md"),
            format!("---\nid: {id}\ntitle: t\ndepends_on: [{wanted}]\n---\nDo {id}.\n"),
        );
    }
    repo.commit_all("six tasks");
    let more = json!({"limits": {"cooldown_seconds": 0}, "completion_check": {"max_probes": 0}});
    let config = config_asking(&claude.env, json!({"preset": "claude"}), more)
        .to_string_lossy()
        .into_owned();
    let args = [
        &fill_line(
            "task work --agents 1 --lease 3s --json --no-probe --child-wait 0s --config {}",
            &[&config],
        ) as &[&str],
        &["--agent", "claude", "--", "--allowedTools", "Bash"],
    ]
    .concat();
    let start = || -> Running {
        repo.watchdog_command(&args)
            .timeout(Duration::from_secs(170))
            .spawn()
    };

    let first = start();
    wait_until("A2 is under way", Duration::from_secs(60), || {
        begun.exists()
    });
    let second = start();
    first.signal(Signal::KILL);
    let _killed = first.wait().expect(137);
    processes_with("WATCHDOG_SPEC", "A2")
        .iter()
        .for_each(|process| process.kill());
    fs::write(&go, "").expect("a file");
    let out = second.wait().expect(0);

    assert_eq!(out.verdict(), "complete/checks_passed");
    let list = repo.watchdog(&["task", "list", "--json"]).expect(0).json();
    for task in list["tasks"].as_array().expect("a list") {
        assert_eq!(task["status"], "complete", "{task}\n{out}");
    }
    let last = repo.git(&["ls-tree", "--name-only", "watchdog/D"]);
    for id in ["A1", "A2", "B1", "B2", "C", "D"] {
        assert!(
            last.lines().any(|name| name == format!("{id}.txt")),
            "{last}"
        );
    }
    claude.env.assert_nothing_left();
}

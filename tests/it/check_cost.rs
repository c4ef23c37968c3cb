//! What judging costs: passes that are remembered, checks side by side, every feedback at once.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv};

/// A repository at the beginning of a session, and a command that counts how often it ran.
struct Counted<'env> {
    env: &'env TestEnv,
    repo: Repo<'env>,
}

impl<'env> Counted<'env> {
    fn new(env: &'env TestEnv) -> Self {
        let repo = env.repo();
        repo.watchdog(&["snapshot"]).expect(0);
        // A pass completes where something was done.
        repo.write("work.txt", "work");
        repo.commit_all("work");
        Counted { env, repo }
    }

    fn command(&self, then: &str) -> Value {
        json!({"type": "command", "name": "tests", "run": format!("echo ran >> '{}/ran'; {then}", self.env.root().display())})
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.env.root().join("ran"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    fn config(&self, config: Value) -> String {
        self.env
            .write("criteria.json", config.to_string())
            .to_string_lossy()
            .into_owned()
    }
}

#[track_caller]
fn cached(out: &CommandOutput) -> bool {
    out.json()["checks"][0]["cached"]
        .as_bool()
        .unwrap_or_else(|| panic!("{out}"))
}

#[test]
fn passed_command_reruns_only_after_a_change() {
    let env = TestEnv::new();
    let counted = Counted::new(&env);
    let repo = &counted.repo;
    let config = counted
        .config(json!({"rescue": {"mode": "snapshot"}, "checks": [counted.command("true")]}));
    let check = |more: &[&str]| {
        repo.watchdog(
            &[
                &["check", "--json", "--no-probe", "--config", &config],
                more,
            ]
            .concat(),
        )
        .expect(0)
    };
    assert!(!cached(&check(&[])));
    let again = check(&[]);
    assert!(cached(&again));
    again.assert_values(json!({"evidence": "committed"}));
    assert_eq!(counted.runs(), 1);
    let evaluate = |more: &[&str]| {
        let args = [&["evaluate", "--config", &config], more].concat();
        repo.watchdog_command(&args)
            .stdin("{\"schema\": 1}")
            .run()
            .expect(0)
    };
    assert!(cached(&evaluate(&[])), "whoever asks");
    assert_eq!(
        (cached(&check(&["--no-cache"])), counted.runs()),
        (false, 2)
    );
    assert_eq!(
        (cached(&evaluate(&["--no-cache"])), counted.runs()),
        (false, 3)
    );
    repo.write("new.txt", "untracked");
    assert!(!cached(&check(&[])), "an untracked file");
    assert!(!cached(&check(&[])), "nor is a pass beside one remembered");
    repo.commit_all("new");
    assert!(!cached(&check(&[])), "another tree");
    assert!(cached(&check(&[])));
    repo.write("new.txt", "changed");
    assert!(!cached(&check(&[])), "a changed file");
    repo.git(&["checkout", "-q", "new.txt"]);
    assert!(cached(&check(&[])), "the same tree as before");
    let runs = counted.runs();
    let other = repo
        .watchdog_command(&["check", "--json", "--no-probe", "--config", &config])
        .env("RUNNER", "none")
        .run();
    assert_eq!(
        (cached(&other), counted.runs()),
        (false, runs + 1),
        "another environment"
    );
    let without_input = repo.watchdog_line(
        "check --json --no-probe --config {} --spec main --max-probes 0",
        &[&config],
    );
    assert!(cached(&without_input), "what is no input");
}

#[test]
fn failed_or_tree_changing_commands_are_not_remembered() {
    let env = TestEnv::new();
    let counted = Counted::new(&env);
    let check = |then: &str| {
        let config = counted
            .config(json!({"rescue": {"mode": "snapshot"}, "checks": [counted.command(then)]}));
        counted
            .repo
            .watchdog(&["check", "--json", "--no-probe", "--config", &config])
    };
    for _ in 0..2 {
        assert!(!cached(&check("false").expect(10)));
    }
    assert!(!cached(&check("echo x > report.txt").expect(0)));
    std::fs::remove_file(counted.repo.path().join("report.txt")).unwrap();
    assert!(
        !cached(&check("echo x > report.txt").expect(0)),
        "it passed on one tree, and left another"
    );
    assert_eq!(counted.runs(), 4);
}

#[test]
fn commands_run_in_parallel_unless_ordered() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("work.txt", "work");
    repo.commit_all("work");
    // Each waits for the other one.
    let waits = |own: &str, other: &str| {
        let at = |name: &str| env.root().join(name).display().to_string();
        let line = format!(
            "touch '{}'; until [ -e '{}' ]; do sleep 0.05; done",
            at(own),
            at(other)
        );
        json!({"type": "command", "name": own, "run": line, "timeout_seconds": 20})
    };
    let check = |config: Value| {
        let config = env
            .write("criteria.json", config.to_string())
            .to_string_lossy()
            .into_owned();
        repo.watchdog(&["check", "--json", "--no-probe", "--config", &config])
    };
    let out = check(
        json!({"rescue": {"mode": "snapshot"}, "checks": [waits("a", "b"), waits("b", "a")]}),
    )
    .expect(0);
    let names: Vec<Value> = out.json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].clone())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let mut first = waits("c", "d");
    first["timeout_seconds"] = json!(1);
    let out = check(
        json!({"order": "given", "rescue": {"mode": "snapshot"}, "checks": [first, waits("d", "c")]}),
    );
    assert_eq!(out.verdict(), "review/verify_timeout");
    assert!(!env.root().join("d").exists(), "the second one never began");
}

#[test]
fn all_mode_tells_every_missing_item_at_once() {
    let env = TestEnv::new();
    let counted = Counted::new(&env);
    let missing = |path: &str| json!({"type": "files", "paths": [path]});
    let checks = json!([missing("a.md"), counted.command("false"), missing("b.md")]);
    let config = counted.config(json!({"rescue": {"mode": "snapshot"}, "checks": checks}));
    let check = |more: &[&str]| {
        let out = counted
            .repo
            .watchdog(
                &[
                    &["check", "--json", "--no-probe", "--config", &config],
                    more,
                ]
                .concat(),
            )
            .expect(10);
        (
            out.json()["feedback"].as_str().unwrap().to_owned(),
            out.json()["checks"].as_array().unwrap().len(),
        )
    };
    let (feedback, asked) = check(&[]);
    assert!(
        feedback.contains("a.md") && !feedback.contains("b.md"),
        "{feedback}"
    );
    assert_eq!((asked, counted.runs()), (1, 0), "the command need not run");
    let (feedback, asked) = check(&["--all"]);
    assert!(
        ["a.md", "exit 1", "b.md"]
            .iter()
            .all(|word| feedback.contains(word)),
        "{feedback}"
    );
    assert_eq!((asked, counted.runs()), (3, 1));
}

//! A person pulls between two sessions of a spec that has criteria and an anchor: what counts as made here, and where the anchor goes.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, Step, TestEnv, fill_line};

/// Where a colleague's commits come from.
struct Shared<'env> {
    repo: Repo<'env>,
    colleague: Repo<'env>,
}

impl<'env> Shared<'env> {
    /// A repository whose criteria are trusted, its upstream, and a colleague's clone of that.
    fn new(env: &'env TestEnv, name: &str) -> Self {
        let repo = env.repo_named(&format!("{name}/repo"));
        repo.write("tests/login.test", "test -f login.txt\n");
        let criteria = json!({
            "guards": ["tests/**"],
            "rescue": {"mode": "single"},
            "completion_check": {"max_probes": 0},
            "checks": [{"type": "command", "name": "tests", "run": "sh tests/login.test"}],
        });
        repo.write("completion.json", criteria.to_string());
        repo.commit_all("the criteria");
        repo.watchdog(&["trust"]).expect(0);
        let upstream = env
            .root()
            .join(name)
            .join("upstream.git")
            .to_string_lossy()
            .into_owned();
        repo.git(&["clone", "-q", "--bare", ".", &upstream]);
        repo.git(&["remote", "add", "origin", &upstream]);
        repo.git(&["fetch", "-q", "origin"]);
        repo.git(&["branch", "-q", "--set-upstream-to", "origin/main"]);
        let colleague = Repo::new(env, env.root().join(name).join("colleague"));
        repo.git_line(
            "clone -q {} {}",
            &[&upstream, &colleague.path().to_string_lossy()],
        );
        colleague.git(&["config", "user.name", "Colleague"]);
        colleague.git(&["config", "user.email", "colleague@example.invalid"]);
        Shared { repo, colleague }
    }

    /// The colleague asks for more in a guarded test, and pushes it.
    fn colleague_pushes(&self) {
        self.colleague.write(
            "tests/login.test",
            "test -f login.txt && test -f logout.txt\n",
        );
        self.colleague.commit_all("a better test");
        self.colleague.git(&["push", "-q", "origin", "main"]);
    }

    fn run(&self, script: &str) -> CommandOutput {
        self.repo
            .watchdog_line("run --json --no-probe --no-rescue -- sh -c {}", &[script])
    }

    fn check(&self) -> CommandOutput {
        self.repo
            .watchdog(&["check", "--json", "--no-probe", "--no-rescue"])
    }
}

fn counts(out: &CommandOutput) -> (Value, Value) {
    (
        out.json()["new_commits"].clone(),
        out.json()["imported_commits"].clone(),
    )
}

const BOTH: &str = "touch login.txt logout.txt; git add -A; git commit -qm both";
const HALF: &str = "echo half > half.txt; git add half.txt; git commit -qm half";

#[test]
fn only_fast_forward_and_rebase_carry_the_anchor() {
    let env = TestEnv::new();
    for (how, first, verdict, code) in [
        (
            "--ff-only",
            "echo half > half.txt",
            "complete/checks_passed",
            0,
        ),
        ("--rebase", HALF, "complete/checks_passed", 0),
        ("--no-rebase", HALF, "review/criteria_changed", 12),
    ] {
        let shared = Shared::new(&env, how.trim_start_matches('-'));
        shared.run(first).expect(10);
        shared.colleague_pushes();
        shared.repo.git(&["pull", "-q", "--no-edit", how]);
        let out = shared.run(BOTH).expect(code);
        assert_eq!(
            (out.verdict().as_str(), counts(&out)),
            (verdict, (json!(1), json!(0))),
            "{how}: {out}"
        );
        assert_eq!(
            out.json()["degraded"] == json!([]),
            code == 0,
            "{how}: {out}"
        );
        if code == 0 {
            assert_eq!(
                out.json()["inherited"],
                json!(0),
                "what the first session left is the spec's: {out}"
            );
        } else {
            shared
                .repo
                .watchdog(&["snapshot", "--accept-criteria"])
                .expect(0);
            assert_eq!(
                shared
                    .run("echo more > more.txt; git add -A; git commit -qm more")
                    .expect(0)
                    .verdict(),
                "complete/checks_passed"
            );
        }
    }
}

#[test]
fn pull_by_a_person_is_no_criteria_change() {
    let env = TestEnv::new();
    for (how, first, counted, verdict, code) in [
        ("--ff-only", "true", (1, 1), "incomplete/unfinished", 10),
        ("--rebase", BOTH, (2, 1), "complete/checks_passed", 0),
        ("--no-rebase", BOTH, (3, 1), "review/criteria_changed", 12),
    ] {
        let shared = Shared::new(&env, how.trim_start_matches('-'));
        shared.run(first);
        shared.colleague_pushes();
        shared.repo.git(&["pull", "-q", "--no-edit", how]);
        for command in [&["check"][..], &["sweep"]] {
            let out = shared
                .repo
                .watchdog(&[command, &["--json", "-q", "--no-probe", "--no-rescue"]].concat());
            assert_eq!(
                out.code,
                Some(if command == ["sweep"] && code == 10 {
                    0
                } else {
                    code
                }),
                "{how}: {out}"
            );
            assert_eq!(
                (out.verdict().as_str(), counts(&out)),
                (verdict, (json!(counted.0), json!(counted.1))),
                "{how}: {out}"
            );
            let told = out.json()["degraded"]
                .to_string()
                .contains("criteria_changed");
            assert_eq!(told, code == 12, "{how}: {out}");
        }
    }
}

#[test]
fn pulling_commits_the_session_fetched_moves_no_anchor() {
    let env = TestEnv::new();
    let shared = Shared::new(&env, "fetched");
    shared.colleague_pushes();
    shared.run("git fetch -q origin").expect(10);
    shared
        .repo
        .git(&["merge", "-q", "--ff-only", "origin/main"]);
    let out = shared.run(BOTH).expect(12);
    assert_eq!(
        out.verdict(),
        "review/criteria_changed",
        "the ref was there when the session ended: {out}"
    );
}

#[test]
fn leftover_daemon_cannot_move_the_anchor() {
    let env = TestEnv::new();
    let shared = Shared::new(&env, "daemon");
    let over = env.root().join("over");
    let daemon = env.fake_agent("daemon", &[Step::daemon(&[Step::wait_for(&over)])]);
    let args = fill_line(
        "run --json --no-probe --no-rescue --child-wait 0s -- {} {}",
        &[&daemon[0], &daemon[1]],
    );
    shared.repo.watchdog(&args).expect(10);
    shared.colleague_pushes();
    shared.repo.git(&["pull", "-q", "--ff-only"]);
    assert!(
        shared.check().stdout.contains("criteria_changed"),
        "it may have been the daemon that pulled"
    );
    std::fs::write(over, "").unwrap();
    env.assert_nothing_left();
    assert!(!shared.check().stdout.contains("criteria_changed"));
}

#[test]
fn pull_satisfying_the_checks_completes_the_spec() {
    let env = TestEnv::new();
    let shared = Shared::new(&env, "alone");
    shared.run("true").expect(10);
    shared.colleague.write("login.txt", "");
    shared.colleague.commit_all("login");
    shared.colleague.git(&["push", "-q", "origin", "main"]);
    shared.repo.git(&["pull", "-q", "--ff-only"]);
    let out = shared.check().expect(0);
    out.assert_verdict("complete/checks_passed", json!({"made_here": 0}));
    assert_eq!(counts(&out), (json!(1), json!(1)), "{out}");
    assert_eq!(out.json()["checks"][0]["before"], "failed", "{out}");
    let out = shared.run("true").expect(10);
    out.assert_verdict(
        "incomplete/unfinished",
        json!({"/checks/0/before": "passed"}),
    );
}

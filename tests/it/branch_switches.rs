//! Branches are switched within the work of one spec: by the agent, and by a person between two sessions.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv};

/// A repository with a check that wants a file.
pub fn repo<'env>(env: &'env TestEnv, name: &str) -> Repo<'env> {
    let repo = env.repo_named(name);
    let criteria = json!({
        "rescue": {"mode": "single"},
        "completion_check": {"max_probes": 0},
        "checks": [{"type": "command", "name": "there", "run": "test -f done.txt"}],
    });
    repo.write("completion.json", criteria.to_string());
    repo.commit_all("the criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo
}

fn run(repo: &Repo<'_>, more: &[&str], script: &str) -> CommandOutput {
    repo.watchdog(
        &[
            &["run", "--json", "--no-probe", "--no-rescue"],
            more,
            &["--", "sh", "-c", script],
        ]
        .concat(),
    )
}

fn spec_and_branch(out: &CommandOutput) -> (Value, Value) {
    (out.json()["spec"].clone(), out.json()["branch"].clone())
}

const HALF: &str = "echo half > half.txt; git add half.txt; git commit -qm half";
const DONE: &str = "touch done.txt; git add done.txt; git commit -qm done";

#[test]
fn unnamed_spec_stays_with_its_baseline_until_complete() {
    let env = TestEnv::new();
    for (name, agent, person) in [
        ("agent", "git switch -qc other; ", None),
        ("person", "", Some(["switch", "-q", "-c", "other"])),
    ] {
        let repo = repo(&env, name);
        let first = run(
            &repo,
            &[],
            &format!("{agent}{HALF}; echo draft > draft.txt"),
        )
        .expect(10);
        first.assert_verdict("incomplete/checks_unmet", json!({"spec": "main"}));
        first.assert_values(json!({"made_here": 1, "imported_commits": 0}));
        if let Some(switch) = person {
            repo.git(&switch);
        }
        // A look in between, and the next session, are about the same work; what the first session left is its own.
        let look = repo
            .watchdog(&["check", "--json", "--no-probe", "--no-rescue"])
            .expect(10);
        assert_eq!(
            spec_and_branch(&look),
            (json!("main"), json!("other")),
            "{look}"
        );
        assert_eq!(
            (&look.json()["made_here"], &look.json()["baseline"]),
            (&json!(1), &first.json()["baseline"]),
            "{look}"
        );
        let second = run(&repo, &[], DONE).expect(0);
        assert_eq!(
            (second.verdict().as_str(), spec_and_branch(&second)),
            ("complete/checks_passed", (json!("main"), json!("other")))
        );
        assert_eq!(
            (&second.json()["inherited"], &second.json()["made_here"]),
            (&json!(0), &json!(1)),
            "{second}"
        );
        let next = run(&repo, &[], "true").expect(10);
        assert_eq!(
            next.json()["spec"],
            "other",
            "what begins after a complete has the name of its branch: {next}"
        );
    }
}

#[test]
fn spec_on_another_branch_takes_the_worktree_anchor() {
    let env = TestEnv::new();
    let repo = repo(&env, "weaker");
    run(&repo, &[], DONE).expect(0);
    repo.git(&["switch", "-q", "-c", "other"]);
    let weaker = json!({"checks": [{"type": "always"}]}).to_string();
    let out =
        run(&repo, &[], &format!("git rm -q done.txt; echo '{weaker}' > completion.json; git add -A; git commit -qm weaker")).expect(10);
    out.assert_verdict("incomplete/checks_unmet", json!({"spec": "other"}));
    out.assert_has("degraded", "criteria_changed");
}

#[test]
fn commits_of_the_switched_branch_are_imported() {
    let env = TestEnv::new();
    let repo = repo(&env, "older");
    repo.git(&["switch", "-q", "-c", "older"]);
    repo.write("theirs.txt", "theirs");
    repo.commit_all("feat: theirs");
    repo.git(&["switch", "-q", "main"]);
    let by_agent = run(&repo, &[], "git switch -q older").expect(10);
    by_agent.assert_values(json!({"made_here": 0, "imported_commits": 1}));
    let and_works = run(
        &repo,
        &[],
        "git switch -q main; git merge -q --ff-only older; touch done.txt; git add -A; git commit -qm done",
    );
    and_works.assert_verdict("complete/checks_passed", json!({"made_here": 1}));
    and_works.assert_values(json!({"imported_commits": 0, "new_commits": 1}));
}

#[test]
fn named_specs_have_own_baselines_on_every_branch() {
    let env = TestEnv::new();
    let repo = repo(&env, "named");
    let first = run(&repo, &["--spec", "auth"], HALF).expect(10);
    repo.git(&["switch", "-q", "-c", "other"]);
    let between = run(
        &repo,
        &["--spec", "docs"],
        "echo d > d.txt; git add d.txt; git commit -qm docs",
    )
    .expect(10);
    assert_eq!(between.json()["made_here"], json!(1), "{between}");
    let of = |spec: &str| {
        repo.watchdog_line("check --json --no-probe --no-rescue --spec {}", &[spec])
            .expect(10)
            .json()
    };
    assert_eq!(
        (&of("auth")["baseline"], &of("auth")["made_here"]),
        (&first.json()["baseline"], &json!(2))
    );
    assert_eq!(
        (&of("docs")["baseline"], &of("docs")["made_here"]),
        (&between.json()["baseline"], &json!(1))
    );
}

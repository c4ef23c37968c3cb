//! `watchdog report`: what a period came to, in figures.

use serde_json::{Value, json};

use crate::support::{Repo, Step, TestEnv};

fn report(env: &TestEnv, args: &[&str]) -> Value {
    env.watchdog(&env.root(), &[&["report", "--json", "-q"], args].concat())
        .expect(0)
        .json()
}

fn judged<'env>(env: &'env TestEnv, name: &str, sessions: usize) -> Repo<'env> {
    let repo = env.repo_named(name);
    for n in 0..sessions {
        let commit = format!("echo {n} > f{n}; git add -A; git commit -qm 'feat: {n}'");
        repo.watchdog(&["run", "--spec", "s", "--", "sh", "-c", &commit])
            .expect(0);
    }
    repo
}

#[test]
fn report_counts_once_by_day_and_worktree() {
    let env = TestEnv::new();
    let (busy, _quiet) = (judged(&env, "all/busy", 3), judged(&env, "quiet", 1));
    busy.watchdog(&["check", "--no-probe", "--baseline", "HEAD"])
        .expect(10);
    let first = report(&env, &[]);
    assert_eq!(
        first["sessions"],
        json!({"started": 4, "ended": 4}),
        "{first}"
    );
    assert_eq!(
        first["verdicts"]["by_status"],
        json!({"complete": 4, "incomplete": 1}),
        "{first}"
    );
    assert_eq!(
        first["verdicts"]["by_reason"],
        json!({"new_commits": 4, "unfinished": 1})
    );
    assert_eq!(
        (&first["tokens"]["input"], &first["cost"]["usd"]),
        (&Value::Null, &Value::Null),
        "nobody told, so it is not zero"
    );
    assert_eq!(
        (&first["cost"]["told_by"], &first["cost"]["of"]),
        (&json!(0), &json!(4))
    );
    let paths: Vec<&str> = first["worktrees"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["worktree"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            busy.path().to_str().unwrap(),
            env.root().join("quiet").to_str().unwrap()
        ]
    );
    let sum = |key: &str| {
        first["days"]
            .as_array()
            .unwrap()
            .iter()
            .map(|day| day["sessions"][key].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(
        (sum("started"), &report(&env, &[])),
        (4, &first),
        "asking again changes nothing"
    );

    assert_eq!(report(&env, &["all"])["verdicts"]["total"], 4);
    assert_eq!(report(&env, &["nowhere"])["verdicts"]["total"], 0);
    assert_eq!(report(&env, &["-C", "quiet"])["sessions"]["started"], 1);
    assert_eq!(
        report(&env, &["--since", "2096-03-04"])["sessions"]["started"],
        0
    );
    busy.watchdog(&["check", "--baseline", "HEAD~1"]).expect(0);
    assert_eq!(report(&env, &["--since", "52w"])["verdicts"]["total"], 6);
}

fn schema() -> jsonschema::Validator {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/schema/report.json"
    ))
    .unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

#[track_caller]
pub fn assert_valid(found: &Value) {
    let faults: Vec<String> = schema()
        .iter_errors(found)
        .map(|fault| format!("{} at {}", fault, fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}\n{found:#}");
}

#[test]
fn looks_of_sweeps_do_not_count_as_sessions() {
    let env = TestEnv::new();
    let repo = judged(&env, "repo", 3);
    for _ in 0..5 {
        repo.watchdog(&["sweep", "--no-probe"]).expect(0);
        repo.watchdog(&["check", "--spec", "s", "--no-probe"])
            .expect(0);
    }
    let found = report(&env, &[]);
    assert_valid(&found);
    let judgements = &found["measures"]["judgements"];
    assert_eq!(
        (&judgements["sessions"], &judgements["changes"]),
        (&json!(3), &json!(0)),
        "{found:#}"
    );
    assert_eq!(judgements["sessions_by_reason"], json!({"new_commits": 3}));
    assert_eq!(
        judgements["looks"],
        found["verdicts"]["total"].as_u64().unwrap() - 3
    );
    assert!(judgements["looks"].as_u64().unwrap() >= 5, "{found:#}");
    let completions = &found["measures"]["completions"];
    assert_eq!(
        (
            &completions["total"],
            &completions["seconds"]["told_by"],
            &completions["cost_usd"]["median"]
        ),
        (&json!(3), &json!(3), &Value::Null)
    );
    let people = env.watchdog(&env.root(), &["report"]).expect(0);
    people.assert_printed(&["judged      3 sessions, 0 changes without one;"]);
    assert!(
        people
            .stdout
            .lines()
            .filter(|line| !line.contains('/'))
            .all(|line| line.chars().count() <= 120),
        "{people}"
    );
}

#[test]
fn ended_session_is_undecided_until_work_resumes() {
    let env = TestEnv::new();
    let repo = env.repo_named("repo");
    repo.watchdog_line("run --spec s --no-probe --timeout 1s -- sleep 600", &[])
        .expect(13);
    let aborts = || report(&env, &[])["measures"]["aborts"].clone();
    let of = |aborts: &Value| {
        ["total", "went_on", "held", "undecided"].map(|key| aborts[key].as_u64().unwrap())
    };
    let found = aborts();
    assert_eq!(
        (of(&found), &found["false_rate"]),
        ([1, 0, 0, 1], &Value::Null),
        "{found}"
    );
    repo.watchdog(&["check", "--spec", "s", "--no-probe"]);
    assert_eq!(of(&aborts()), [1, 0, 0, 1], "a look decides nothing");
    let commit = "echo 1 > f; git add -A; git commit -qm 'feat: 1'";
    repo.watchdog(&["run", "--spec", "s", "--", "sh", "-c", commit])
        .expect(0);
    let found = aborts();
    assert_eq!(
        (of(&found), &found["false_rate"]),
        ([1, 1, 0, 0], &json!(1.0)),
        "{found}"
    );
    assert_eq!(
        found["by_why"]["session_timeout"]["went_on_in_new_session"], 1,
        "{found}"
    );
    let specs = &report(&env, &[])["specs"];
    assert_eq!(
        (&specs[0]["spec"], &specs[0]["measures"]["aborts"]["total"]),
        (&json!("s"), &json!(1)),
        "{specs:#}"
    );
}

#[test]
fn older_version_counts_are_unmeasured_never_zero() {
    let env = TestEnv::new();
    let repo = judged(&env, "repo", 1);
    report(&env, &[]);
    let store = rusqlite::Connection::open(env.state().join("watchdog.db")).unwrap();
    let old = r#"{"v":1,"through":0,"all":{"sessions_started":7},"worktrees":{}}"#;
    let changed = store
        .execute(
            "UPDATE record SET value = CAST(?1 AS BLOB) WHERE key LIKE 'figures/%'",
            [old],
        )
        .unwrap();
    assert_eq!(changed, 1);
    let found = report(&env, &[]);
    assert_valid(&found);
    assert_eq!(
        (
            &found["measures"],
            &found["measures_since"],
            &found["sessions"]["started"]
        ),
        (&Value::Null, &Value::Null, &json!(7))
    );
    let people = env.watchdog(repo.path(), &["report"]).expect(0);
    people.assert_printed(&["not measured yet", "judged      not measured"]);
}

#[test]
fn report_sums_known_usage_and_names_the_unknown() {
    let env = TestEnv::new();
    let repo = judged(&env, "repo", 1);
    let told = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "session_id": "s", "num_turns": 2,
                      "total_cost_usd": 0.25, "usage": {"input_tokens": 1200, "output_tokens": 34}});
    let argv = env.fake_agent("agent", &[Step::print_json(&told)]);
    repo.watchdog(
        &[
            &["run", "--spec", "s", "--no-probe", "--"][..],
            &argv.each_ref().map(String::as_str),
        ]
        .concat(),
    )
    .expect(10);
    let found = report(&env, &[]);
    assert_eq!(
        found["cost"],
        json!({"usd": 0.25, "told_by": 1, "of": 2}),
        "{found}"
    );
    assert_eq!(
        found["tokens"],
        json!({"input": 1200, "output": 34, "told_by": 1, "of": 2}),
        "{found}"
    );
    let people = env.watchdog(&env.root(), &["report"]).expect(0);
    for line in [
        "tokens      1,200 in, 34 out (not told by 1 of 2 sessions)",
        "cost        $0.25 (not told by 1 of 2 sessions)",
    ] {
        assert!(people.stdout.contains(line), "{people}");
    }
    people.assert_printed(&["2 began, 2 ended", "####"]);
}

#[test]
fn empty_or_invalid_report_names_the_remedy() {
    let env = TestEnv::new();
    let out = env.watchdog(&env.root(), &["report"]).expect(0);
    assert!(
        out.stdout.is_empty() && out.stderr.contains("watchdog events --all"),
        "{out}"
    );
    let out = env
        .watchdog(&env.root(), &["report", "--since", "yesterday"])
        .expect(2);
    assert!(out.stderr.contains("write 7d, 4w or 2026-03-04"), "{out}");
    assert_valid(&report(&env, &[]));
    for since in ["0d", "99999999999d", "0001-01-01", "9999-12-01"] {
        assert_eq!(
            report(&env, &[&format!("--since={since}")])["verdicts"]["total"],
            0,
            "{since}"
        );
    }
}

#[test]
fn names_from_outside_cannot_steer_a_terminal() {
    let env = TestEnv::new();
    judged(&env, "re\u{1b}[31mpo", 1);
    for args in [&["report"][..], &["report", "--json"]] {
        let out = env.watchdog(&env.root(), args).expect(0);
        assert!(
            !out.stdout.contains('\u{1b}') && out.stdout.contains("re\\"),
            "{out}"
        );
    }
}

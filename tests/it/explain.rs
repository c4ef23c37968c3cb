//! `watchdog explain`: why a verdict is as it is, told from the journal alone.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use watchdog_judge::wire::explain_json::EXPLAIN_SCHEMA;

use crate::support::{Repo, Step, TestEnv, assert_parts};

/// How a worktree comes to its verdict.
type Story = fn(&Repo<'_>);

/// The reason, the story, the agent's answer, the configuration, more flags, and a rule that must have applied.
type ExplainedCase<'a> = (
    &'a str,
    Story,
    Option<&'a Value>,
    Value,
    &'a [&'a str],
    &'a str,
);

fn nothing(_: &Repo<'_>) {}

fn commit(repo: &Repo<'_>) {
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
}

fn edit(repo: &Repo<'_>) {
    repo.write("left.txt", "left");
}

fn conflict(repo: &Repo<'_>) {
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("README.md", "theirs\n");
    repo.commit_all("theirs");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("README.md", "ours\n");
    repo.commit_all("ours");
    repo.try_git(&["merge", "other"]);
}

fn check(run: &str) -> Value {
    json!({"checks": [{"type": "command", "name": "tests", "run": run}]})
}

/// What an agent answers, again and again.
fn says(status: &str, pending: &[&str]) -> Value {
    json!({"status": status, "message": "scripted", "tasks_pending": pending, "should_continue": true})
}

/// A judged worktree, and the config that judged it.
fn judged<'env>(
    env: &'env TestEnv,
    name: &str,
    story: Story,
    answer: Option<&Value>,
    more: Value,
    flags: &[&str],
) -> (Repo<'env>, Value) {
    let repo = env.repo_named(name);
    let mut config = more;
    config["completion_check"] = json!({"probe_interval_seconds": 0, "max_probes": 2});
    let steps = [answer.map_or_else(|| Step::print("gibberish"), Step::print_json)];
    let config = env.config_asking(&steps, config);
    let config = config.to_string_lossy();
    repo.watchdog(&["snapshot", "--spec", "s", "--config", &config])
        .expect(0);
    story(&repo);
    let out = repo.watchdog(
        &[
            &["check", "--json", "--spec", "s", "--config", &config][..],
            flags,
        ]
        .concat(),
    );
    let verdict = out.json();
    (repo, verdict)
}

#[test]
fn journal_alone_explains_every_verdict() {
    let complete = says("complete", &[]);
    let waiting = says("waiting", &[]);
    let disputed = says("complete", &["half of it"]);
    let stop = json!({"status": "working", "message": "no", "should_continue": false});
    let none = json!({});
    let cases: [ExplainedCase<'_>; 14] = [
        (
            "new_commits",
            commit,
            None,
            none.clone(),
            &[],
            "commits_decide",
        ),
        (
            "rescued",
            edit,
            Some(&complete),
            none.clone(),
            &[],
            "complete_against_git",
        ),
        (
            "nothing_to_do",
            nothing,
            Some(&complete),
            none.clone(),
            &[],
            "complete_against_git",
        ),
        (
            "checks_passed",
            commit,
            None,
            check("true"),
            &[],
            "checks_decide",
        ),
        (
            "checks_unmet",
            commit,
            None,
            check("false"),
            &[],
            "unmet_with_commits",
        ),
        (
            "unfinished",
            nothing,
            None,
            none.clone(),
            &["--no-probe"],
            "no_probe_by_option",
        ),
        (
            "max_probes",
            nothing,
            Some(&waiting),
            none.clone(),
            &[],
            "every_probe_spent",
        ),
        (
            "disputed",
            nothing,
            Some(&disputed),
            none.clone(),
            &[],
            "disputed_reply",
        ),
        (
            "agent_stopped",
            edit,
            Some(&stop),
            none.clone(),
            &[],
            "agent_stops",
        ),
        (
            "probe_error",
            nothing,
            None,
            none.clone(),
            &[],
            "no_usable_reply",
        ),
        (
            "no_criteria",
            commit,
            None,
            json!({"on_no_criteria": "review"}),
            &[],
            "no_criteria_configured",
        ),
        (
            "rescue_incomplete",
            edit,
            Some(&complete),
            none.clone(),
            &["--no-rescue"],
            "rescue_must_save",
        ),
        (
            "verify_unrunnable",
            commit,
            None,
            check("./not-there"),
            &[],
            "no_pass_without_result",
        ),
        (
            "operation_in_progress",
            conflict,
            None,
            none.clone(),
            &[],
            "operation_half_done",
        ),
    ];
    let env = TestEnv::new();
    let schema: Value = serde_json::from_str(EXPLAIN_SCHEMA).expect("the schema is JSON");
    let named = |list: &Value| -> BTreeSet<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|key| key.as_str().unwrap().to_owned())
            .collect()
    };
    let keys = |object: &Value| -> BTreeSet<String> {
        object.as_object().unwrap().keys().cloned().collect()
    };
    let of_a_step = &schema["properties"]["steps"]["items"];
    for (reason, story, answer, more, flags, rule) in cases {
        let (repo, verdict) = judged(&env, &format!("w/{reason}"), story, answer, more, flags);
        assert_eq!(verdict["reason"], reason, "{verdict:#}");
        let folder = repo.path().to_string_lossy().into_owned();
        fs::rename(repo.path(), env.root().join(format!("gone-{reason}")))
            .expect("it is moved away");
        let explained = env
            .watchdog(&env.root(), &["-C", &folder, "explain", "--json"])
            .expect(0)
            .json();
        assert_eq!(keys(&explained), named(&schema["required"]));
        for step in explained["steps"].as_array().unwrap() {
            assert_eq!(keys(step), named(&of_a_step["required"]));
            assert!(
                of_a_step["properties"]["fact"]["enum"]
                    .as_array()
                    .unwrap()
                    .contains(&step["fact"]),
                "{step}"
            );
        }
        assert_eq!(
            (&explained["verdict"]["reason"], &explained["lacks"]),
            (&json!(reason), &Value::Null),
            "{explained:#}"
        );
        assert_eq!(
            explained["today"]["reason"], reason,
            "the rules end the same way again: {explained:#}"
        );
        let steps = explained["steps"].as_array().expect("a list");
        assert_eq!(
            (&steps[0]["fact"], &steps[1]["fact"]),
            (&json!("setup"), &json!("commits")),
            "{explained:#}"
        );
        let rules: Vec<&str> = steps
            .iter()
            .flat_map(|step| step["rules"].as_array().unwrap())
            .filter_map(|rule| rule["rule"].as_str())
            .collect();
        assert!(rules.contains(&rule), "{reason}: {rules:?}");
        assert!(
            steps.last().unwrap()["then"]
                .as_str()
                .unwrap()
                .contains(reason),
            "{explained:#}"
        );
        assert_eq!(
            explained["verdict"]["message"], verdict["message"],
            "the words are those of the verdict"
        );
    }
}

#[test]
fn explanation_tells_how_a_verdict_would_differ() {
    let env = TestEnv::new();
    let (repo, _) = judged(
        &env,
        "w",
        edit,
        Some(&says("waiting", &[])),
        check("false"),
        &["--no-rescue"],
    );
    let explained = repo.watchdog(&["explain", "s", "--json"]).expect(0).json();
    let leads = |change: &str| {
        let found = explained["would_change"]
            .as_array()
            .unwrap()
            .iter()
            .find(|found| found["change"] == change);
        found
            .map(|found| found["leads_to"].clone())
            .unwrap_or_default()
    };
    assert_eq!(
        explained["verdict"]["reason"], "checks_unmet",
        "{explained:#}"
    );
    assert_eq!(
        leads("checks_pass")["reason"],
        "checks_passed",
        "{explained:#}"
    );
    let text = repo.watchdog(&["explain"]).expect(0).stdout;
    for said in [
        "incomplete (checks_unmet) of s",
        "How it was decided",
        "from git: HEAD, refs and reflogs",
        "rules out checks_passed: check 'tests' ended as unmet",
        "from git: the index and the work tree",
        "from the agent's reply",
        "rule checks_decide (1): Where checks are configured",
        "What would have changed it",
        "if every check had passed: complete (checks_passed)",
        "if rescue had been allowed to commit: not known, as watchdog would have gone on to a fact that was not recorded: rescue",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

#[test]
fn judgement_event_leads_to_its_verdict() {
    let env = TestEnv::new();
    let (repo, _) = judged(
        &env,
        "w",
        edit,
        Some(&says("complete", &[])),
        json!({}),
        &[],
    );
    let events: Vec<Value> = repo
        .watchdog(&["events", "--json"])
        .expect(0)
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let id = |kind: &str| {
        events
            .iter()
            .find(|event| event["kind"] == kind)
            .unwrap_or_else(|| panic!("no {kind}"))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for kind in ["verdict", "probe", "rescue", "commits", "changes"] {
        let found = repo
            .watchdog(&["explain", &id(kind), "--json"])
            .expect(0)
            .json();
        assert_eq!(found["event"], id("verdict").as_str(), "{kind}");
    }
    let time = id("verdict").split('-').next().unwrap().to_owned();
    assert_eq!(
        env.watchdog(&env.root(), &["explain", &time, "--json"])
            .expect(0)
            .json()["event"],
        id("verdict").as_str()
    );

    repo.write("more.txt", "more");
    repo.commit_all("feat: more");
    repo.watchdog(&["check", "--spec", "s"]).expect(0);
    // Six digits stay the same for 71 minutes.
    let out = repo.watchdog(&["explain", &time[..6]]).expect(2);
    out.assert_told(&["2 verdicts begin with", "events --json --kind verdict"]);
    let out = repo.watchdog(&["explain", "never-heard-of"]).expect(2);
    out.assert_told(&["'never-heard-of'", "events --kind verdict"]);
}

#[test]
fn explain_without_records_names_the_next_command() {
    let env = TestEnv::new();
    let repo = env.repo();
    let out = repo.watchdog(&["explain"]).expect(2);
    out.assert_told(&["no verdict is recorded", " check"]);
    let outside = env.watchdog(&env.root(), &["explain"]).expect(16);
    outside.assert_told(&["not in a git repository"]);
    let outside = env.watchdog(&env.root(), &["explain", "never-heard-of"]);
    outside.assert_told(&["events --all --kind verdict"]);
}

#[test]
fn older_verdict_row_is_explained_in_part() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.write("new.txt", "new");
    repo.commit_all("feat: new");
    let verdict = repo.watchdog(&["check", "--json"]).expect(0).json();
    let database =
        rusqlite::Connection::open(env.state().join("watchdog.db")).expect("it is there");
    database
        .execute(
            "UPDATE event SET data = ?1 WHERE kind = 'verdict'",
            [verdict.to_string()],
        )
        .expect("it is written");
    drop(database);
    let explained = repo.watchdog(&["explain", "--json"]).expect(0).json();
    assert_eq!(
        (&explained["verdict"]["reason"], &explained["steps"]),
        (&json!("new_commits"), &json!([]))
    );
    assert_parts(explained["lacks"].as_str().unwrap(), &["without its facts"]);
    let text = repo.watchdog(&["explain"]).expect(0).stdout;
    assert_parts(&text, &["complete (new_commits)", "Not known:"]);
    assert!(
        repo.watchdog(&["status", "--json"])
            .expect(0)
            .stdout
            .contains("new_commits"),
        "it is read as ever"
    );
}

#[test]
fn damaged_row_is_reported_as_damaged() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    repo.watchdog(&["check", "--no-probe"]).expect(10);
    let database =
        rusqlite::Connection::open(env.state().join("watchdog.db")).expect("it is there");
    database
        .execute(
            "UPDATE event SET data = '{\"x\":' WHERE kind = 'verdict'",
            [],
        )
        .expect("it is written");
    drop(database);
    let out = repo.watchdog(&["explain"]).expect(16);
    assert!(
        out.stdout.is_empty()
            && out.stderr.contains("its row is damaged")
            && out.stderr.contains(" check"),
        "{out}"
    );
}

//! `watchdog replay`: recorded verdicts by the rules of today, and by another configuration.

use serde_json::{Value, json};

use crate::support::{CommandOutput, Repo, TestEnv};

fn commit(repo: &Repo<'_>, name: &str) {
    repo.write(name, name);
    repo.commit_all(&format!("feat: {name}"));
}

/// A night of a repository: by commits, with a check that passes, with one that does not, and with work that is left.
fn night(env: &TestEnv) -> Repo<'_> {
    let repo = env.repo();
    let tests = |run: &str| json!({"checks": [{"type": "command", "name": "tests", "run": run}]}).to_string();
    let (met, unmet) = (env.write("met.json", tests("true")), env.write("unmet.json", tests("false")));
    let check = |spec: &str, config: Option<&std::path::Path>, code: i32| {
        let config = config.map(|path| path.to_string_lossy().into_owned());
        let config: Vec<&str> = config.iter().flat_map(|path| ["--config", path]).collect();
        repo.watchdog(&[&["check", "--spec", spec, "--no-probe", "--json"][..], &config].concat()).expect(code);
    };
    for spec in ["bare", "met", "unmet", "left"] {
        repo.watchdog(&["snapshot", "--spec", spec]).expect(0);
    }
    commit(&repo, "a");
    check("bare", None, 0);
    check("met", Some(&met), 0);
    check("unmet", Some(&unmet), 10);
    repo.write("left.txt", "left");
    repo.watchdog(&["snapshot", "--spec", "left"]).expect(0);
    check("left", None, 10);
    repo
}

fn config(env: &TestEnv, name: &str, value: &Value) -> String {
    env.write(name, value.to_string()).to_string_lossy().into_owned()
}

fn replayed(out: &CommandOutput) -> [usize; 4] {
    let found = out.json();
    let count = |key: &str| found[key].as_array().unwrap_or_else(|| panic!("no {key}: {found}")).len();
    [usize::try_from(found["alike"].as_u64().unwrap()).unwrap(), count("differ"), count("not_recorded"), count("not_replayed")]
}

#[test]
fn the_rules_that_judged_judge_alike_again() {
    let env = TestEnv::new();
    let repo = night(&env);
    let out = repo.watchdog(&["replay", "--json", "--fail-on-difference"]).expect(0);
    assert_eq!((replayed(&out), &out.json()["verdicts"]), ([4, 0, 0, 0], &json!(4)), "{out}");
    assert_eq!(replayed(&repo.watchdog(&["replay", "--json", "--spec", "unmet"]).expect(0)), [1, 0, 0, 0]);
    assert!(repo.watchdog(&["replay"]).expect(0).stdout.contains("4 of 4 verdicts alike"), "{out}");
    assert_eq!(replayed(&env.watchdog(&env.root(), &["replay", "--all", "--since", "1h", "--json"]).expect(0)), [4, 0, 0, 0]);
}

#[test]
fn another_configuration_is_tried_on_the_past_and_says_where_it_differs_and_why() {
    let env = TestEnv::new();
    let repo = night(&env);
    let strict = config(&env, "strict.json", &json!({"require_evidence": "verified", "on_no_criteria": "git"}));
    let out = repo.watchdog(&["--config", &strict, "replay", "--json", "--fail-on-difference", "--spec", "bare"]).expect(12);
    let found = out.json();
    let differs = &found["differ"][0];
    assert_eq!((&differs["old"]["reason"], &differs["new"]["reason"]), (&json!("new_commits"), &json!("disputed")), "{found:#}");
    let why = differs["why"].as_str().expect("a reason");
    assert!(why.contains("after commits") && why.contains("evidence_too_weak"), "{why}");
    let text = repo.watchdog(&["--config", &strict, "replay", "--spec", "bare"]).expect(0);
    assert!(text.stdout.contains("review (disputed)") && text.stdout.contains("0 of 1 verdict alike"), "{text}");
}

#[test]
fn a_check_keeps_its_outcome_by_name_and_one_that_was_never_run_is_no_pass() {
    let env = TestEnv::new();
    let repo = night(&env);
    let tests = json!({"type": "command", "name": "tests", "run": "true"});
    let lint = json!({"type": "command", "name": "lint", "run": "true"});
    let same = config(&env, "same.json", &json!({"checks": [tests]}));
    let of = |config: &str, spec: &str| replayed(&repo.watchdog(&["--config", config, "replay", "--json", "--spec", spec]).expect(0));
    assert_eq!(of(&same, "met"), [1, 0, 0, 0]);
    assert_eq!(of(&same, "unmet"), [1, 0, 0, 0], "its command is another one, and its outcome is the recorded one");
    let more = config(&env, "more.json", &json!({"checks": [tests, lint]}));
    assert_eq!(of(&more, "unmet"), [1, 0, 0, 0], "what is unmet stays so, whatever another check would say");
    let out = repo.watchdog(&["--config", &more, "replay", "--json", "--spec", "met"]).expect(0).json();
    assert_eq!(out["not_recorded"][0]["not_recorded"], "check 'lint'", "{out:#}");
    let out = repo.watchdog(&["--config", &same, "replay", "--spec", "bare"]).expect(0);
    assert!(out.stdout.contains("not recorded: changes"), "no check was judged there\n{out}");
}

#[test]
fn a_file_of_events_is_replayed_like_the_journal_that_it_came_from() {
    let env = TestEnv::new();
    let repo = night(&env);
    let events = repo.watchdog(&["events", "--json"]).expect(0).stdout;
    let file = env.write("night.jsonl", &events).to_string_lossy().into_owned();
    assert_eq!(replayed(&env.watchdog(&env.root(), &["replay", &file, "--json"]).expect(0)), [4, 0, 0, 0]);
    let out = env.watchdog_command(&env.root(), &["replay", "-", "--json", "--spec", "met"]).stdin(&events).run().expect(0);
    assert_eq!(replayed(&out), [1, 0, 0, 0]);

    let mut older: Value = serde_json::from_str(events.lines().last().expect("a line")).expect("JSON");
    older["data"].as_object_mut().expect("an object").remove("record");
    let older = env.write("older.jsonl", format!("{older}\n")).to_string_lossy().into_owned();
    let out = env.watchdog(&env.root(), &["replay", &older]).expect(0);
    assert!(out.stdout.contains("not replayed: recorded without its facts"), "{out}");
    let garbage = env.write("garbage", "[\n").to_string_lossy().into_owned();
    let out = env.watchdog(&env.root(), &["replay", &garbage]).expect(2);
    assert!(out.stderr.contains("line 1") && out.stderr.contains("events --json"), "{out}");
    let out = env.watchdog(&env.root(), &["replay", "nowhere.jsonl"]).expect(2);
    assert!(out.stderr.contains("nowhere.jsonl"), "{out}");
    let out = env.watchdog(&env.root(), &["replay", "--all", "--spec", "none"]).expect(2);
    assert!(out.stderr.contains("no verdict is recorded"), "{out}");
}

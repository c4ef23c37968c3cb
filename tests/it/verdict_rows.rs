//! The rows that one judgement writes: few, bounded, and readers get what was written.

use serde_json::{Value, json};

use crate::support::{Repo, Step, TestEnv};

fn events(repo: &Repo<'_>, kind: &str) -> Vec<Value> {
    let out = repo
        .watchdog(&["events", "--json", "--kind", kind])
        .expect(0);
    out.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Everything that the journal holds about a worktree since its baseline, in bytes, and how many rows that is.
fn bytes(env: &TestEnv) -> (i64, i64) {
    let database =
        rusqlite::Connection::open(env.state().join("watchdog.db")).expect("it is there");
    let sum = "SELECT count(*), sum(octet_length(id) + octet_length(worktree) + octet_length(spec) + octet_length(kind) + 16
               + octet_length(data)) FROM event WHERE kind <> 'baseline'";
    database
        .query_row(sum, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("it is counted")
}

fn judged(env: &TestEnv, answer: &Value, files: usize, commits: usize) -> (Value, Value) {
    let repo = env.repo();
    // Of many files the list is looked at, which a rescue would make short.
    let rescue = if files > 10 { "snapshot" } else { "single" };
    let quick = json!({"completion_check": {"probe_interval_seconds": 0, "max_probes": 3}, "rescue": {"mode": rescue}});
    let config = env.config_asking(&[Step::print_json(answer)], quick);
    let config = config.to_string_lossy();
    repo.watchdog(&["snapshot", "--spec", "s", "--config", &config])
        .expect(0);
    for n in 0..commits {
        repo.write(&format!("commit-{n}.rs"), "new");
        repo.commit_all(&format!("feat: add the part number {n} of the parser"));
    }
    for n in 0..files {
        repo.write(&format!("src/part_{n}.rs"), "new");
    }
    let said = repo
        .watchdog(&["check", "--json", "--spec", "s", "--config", &config])
        .json();
    let event = events(&repo, "verdict").pop().expect("a verdict");
    (said, event["data"].clone())
}

/// What was said and what is read are the same, but for the lists that are bounded.
#[track_caller]
fn assert_same(said: &Value, read: &Value) {
    for (key, value) in said.as_object().expect("an object") {
        assert_eq!(&read[key], value, "{key}");
    }
    let more: Vec<&String> = read
        .as_object()
        .expect("an object")
        .keys()
        .filter(|key| said.get(key.as_str()).is_none())
        .collect();
    assert_eq!(more, ["record"]);
}

#[test]
fn journal_returns_the_verdict_as_told() {
    for (status, files, commits) in [
        ("complete", 3, 0),
        ("waiting", 2, 1),
        ("complete", 0, 0),
        ("working", 0, 2),
    ] {
        let env = TestEnv::new();
        let (said, read) = judged(
            &env,
            &json!({"status": status, "message": "as it is", "tasks_pending": []}),
            files,
            commits,
        );
        assert_same(&said, &read);
    }
}

#[test]
fn judgement_rows_are_small_and_lists_are_bounded() {
    let quiet = json!({"status": "complete", "message": "done"});
    let env = TestEnv::new();
    judged(&env, &quiet, 0, 1);
    let (rows, size) = bytes(&env);
    assert!(
        rows == 1 && size < 1536,
        "a verdict by commits: {rows} rows, {size} bytes"
    );

    let env = TestEnv::new();
    let talks = json!({"status": "waiting", "message": "word ".repeat(400), "tasks_pending": vec!["task ".repeat(80); 60], "next_action": "n".repeat(3000)});
    let (said, read) = judged(&env, &talks, 60, 0);
    let (_, size) = bytes(&env);
    assert!(
        size < 3 * 4096,
        "three long replies, and a list of 60 files: {size} bytes"
    );
    assert_eq!(
        (
            read["changes"]["paths"].as_array().unwrap().len(),
            &read["changes"]["paths_total"]
        ),
        (10, &json!(60))
    );
    assert_eq!(
        (&read["reason"], &read["changes"]["untracked"]),
        (&said["reason"], &said["changes"]["untracked"])
    );
    assert_eq!(read["probes"].as_array().unwrap().len(), 3, "{read:#}");
    assert_eq!(
        read["probes"][0]["reply"]["tasks_pending"]
            .as_array()
            .unwrap()
            .len(),
        10
    );
}

#[test]
fn actions_are_journalled_at_once_observations_with_verdict() {
    let env = TestEnv::new();
    let (_, read) = judged(
        &env,
        &json!({"status": "complete", "message": "done"}),
        2,
        0,
    );
    let database =
        rusqlite::Connection::open(env.state().join("watchdog.db")).expect("it is there");
    let mut rows = database
        .prepare("SELECT kind FROM event ORDER BY seq")
        .expect("it is read");
    let kinds: Vec<String> = rows
        .query_map([], |row| row.get(0))
        .expect("it is read")
        .collect::<Result<_, _>>()
        .expect("texts");
    assert_eq!(
        kinds,
        ["baseline", "snapshot", "probe", "rescue", "verdict"]
    );
    assert_eq!(
        read["probes"][0]["reply"]["message"], "done",
        "readers get the reply with the verdict, too"
    );
    let all = env
        .watchdog(&env.root(), &["events", "--all", "--json"])
        .expect(0)
        .stdout;
    let shown: Vec<Value> = all
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let shown: Vec<&str> = shown
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert_eq!(shown[..4], ["baseline", "snapshot", "probe", "rescue"]);
    assert!(
        shown[4..].starts_with(&["commits", "changes"]) && shown.ends_with(&["verdict"]),
        "{shown:?}"
    );
}

#[test]
fn a_verdict_keeps_its_facts_without_other_rows() {
    let env = TestEnv::new();
    judged(
        &env,
        &json!({"status": "complete", "message": "done"}),
        2,
        0,
    );
    let database =
        rusqlite::Connection::open(env.state().join("watchdog.db")).expect("it is there");
    database
        .execute("DELETE FROM event WHERE kind = 'probe'", [])
        .expect("it is deleted");
    drop(database);
    let out = env
        .watchdog(
            &env.root(),
            &["events", "--all", "--json", "--kind", "verdict"],
        )
        .expect(0);
    let event: Value = serde_json::from_str(out.stdout.trim()).expect("JSON");
    assert_eq!(event["data"]["reason"], "rescued", "{event:#}");
    let id = event["id"].as_str().expect("an id");
    let out = env.watchdog(&env.root(), &["explain", id]).expect(0);
    assert!(
        out.stdout.contains("complete: done") && !out.stdout.contains("ends otherwise"),
        "{out}"
    );
}

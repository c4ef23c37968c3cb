//! `fleet.push_snapshots`: uncommitted work of a task is found by the machine that takes over, where a person allowed it.

use serde_json::json;

use crate::fleet_tasks_travel::{Fleet, agent, task};
use crate::support::{Repo, TestEnv};

/// Leaves work, and secrets in it, uncommitted.
const UNFINISHED: &str = "echo 'half a thought' > draft; echo TOKEN=hunter2 > .env; echo 'key hunter2' > new.pem; git add new.pem";

fn config(env: &TestEnv, share: bool) -> String {
    let (limits, probes) = (json!({"cooldown_seconds": 0}), json!({"max_probes": 0}));
    let config = json!({
        "version": 1, "limits": limits, "rescue": {"mode": "snapshot"}, "completion_check": probes, "fleet": {"push_snapshots": share},
    });
    env.write("config/completion.json", config.to_string())
        .to_string_lossy()
        .into_owned()
}

fn leaks(fleet: &Fleet, env: &TestEnv, text: &str) -> bool {
    let objects = fleet.git(
        env,
        &[
            "cat-file",
            "--batch-all-objects",
            "--batch-check=%(objectname) %(objecttype)",
        ],
    );
    let blobs = objects
        .lines()
        .filter_map(|line| line.strip_suffix(" blob"));
    blobs
        .into_iter()
        .any(|id| fleet.git(env, &["cat-file", "blob", id]).contains(text))
}

#[test]
fn uncommitted_work_is_found_by_the_machine_that_takes_over_and_secrets_stay() {
    let (one, other) = (TestEnv::new(), TestEnv::new());
    let fleet = Fleet::new(&one);
    let (first, second) = (fleet.machine(&one, "a"), fleet.machine(&other, "b"));
    let there = || {
        fleet.git(
            &one,
            &[
                "for-each-ref",
                "--format=%(refname)",
                "refs/watchdog/snapshot",
            ],
        )
    };
    let run = |script: &'static str, config: &str, repo: &Repo<'_>| {
        repo.watchdog(&agent(
            &["run", "T1", "--no-progress", "1", "--config", config],
            script,
        ))
        .expect(12)
    };
    // The session says so itself, which is no person's word.
    let forward =
        "echo '{\"version\": 1, \"fleet\": {\"push_snapshots\": true}}' > completion.json";
    run(forward, &config(&one, false), &first);
    assert_eq!(
        (there(), first.snapshots().is_empty()),
        (String::new(), false)
    );
    first.git(&["clean", "-qf", "completion.json"]);

    let out = run(UNFINISHED, &config(&one, true), &first);
    assert!(out.stderr.contains("of T1 pushed"), "{out}");
    assert!(
        there().starts_with("refs/watchdog/snapshot/T1/fence-"),
        "{}",
        there()
    );
    assert!(
        leaks(&fleet, &one, "half a thought") && !leaks(&fleet, &one, "hunter2"),
        "nothing private is on the remote"
    );
    assert_eq!(task(&first, "T1")["status"], "review");

    let out = run("true", &config(&other, true), &second);
    assert!(
        out.stderr
            .contains("came from other machines; see: watchdog"),
        "{out}"
    );
    let listed = second
        .watchdog(&["rescue", "list", "--spec", "T1", "--json"])
        .expect(0)
        .json();
    let found = listed["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["private_files"] != 0)
        .unwrap()
        .clone();
    let id = found["id"].as_str().unwrap();
    assert!(id.starts_with("T1/fence-"), "{listed}");
    let shown = second.watchdog(&["rescue", "show", id]).expect(0).stdout;
    assert!(
        shown.contains("half a thought")
            && shown.contains("private files are not in this repository"),
        "{shown}"
    );
    let back = second
        .watchdog(&["rescue", "restore", id, "--to", "../back"])
        .expect(0);
    assert_eq!(
        std::fs::read_to_string(other.root().join("back/draft")).unwrap(),
        "half a thought\n",
        "{back}"
    );
}

//! What only a person may say, and what comes of it from inside of a watched session.

use serde_json::{Value, json};
use watchdog_store::{RecordType, StateDir, open_store, session::SessionRecord};

use crate::support::{TestEnv, assert_parts};

#[test]
fn criteria_changes_inside_sessions_are_explicit_and_recorded() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"checks": [{"type": "files", "paths": ["wanted.txt"]}]}).to_string(),
    );
    repo.write(
        ".watchdog/tasks/T1.md",
        "---\nid: T1\ntitle: t\n---\n\nDo.\n",
    );
    repo.commit_all("criteria");
    repo.watchdog(&["trust"]).expect(0);
    repo.watchdog(&["task", "list"]).expect(0);
    let script = "echo '{\"checks\": []}' > completion.json; for words in trust untrust snapshot 'snapshot --accept-criteria' \\
        'breaker reset' 'task set T1 blocked --reason x' 'init --force'; do $WATCHDOG $words >/dev/null 2>>errors; echo $? >> codes; done";
    let out = repo.watchdog(&["run", "--json", "--no-probe", "--", "sh", "-c", script]);
    assert_eq!(
        std::fs::read_to_string(repo.path().join("codes")).unwrap(),
        "2\n".repeat(7),
        "{out}"
    );
    let errors = std::fs::read_to_string(repo.path().join("errors")).unwrap();
    assert_parts(
        &errors,
        &[
            "was called from inside of the session of 'main'",
            "--from-session",
        ],
    );
    assert_ne!(out.json()["status"], "complete", "{out}");
    let meant = repo.watchdog_line(
        "run --json --no-probe -- sh -c {}",
        &["$WATCHDOG trust --from-session && touch wanted"],
    );
    assert!(repo.has("wanted"), "{meant}");
    let events = repo
        .watchdog(&["events", "--kind", "trust", "--json"])
        .expect(0)
        .stdout;
    let events: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let told = |command: &str, refused: bool| {
        events.iter().any(|event| {
            event["data"]["command"] == command && event["data"]["refused"] == json!(refused)
        })
    };
    for command in [
        "watchdog trust",
        "watchdog untrust",
        "watchdog snapshot",
        "watchdog breaker reset",
        "watchdog task set",
        "watchdog init",
    ] {
        assert!(told(command, true), "{command}: {events:?}");
    }
    assert!(told("watchdog trust", false), "{events:?}");
}

#[test]
fn rescue_script_of_the_session_is_never_run() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"rescue": {"mode": "command"}, "completion_check": {"max_probes": 0}}).to_string(),
    );
    repo.commit_all("criteria");
    let out = repo.watchdog(&["trust"]).expect(0);
    assert!(
        out.stdout
            .contains("may run rescue.command: scripts/commit-rescue")
            && !out.stdout.contains("names no commands"),
        "{out}"
    );
    let script = "mkdir -p scripts; printf '#!/bin/sh\\ntouch ran\\n' > scripts/commit-rescue; chmod +x scripts/commit-rescue; touch work";
    let out = repo.watchdog(&["run", "--json", "--", "sh", "-c", script]);
    assert!(!repo.has("ran"), "{out}");
    out.assert_printed(&["scripts/commit-rescue, which changed since the anchor"]);
    let shown = repo.watchdog(&["trust"]).expect(0);
    assert!(shown.stdout.contains("touch ran"), "{shown}");
}

#[test]
fn typed_rescue_runs_no_script_of_the_session() {
    let env = TestEnv::new();
    let configured = |name: &str| {
        let repo = env.repo_named(name);
        repo.write(
            "completion.json",
            json!({"rescue": {"mode": "command"}, "completion_check": {"max_probes": 0}})
                .to_string(),
        );
        repo.commit_all("criteria");
        repo.watchdog(&["trust"]).expect(0);
        repo
    };
    let script = "mkdir -p scripts; printf '#!/bin/sh\\ntouch ran\\n' > scripts/commit-rescue; chmod +x scripts/commit-rescue; touch work";
    let repo = configured("recorded");
    repo.watchdog(&["run", "--", "sh", "-c", script]);
    let out = repo.watchdog(&["rescue"]);
    assert!(
        !repo.has("ran")
            && out
                .to_string()
                .contains("scripts/commit-rescue, which changed since the"),
        "{out}"
    );
    // Without a record, no one says who wrote it.
    let repo = configured("unrecorded");
    env.command("sh", repo.path())
        .args(["-c", script])
        .run()
        .expect(0);
    let out = repo.watchdog(&["rescue"]);
    assert!(
        !repo.has("ran") && out.to_string().contains("rescue.command is not configured"),
        "{out}"
    );
    repo.watchdog(&["snapshot", "--accept-criteria"]).expect(0);
    let out = repo.watchdog(&["rescue"]);
    assert!(repo.has("ran"), "a person accepted it: {out}");
}

#[test]
fn daemon_of_a_session_cannot_trust() {
    for (name, session) in [
        (
            "run",
            &["run", "--json", "--no-probe", "--", "sh", "-c"][..],
        ),
        ("hook", &[]),
    ] {
        let mut env = TestEnv::new();
        env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
        let repo = env.repo();
        repo.write(
            "completion.json",
            json!({"checks": [{"type": "files", "paths": ["wanted.txt"]}]}).to_string(),
        );
        repo.commit_all("criteria");
        let leave = "env -i HOME=\"$HOME\" PATH=\"$PATH\" WATCHDOG=$WATCHDOG WATCHDOG_STATE_DIR=\"$WATCHDOG_STATE_DIR\" setsid -f \
                     sh -c '$WATCHDOG trust > said 2>&1; echo $? > code.new; mv code.new code'; \
                     n=0; while [ ! -s code ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done";
        if session.is_empty() {
            let begin = "echo '{\"session_id\": \"a\", \"source\": \"startup\"}' | $WATCHDOG hook session-start --within 60s > begun";
            env.command("sh", repo.path())
                .args(["-c", &format!("{begin}; {leave}")])
                .run()
                .expect(0);
        } else {
            repo.watchdog(&[session, &[leave]].concat());
        }
        let said = std::fs::read_to_string(repo.path().join("said")).unwrap_or_default();
        assert_eq!(
            std::fs::read_to_string(repo.path().join("code")).unwrap_or_default(),
            "2\n",
            "{name}: {said}"
        );
        assert!(
            said.contains("was called from inside of the session of 'main'")
                && said.contains("--from-session"),
            "{name}: {said}"
        );
    }
}

#[test]
fn early_session_calls_count_as_its_own() {
    let mut env = TestEnv::new();
    env.set("WATCHDOG", env!("CARGO_BIN_EXE_watchdog"));
    let codes = env.root().join("codes");
    env.set("CODES", &codes);
    let repo = env.repo();
    repo.write(
        "completion.json",
        json!({"checks": [{"type": "files", "paths": ["wanted.txt"]}]}).to_string(),
    );
    repo.commit_all("criteria");
    for round in 0..10 {
        let spec = format!("s{round}");
        let session = [
            "sh",
            "-c",
            "$WATCHDOG trust >/dev/null 2>&1; echo $? >> $CODES",
        ];
        let _judged = repo.watchdog(
            &[
                &["run", "--json", "--no-probe", "--spec", &spec, "--"],
                &session[..],
            ]
            .concat(),
        );
    }
    assert_eq!(std::fs::read_to_string(&codes).unwrap(), "2\n".repeat(10));
}

#[test]
fn failed_start_leaves_the_previous_session_record() {
    let env = TestEnv::new();
    let repo = env.repo();
    let recorded = || {
        let store = open_store(&StateDir::resolve(Some(env.state()), None, None).unwrap()).unwrap();
        SessionRecord::list_rows(store.as_ref())
            .unwrap()
            .into_iter()
            .map(|(_, spec, found)| (spec, found.unwrap()))
            .collect::<Vec<_>>()
    };
    let run = |command: &str| repo.watchdog(&["run", "--json", "--no-probe", "--", command]);
    run("/no/such/program").expect(15);
    assert_eq!(recorded(), []);
    let _judged = run("true");
    let before = recorded();
    assert!(
        before.len() == 1 && before[0].1.ended_at.is_some(),
        "{before:?}"
    );
    run("/no/such/program").expect(15);
    assert_eq!(recorded(), before);
}

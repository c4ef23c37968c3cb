//! `watchdog schema`: what programs in other languages check against.

use expect_test::expect_file;
use serde_json::Value;
use watchdog_core::config::build_config_schema;

use crate::support::{TestEnv, assert_parts};

/// Where they differ, `UPDATE_EXPECT=1 cargo test` writes the file.
#[test]
fn documented_schema_matches_the_keys_read() {
    let text = serde_json::to_string_pretty(&build_config_schema()).expect("JSON");
    expect_file!["../../docs/schema/config.json"].assert_eq(&format!("{text}\n"));
}

#[test]
fn every_schema_is_printed_as_json() {
    let env = TestEnv::new();
    for (of, title) in [
        ("verdict", "verdict"),
        ("config", "completion.json"),
        ("context", "context"),
        ("event", "event"),
        ("report", "report"),
    ] {
        let out = env.watchdog(&env.root(), &["schema", of]).expect(0);
        let schema: Value = serde_json::from_str(&out.stdout).expect("JSON");
        assert_eq!(schema["title"], title, "{out}");
    }
    let out = env.watchdog(&env.root(), &["schema", "verdicts"]).expect(2);
    assert!(out.stderr.contains("verdict"), "{out}");
}

#[test]
fn resolved_configuration_has_every_default_and_no_dialect() {
    let env = TestEnv::new();
    let repo = env.repo();
    let resolved = || -> Value {
        let out = env
            .watchdog(repo.path(), &["schema", "config", "--resolved"])
            .expect(0);
        serde_json::from_str(&out.stdout).expect("JSON")
    };
    assert_eq!(resolved()["completion_check"]["max_probes"], 5);
    repo.write(
        "completion.json",
        r#"{"completion_check_max_probes": 2, "completion": {"verify": "make test"}}"#,
    );
    let found = resolved();
    assert_eq!(found["completion_check"]["max_probes"], 2);
    assert_eq!(
        (&found["checks"][0]["type"], &found["checks"][0]["run"]),
        (&"command".into(), &"make test".into())
    );
    assert_parts(&found["checks"][0]["tests_are"].to_string(), &["_test.go"]);
    repo.write(
        "completion.json",
        r#"{"completion": {"verify": "cd py && pytest -q"}}"#,
    );
    let out = (env.watchdog(repo.path(), &["schema", "config", "--resolved"])).expect(0);
    out.assert_told(&[
        "runner pytest; gate files **/conftest.py,",
        "py/setup.cfg (sections pytest)",
    ]);
    assert!(!out.stdout.contains("_test.go"), "{out}");
    repo.write("completion.json", &out.stdout);
    let again = (env.watchdog(repo.path(), &["schema", "config", "--resolved"])).expect(0);
    assert_eq!(again.stdout, out.stdout, "it is a configuration");
    repo.write("completion.json", r#"{"completion_chek": {}}"#);
    let out = env
        .watchdog(repo.path(), &["schema", "config", "--resolved"])
        .expect(2);
    assert!(out.stderr.contains("completion_check"), "{out}");
    let config = env.root().join("none.json").to_string_lossy().into_owned();
    let line = ["--config", &config, "schema", "config", "--resolved"];
    env.watchdog(repo.path(), &line).expect(2);
    env.watchdog(repo.path(), &["schema", "verdict", "--resolved"])
        .expect(2);
}

#[test]
fn ignored_agent_description_parts_are_told() {
    let env = TestEnv::new();
    let repo = env.repo();
    let description = r#"{"name": "helper", "displayName": "H", "runner": {"flow": {"systemPromptPath": "p.md"},
        "verdict": {"type": "meta:composite", "config": {"operator": "or", "maxIterations": 12, "conditions": [
            {"type": "detect:keyword", "config": {"verdictKeyword": "ALL-DONE"}}, {"type": "count:check", "config": {"maxChecks": 4}}]}}}}"#;
    repo.write(".agent/helper/agent.json", description);
    let args = ["--config", ".agent/helper/agent.json"];
    let out = env
        .watchdog(
            repo.path(),
            &[&args[..], &["schema", "config", "--resolved"]].concat(),
        )
        .expect(0);
    assert_eq!(
        out.stderr,
        "note: not read, as it says nothing of when the work is complete: `runner.flow`\n",
        "{out}"
    );
    let found: Value = serde_json::from_str(&out.stdout).expect("JSON");
    assert_eq!(
        (
            &found["limits"]["max_iterations"],
            &found["checks"][0]["mode"]
        ),
        (&12.into(), &"any".into())
    );
    let evaluate =
        env.watchdog_command(repo.path(), &[&args[..], &["--json", "evaluate"]].concat());
    let out = evaluate
        .stdin(r#"{"schema": 1, "output": "ALL-DONE"}"#)
        .run()
        .expect(0);
    let verdict = out.json();
    let notes = verdict["notes"].to_string();
    assert_eq!(
        notes.matches("not read, as it says nothing").count(),
        1,
        "{out}"
    );
    out.assert_has("degraded", "configuration");
}

//! `watchdog schema`: what programs in other languages check against.

use expect_test::expect_file;
use serde_json::Value;
use watchdog_core::config::schema;

use crate::support::TestEnv;

/// Where they differ, `UPDATE_EXPECT=1 cargo test` writes the file.
#[test]
fn the_schema_in_the_documentation_is_made_of_the_keys_that_the_program_reads() {
    let text = serde_json::to_string_pretty(&schema()).expect("JSON");
    expect_file!["../../docs/schema/config.json"].assert_eq(&format!("{text}\n"));
}

#[test]
fn every_schema_is_printed_as_json() {
    let env = TestEnv::new();
    for (of, title) in
        [("verdict", "verdict"), ("config", "completion.json"), ("context", "context"), ("event", "event"), ("report", "report")]
    {
        let out = env.watchdog(&env.root(), &["schema", of]).expect(0);
        let schema: Value = serde_json::from_str(&out.stdout).expect("JSON");
        assert_eq!(schema["title"], title, "{out}");
    }
    let out = env.watchdog(&env.root(), &["schema", "verdicts"]).expect(2);
    assert!(out.stderr.contains("verdict"), "{out}");
}

#[test]
fn a_resolved_configuration_has_every_default_and_no_dialect() {
    let env = TestEnv::new();
    let repo = env.repo();
    let resolved = || -> Value {
        let out = env.watchdog(repo.path(), &["schema", "config", "--resolved"]).expect(0);
        serde_json::from_str(&out.stdout).expect("JSON")
    };
    assert_eq!(resolved()["completion_check"]["max_probes"], 5);
    repo.write("completion.json", r#"{"completion_check_max_probes": 2, "completion": {"verify": "make test"}}"#);
    let found = resolved();
    assert_eq!(found["completion_check"]["max_probes"], 2);
    assert_eq!((&found["checks"][0]["type"], &found["checks"][0]["run"]), (&"command".into(), &"make test".into()));
    repo.write("completion.json", r#"{"completion_chek": {}}"#);
    let out = env.watchdog(repo.path(), &["schema", "config", "--resolved"]).expect(2);
    assert!(out.stderr.contains("completion_check"), "{out}");
    env.watchdog(repo.path(), &["schema", "verdict", "--resolved"]).expect(2);
}

//! `watchdog init` beside the files of other programs: what it takes over, from where, and what it leaves alone.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{TestEnv, keys};

/// What a program that loops agents leaves in a project.
const RALPH: &str = "CLAUDE_TIMEOUT_MINUTES=15\nCB_NO_PROGRESS_THRESHOLD=4\nMAX_CALLS_PER_HOUR=100\nMAX_TOKENS_PER_HOUR=5\nGITHUB_ISSUE=\"o/n#7\"\nTOUCHED=$(touch ran-it)\n";

const AGENT: &str = r#"{"name": "writer", "displayName": "W", "runner": {"flow": {}, "verdict": {"type": "detect:keyword",
    "config": {"verdictKeyword": "ALL-WRITTEN", "maxIterations": 40}}}}"#;

#[test]
fn files_of_other_programs_are_lowered_into_a_plain_file_that_names_them() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(".ralphrc", RALPH);
    repo.write(
        ".ralph/fix_plan.md",
        "- [ ] build it\n## Nice to Have\n- [ ] polish it\n",
    );
    repo.write(".agent/writer/agent.json", AGENT);
    repo.write("tasks/T1.md", "---\nid: T1\ntitle: Log in\nworkstream: api\ncompletion:\n  verify: make test\n---\nDo it.\n");
    repo.commit_all("files of others");
    let dry = repo.watchdog(&["init", "--dry-run"]).expect(0);
    assert!(!repo.path().join("completion.json").exists(), "{dry}");
    let out = repo.watchdog(&["init", "--yes"]).expect(0);
    for said in [
        "from .agent/writer/agent.json",
        "from .ralphrc",
        "settings of .ralphrc: limits.session_timeout_seconds 900, breaker.limit 4, limits.cooldown_seconds 36",
        "settings of tasks: tasks.dir \"tasks\"",
        ".ralphrc: MAX_CALLS_PER_HOUR=100 becomes a pause of 36 s between sessions",
        ".ralphrc: not taken over: MAX_TOKENS_PER_HOUR: watchdog counts the tokens of a whole loop",
        ".ralphrc: not taken over: TOUCHED",
        "issue #7 of o/n is closed",
        "limits: 40 iterations, 15 min for a session",
    ] {
        assert!(out.stdout.contains(said), "{said} is missing: {out}");
    }
    assert!(
        !repo.path().join("ran-it").exists(),
        "a file of the shell is read and not run"
    );
    let written: serde_json::Value =
        serde_json::from_slice(&fs::read(repo.path().join("completion.json")).expect("written"))
            .expect("JSON");
    assert_eq!(
        written["checks"],
        json!([
            {"type": "signal", "text": "ALL-WRITTEN", "match": "contains", "in": "iteration"},
            {"type": "plan", "path": ".ralph/fix_plan.md", "optional_sections": ["Optional", "Future", "Future Enhancements", "Nice to Have"]},
        ])
    );
    assert_eq!(
        (&written["breaker"]["limit"], &written["tasks"]["dir"]),
        (&json!(4), &json!("tasks"))
    );
    assert!(
        written["behavior"].is_null() && written["runner"].is_null(),
        "the plain form alone: {written}"
    );
    let tasks = repo.watchdog(&["task", "list"]).expect(0);
    assert!(tasks.stdout.contains("T1"), "{tasks}");
}

#[test]
fn the_settings_of_a_file_are_asked_for_and_may_be_left_out() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.write(".ralphrc", "CB_NO_PROGRESS_THRESHOLD=4\n");
    repo.commit_all("settings");
    let mut asked = repo.watchdog_command(&["init"]).at_terminal();
    asked
        .wait_for("settings of .ralphrc: breaker.limit 4")
        .press(&[keys::SPACE, keys::ENTER]);
    asked
        .wait_for("Write completion.json")
        .press(&[keys::ENTER]);
    let (code, shown) = asked.wait();
    assert_eq!(code, 0, "{shown}");
    let written = fs::read_to_string(repo.path().join("completion.json")).expect("written");
    assert!(!written.contains("breaker"), "{written}");
}

#[test]
fn what_cannot_be_read_or_leads_elsewhere_is_named_and_hinders_nothing() {
    let env = TestEnv::new();
    let repo = env.repo();
    let elsewhere = env.write("elsewhere/agent.json", AGENT);
    fs::create_dir_all(repo.path().join(".agent/folder/agent.json")).expect("a folder");
    fs::create_dir_all(repo.path().join(".agent/linked")).expect("a folder");
    symlink(&elsewhere, repo.path().join(".agent/linked/agent.json")).expect("a link");
    let huge = fs::File::create(repo.path().join(".ralphrc")).expect("a file");
    huge.set_len(50 << 20).expect("a file of 50 MiB");
    repo.write(
        ".agent/graph/agent.json",
        r#"{"runner": {"verdict": {"type": "detect:graph", "config": {}}}}"#,
    );
    let out = repo
        .watchdog(&["init", "--dry-run", "--json"])
        .expect(0)
        .json();
    assert!(
        out["proposed"]["checks"].is_null() && out["proposed"]["breaker"].is_null(),
        "{out}"
    );
    let notes = out["notes"].to_string();
    for said in [
        ".agent/folder/agent.json is not used, as it is not a regular file",
        ".agent/linked/agent.json is not used, as it is a link",
        ".ralphrc is not used, as it is 52428800 bytes long",
        "is a graph of steps that only its own runner can walk",
    ] {
        assert!(notes.contains(said), "{said} is missing: {notes}");
    }
}

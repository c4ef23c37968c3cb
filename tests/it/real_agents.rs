//! The real CLIs of other agents than Claude Code, pinned, in front of the scripted API of `watchdog agent test`: four scenes of each.
//! `scripts/nightly agents` plays all of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::support::{TestEnv, fill_line};

/// The pinned program of an agent, where `scripts/test` links it. A missing one fails the test: nothing is skipped in silence.
#[track_caller]
pub fn installed(agent: &str) -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("target/{agent}/bin/{agent}"));
    assert!(
        program.exists(),
        "{} is missing: run `scripts/test --install-only`, which puts it there",
        program.display()
    );
    program
}

/// Plays one scene with the real program, of which nothing may be amiss.
#[track_caller]
fn plays(agent: &str, scene: &str) {
    let program = installed(agent);
    let mut env = TestEnv::new();
    let node = installed("node");
    let node = node.parent().expect("a program is in a folder").to_owned();
    let path = std::env::join_paths([
        node,
        env.root().join("bin"),
        "/usr/bin".into(),
        "/bin".into(),
    ])
    .expect("no folder has a colon");
    env.set("PATH", path);
    let program = program
        .to_str()
        .expect("the path of this repository is text");
    let args = fill_line(
        "agent test {} --json --scene {} --program {}",
        &[agent, scene, program],
    );
    let out = env
        .watchdog_command(&env.root(), &args)
        .timeout(Duration::from_secs(170))
        .run();
    let json = out.json();
    let row: &Value = &json["scenes"][0];
    assert_eq!(row["scene"], scene, "{out}");
    let faults = row["faults"]
        .as_array()
        .unwrap_or_else(|| panic!("no list of faults\n{out}"));
    assert!(faults.is_empty(), "{faults:#?}\n{out}");
    assert_eq!(out.code, Some(0), "{out}");
    env.assert_nothing_left();
}

#[test]
fn codex_that_commits_is_complete() {
    plays("codex", "commit");
}

#[test]
fn codex_with_refused_tools_is_never_complete() {
    plays("codex", "refused");
}

#[test]
fn term_ends_codex_and_its_processes() {
    plays("codex", "term");
}

#[test]
fn codex_is_asked_without_a_trace() {
    plays("codex", "question");
}

#[test]
fn gemini_that_commits_is_complete() {
    plays("gemini", "commit");
}

#[test]
fn gemini_with_refused_tools_needs_a_person() {
    plays("gemini", "refused");
}

#[test]
fn term_ends_gemini_and_its_processes() {
    plays("gemini", "term");
}

#[test]
fn gemini_is_asked_without_a_trace() {
    plays("gemini", "question");
}

#[test]
fn opencode_that_commits_is_complete() {
    plays("opencode", "commit");
}

#[test]
fn opencode_with_refused_tools_needs_a_person() {
    plays("opencode", "refused");
}

#[test]
fn term_ends_opencode_and_its_processes() {
    plays("opencode", "term");
}

#[test]
fn opencode_is_asked_in_a_powerless_fork() {
    plays("opencode", "question");
}

#[test]
fn qwen_that_commits_is_complete() {
    plays("qwen", "commit");
}

#[test]
fn qwen_with_refused_tools_needs_a_person() {
    plays("qwen", "refused");
}

#[test]
fn term_ends_qwen_and_its_processes() {
    plays("qwen", "term");
}

#[test]
fn qwen_is_asked_without_a_trace() {
    plays("qwen", "question");
}

#[test]
fn copilot_that_commits_is_complete() {
    plays("copilot", "commit");
}

#[test]
fn copilot_with_refused_tools_needs_a_person() {
    plays("copilot", "refused");
}

#[test]
fn term_ends_copilot_and_its_processes() {
    plays("copilot", "term");
}

#[test]
fn copilot_is_never_asked_if_traces_would_remain() {
    plays("copilot", "question");
}

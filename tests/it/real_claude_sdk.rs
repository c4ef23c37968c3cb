//! The example for the Claude Agent SDK (Python), run as it stands with the CLI that the SDK brings, against the scripted API.

use std::path::Path;

use crate::real_claude_hooks::answers;
use crate::support::{AgentSdk, Claude, CommandOutput, Repo, Rule, assert_parts};

/// The example, in a repository whose criteria want a file.
#[track_caller]
fn example(claude: &Claude, sdk: &AgentSdk, trusted: bool) -> CommandOutput {
    claude
        .env
        .install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = claude.env.repo();
    repo.write(
        "completion.json",
        r#"{"checks": [{"type": "files", "paths": ["done.txt"]}]}"#,
    );
    repo.commit_all("chore: criteria");
    if trusted {
        repo.watchdog(&["trust"]).expect(0);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/examples/claude-agent-sdk/hold_until_done.py");
    let run = claude
        .env
        .command(sdk.interpreter.clone(), repo.path())
        .args([script.as_os_str(), "MAIN TASK".as_ref()]);
    run.env("PYTHONPATH", &sdk.packages).run()
}

#[test]
fn sdk_agent_is_held_until_criteria_are_met() {
    let claude = Claude::answering([
        Rule::text("All done.").when_last_user("MAIN TASK"),
        Rule::bash("echo x > done.txt").when_last_user("missing files: done.txt"),
        Rule::text("Now it is done.").always(),
    ]);
    let out = example(&claude, &AgentSdk::installed(), true).expect(0);
    assert_eq!(out.stdout.trim(), "Now it is done.", "{out}");
    assert!(
        claude.api.messages()[0].mentions("Done means all of these"),
        "{out}"
    );
    let repo = Repo::new(&claude.env, claude.env.root().join("repo"));
    assert!(repo.has("done.txt"));
    assert_eq!(
        answers(&repo),
        ["held incomplete", "let_go complete"],
        "{out}"
    );
    let events = repo.watchdog(&["events", "--json"]).expect(0).stdout;
    assert_parts(&events, &["\"session_started\"", "\"session_ended\""]);
}

#[test]
fn untrusted_criteria_never_hold_the_sdk_agent() {
    let claude = Claude::answering([Rule::text("All done.").always()]);
    let out = example(&claude, &AgentSdk::installed(), false).expect(0);
    assert_eq!(
        (out.stdout.trim(), claude.api.messages().len()),
        ("All done.", 1),
        "{out}"
    );
    out.assert_told(&["completion.json is not trusted"]);
}

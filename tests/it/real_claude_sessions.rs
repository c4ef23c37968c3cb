//! The real Claude Code CLI at a terminal, begun by a person: its own list of sessions shows it to `status`, `sweep` and `check`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::real_claude::config;
use crate::support::{AtTerminal, Claude, Repo, Rule, keys, wait_until};

const SOON: Duration = Duration::from_secs(60);

/// Starts it as one does who used it here before.
fn start(claude: &Claude, repo: &Repo<'_>) -> AtTerminal {
    let folder = repo.path().canonicalize().unwrap();
    let used = json!({
        "hasCompletedOnboarding": true,
        "customApiKeyResponses": {"approved": ["test-not-a-key"], "rejected": []},
        "projects": {folder.to_str().unwrap(): {"hasTrustDialogAccepted": true}},
    });
    claude.env.write("home/.claude.json", used.to_string());
    claude
        .command(repo, &[])
        .at_terminal_of(120, "xterm-256color")
}

fn session(repo: &Repo<'_>) -> Value {
    let out = repo.watchdog(&["status", "--json", "-q"]).expect(0);
    out.json()["worktrees"][0]["session"].clone()
}

fn wait_for_state(repo: &Repo<'_>, state: &str) -> Value {
    let mut last = Value::Null;
    wait_until(&format!("its session is {state}"), SOON, || {
        last = session(repo);
        last["state"] == state
    });
    last
}

#[test]
fn session_begun_by_hand_is_seen() {
    let claude = Claude::answering([
        Rule::text("All tests pass, and everything is committed.")
            .delay(Duration::from_secs(5))
            .when_last_user("MAIN TASK"),
        Rule::tool(
            "AskUserQuestion",
            json!({"questions": [{"question": "Which?", "header": "Which", "multiSelect": false,
                "options": [{"label": "a", "description": "a"}, {"label": "b", "description": "b"}]}]}),
        )
        .when_last_user("NEXT TASK"),
    ]);
    let repo = claude.env.repo();
    repo.watchdog(&["snapshot"]).expect(0);
    let mut at = start(&claude, &repo);
    let begun = wait_for_state(&repo, "idle");
    assert_eq!(
        (&begun["pid"], &begun["agent"]),
        (&json!(at.pid()), &json!("claude")),
        "{begun}"
    );
    at.press(&["MAIN TASK"])
        .wait_for("MAIN")
        .press(&[keys::ENTER]);
    let busy = wait_for_state(&repo, "busy");
    assert_eq!(busy["says"], Value::Null, "{busy}");
    repo.write("draft.txt", "half");
    let config = config(&claude, json!({}));
    let out = repo.watchdog(&["--config", &config, "check", "--json", "-q"]);
    let out = out.expect(11);
    assert_eq!(out.verdict(), "waiting/session_active", "{out}");
    let says = "All tests pass, and everything is committed";
    let mut idle = Value::Null;
    // Its transcript is written after its list.
    wait_until("it says so", SOON, || {
        idle = session(&repo);
        idle["says"] == says
    });
    assert_eq!(
        (&idle["state"], &idle["new_commits"], &idle["uncommitted"]),
        (&json!("idle"), &json!(0), &json!(1)),
        "{idle}"
    );
    let asked = claude.api.messages().len();
    let out = repo.watchdog(&["--config", &config, "check", "--json", "-q"]);
    let out = out.expect(11);
    assert_eq!(out.verdict(), "waiting/session_active", "{out}");
    out.assert_has("message", "0 commits, 1 file not committed");
    assert_eq!(
        claude.api.messages().len(),
        asked,
        "it was not asked: {out}"
    );
    assert_eq!(repo.snapshots().len(), 1, "{out}");
    at.press(&["NEXT TASK"])
        .wait_for("NEXT")
        .press(&[keys::ENTER]);
    wait_for_state(&repo, "waiting");
    // Its entry stays behind.
    drop(at);
    assert_eq!(session(&repo), Value::Null);
}

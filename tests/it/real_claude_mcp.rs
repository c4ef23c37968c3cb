//! The judge as the real Claude Code CLI asks it: as a server of the Model Context Protocol.

use std::path::Path;

use serde_json::json;

use crate::support::{Claude, Rule};

#[test]
fn claude_asks_the_judge_and_reports_a_block() {
    let text = json!({"text": "which database?"});
    let claude = Claude::answering([
        Rule::tool("mcp__watchdog__check_work", json!({})).when_last_user("MAIN TASK"),
        Rule::tool("mcp__watchdog__report_blocked", text).when_last_user("missing files"),
        Rule::text("I need an answer.").always(),
    ]);
    let env = &claude.env;
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = env.repo();
    let criteria = json!({"checks": [{"type": "files", "paths": ["done.txt"]}]});
    repo.write("completion.json", criteria.to_string());
    repo.commit_all("chore: criteria");
    repo.watchdog(&["trust"]).expect(0);
    let add = ["mcp", "add", "watchdog", "--", "watchdog", "mcp"];
    claude.command(&repo, &add).run().expect(0);
    let session = [
        "claude",
        "-p",
        "--allowedTools",
        "mcp__watchdog",
        "--",
        "MAIN TASK",
    ];
    let out = repo.watchdog(&[&["run", "--json", "--"], &session[..]].concat());
    out.assert_verdict("review/disputed", json!({"strike": false}));
    out.assert_has("message", "is blocked: which database?");
    let asked = claude.api.messages();
    assert!(asked[1].last_user().contains("missing files: done.txt"));
    assert!(asked[2].last_user().contains("recorded"), "{out}");
    env.assert_nothing_left();
}

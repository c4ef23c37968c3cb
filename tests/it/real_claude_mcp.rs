//! The judge as the real Claude Code CLI asks it: as a server of the Model Context Protocol, and by the plugin of this repository.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Claude, Rule, TestEnv, fill_line};

/// This repository, a marketplace with one plugin.
const MARKETPLACE: &str = env!("CARGO_MANIFEST_DIR");

fn read_plugin(file: &str) -> Value {
    let path = Path::new(MARKETPLACE)
        .join(".claude-plugin/plugin")
        .join(file);
    let text = std::fs::read_to_string(path).expect("it is here");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn plugin_has_the_hooks_of_install() {
    let env = TestEnv::new();
    let repo = env.repo();
    repo.watchdog(&["hook", "install"]).expect(0);
    let settings = std::fs::read_to_string(repo.path().join(".claude/settings.json"));
    let settings = settings.expect("it was written");
    let settings = settings.replace(env!("CARGO_BIN_EXE_watchdog"), "watchdog");
    let settings: Value = serde_json::from_str(&settings).expect("JSON");
    let plugin = read_plugin(".claude-plugin/plugin.json");
    assert_eq!(plugin["hooks"], settings["hooks"]);
    let extension = read_plugin("gemini-extension.json");
    assert_eq!(extension["mcpServers"], plugin["mcpServers"]);
    for manifest in [plugin, extension] {
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    }
}

#[test]
fn plugin_speaks_at_the_stop() {
    let ask = "mcp__plugin_watchdog_watchdog__what_is_missing";
    let claude = Claude::answering([
        Rule::bash("echo x > work.txt").when_last_user("MAIN TASK"),
        Rule::tool(ask, json!({})).when_last_user("work.txt` is not committed"),
        Rule::bash("git add work.txt && git commit -qm work").when_last_user("Finish the work"),
        Rule::text("All changes are committed.").always(),
    ]);
    let env = &claude.env;
    env.install("watchdog", Path::new(env!("CARGO_BIN_EXE_watchdog")));
    let repo = env.repo();
    for words in [
        ["validate", "--strict", MARKETPLACE],
        ["marketplace", "add", MARKETPLACE],
        ["install", "--scope=user", "watchdog@watchdog"],
    ] {
        let args = [&["plugin"], &words[..]].concat();
        claude.command(&repo, &args).run().expect(0);
    }
    let server = "mcp__plugin_watchdog_watchdog";
    let args = ["-p", "--allowedTools", "Bash", server, "--", "MAIN TASK"];
    let out = claude.command(&repo, &args).run().expect(0);
    assert_eq!(repo.subjects_since("HEAD~1"), ["work"], "{out}");
    assert!(claude.api.messages()[0].mentions("watchdog:check-work"));
    let hooks = repo.watchdog(&["events", "--kind", "hook", "--json"]);
    let answers = hooks.stdout.matches("\"answer\":\"held\"");
    assert_eq!(answers.count(), 1, "{hooks}");
    env.assert_nothing_left();
}

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
    let session = fill_line(
        "claude -p --allowedTools mcp__watchdog -- {}",
        &["MAIN TASK"],
    );
    let out = repo.watchdog(&[&["run", "--json", "--"], &session[..]].concat());
    out.assert_verdict("review/disputed", json!({"strike": false}));
    out.assert_has("message", "is blocked: which database?");
    let asked = claude.api.messages();
    assert!(asked[1].last_user().contains("missing files: done.txt"));
    assert!(asked[2].last_user().contains("recorded"), "{out}");
    env.assert_nothing_left();
}

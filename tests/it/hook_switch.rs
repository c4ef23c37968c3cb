//! `watchdog on` and `watchdog off`: the hooks of every agent here, and every byte back.

use std::fs;
use std::path::Path;

use crate::support::TestEnv;

/// The settings of two agents in a home folder.
const CLAUDE: &str = ".claude/settings.json";
const CODEX: &str = ".codex/hooks.json";

fn with_agents() -> TestEnv {
    let env = TestEnv::new();
    for agent in ["claude", "codex"] {
        env.install(agent, Path::new("/bin/true"));
    }
    env
}

fn write_settings(env: &TestEnv, name: &str, text: &str) {
    let file = env.home().join(name);
    fs::create_dir_all(file.parent().expect("it has a folder")).expect("the home takes folders");
    fs::write(file, text).expect("the home takes files");
}

fn read_settings(env: &TestEnv, name: &str) -> Option<String> {
    fs::read_to_string(env.home().join(name)).ok()
}

#[test]
fn off_gives_back_every_byte_of_settings() {
    for theirs in [
        "{}",
        "{}\n",
        "",
        "{\"model\":\"x\",  \"env\":{}}",
        "\u{feff}{\r\n\t\"hooks\": {\"Stop\": []}\r\n}\r\n",
        "{\"hooks\": {}}",
    ] {
        let env = with_agents();
        write_settings(&env, CLAUDE, theirs);
        for _ in 0..2 {
            let on = env.watchdog(&env.root(), &["on"]).expect(0);
            on.assert_printed(&["watchdog is on", "/hooks"]);
            for file in [CLAUDE, CODEX] {
                let text = read_settings(&env, file).expect("it has hooks now");
                assert!(text.contains(" hook stop"), "{theirs:?}: {text}");
            }
        }
        env.watchdog(&env.root(), &["off"]).expect(0);
        assert_eq!(read_settings(&env, CLAUDE).as_deref(), Some(theirs));
        assert_eq!(read_settings(&env, CODEX), None, "on made it");
    }
}

#[test]
fn settings_changed_since_lose_hooks_alone() {
    let env = with_agents();
    write_settings(&env, CLAUDE, "{\"model\":\"x\"}");
    env.watchdog(&env.root(), &["on"]).expect(0);
    let text = read_settings(&env, CLAUDE).expect("it has hooks now");
    write_settings(&env, CLAUDE, &text.replace("\"x\"", "\"y\""));
    env.watchdog(&env.root(), &["off"]).expect(0);
    let text = read_settings(&env, CLAUDE).expect("it is theirs");
    assert!(
        text.contains("\"y\"") && !text.contains("hook stop"),
        "{text}"
    );
}

#[test]
fn dry_run_and_json_name_each_file() {
    let env = with_agents();
    let shown = env.watchdog(&env.root(), &["on", "--dry-run"]).expect(0);
    shown.assert_printed(&[" hook stop", "session-end --agent codex"]);
    assert_eq!(read_settings(&env, CLAUDE), None);
    assert!(!shown.stdout.contains("watchdog is on"), "{shown}");
    let done = env
        .watchdog(&env.root(), &["on", "--json"])
        .expect(0)
        .json();
    let agents = done["agents"].as_array().expect("a list");
    let names: Vec<_> = agents.iter().map(|agent| &agent["agent"]).collect();
    assert_eq!(names, ["claude", "codex"]);
    let done = env
        .watchdog(&env.root(), &["off", "--json"])
        .expect(0)
        .json();
    assert_eq!(done["agents"][1]["changed"], true, "{done}");
}

#[test]
fn unreadable_settings_leave_others_switched_on() {
    let env = with_agents();
    write_settings(&env, CLAUDE, "{");
    let on = env.watchdog(&env.root(), &["on"]).expect(2);
    on.assert_told(&["settings.json was not changed", "repair it"]);
    assert_eq!(read_settings(&env, CLAUDE).as_deref(), Some("{"));
    assert!(read_settings(&env, CODEX).is_some(), "{on}");
    let json = env
        .watchdog(&env.root(), &["on", "--json"])
        .expect(2)
        .json();
    assert_eq!(json["agents"][0]["agent"], "codex", "{json}");
    assert_eq!(json["reason"], "config_error", "{json}");
}

#[test]
fn repository_switch_needs_repository_and_agents() {
    let env = with_agents();
    let refused = env.watchdog(&env.root(), &["on", "--repo"]).expect(16);
    refused.assert_told(&["not in a git repository", "leave --repo out"]);
    let repo = env.repo();
    repo.watchdog(&["on", "--repo"]).expect(0);
    assert_eq!(read_settings(&env, CLAUDE), None, "it is the user's own");
    assert!(repo.path().join(CLAUDE).exists());
    repo.watchdog(&["off", "--repo"]).expect(0);
    assert!(!repo.path().join(CLAUDE).exists());
    let none = TestEnv::new();
    let none = none.watchdog(&none.root(), &["on"]).expect(2);
    none.assert_told(&["no agent with hooks is in PATH", " loop` runs any agent"]);
}

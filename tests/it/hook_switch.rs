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

/// Settings with hooks after `on`, changed by `change`, and after each of two `off`.
fn change_between(change: impl Fn(&TestEnv, &str)) {
    let env = with_agents();
    write_settings(&env, CLAUDE, "{\"model\":\"x\"}");
    env.watchdog(&env.root(), &["on"]).expect(0);
    let text = read_settings(&env, CLAUDE).expect("it has hooks now");
    change(&env, &text);
    for _ in 0..2 {
        env.watchdog(&env.root(), &["off"]).expect(0);
        let text = read_settings(&env, CLAUDE).expect("it is theirs");
        assert!(text.contains("model") && !text.contains(" hook "), "{text}");
    }
}

#[test]
fn settings_changed_since_lose_hooks_alone() {
    let edit = |env: &TestEnv, text: &str| {
        write_settings(env, CLAUDE, &text.replace("\"x\"", "\"y\""));
    };
    let age = |env: &TestEnv, text: &str| {
        write_settings(env, CLAUDE, &text.replace("590s", "50s"));
        env.watchdog(&env.root(), &["on"]).expect(0);
    };
    change_between(edit);
    change_between(age);
    // Hooks of a watchdog that noted nothing.
    change_between(|env, text| {
        fs::remove_file(env.state().join("hook-settings.json")).expect("on noted them");
        age(env, text);
    });
}

#[test]
fn hooks_go_without_a_state_directory() {
    let env = with_agents();
    env.watchdog(&env.root(), &["on"]).expect(0);
    let state = env.write("no-folder", "");
    let state = state.to_str().expect("a plain path");
    let off = env.watchdog(&env.root(), &["off", "--state-dir", state]);
    off.expect(0);
    assert_eq!(read_settings(&env, CLAUDE), None);
}

#[test]
fn on_keeps_what_install_was_told() {
    let env = with_agents();
    let install = ["hook", "install", "--user", "--all-sessions"];
    env.watchdog(&env.root(), &install).expect(0);
    env.watchdog(&env.root(), &["on"]).expect(0);
    let text = read_settings(&env, CLAUDE).expect("it has hooks");
    assert!(text.contains("--all-sessions"), "{text}");
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

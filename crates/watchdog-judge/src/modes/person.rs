//! Whether a session waits for a person, and whether one could answer.

use std::ffi::OsString;
use std::path::Path;

use serde_json::Value;

use watchdog_agent::transcript::ClaudeHome;
use watchdog_process::own_stdin::stdin_is_terminal;
use watchdog_system::read_regular_file;

/// How much of a settings file is read.
const SETTINGS: u64 = 1 << 20;
/// Hooks of Claude Code that notify a person of a question, or answer it.
const ASKING_HOOKS: [&str; 2] = ["PermissionRequest", "Notification"];
/// Options of Claude Code that name who answers.
const ANSWERING_OPTIONS: [&str; 1] = ["--permission-prompt-tool"];

/// Whether a person can answer questions of this command's session: at a terminal, or by a hook.
pub fn person_can_answer(root: &Path, home: &ClaudeHome, command: &[OsString]) -> bool {
    let named = |word: &OsString| {
        ANSWERING_OPTIONS
            .iter()
            .any(|option| word.to_string_lossy().starts_with(option))
    };
    stdin_is_terminal() || command.iter().any(named) || hooks_ask(root, home)
}

/// Whether a hook notifies a person of a question.
pub fn hooks_ask(root: &Path, home: &ClaudeHome) -> bool {
    let own = ["settings.json", "settings.local.json"].map(|name| root.join(".claude").join(name));
    let users = home.folder().map(|folder| folder.join("settings.json"));
    own.into_iter().chain(users).any(|path| {
        let settings = read_regular_file(&path, SETTINGS)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        settings.is_some_and(|settings| {
            ASKING_HOOKS.iter().any(|hook| {
                settings["hooks"][*hook]
                    .as_array()
                    .is_some_and(|entries| !entries.is_empty())
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::person::*;

    #[test]
    fn notification_hook_or_question_tool_implies_answering_person() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let root = scratch.path().join("tree");
        std::fs::create_dir_all(root.join(".claude")).expect("a folder can be made");
        let home = ClaudeHome {
            config_dir: Some(scratch.path().join("config").into()),
            home: None,
        };
        let write = |text: &str| {
            std::fs::write(root.join(".claude/settings.json"), text).expect("a file can be written")
        };
        assert!(!hooks_ask(&root, &home));
        write(r#"{"hooks": {"Stop": [{"hooks": []}], "Notification": []}}"#);
        assert!(!hooks_ask(&root, &home), "a hook about something else");
        write(
            r#"{"hooks": {"PermissionRequest": [{"hooks": [{"type": "command", "command": "ask"}]}]}}"#,
        );
        assert!(hooks_ask(&root, &home));
        write("{");
        assert!(person_can_answer(
            &root,
            &home,
            &["claude".into(), "--permission-prompt-tool=mcp__a__b".into()]
        ));
    }
}

//! The plugin through which opencode calls watchdog: one file that is all ours, with the commands in its head. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::entry::{HeldAgents, HookEntries, own_call};
use super::input::HookEvent;
use super::settings_text::{EditError, InstalledHooks, SettingsEdit};

/// By its first line a file is known as ours.
const MARK: &str = "// Written by `watchdog hook install --agent opencode`,";
/// All that follows the commands.
const BODY: &str = include_str!("opencode_plugin.js");

/// The commands by their names in the file.
const COMMANDS: [(&str, HookEvent); 5] = [
    ("START", HookEvent::SessionStart),
    ("PROMPT", HookEvent::PromptSubmit),
    ("TOOL", HookEvent::PostToolUse),
    ("STOP", HookEvent::Stop),
    ("END", HookEvent::SessionEnd),
];
const PATIENCE: &str = "PATIENCE";

/// The text of the plugin with the wanted commands in it; empty where none is wanted and the file is ours.
///
/// # Errors
/// When somebody else wrote the file.
pub(super) fn edit_plugin(text: &str, wanted: &HookEntries) -> Result<SettingsEdit, EditError> {
    let ours = text.starts_with(MARK);
    let new = match (wanted.entries.is_empty(), ours || text.trim().is_empty()) {
        (true, _) if ours => String::new(),
        (true, _) => text.to_owned(),
        (false, true) => render_plugin(wanted),
        (false, false) => return Err(EditError::Foreign),
    };
    Ok(SettingsEdit {
        text: new,
        is_emptied: false,
        others: Vec::new(),
    })
}

fn render_plugin(wanted: &HookEntries) -> String {
    let mut text = format!(
        "{MARK} which updates it; `watchdog hook uninstall` removes it.\n// Changes made here are lost.\n"
    );
    for (name, event) in COMMANDS {
        let command = wanted.command(event).unwrap_or("true");
        text.push_str(&format!("const {name} = {};\n", Value::from(command)));
    }
    let patience = wanted
        .entries
        .iter()
        .find(|entry| entry.event == HookEvent::Stop)
        .map_or(0, |entry| entry.timeout);
    text.push_str(&format!("const {PATIENCE} = {patience};\n"));
    text.push_str(BODY);
    text
}

/// Reads the commands; `None` where the file is not ours.
pub(super) fn read_installed_hooks(text: &str) -> Option<InstalledHooks> {
    let lines = text.strip_prefix(MARK)?.lines().skip(1);
    let constant = |name: &str| {
        let value = lines.clone().find_map(|line| {
            line.strip_prefix("const ")?
                .strip_prefix(name)?
                .strip_prefix(" = ")?
                .strip_suffix(';')
        })?;
        serde_json::from_str::<Value>(value).ok()
    };
    let calls = COMMANDS
        .iter()
        .filter_map(|(name, _)| own_call(constant(name)?.as_str()?));
    let mut hooks = InstalledHooks {
        programs: BTreeSet::new(),
        holds: HeldAgents::default(),
        patience: constant(PATIENCE)
            .and_then(|value| value.as_u64())
            .map_or(HookEntries::USUAL_PATIENCE, Duration::from_secs),
        by_hand: false,
    };
    for call in calls {
        hooks.holds.all_sessions |= call.options.iter().any(|option| option == "--all-sessions");
        hooks.programs.insert(call.program);
    }
    Some(hooks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::HookDialect;

    fn usual(program: &str) -> HookEntries {
        let holds = HeldAgents {
            subagents: false,
            all_sessions: true,
        };
        HookEntries::usual(
            HookDialect::Opencode,
            program,
            Duration::from_secs(60),
            holds,
        )
    }

    #[test]
    fn plugin_is_written_read_back_and_removed() {
        let text = edit_plugin("", &usual("'/a b/watchdog'"))
            .expect("a new file")
            .text;
        assert!(text.contains(r#"const STOP = "'/a b/watchdog' hook stop --agent opencode --all-sessions --within 50s";"#), "{text}");
        assert_eq!(
            edit_plugin(&text, &usual("'/a b/watchdog'"))
                .expect("ours")
                .text,
            text,
            "a second time changes nothing"
        );
        let hooks = read_installed_hooks(&text).expect("ours");
        assert_eq!(hooks.programs, BTreeSet::from(["/a b/watchdog".to_owned()]));
        assert_eq!(
            (hooks.holds.all_sessions, hooks.patience),
            (true, Duration::from_secs(60))
        );
        assert_eq!(
            edit_plugin(&text, &HookEntries::none(HookDialect::Opencode))
                .expect("ours")
                .text,
            ""
        );
        let old = format!("{MARK} and more.\nconst STOP = \"watchdog hook stop\";\n");
        assert_eq!(
            edit_plugin(&old, &usual("w"))
                .expect("an old one of ours")
                .text,
            edit_plugin("", &usual("w")).expect("a new file").text
        );
    }

    #[test]
    fn a_plugin_of_somebody_else_is_left_alone() {
        for theirs in [
            "export const Mine = async () => ({});\n",
            "// hello\n",
            "\u{feff}// Written by",
        ] {
            assert!(edit_plugin(theirs, &usual("watchdog")).is_err(), "{theirs}");
            assert_eq!(
                edit_plugin(theirs, &HookEntries::none(HookDialect::Opencode))
                    .expect("nothing to do")
                    .text,
                theirs
            );
            assert_eq!(read_installed_hooks(theirs), None);
        }
    }
}

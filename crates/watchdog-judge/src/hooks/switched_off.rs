//! The settings with which an agent runs none of its hooks, or not ours, in the order in which its files count.

use std::path::{Path, PathBuf};

use super::HookDialect;
use super::settings_file::SettingsFile;
use super::settings_text::{list_own_names, parse_settings};

/// A setting that keeps an agent from hooks of ours.
pub struct HookSwitch {
    /// Its key.
    pub key: &'static str,
    /// The key and its value, in a sentence that goes on with the file.
    pub setting: String,
    /// The hooks that it stops, in words.
    pub effect: &'static str,
    /// The file that has it.
    pub file: PathBuf,
}

/// The hooks that Gemini CLI leaves out, by name or command. The lists of all files count.
const LEFT_OUT: &str = "hooksConfig.disabled";

/// The switch that counts in the worktree `root`; `None` where hooks run. The first file that has the key decides, but with Copilot CLI
/// each can switch off: that of a user its own hooks (`of_user`) alone.
pub fn find_hook_switch(
    dialect: HookDialect,
    root: Option<&Path>,
    user_file: Option<&Path>,
    of_user: bool,
) -> Option<HookSwitch> {
    // An organization's own settings come first, on Linux and on macOS.
    let (managed, key): (&[&str], _) = match dialect {
        HookDialect::Claude => (
            &[
                "/etc/claude-code/managed-settings.json",
                "/Library/Application Support/ClaudeCode/managed-settings.json",
            ],
            "disableAllHooks",
        ),
        HookDialect::Gemini => (
            &[
                "/etc/gemini-cli/settings.json",
                "/Library/Application Support/GeminiCli/settings.json",
            ],
            "hooksConfig.enabled",
        ),
        HookDialect::Qwen => (&["/etc/qwen-code/settings.json"], "disableAllHooks"),
        HookDialect::Codex => (&[], "features.hooks"),
        HookDialect::Copilot => (&[], "disableAllHooks"),
        HookDialect::Opencode => return None,
    };
    let is_copilot = dialect == HookDialect::Copilot;
    let project_files = match dialect {
        HookDialect::Codex => vec![".codex/config.toml"],
        HookDialect::Copilot => [
            &[
                ".github/copilot/settings.local.json",
                dialect.project_file(),
            ],
            &HookDialect::Claude.project_files()[..],
        ]
        .concat(),
        _ => dialect.project_files().into_iter().rev().collect(),
    };
    let project = root.map(|root| project_files.iter().map(|name| root.join(name)));
    let of_user = user_file
        .filter(|_| of_user || !is_copilot)
        .map(|file| match dialect {
            HookDialect::Codex => file.with_file_name("config.toml"),
            _ => file.to_owned(),
        });
    let files: Vec<(PathBuf, String)> = (managed.iter().map(PathBuf::from))
        .chain(project.into_iter().flatten())
        .chain(of_user)
        .filter_map(|file| {
            let text = SettingsFile::from_path(&file).ok()?.text?;
            Some((file, text))
        })
        .collect();
    let is_off = |value: bool| value == (key == "disableAllHooks");
    let mut values = files
        .iter()
        .filter_map(|(file, text)| Some((file, read_switch(dialect, text, key)?)));
    let decides = match is_copilot {
        true => values.find(|(_, value)| is_off(*value)),
        false => values.next().filter(|(_, value)| is_off(*value)),
    };
    match decides {
        Some((file, value)) => Some(HookSwitch {
            key,
            setting: format!("{key} is {value}"),
            effect: "no hook runs",
            file: file.clone(),
        }),
        None if dialect == HookDialect::Gemini => find_left_out_hook(&files),
        None => None,
    }
}

/// The first hook of ours that a list of Gemini CLI leaves out.
fn find_left_out_hook(files: &[(PathBuf, String)]) -> Option<HookSwitch> {
    let own_names: Vec<String> = files
        .iter()
        .flat_map(|(_, text)| list_own_names(HookDialect::Gemini, text))
        .collect();
    files.iter().find_map(|(file, text)| {
        let root = parse_settings(HookDialect::Gemini, text).ok()?;
        let config = root.object_value()?.object_value("hooksConfig")?;
        let names = config.array_value("disabled")?.elements();
        let mut names = names
            .iter()
            .filter_map(|name| name.as_string_lit()?.decoded_value().ok());
        let name = names.find(|name| own_names.contains(name))?;
        Some(HookSwitch {
            key: LEFT_OUT,
            setting: format!("{LEFT_OUT} names '{name}'"),
            effect: "that hook does not run",
            file: file.clone(),
        })
    })
}

/// The value of a dotted key of two words at most.
fn read_switch(dialect: HookDialect, text: &str, key: &str) -> Option<bool> {
    if dialect == HookDialect::Codex {
        // Older versions called it otherwise, and the newest still reads that.
        return read_toml_switch(text, key)
            .or_else(|| read_toml_switch(text, "features.codex_hooks"));
    }
    let mut object = parse_settings(dialect, text).ok()?.object_value()?;
    let (folder, name) = key.rsplit_once('.').unwrap_or(("", key));
    if !folder.is_empty() {
        object = object.object_value(folder)?;
    }
    Some(object.get(name)?.value()?.as_boolean_lit()?.value())
}

/// The value of a dotted key in TOML: as a key of its table, or whole.
fn read_toml_switch(text: &str, key: &str) -> Option<bool> {
    let mut table = String::new();
    text.lines().find_map(|line| {
        let line: String = (line.split('#').next().unwrap_or_default().chars())
            .filter(|letter| !letter.is_whitespace() && !matches!(letter, '"' | '\''))
            .collect();
        if let Some(name) = line.strip_prefix('[') {
            table = format!("{}.", name.trim_end_matches(']'));
        }
        let (name, value) = line.split_once('=')?;
        let (name, value) = match value.strip_prefix('{') {
            // A table on one line.
            Some(inner) => {
                let mut members = inner.trim_end_matches('}').split(',');
                let member = members.find_map(|member| {
                    let (last, value) = member.split_once('=')?;
                    let whole = format!("{table}{name}.{last}");
                    (whole == key).then_some((whole, value))
                });
                member?
            }
            None => (format!("{table}{name}"), value),
        };
        (name == key).then(|| value.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_switch_is_read_in_each_form() {
        for (text, expected) in [
            ("[features]\nhooks = false # off\n", Some(false)),
            ("model = \"x\"\nfeatures.hooks = false\n", Some(false)),
            ("features = { web = true, hooks = false }\n", Some(false)),
            ("[features]\nhooks = true\n", Some(true)),
            ("hooks = false\n[other]\nhooks = false\n", None),
            ("# features.hooks = false\n", None),
        ] {
            assert_eq!(read_toml_switch(text, "features.hooks"), expected, "{text}");
        }
    }
}

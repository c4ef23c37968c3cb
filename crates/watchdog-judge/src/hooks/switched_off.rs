//! The settings with which an agent runs no hook at all, in the order in which its files count.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::HookDialect;
use super::settings_file::SettingsFile;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookSwitches {
    disable_all_hooks: Option<bool>,
    hooks_config: Option<HooksConfig>,
}

#[derive(Deserialize)]
struct HooksConfig {
    enabled: Option<bool>,
}

/// A setting that switches all hooks of an agent off.
pub struct HookSwitch {
    /// Its key.
    pub key: &'static str,
    /// Its value there.
    pub value: bool,
    /// The file that has it.
    pub file: PathBuf,
}

/// The switch that counts in the worktree `root`; `None` where hooks run. The first file that has the key decides.
pub fn find_hook_switch(
    dialect: HookDialect,
    root: Option<&Path>,
    user_file: Option<&Path>,
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
        HookDialect::Copilot | HookDialect::Opencode => return None,
    };
    let is_codex = dialect == HookDialect::Codex;
    let find_settings = |file: PathBuf| match is_codex {
        true => file.with_file_name("config.toml"),
        false => file,
    };
    let project_files = dialect.project_files().into_iter().rev();
    let project = root.map(|root| project_files.map(|name| root.join(name)));
    let mut files = (managed.iter().map(PathBuf::from))
        .chain(project.into_iter().flatten().map(find_settings))
        .chain(user_file.map(|file| find_settings(file.into())));
    files
        .find_map(|file| {
            let text = SettingsFile::from_path(&file).ok()?.text?;
            let value = match is_codex {
                true => read_toml_switch(&text, key)?,
                false => {
                    let switches: HookSwitches = serde_json::from_str(&text).ok()?;
                    match dialect {
                        HookDialect::Gemini => switches.hooks_config?.enabled?,
                        _ => switches.disable_all_hooks?,
                    }
                }
            };
            Some(HookSwitch { key, value, file })
        })
        .filter(|switch| switch.value == (switch.key == "disableAllHooks"))
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

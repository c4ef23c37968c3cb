//! The setting with which Claude Code runs no hook at all, in the order in which its files count.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::HookDialect;
use super::settings_file::SettingsFile;

/// An organization's own settings, on Linux and on macOS.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HookSwitch {
    disable_all_hooks: Option<bool>,
}

/// The file with `disableAllHooks` that counts in the worktree `root`; `None` where hooks run. The first file that has the key decides.
pub fn find_hook_switch(root: Option<&Path>, user_file: Option<&Path>) -> Option<PathBuf> {
    let managed = MANAGED.into_iter().map(PathBuf::from);
    let of_project = HookDialect::Claude.project_files().into_iter().rev();
    let project = root.map(|root| of_project.map(|name| root.join(name)));
    let mut files = (managed.chain(project.into_iter().flatten())).chain(user_file.map(Into::into));
    let (file, is_off) = files.find_map(|path| {
        let text = SettingsFile::from_path(&path).ok()?.text?;
        let switch: HookSwitch = serde_json::from_str(&text).ok()?;
        Some((path, switch.disable_all_hooks?))
    })?;
    is_off.then_some(file)
}

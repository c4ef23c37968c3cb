//! The text of the file in which an agent reads hooks: our entries in, out, or read back. Pure.

use std::collections::BTreeSet;

use super::dialect::HookDialect;
use super::entry::HookEntries;
pub use super::settings_text::InstalledHooks;
use super::settings_text::{EditError, SettingsEdit};
use super::{plugin_text, settings_text};

/// The text with exactly the wanted entries of ours in it, and everything else as it was. `program` is what our own entries may call
/// beside `watchdog`.
///
/// # Errors
/// When the agent could not read the text, or somebody else wrote what would be replaced.
pub fn edit_hooks(
    text: &str,
    wanted: &HookEntries,
    program: &str,
) -> Result<SettingsEdit, EditError> {
    match wanted.dialect {
        HookDialect::Opencode => plugin_text::edit_plugin(text, wanted),
        _ => settings_text::edit_settings(text, wanted, program),
    }
}

/// How many entries of ours a text holds.
pub fn own_entries(dialect: HookDialect, text: &str, program: &str) -> u64 {
    match dialect {
        HookDialect::Opencode => u64::from(plugin_text::read_installed_hooks(text).is_some()),
        _ => settings_text::own_entries(dialect, text, program),
    }
}

/// Reads our own entries; `None` where there is none.
pub fn read_installed_hooks(
    dialect: HookDialect,
    text: &str,
    program: &str,
) -> Option<InstalledHooks> {
    match dialect {
        HookDialect::Opencode => plugin_text::read_installed_hooks(text),
        _ => settings_text::read_installed_hooks(dialect, text, program),
    }
}

/// Whether a text has hooks of ours, those written by hand included.
pub fn has_own_hooks(dialect: HookDialect, text: &str, program: &str) -> bool {
    read_installed_hooks(dialect, text, program).is_some()
        || !list_by_hand(dialect, text, program).is_empty()
}

/// The calls of watchdog in a text that were written by hand.
pub fn list_by_hand(dialect: HookDialect, text: &str, program: &str) -> BTreeSet<String> {
    let edited = edit_hooks(text, &HookEntries::none(dialect), program);
    edited.map_or_else(
        |_| BTreeSet::new(),
        |edited| edited.others.into_iter().collect(),
    )
}

/// Why an agent reads no hook of a settings file; `None` where it reads them.
pub fn find_reading_fault(dialect: HookDialect, text: &str) -> Option<String> {
    match dialect {
        HookDialect::Opencode => None,
        _ => settings_text::find_reading_fault(dialect, text),
    }
}

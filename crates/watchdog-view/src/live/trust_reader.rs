//! Reads which commands a configuration names, for a person who is about to trust it.

use super::deed::trust_deed;
use super::live_data::{LiveRowKey, PlannedDeed};
use watchdog_core::config::parse_bytes;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::Worktree;
use watchdog_judge::judge::configuration::{FILE as CONFIGURATION_FILE, MAX_BYTES};
use watchdog_system::read_regular_file;

/// The deed, with what it allows; or why there is none.
pub fn prepare_trust(commands: &WorktreeCommands, key: &LiveRowKey) -> Result<PlannedDeed, String> {
    let worktree =
        Worktree::open(&key.worktree).map_err(|error| escape_to_one_line(&error.to_string()))?;
    let path = worktree.root().join(CONFIGURATION_FILE);
    let failed = |why: String| {
        format!(
            "cannot read {CONFIGURATION_FILE}: {}",
            escape_to_one_line(&why)
        )
    };
    let bytes = read_regular_file(&path, MAX_BYTES).map_err(|error| failed(error.to_string()))?;
    let parsed = parse_bytes(&bytes, &path).map_err(|error| failed(error.to_string()))?;
    let named = parsed.settings.commands();
    Ok(trust_deed(commands, key, &path, bytes, &named))
}

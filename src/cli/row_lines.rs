//! The lines below a row of a table: why it stands where it does, what to type, and which other rows have the same fault.

use std::path::Path;

use super::terminal::CommandTerminal;
use watchdog_facts::display::{escape_to_one_line, plural};

/// So many names are shown of those with the same fault.
const NAMED: usize = 3;

/// Why, in one line, and the command below it, which stays in one piece.
pub fn why_and_command(terminal: &CommandTerminal, why: &str, command: Option<&str>) {
    if !why.is_empty() {
        terminal.gist(&format!("  {why}"));
    }
    if let Some(command) = command {
        terminal.line(&format!("  {command}"));
    }
}

/// The other worktrees with the same fault, by the first of their names.
pub fn print_others<'a>(
    terminal: &CommandTerminal,
    worktrees: impl ExactSizeIterator<Item = &'a Path>,
) {
    let count = worktrees.len();
    if count == 0 {
        return;
    }
    let name = |path: &Path| {
        escape_to_one_line(
            &path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy(),
        )
    };
    let names: Vec<String> = worktrees.take(NAMED).map(name).collect();
    let more = if count > names.len() {
        format!(" and {} more; -v lists them", count - names.len())
    } else {
        String::new()
    };
    terminal.gist(&format!(
        "  the same in {} of this repository: {}{more}",
        plural(count as u64, "other worktree"),
        names.join(", ")
    ));
}

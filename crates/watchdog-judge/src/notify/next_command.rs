//! The one command with which a person goes on after an event, ready to be pasted anywhere.

use std::path::Path;

use serde_json::Value;

use crate::wire::next_step::NextStep;
use crate::wire::verdict_json::VerdictView;
use watchdog_facts::display::is_hostile;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_store::journal::kind;

/// Shows every watched worktree.
pub fn build_status_command(commands: &WorktreeCommands) -> String {
    commands.watchdog_anywhere("status")
}

/// The command for an event. `commands` name the records that it is about.
pub fn next_command(event: &Value, commands: &WorktreeCommands) -> String {
    let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let (path, spec, data) = (word(event, "path"), word(event, "spec"), &event["data"]);
    // A line feed or an invisible character in a name would not survive the way to a terminal.
    if !Path::new(&path).is_absolute()
        || [&path, &spec].iter().any(|name| {
            name.chars()
                .any(|c| is_hostile(c) || c == '\n' || c == '\t')
        })
    {
        return build_status_command(commands);
    }
    let commands = commands.clone().with_worktree(Path::new(&path));
    let here = |what: &str| commands.watchdog(what);
    let of_spec = |what: &str| {
        if spec.is_empty() {
            here(what)
        } else {
            here(&format!("{what} --spec {}", shell_word(&spec)))
        }
    };
    let task = word(data, "task");
    match word(event, "kind").as_str() {
        kind::VERDICT => NextStep::after_verdict(&VerdictView::read(data))
            .line(&commands, &spec, "status")
            .unwrap_or_else(|| build_status_command(&commands)),
        kind::BREAKER if word(data, "state") == "open" => of_spec("breaker reset"),
        kind::BREAKER => of_spec("breaker"),
        kind::RESCUE | kind::SNAPSHOT | kind::RESTORE | kind::DROPPED | kind::EXPIRED => {
            here("rescue list")
        }
        kind::DEGRADED => here("doctor"),
        _ if !task.is_empty() && !task.chars().any(is_hostile) => {
            here(&format!("task show {}", shell_word(&task)))
        }
        _ => here("status"),
    }
}

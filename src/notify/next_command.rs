//! The one command with which a person goes on after an event, ready to be pasted anywhere.

use std::path::Path;

use serde_json::Value;

use watchdog_facts::display::is_hostile;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_facts::verdict::Reason;
use watchdog_store::journal::kind;

/// Shows every watched worktree.
pub fn everything(commands: &WorktreeCommands) -> String {
    commands.watchdog_anywhere("status")
}

/// The command for an event. `commands` name the records that it is about.
pub fn next_command(event: &Value, commands: &WorktreeCommands) -> String {
    let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let (path, spec, data) = (word(event, "path"), word(event, "spec"), &event["data"]);
    // A line feed or an invisible character in a name would not survive the way to a terminal.
    if !Path::new(&path).is_absolute() || [&path, &spec].iter().any(|name| name.chars().any(|c| is_hostile(c) || c == '\n' || c == '\t')) {
        return everything(commands);
    }
    let commands = commands.clone().with_worktree(Path::new(&path));
    let here = |what: &str| commands.watchdog(what);
    let of_spec = |what: &str| if spec.is_empty() { here(what) } else { here(&format!("{what} --spec {}", shell_word(&spec))) };
    let task = word(data, "task");
    match word(event, "kind").as_str() {
        kind::VERDICT => match of_verdict(data) {
            GoOn::Here(what) => here(what),
            GoOn::OfSpec(what) => of_spec(what),
            GoOn::Git(what) => commands.git(&what),
        },
        kind::BREAKER if word(data, "state") == "open" => of_spec("breaker reset"),
        kind::BREAKER => of_spec("breaker"),
        kind::RESCUE | kind::SNAPSHOT | kind::RESTORE | kind::DROPPED | kind::EXPIRED => here("rescue list"),
        kind::DEGRADED => here("doctor"),
        _ if !task.is_empty() && !task.chars().any(is_hostile) => here(&format!("task show {}", shell_word(&task))),
        _ => here("status"),
    }
}

/// A command about one worktree.
enum GoOn {
    /// Of watchdog.
    Here(&'static str),
    /// Of watchdog, about the spec.
    OfSpec(&'static str),
    /// Of git.
    Git(String),
}

fn of_verdict(data: &Value) -> GoOn {
    let left: u64 = ["staged", "unstaged", "untracked", "conflicted"].iter().filter_map(|of| data["changes"][*of].as_u64()).sum();
    let rescue_or = |other| if left > 0 { GoOn::OfSpec("rescue") } else { other };
    let word = data["reason"].as_str().unwrap_or_default();
    let Some(reason) = Reason::ALL.iter().copied().find(|reason| reason.as_str() == word) else { return GoOn::Here("status") };
    match reason {
        Reason::NewCommits | Reason::Rescued | Reason::NothingToDo | Reason::ChecksPassed => {
            new_commits(data).map_or(GoOn::Here("status"), GoOn::Git)
        }
        Reason::Working | Reason::MaxProbes => rescue_or(GoOn::OfSpec("check")),
        Reason::ChecksUnmet => GoOn::OfSpec("check"),
        Reason::OperationInProgress => GoOn::Git("status".into()),
        Reason::SessionTimeout | Reason::SessionIdle => rescue_or(GoOn::Here("status")),
        Reason::RescueIncomplete => GoOn::OfSpec("rescue"),
        Reason::BreakerOpen => GoOn::OfSpec("breaker reset"),
        // What is wrong, and the command that mends or allows it after a look.
        Reason::Untrusted
        | Reason::VerifyUnrunnable
        | Reason::AgentUnrunnable
        | Reason::Halted
        | Reason::ProbeError
        | Reason::GitError
        | Reason::NotARepository
        | Reason::ConfigError
        | Reason::StoreError
        | Reason::SnapshotFailed => GoOn::Here("doctor"),
        Reason::BackgroundWork
        | Reason::SessionActive
        | Reason::RateLimited
        | Reason::Locked
        | Reason::Dependencies
        | Reason::NoCriteria
        | Reason::MaxIterations
        | Reason::VerifyTimeout
        | Reason::VerifyFailed
        | Reason::RepeatedNothingToDo
        | Reason::Disputed
        | Reason::CriteriaChanged
        | Reason::BudgetExhausted
        | Reason::DeadlineExceeded
        | Reason::AgentStopped
        | Reason::Interrupted => GoOn::Here("status"),
    }
}

/// The list of the commits since the baseline.
fn new_commits(data: &Value) -> Option<String> {
    let hex = |key: &str| {
        let name = data[key].as_str()?;
        (name.len() >= 40 && name.bytes().all(|b| b.is_ascii_hexdigit())).then(|| name[..12].to_owned())
    };
    let head = hex("head")?;
    let range = hex("baseline").map_or_else(|| head.clone(), |baseline| format!("{baseline}..{head}"));
    (hex("baseline").as_ref() != Some(&head)).then(|| format!("log --stat {range}"))
}

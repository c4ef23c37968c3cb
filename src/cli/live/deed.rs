//! What a person may have done from the view: each with a sentence that names exactly what will happen, and the command line that does the
//! same. Pure.

use std::ffi::OsString;
use std::path::Path;

use super::live_data::{DeedMeans, LiveRowKey, PlannedDeed, ProcessRequest, SnapshotChoice};
use super::model::LiveModel;
use crate::report::overview::StatusRow;
use watchdog_core::decision::breaker::BreakerState;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};

/// How command lines about a worktree begin: as text to show, and as words to run.
struct CommandLines<'a> {
    commands: WorktreeCommands,
    worktree: &'a Path,
}

impl CommandLines<'_> {
    fn planned(
        &self,
        key: &LiveRowKey,
        name: &str,
        words: &[&str],
        says: Vec<String>,
    ) -> PlannedDeed {
        let line = words
            .iter()
            .map(|word| shell_word(word))
            .collect::<Vec<_>>()
            .join(" ");
        let begin = [
            OsString::from("watchdog"),
            "-C".into(),
            self.worktree.into(),
        ];
        let all = begin
            .into_iter()
            .chain(words.iter().map(OsString::from))
            .collect();
        PlannedDeed {
            name: name.into(),
            key: key.clone(),
            says,
            command: self.commands.watchdog(&line),
            means: Some(DeedMeans::Words(all)),
        }
    }
}

/// What may be done about a row, in the order of a menu; `chosen` is the snapshot that is chosen, where one is.
pub fn deeds(
    model: &LiveModel,
    row: &StatusRow,
    chosen: Option<&SnapshotChoice>,
) -> Vec<PlannedDeed> {
    if row.gone || row.broken.is_some() || row.machine.is_some() {
        return Vec::new();
    }
    let key = LiveRowKey::of(row);
    let lines = CommandLines {
        commands: model.commands.clone().with_worktree(&row.worktree),
        worktree: &row.worktree,
    };
    let spec = escape_to_one_line(&row.spec);
    let mut found = Vec::new();
    if let (true, Some(holder)) = (row.loops(), &row.holder) {
        let at = row.looped.as_ref().map_or(0, |looped| looped.iteration());
        found.push(PlannedDeed {
            name: "pause the loop".into(),
            key: key.clone(),
            says: vec![
                format!(
                    "Ask the loop (process {}) to pause: its session goes on and is judged, then it ends and keeps its state.",
                    holder.pid
                ),
                "To go on, type the same loop command again; it resumes at the next iteration.".into(),
            ],
            command: format!("kill -USR1 {}", holder.pid),
            means: Some(DeedMeans::Signal { request: ProcessRequest::Pause, pid: holder.pid, since: holder.since }),
        });
        found.push(PlannedDeed {
            name: "end the loop".into(),
            key: key.clone(),
            says: vec![
                format!("Ask the loop (process {}) to end. It ends its session, judges what is there, and keeps its state.", holder.pid),
                format!("To go on, type the same loop command again; it resumes at iteration {at}."),
            ],
            command: format!("kill -TERM {}", holder.pid),
            means: Some(DeedMeans::Signal { request: ProcessRequest::End, pid: holder.pid, since: holder.since }),
        });
    }
    if let Some(snapshot) = chosen {
        let branch = format!("restored/{}", snapshot.id.replace('/', "-"));
        let says = vec![
            format!(
                "Put the snapshot {} on the new branch {branch}.",
                escape_to_one_line(&snapshot.id)
            ),
            "The work tree, the index and every other branch stay as they are.".into(),
        ];
        found.push(lines.planned(
            &key,
            "restore this snapshot",
            &["rescue", "restore", &snapshot.id, "--branch", &branch],
            says,
        ));
    }
    if !row.runs() {
        let says = vec![
            format!("Judge '{spec}' once, from its recorded baseline, with the criteria that govern it."),
            "Its checks run, its agent may be asked once, and unsaved work of an ended session may be rescued.".into(),
        ];
        found.push(lines.planned(
            &key,
            "judge now",
            &["check", "--once", "--spec", &row.spec],
            says,
        ));
        let says = vec![
            "Take a snapshot of everything that is not committed, then commit it as the configuration says.".into(),
            "Nothing is removed: what cannot be committed stays in the snapshot.".into(),
        ];
        found.push(lines.planned(&key, "rescue", &["rescue", "--spec", &row.spec], says));
    }
    if !row.breaker.is_clean() {
        let opens = if row.breaker.state == BreakerState::Closed {
            ""
        } else {
            " and close it"
        };
        let says = vec![format!(
            "Forget the {} strikes of the breaker of '{spec}'{opens}. Sessions may run again.",
            row.breaker.strikes
        )];
        found.push(lines.planned(
            &key,
            "reset the breaker",
            &["breaker", "--spec", &row.spec, "reset"],
            says,
        ));
    }
    let command = lines.commands.watchdog("trust");
    found.push(PlannedDeed {
        name: "trust completion.json".into(),
        key,
        says: Vec::new(),
        command,
        means: None,
    });
    found
}

/// Why there is nothing to do about a row.
pub fn no_deeds(row: &StatusRow) -> Vec<String> {
    if let Some(machine) = &row.machine {
        let there = WorktreeCommands::default().with_worktree(row.folder());
        let type_it = |words: &str| format!("  {}", there.watchdog(words));
        let name = escape_to_one_line(&machine.name);
        let mut lines = vec![format!(
            "This is on {name}, and is acted on there. Type on {name}:"
        )];
        lines.extend(["status", "check --once", "rescue", "breaker reset"].map(type_it));
        return lines;
    }
    let why = if row.gone {
        "its folder is gone"
    } else {
        "git cannot use it"
    };
    vec![format!("Nothing can be done here: {why}.")]
}

/// What trusting a configuration means, once its commands were read.
pub fn trust_deed(
    model_commands: &WorktreeCommands,
    key: &LiveRowKey,
    path: &Path,
    bytes: Vec<u8>,
    named: &[String],
) -> PlannedDeed {
    let lines = CommandLines {
        commands: model_commands.clone().with_worktree(&key.worktree),
        worktree: &key.worktree,
    };
    let mut says =
        vec!["Trust completion.json as it is now. Judgements may run what it names:".to_owned()];
    says.extend(
        named
            .iter()
            .map(|command| format!("  {}", escape_to_one_line(command))),
    );
    if named.is_empty() {
        says.push("  nothing: it names no commands".into());
    }
    says.push("If the file changes before you confirm, nothing is trusted.".into());
    let deed = lines.planned(key, "trust completion.json", &["trust"], says);
    let words = match deed.means {
        Some(DeedMeans::Words(words)) => words,
        _ => Vec::new(),
    };
    PlannedDeed {
        means: Some(DeedMeans::TrustFile {
            words,
            path: path.to_owned(),
            bytes,
        }),
        ..deed
    }
}

//! The actions that a person may choose in the view: each with a sentence that names exactly what
//! will happen, and the command line that does the same. Pure.

use std::ffi::OsString;
use std::path::Path;

use super::live_data::{DeedMeans, LiveRowKey, PlannedDeed, ProcessRequest, SnapshotChoice};
use super::model::LiveModel;
use crate::overview::StatusRow;
use watchdog_core::decision::breaker::BreakerState;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};

/// A deed by a command line about a worktree.
fn plan_deed(
    commands: &WorktreeCommands,
    key: &LiveRowKey,
    name: &str,
    words: &[&str],
    says: &[&str],
) -> PlannedDeed {
    let quoted: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
    let begin = [
        "watchdog".into(),
        "-C".into(),
        OsString::from(&key.worktree),
    ];
    let commands = commands.clone().with_worktree(&key.worktree);
    PlannedDeed {
        name: name.into(),
        key: key.clone(),
        says: says.iter().map(|line| (*line).to_owned()).collect(),
        command: commands.watchdog(&quoted.join(" ")),
        means: Some(DeedMeans::Words(
            begin
                .into_iter()
                .chain(words.iter().map(OsString::from))
                .collect(),
        )),
    }
}

/// Lists the possible actions for a row, in the order of a menu; `chosen` is the snapshot that is
/// chosen, if any.
pub fn list_deeds(
    model: &LiveModel,
    row: &StatusRow,
    chosen: Option<&SnapshotChoice>,
) -> Vec<PlannedDeed> {
    if row.gone || row.broken.is_some() || row.machine.is_some() {
        return Vec::new();
    }
    let key = LiveRowKey::from_row(row);
    let plan = |name: &str, words: &[&str], says: &[&str]| {
        plan_deed(&model.commands, &key, name, words, says)
    };
    let spec = escape_to_one_line(&row.spec);
    let mut deeds = Vec::new();
    if let (true, Some(holder)) = (row.loops(), &row.holder) {
        let (pid, since) = (holder.pid, holder.since);
        let signal_deed = |request, name: &str, signal: &str, says: [String; 2]| PlannedDeed {
            name: name.into(),
            key: key.clone(),
            says: says.into(),
            command: format!("kill -{signal} {pid}"),
            means: Some(DeedMeans::Signal {
                request,
                pid,
                since,
            }),
        };
        let at = row.looped.as_ref().map_or(0, |looped| looped.iteration());
        deeds.push(signal_deed(ProcessRequest::Pause, "pause the loop", "USR1", [
            format!("Ask the loop (process {pid}) to pause: its session goes on and is judged, then it ends and keeps its state."),
            "To go on, type the same loop command again; it resumes at the next iteration.".into(),
        ]));
        deeds.push(signal_deed(ProcessRequest::End, "end the loop", "TERM", [
            format!("Ask the loop (process {pid}) to end. It ends its session, judges what is there, and keeps its state."),
            format!("To go on, type the same loop command again; it resumes at iteration {at}."),
        ]));
    }
    if let Some(SnapshotChoice { id, .. }) = chosen {
        let branch = format!("restored/{}", id.replace('/', "-"));
        let says = format!(
            "Put the snapshot {} on the new branch {branch}.",
            escape_to_one_line(id)
        );
        let untouched = "The work tree, the index and every other branch stay as they are.";
        let words = ["rescue", "restore", id, "--branch", &branch];
        deeds.push(plan("restore this snapshot", &words, &[&says, untouched]));
    }
    if !row.runs() {
        let judge = format!(
            "Judge '{spec}' once, from its recorded baseline, with the criteria that govern it."
        );
        deeds.push(plan("judge now", &["check", "--once", "--spec", &row.spec], &[
            &judge,
            "Its checks run, its agent may be asked once, and unsaved work of an ended session may be rescued.",
        ]));
        deeds.push(plan("rescue", &["rescue", "--spec", &row.spec], &[
            "Take a snapshot of everything that is not committed, then commit it as the configuration says.",
            "Nothing is removed: what cannot be committed stays in the snapshot.",
        ]));
    }
    if !row.breaker.is_clean() {
        let closes = match row.breaker.state {
            BreakerState::Closed => "",
            _ => " and close it",
        };
        let strikes = row.breaker.strikes;
        let says = format!(
            "Forget the {strikes} strikes of the breaker of '{spec}'{closes}. Sessions may run again."
        );
        deeds.push(plan(
            "reset the breaker",
            &["breaker", "--spec", &row.spec, "reset"],
            &[&says],
        ));
    }
    deeds.push(PlannedDeed {
        means: None,
        ..plan("trust completion.json", &["trust"], &[])
    });
    deeds
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

/// Returns the action of trusting a configuration, once its commands were read.
pub fn trust_deed(
    commands: &WorktreeCommands,
    key: &LiveRowKey,
    path: &Path,
    bytes: Vec<u8>,
    named: &[String],
) -> PlannedDeed {
    let named = named
        .iter()
        .map(|command| format!("  {}", escape_to_one_line(command)));
    let mut says =
        vec!["Trust completion.json as it is now. Judgements may run what it names:".to_owned()];
    says.extend(named);
    if says.len() == 1 {
        says.push("  nothing: it names no commands".into());
    }
    says.push("If the file changes before you confirm, nothing is trusted.".into());
    let mut deed = plan_deed(commands, key, "trust completion.json", &["trust"], &[]);
    deed.says = says;
    if let Some(DeedMeans::Words(words)) = deed.means {
        deed.means = Some(DeedMeans::TrustFile {
            words,
            path: path.to_owned(),
            bytes,
        });
    }
    deed
}

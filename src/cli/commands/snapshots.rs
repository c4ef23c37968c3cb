//! `watchdog rescue list|show|restore|drop`: the snapshots that are kept, and the way back.

use std::path::PathBuf;

use serde_json::Value;

use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{LARGE, escape_for_display, escape_to_one_line, plural};
use watchdog_facts::evidence::LeftOut;
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};
use watchdog_facts::verdict::Reason;
use watchdog_git::{
    RestoreError, RestoreResult, RestoreTarget, RestoredTo, SnapshotSummary, Worktree,
};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::modes::hook::list_removed;
use watchdog_judge::rescue::{RestoreIntoError, restore_into_worktree};
use watchdog_judge::wire::judgement_events::snapshot_commit_data;
use watchdog_judge::wire::snapshot_json::{
    dropped_json, restored_data, restored_json, shown_snapshot_json, snapshots_json,
};
use watchdog_store::journal::kind;
use watchdog_view::amounts::{format_age, format_size, group_thousands};
use watchdog_view::diff_summary::summarize_diff;

/// The word for the newest snapshot of this worktree's spec.
const LATEST: &str = "latest";
/// Patches are shown up to this many bytes.
const PATCHES: usize = 256 << 10;
/// Paths that a list for people names.
pub(super) const SHOWN: usize = 20;

/// Lists the snapshots, newest first; `measured` with the room that each of them needs.
pub fn list_snapshots(
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    spec: Option<&str>,
    measured: bool,
) -> Result<u8, CommandFailure> {
    let snapshots = open.worktree.snapshots(spec)?;
    let sizes = if measured {
        Some(open.worktree.snapshot_sizes(&snapshots)?)
    } else {
        None
    };
    if terminal.json {
        terminal.value(&snapshots_json(&snapshots, sizes.as_ref()));
        return Ok(0);
    }
    if snapshots.is_empty() {
        terminal.line("no snapshots");
        return Ok(0);
    }
    let at = now();
    let rows = snapshots.iter().map(|info| {
        let private = if info.private_files > 0 {
            format!(" ({} private)", info.private_files)
        } else {
            String::new()
        };
        [
            escape_to_one_line(&info.id),
            format_age(info.at, at),
            escape_to_one_line(&info.spec),
            format!("{}{private}", plural(info.files, "file")),
            format_size(info.bytes),
            escape_to_one_line(&info.why),
        ]
    });
    let rows: Vec<[String; 6]> = rows.collect();
    let Some(sizes) = sizes else {
        terminal.table(["ID", "AGE", "SPEC", "FILES", "SIZE", "WHY"], &[], &rows);
        let notes = note_snapshots(&open.worktree, &open.commands);
        notes.iter().for_each(|line| terminal.tell(line));
        return Ok(0);
    };
    let measured_rows =
        rows.into_iter()
            .zip(&sizes.alone)
            .map(|([id, age, spec, files, all, why], alone)| {
                let alone = if *alone == 0 {
                    "-".into()
                } else {
                    format_size(*alone)
                };
                [id, age, spec, files, all, alone, why]
            });
    terminal.table(
        ["ID", "AGE", "SPEC", "FILES", "SIZE", "ALONE", "WHY"],
        &[],
        &measured_rows.collect::<Vec<_>>(),
    );
    let drop = open.commands.watchdog("rescue drop ID");
    terminal.tell(&format!(
        "together {} that HEAD has not, before compression; dropping one frees what it has alone, once git collects garbage: {drop}",
        format_size(sizes.total)
    ));
    Ok(0)
}

/// The way back for worktrees that were removed, and the room that the snapshots of a repository need, where it is large.
pub(super) fn note_snapshots(worktree: &Worktree, commands: &WorktreeCommands) -> Vec<String> {
    let snapshots = worktree.snapshots(None).unwrap_or_default();
    let removed = list_removed(&snapshots, commands).into_iter();
    let mut notes: Vec<String> = removed.map(|(_, sentence)| sentence).take(3).collect();
    // No more than their sum, and mostly far less: the same file stands in many of them.
    if snapshots.iter().map(|info| info.bytes).sum::<u64>() >= LARGE
        && let Ok(sizes) = worktree.snapshot_sizes(&snapshots)
        && sizes.total >= LARGE
    {
        let see = commands.watchdog("rescue list --size");
        notes.push(format!(
            "the snapshots have {} that HEAD has not; see which one could go with: {see}",
            format_size(sizes.total)
        ));
    }
    notes
}

/// Shows what a snapshot changes against the commit that it started from.
pub fn show_snapshot(
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    id: &str,
    stat: bool,
) -> Result<u8, CommandFailure> {
    let id = resolve_snapshot_id(open, id)?;
    let diff = open
        .worktree
        .snapshot_diff(&id, if stat { 0 } else { PATCHES })
        .map_err(explain_restore_error)?;
    if terminal.json {
        terminal.value(&shown_snapshot_json(&diff, stat));
        return Ok(0);
    }
    let info = &diff.info;
    let branch = info.branch.as_deref().unwrap_or("a detached HEAD");
    terminal.line(&format!(
        "{}, spec '{}'",
        escape_to_one_line(&info.name),
        escape_to_one_line(&info.spec)
    ));
    terminal.line(&format!(
        "taken {} ({:.0}) on {}: {}",
        format_age(info.at, now()),
        info.at,
        escape_to_one_line(branch),
        escape_to_one_line(&info.why)
    ));
    terminal.line(&compared_with(open, info));
    terminal.line("");
    for line in summarize_diff(&diff) {
        terminal.line(&line);
    }
    if !stat {
        for file in &diff.files {
            if let Some(patch) = &file.patch {
                terminal.line("");
                terminal.line(escape_for_display(patch).trim_end_matches('\n'));
            }
        }
        if diff.cut {
            let base = info
                .base
                .as_deref()
                .unwrap_or("4b825dc642cb6eb9a060e54bf8d69288fbee4904");
            let rest_command = open.commands.git(&format!("diff {base} {}", info.commit));
            terminal.line(&format!(
                "\nmore than {} of patches; see the rest with: {rest_command}",
                format_size(PATCHES as u64)
            ));
        }
    }
    Ok(0)
}

fn compared_with(open: &OpenWorktree, info: &SnapshotSummary) -> String {
    let short = |commit: &str| commit.chars().take(12).collect::<String>();
    let head = open.worktree.head_commit().ok().flatten();
    match (&info.base, head) {
        (None, _) => "compared with nothing: there was no commit yet".into(),
        (Some(base), Some(head)) if *base == head => {
            format!("compared with HEAD ({})", short(base))
        }
        (Some(base), _) => format!(
            "compared with {}, which was HEAD then; HEAD has moved since",
            short(base)
        ),
    }
}

/// The destination of a restored snapshot.
pub enum RestoreDestination {
    /// The work tree or a branch, a branch, or a plain folder.
    Here(RestoreTarget),
    /// A new linked worktree.
    LinkedWorktree(PathBuf),
}

/// Brings a snapshot back.
pub fn restore_snapshot(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    id: &str,
    target: RestoreDestination,
) -> Result<u8, CommandFailure> {
    let _lock = open.lock(command_env, "watchdog rescue restore", false)?;
    let id = open
        .worktree
        .snapshot_info(&resolve_snapshot_id(open, id)?)
        .map_err(explain_restore_error)?
        .id;
    let (restored, linked) = match target {
        RestoreDestination::Here(target) => (
            open.worktree
                .restore(&id, target)
                .map_err(explain_restore_error)?,
            None,
        ),
        RestoreDestination::LinkedWorktree(folder) => {
            let folder = std::path::absolute(&folder).unwrap_or(folder);
            (
                restore_into_worktree(&open.worktree, &id, &folder).map_err(refused_worktree)?,
                Some(folder),
            )
        }
    };
    let linked = linked.map(plain_path);
    record_event(terminal, open, kind::RESTORE, restored_data(&id));
    tell_restored(terminal, open, &id, &restored, linked);
    Ok(0)
}

/// The path of a folder that is there, without links and steps back in it.
fn plain_path(folder: PathBuf) -> PathBuf {
    folder.canonicalize().unwrap_or(folder)
}

fn tell_restored(
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    id: &str,
    restored: &RestoreResult,
    linked: Option<PathBuf>,
) {
    let (word, to) = match (&restored.to, &linked) {
        (RestoredTo::WorkTree { .. }, Some(folder)) => ("worktree", folder.display().to_string()),
        (RestoredTo::WorkTree { .. }, None) => ("work_tree", open.root().display().to_string()),
        (RestoredTo::Branch(name), _) => ("branch", name.clone()),
        (RestoredTo::Directory(path), _) => {
            ("directory", plain_path(path.clone()).display().to_string())
        }
    };
    if terminal.json {
        terminal.value(&restored_json(id, word, &to, restored));
        return;
    }
    let files = plural(restored.files, "file");
    let to = escape_to_one_line(&to);
    terminal.line(&match (&restored.to, linked.is_some()) {
        (RestoredTo::WorkTree { index: true }, true) => {
            format!("{files} in the new worktree {to}, the index as it was")
        }
        (RestoredTo::WorkTree { index: false }, true) => {
            format!("{files} in the new worktree {to}")
        }
        (RestoredTo::WorkTree { index: true }, false) => {
            format!("{files} back in the work tree, the index as it was")
        }
        (RestoredTo::WorkTree { index: false }, false) => format!("{files} back in the work tree"),
        (RestoredTo::Branch(name), _) => {
            let switch = open.commands.git(&format!("switch {}", shell_word(name)));
            format!("everything is on the new branch {to}; look at it with: {switch}")
        }
        (RestoredTo::Directory(_), _) => format!("{files} in {to}"),
    });
    if let Some(note) = &restored.note {
        terminal.line(&format!("  note: {}", escape_to_one_line(note)));
    }
    show_left_out(terminal, &restored.left_out);
}

/// Drops a snapshot.
pub fn drop_one(
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    id: &str,
) -> Result<u8, CommandFailure> {
    let dropped = open
        .worktree
        .drop_snapshot(&resolve_snapshot_id(open, id)?)
        .map_err(explain_restore_error)?;
    let data = snapshot_commit_data(&dropped.name, &dropped.commit);
    record_event(terminal, open, kind::DROPPED, data);
    if terminal.json {
        terminal.value(&dropped_json(&dropped));
    } else {
        let id = escape_to_one_line(&dropped.id);
        terminal.line(&format!(
            "dropped {id}; until git collects garbage it is still there as {}",
            dropped.commit
        ));
    }
    Ok(0)
}

/// Resolves a typed id to one that the repository understands: `latest` is the newest snapshot of
/// this worktree's spec.
fn resolve_snapshot_id(open: &OpenWorktree, id: &str) -> Result<String, CommandFailure> {
    if id != LATEST {
        return Ok(id.to_owned());
    }
    let spec = open.spec_or_default(open.recorded_baseline(None)?.as_ref());
    let root = open.root().to_string_lossy();
    let all = open.worktree.snapshots(Some(&spec))?;
    // Another worktree may work under the same spec: what was here comes first.
    let newest = all
        .iter()
        .find(|info| info.worktree == root)
        .or(all.first());
    newest.map(|info| info.id.clone()).ok_or_else(|| {
        let spec = escape_to_one_line(&spec);
        CommandFailure::usage(format!("there is no snapshot of the spec '{spec}' yet")).hint(
            format!("list all with: {}", open.commands.watchdog("rescue list")),
        )
    })
}

fn record_event(terminal: &CommandTerminal, open: &OpenWorktree, kind: &str, data: Value) {
    if let Err(error) = open.note_event(now(), None, kind, data) {
        terminal.complain_of(&format!(
            "this could not be written into the journal: {error}"
        ));
    }
}

/// Why a snapshot was not brought back or dropped, as an exit code and what to do.
pub(super) fn explain_restore_error(error: RestoreError) -> CommandFailure {
    match error {
        RestoreError::Git(error) => error.into(),
        RestoreError::Unknown { .. } => {
            CommandFailure::usage(error.to_string()).hint("list them with `watchdog rescue list`")
        }
        RestoreError::Ambiguous { .. } => CommandFailure::usage(error.to_string()),
        other => CommandFailure::new(Reason::RescueIncomplete, other.to_string())
            .hint("name another place with --branch NAME, --to DIR or --worktree DIR"),
    }
}

fn refused_worktree(error: RestoreIntoError) -> CommandFailure {
    match error {
        RestoreIntoError::Restore(error) => explain_restore_error(error),
        other => CommandFailure::new(Reason::RescueIncomplete, other.to_string())
            .hint("or bring the files alone back with --to DIR"),
    }
}

/// A snapshot's name on the command line.
pub(super) fn id_of(name: &str) -> &str {
    name.strip_prefix("refs/watchdog/rescue/").unwrap_or(name)
}

/// Shows the files that were left out, for people.
pub(super) fn show_left_out(terminal: &CommandTerminal, left_out: &[LeftOut]) {
    for skipped_path in left_out.iter().take(SHOWN) {
        terminal.line(&format!(
            "  left out: {} ({})",
            escape_to_one_line(&skipped_path.path),
            skipped_path.why
        ));
    }
    show_more(terminal, left_out.len());
}

/// How many of a list were not shown.
pub(super) fn show_more(terminal: &CommandTerminal, all: usize) {
    if all > SHOWN {
        terminal.line(&format!(
            "  and {} more",
            group_thousands((all - SHOWN) as u64)
        ));
    }
}

//! Keeps the work of a worktree that is about to be removed: its files in a snapshot, and commits that no other ref reaches.

use std::path::Path;

use jiff::Timestamp;

use crate::hooks::{HookInput, HookReply};
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::load_effective;
use crate::judge::open_worktree::OpenWorktree;
use crate::rescue::{BEFORE_REMOVAL, PathPatterns, private_rule};
use watchdog_core::config::settings::RescueMode;
use watchdog_facts::display::{name_first, plural};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::ignored_files::LostFile;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_git::{SnapshotRequest, SnapshotSummary};
use watchdog_store::RecordType;
use watchdog_store::hook_session::{self, HookedAgent};

use super::hook_worktree::{HookRequest, choose_folder, note_snapshot};
use crate::clock::now;

/// How many ignored files, and removed worktrees, are named at a time.
const NAMED: usize = 3;

/// Keeps the work, and tells how to bring it back.
pub fn keep_before_removal(
    command_env: &CommandEnv,
    request: &HookRequest,
    input: &HookInput,
) -> Result<HookReply, UnreadableFact> {
    let mut sentences = Vec::new();
    let command_env = CommandEnv {
        worktree: choose_folder(command_env, request, input, None),
        ..command_env.clone()
    };
    let worktree = command_env.open_worktree()?;
    let (root, at, spec) = (worktree.root(), now(), worktree.default_spec());
    let open = OpenWorktree::open(&command_env).ok();
    let effective =
        (open.as_ref()).and_then(|open| load_effective(&command_env, open, Some(&spec), None).ok());
    // Unknown settings keep the work, too.
    let settings = effective
        .map(|read| read.settings)
        .unwrap_or_default()
        .rescue;
    if settings.mode == RescueMode::Off || input.tool_text("action") == Some("keep") {
        return Ok(HookReply::quiet());
    }
    let (even_clean, lost_commits) = worktree.keep_before_removal(at)?;
    let request = SnapshotRequest {
        spec: &spec,
        at,
        why: BEFORE_REMOVAL,
        max_new_bytes: settings.max_snapshot_bytes,
        even_clean,
    };
    // This folder will be gone when the commands are typed.
    let common_dir = worktree.common_dir();
    let main = common_dir.parent().filter(|_| common_dir.ends_with(".git"));
    let commands = command_env.commands(main.unwrap_or(common_dir));
    if let Some(taken) = worktree.take_snapshot_with_private(&request, &private_rule(&settings))? {
        // The snapshot counts without its event, too.
        let _written = open.map(|open| note_snapshot(&open, &spec, &taken, at));
        let id = taken.name.trim_start_matches("refs/watchdog/rescue/");
        sentences.push(commands.restore_worktree(id, root));
    }
    let restore = |id: &String| commands.git(&format!("branch watchdog-{id} {id}"));
    sentences.extend(lost_commits.iter().map(restore));
    let (root, mut notes) = (root.display(), Vec::new());
    if !sentences.is_empty() {
        let all = sentences.join("; ");
        notes.push(format!(
            "once {root} is removed, bring its work back with: {all}"
        ));
    }
    let exclude = PathPatterns::new(&settings.exclude);
    let mut unkept = worktree.list_unkept_ignored()?;
    unkept.retain(|file| !exclude.matches(&file.path));
    if !unkept.is_empty() {
        let names: Vec<String> = unkept.iter().map(LostFile::describe).collect();
        let (count, named) = (names.len() as u64, name_first(&names, NAMED));
        let count = plural(count, "ignored file");
        notes.push(format!("{count} in {root} not kept: {named}"));
    }
    Ok(match notes.join("; ") {
        all if all.is_empty() => HookReply::quiet(),
        all => HookReply::tell(format!("watchdog: {all}")),
    })
}

/// The snapshots of worktrees that were removed and are not back, with the way to bring each back.
pub fn list_removed(
    snapshots: &[SnapshotSummary],
    commands: &WorktreeCommands,
) -> Vec<(String, String)> {
    let removed = snapshots
        .iter()
        .filter(|info| info.why == BEFORE_REMOVAL && !Path::new(&info.worktree).exists());
    let describe = |info: &SnapshotSummary| {
        let restore = commands.restore_worktree(&info.id, Path::new(&info.worktree));
        let sentence = format!("a worktree was removed; bring its work back with: {restore}");
        (info.id.clone(), sentence)
    };
    removed.map(describe).collect()
}

/// Names removed worktrees of the repository, each in one session only.
pub(super) fn describe_removed(
    open: &OpenWorktree,
    at: Timestamp,
) -> Result<Option<String>, UnreadableFact> {
    let (store, id) = (open.store.as_ref(), open.worktree.repository_id());
    let mut removed = list_removed(&open.worktree.snapshots(None)?, &open.commands);
    if removed.is_empty() {
        return Ok(None);
    }
    let row = hook_session::REMOVED;
    let record = HookedAgent::read_row(store, &id, row)?;
    let mut record = record.unwrap_or_else(|| HookedAgent::new(open.root().into(), None, at));
    removed.retain(|(id, _)| !record.answered_facts.contains(id));
    removed.truncate(NAMED);
    let (ids, sentences): (Vec<String>, Vec<String>) = removed.into_iter().unzip();
    if !ids.is_empty() {
        record.answered_facts.extend(ids);
        record.last_event_at = at;
        record.write_row(store, &id, row)?;
    }
    Ok(sentences
        .into_iter()
        .reduce(|first, more| format!("{first}; {more}")))
}

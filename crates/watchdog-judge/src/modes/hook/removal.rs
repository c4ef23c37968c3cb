//! Keeps the work of a worktree that is about to be removed: its files in a snapshot, and commits that no other ref reaches.

use crate::hooks::{HookInput, HookReply};
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::load_effective;
use crate::judge::open_worktree::OpenWorktree;
use crate::rescue::{BEFORE_REMOVAL, private_rule};
use watchdog_core::config::settings::RescueMode;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_git::SnapshotRequest;

use super::hook_worktree::{HookRequest, choose_folder};
use crate::clock::now;

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
    let effective = OpenWorktree::open(&command_env)
        .and_then(|open| load_effective(&command_env, &open, Some(&spec), None));
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
        let id = taken.name.trim_start_matches("refs/watchdog/rescue/");
        sentences.push(commands.restore_worktree(id, root));
    }
    let restore = |id: &String| commands.git(&format!("branch watchdog-{id} {id}"));
    sentences.extend(lost_commits.iter().map(restore));
    let root = root.display();
    Ok(match sentences.join("; ") {
        all if all.is_empty() => HookReply::quiet(),
        all => HookReply::tell(format!(
            "watchdog: once {root} is removed, bring its work back with: {all}"
        )),
    })
}

//! Removes what watchdog left of a worktree, or of all worktrees of a repository: hooks, records, refs, logs, locks.
//!
//! Every step may run twice, and a mark in the records names the worktrees until all steps are done: after a kill, the same call completes
//! the work. Snapshots, and commits that no other ref keeps, stay unless the command line names them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::hooks::{HookEntries, hook_text};
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::OwnRef;
use watchdog_process::still_runs;
use watchdog_store::engine::PRUNED_AT_ONCE;
use watchdog_store::lock::{LockAttempt, LockHolder, WorktreeLock};
use watchdog_store::trust::TrustStore;
use watchdog_store::{RecordType, StoreError, figures, left_rows, session::SessionRecord};

use super::find::{find_leftovers, forget_in_submodules};
use super::leftovers::{ForgetOptions, LeftoverKind, Leftovers, TargetWorktree};
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::open_worktree::{OpenWorktree, build_locked_verdict};
use crate::judge::refusal::Refusal;

/// The name of this command in a lock.
const COMMAND: &str = "watchdog forget";

/// Removes the leftovers, and returns them.
///
/// # Errors
/// Fails if a session runs in one of the worktrees, another watchdog holds one, or a row or ref
/// could not be read or removed. Earlier removals
/// stay; a second call removes the rest.
pub fn remove_leftovers(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    options: &ForgetOptions,
) -> Result<Leftovers, Refusal> {
    let meant = find_leftovers(command_env, open, options)?;
    let locks = lock_all(command_env, &meant)?;
    refuse_live_sessions(open, &meant)?;
    // Includes leftovers that other processes created before we had the locks.
    let mut leftovers = find_leftovers(command_env, open, options)?;
    if leftovers.owners.worktrees != meant.owners.worktrees {
        return Err(Verdict::new(
            Reason::Locked,
            "worktrees of this repository came or went meanwhile; try again",
        )
        .into());
    }
    left_rows::begin_forgetting(open.store.as_ref(), &leftovers.owners)?;
    remove_hooks(&mut leftovers, &options.program);
    remove_records(command_env, open, &leftovers)?;
    let refs: Vec<&OwnRef> = leftovers.refs.iter().collect();
    open.worktree.remove_own_refs(&refs)?;
    forget_in_submodules(&leftovers, options, true);
    if leftovers.owners.whole {
        open.worktree.remove_clone_id()?;
    }
    leftovers
        .files
        .iter()
        .try_for_each(|file| remove_file(file))?;
    for id in &leftovers.owners.worktrees {
        remove_folder(&command_env.state.logs().join(id))?;
    }
    locks.into_iter().try_for_each(WorktreeLock::remove)?;
    left_rows::finish_forgetting(open.store.as_ref(), &leftovers.owners)?;
    Ok(leftovers)
}

/// Takes the lock of each worktree, always in the same order, so that two calls never deadlock.
fn lock_all(command_env: &CommandEnv, meant: &Leftovers) -> Result<Vec<WorktreeLock>, Refusal> {
    let mut locks = Vec::new();
    for worktree in &meant.worktrees {
        let holder = LockHolder::of_this_process(COMMAND, now());
        match WorktreeLock::try_acquire(&command_env.state, &worktree.id, holder)? {
            LockAttempt::Held(lock) => locks.push(lock),
            LockAttempt::Busy(holder) => {
                let verdict = build_locked_verdict(holder);
                let message = format!(
                    "{}{}; nothing was removed",
                    verdict.message,
                    format_location(worktree)
                );
                return Err(Verdict::new(verdict.reason, message).into());
            }
        }
    }
    Ok(locks)
}

/// Refuses where a session runs that a hook reported: it holds no lock.
fn refuse_live_sessions(open: &OpenWorktree, meant: &Leftovers) -> Result<(), Refusal> {
    for (id, spec, record) in SessionRecord::list_rows(open.store.as_ref())? {
        let Some(worktree) = meant.worktrees.iter().find(|worktree| worktree.id == id) else {
            continue;
        };
        // An unreadable record is no reason to keep leftovers permanently.
        let Ok(record) = record else { continue };
        let running = record
            .pid
            .filter(|pid| record.ended_at.is_none() && still_runs(*pid, record.started_at));
        if let Some(pid) = running {
            let since = record.started_at;
            let message = format!(
                "a session of '{spec}' runs since {since:.0} (process {pid}){}; nothing was removed",
                format_location(worktree)
            );
            return Err(Verdict::new(Reason::SessionActive, message).into());
        }
    }
    Ok(())
}

fn format_location(worktree: &TargetWorktree) -> String {
    worktree
        .root
        .as_ref()
        .map(|root| format!(", in {}", root.display()))
        .unwrap_or_default()
}

/// Removes our entries from the settings. A file that cannot be edited stays as it is, with a warning.
fn remove_hooks(leftovers: &mut Leftovers, program: &str) {
    let mut entries_left = 0;
    for (dialect, file) in &leftovers.settings {
        let text = file.text.as_deref().unwrap_or_default();
        let edited = hook_text::edit_hooks(text, &HookEntries::none(*dialect), program)
            .map_err(|error| error.to_string());
        if let Err(why) = edited.and_then(|edited| {
            file.replace(file.text_after(&edited).as_deref())
                .map_err(|error| error.to_string())
        }) {
            entries_left += hook_text::own_entries(*dialect, text, program);
            leftovers.notes.push(format!(
                "the hooks in {} were left: {why}",
                file.path.display()
            ));
        }
    }
    if let Some(total) = leftovers.counts.get_mut(&LeftoverKind::Hooks) {
        total.count = total.count.saturating_sub(entries_left);
    }
}

fn remove_records(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    leftovers: &Leftovers,
) -> Result<(), StoreError> {
    let store = open.store.as_ref();
    left_rows::remove_rows(store, &left_rows::rows_of(store, &leftovers.owners)?)?;
    figures::remove_worktrees(store, &leftovers.owners.worktrees)?;
    for id in &leftovers.owners.worktrees {
        while store.remove_events(id)? == PRUNED_AT_ONCE {}
    }
    let trust = TrustStore::new(&command_env.state);
    leftovers
        .grants
        .iter()
        .try_for_each(|hash| trust.revoke(hash).map(drop))
}

fn remove_file(file: &Path) -> Result<(), Refusal> {
    unless_gone(file, fs::remove_file(file))
}

fn remove_folder(folder: &Path) -> Result<(), Refusal> {
    unless_gone(folder, fs::remove_dir_all(folder))
}

fn unless_gone(path: &Path, removed: std::io::Result<()>) -> Result<(), Refusal> {
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let why = format!("failed to remove {}: {error}", path.display());
            Err(UnreadableFact {
                kind: FaultKind::Store,
                why,
                hint: Some("remedy that, then type the same again".into()),
            }
            .into())
        }
        _ => Ok(()),
    }
}

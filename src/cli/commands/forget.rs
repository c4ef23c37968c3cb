//! `watchdog forget`: shows what watchdog left of a worktree or a repository, then removes it.

use std::io::{BufRead as _, Write as _};

use crate::cli::amounts::{grouped, size};
use crate::cli::args_forget::ForgetArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Reason;
use watchdog_judge::hooks::HookDialect;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::modes::forget::forget as remove;
use watchdog_judge::modes::forget::{
    ForgetOptions, KeepReason, LeftoverCount, LeftoverKind, Leftovers, find_leftovers,
};
use watchdog_judge::session::inside_of;
use watchdog_judge::wire::forget_json::{KeptEntry, LeftEntry, LeftWorktree, LeftoverList};
use watchdog_process::own_stdin::stdin_is_terminal;

use super::from_session::PrivilegedCommand;
use super::hook::program;

/// Shows what is left; removes it where that was said.
pub fn forget(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: ForgetArgs,
) -> Result<u8, CommandFailure> {
    let open = OpenWorktree::open(command_env).map_err(|unreadable| {
        let failure = CommandFailure::from(unreadable);
        if failure.reason != Reason::NotARepository.as_str() {
            return failure;
        }
        failure.hint("go to a worktree of the repository, or name one with -C; where its folder is gone, use --all in another one")
    })?;
    let user_hooks = HookDialect::user_files(|name| std::env::var_os(name));
    let options = ForgetOptions {
        all: args.all,
        snapshots: args.snapshots,
        program: program(true)?,
        user_hooks,
    };
    if args.yes {
        return remove_all(command_env, terminal, &open, &args, &options);
    }
    let found = find_leftovers(command_env, &open, &options)?;
    if terminal.json {
        terminal.print_answer(&listed(&found, &options, false));
        return Ok(0);
    }
    show(terminal, &open.commands, &found, &options, false);
    if found.is_empty() || args.dry_run {
        return Ok(0);
    }
    if stdin_is_terminal() && says_yes() {
        return remove_all(command_env, terminal, &open, &args, &options);
    }
    terminal.sentence(&format!(
        "Nothing was removed. To remove these: {}",
        command(&open, &options)
    ));
    Ok(0)
}

fn remove_all(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    args: &ForgetArgs,
    options: &ForgetOptions,
) -> Result<u8, CommandFailure> {
    let store = open.store.as_ref();
    // Written down for the worktree of the session: what is known of that one stays.
    let worktree_id =
        inside_of(store)?.map_or_else(|| open.worktree_id.clone(), |(worktree_id, _)| worktree_id);
    PrivilegedCommand {
        command: "watchdog forget",
        store,
        worktree_id: &worktree_id,
        from_session: args.from_session,
    }
    .allow()?;
    let removed = remove(command_env, open, options)?;
    if terminal.json {
        terminal.print_answer(&listed(&removed, options, true));
    } else {
        show(terminal, &open.commands, &removed, options, true);
    }
    Ok(0)
}

/// Only a plain yes is one.
fn says_yes() -> bool {
    let mut out = anstream::stderr();
    let _ = write!(out, "Remove these? [y/N] ");
    let _ = out.flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn command(open: &OpenWorktree, options: &ForgetOptions) -> String {
    let flag = |is_set: bool, flag: &'static str| if is_set { flag } else { "" };
    open.commands.watchdog(&format!(
        "forget{}{} --yes",
        flag(options.all, " --all"),
        flag(options.snapshots, " --snapshots")
    ))
}

fn listed<'a>(found: &'a Leftovers, options: &ForgetOptions, removed: bool) -> LeftoverList<'a> {
    let worktrees = found.worktrees.iter().map(|worktree| LeftWorktree {
        id: &worktree.id,
        root: worktree
            .root
            .as_ref()
            .map(|root| root.display().to_string()),
        gone: !worktree.there,
    });
    let entries = LeftoverKind::ALL.map(|kind| {
        let LeftoverCount { count, bytes } = found.counts.get(&kind).copied().unwrap_or_default();
        LeftEntry {
            kind: kind.as_str(),
            count,
            bytes,
        }
    });
    LeftoverList {
        removed,
        all: options.all,
        worktrees: worktrees.collect(),
        entries: entries.into(),
        kept: found
            .kept
            .iter()
            .map(|(kind, count)| KeptEntry {
                kind: kind.as_str(),
                count: *count,
            })
            .collect(),
        notes: &found.notes,
    }
}

fn show(
    terminal: &CommandTerminal,
    commands: &WorktreeCommands,
    found: &Leftovers,
    options: &ForgetOptions,
    removed: bool,
) {
    for worktree in &found.worktrees {
        let root = worktree.root.as_ref().map_or_else(
            || format!("a worktree that is gone ({})", worktree.id),
            |root| root.display().to_string(),
        );
        let gone = if worktree.there || worktree.root.is_none() {
            ""
        } else {
            " (gone)"
        };
        terminal.line(&format!("{}{gone}", escape_to_one_line(&root)));
    }
    if found.is_empty() {
        terminal.line("  watchdog left nothing here");
    }
    for (kind, number) in found.counts.iter().filter(|(_, number)| number.count > 0) {
        terminal.line(&line(*kind, *number));
    }
    for (kind, count) in &found.kept {
        terminal.sentence(&format!("  kept: {}", in_words(commands, *kind, *count)));
    }
    for note in &found.notes {
        terminal.complain(&format!("watchdog: {}", escape_to_one_line(note)));
    }
    let snapshots = found.counts.get(&LeftoverKind::Snapshots);
    let snapshots = snapshots.is_some_and(|total| total.count > 0);
    if options.snapshots && snapshots && !removed {
        let list = commands.watchdog("rescue list");
        terminal.sentence(&format!(
            "Work that is only in a snapshot cannot be brought back; see what is there with: {list}"
        ));
    }
    if removed {
        terminal.line(if found.is_empty() {
            "Nothing to remove."
        } else {
            "Removed."
        });
    }
}

fn line(kind: LeftoverKind, total: LeftoverCount) -> String {
    let bytes = total.bytes.map(|bytes| format!("  {}", size(bytes)));
    let count = grouped(total.count);
    format!(
        "  {:<9} {count:>6}{}",
        kind.as_str(),
        bytes.unwrap_or_default()
    )
}

fn in_words(commands: &WorktreeCommands, kind: KeepReason, count: u64) -> String {
    match kind {
        KeepReason::Snapshots => {
            let list = commands.watchdog("rescue list");
            format!(
                "{} of work; remove them with --snapshots, look at them with: {list}",
                plural(count, "snapshot")
            )
        }
        KeepReason::SoleRefs => format!(
            "{} below refs/watchdog/ with commits that no branch, tag or remote has; remove them with --snapshots, list them with: {}",
            plural(count, "ref"),
            commands.git("for-each-ref refs/watchdog")
        ),
        KeepReason::OtherWorktrees => format!(
            "{} of other worktrees (snapshots, trust, tasks); --all removes these, too",
            plural(count, "record")
        ),
        KeepReason::TaskWorktrees => {
            let remove = commands.git("worktree remove PATH");
            format!(
                "{} that agents were given for tasks; remove one with: {remove}",
                plural(count, "worktree")
            )
        }
        KeepReason::UserHooks => {
            let uninstall = commands.watchdog_anywhere("hook uninstall --user");
            format!(
                "{} in your own settings; remove them with: {uninstall}",
                plural(count, "hook")
            )
        }
    }
}

//! `watchdog forget`: shows what watchdog left of a worktree or a repository, then removes it.

use std::io::{BufRead as _, Write as _};

use crate::cli::args_forget::ForgetArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Reason;
use watchdog_judge::hooks::HookDialect;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::modes::forget::remove_leftovers as remove;
use watchdog_judge::modes::forget::{
    ForgetOptions, KeepReason, LeftoverCount, LeftoverKind, Leftovers, find_leftovers,
};
use watchdog_judge::session::inside_of;
use watchdog_judge::wire::forget_json::{KeptEntry, LeftEntry, LeftWorktree, LeftoverList};
use watchdog_process::own_stdin::stdin_is_terminal;
use watchdog_view::amounts::{format_size, group_thousands};

use super::from_session::PrivilegedCommand;
use super::hook_settings::choose_hook_program;

/// Shows what is left; removes it where that was said.
pub fn run_forget_command(
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
        program: choose_hook_program(true)?,
        user_hooks,
    };
    if args.yes {
        return remove_all(command_env, terminal, &open, &args, &options);
    }
    let leftovers = find_leftovers(command_env, &open, &options)?;
    if terminal.json {
        terminal.print_answer(&build_leftover_list(&leftovers, &options, false));
        return Ok(0);
    }
    show_leftovers(terminal, &open.commands, &leftovers, &options, false);
    if leftovers.is_empty() || args.dry_run {
        return Ok(0);
    }
    if stdin_is_terminal() && says_yes() {
        return remove_all(command_env, terminal, &open, &args, &options);
    }
    terminal.sentence(&format!(
        "Nothing was removed. To remove these: {}",
        build_forget_command(&open, &options)
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
        terminal.print_answer(&build_leftover_list(&removed, options, true));
    } else {
        show_leftovers(terminal, &open.commands, &removed, options, true);
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

fn build_forget_command(open: &OpenWorktree, options: &ForgetOptions) -> String {
    let flag = |is_set: bool, flag: &'static str| if is_set { flag } else { "" };
    open.commands.watchdog(&format!(
        "forget{}{} --yes",
        flag(options.all, " --all"),
        flag(options.snapshots, " --snapshots")
    ))
}

fn build_leftover_list<'a>(
    leftovers: &'a Leftovers,
    options: &ForgetOptions,
    removed: bool,
) -> LeftoverList<'a> {
    let worktrees = leftovers.worktrees.iter().map(|worktree| LeftWorktree {
        id: &worktree.id,
        root: worktree
            .root
            .as_ref()
            .map(|root| root.display().to_string()),
        gone: !worktree.there,
    });
    let entries = LeftoverKind::ALL.map(|kind| {
        let LeftoverCount { count, bytes } =
            leftovers.counts.get(&kind).copied().unwrap_or_default();
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
        keep_counts: leftovers
            .kept_counts
            .iter()
            .map(|(kind, count)| KeptEntry {
                kind: kind.as_str(),
                count: *count,
            })
            .collect(),
        notes: &leftovers.notes,
    }
}

fn show_leftovers(
    terminal: &CommandTerminal,
    commands: &WorktreeCommands,
    leftovers: &Leftovers,
    options: &ForgetOptions,
    removed: bool,
) {
    for worktree in &leftovers.worktrees {
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
    if leftovers.is_empty() {
        terminal.line("  watchdog left nothing here");
    }
    for (kind, number) in leftovers
        .counts
        .iter()
        .filter(|(_, number)| number.count > 0)
    {
        terminal.line(&format_leftover_line(*kind, *number));
    }
    for (kind, count) in &leftovers.kept_counts {
        terminal.sentence(&format!("  kept: {}", in_words(commands, *kind, *count)));
    }
    for note in &leftovers.notes {
        terminal.complain_of(note);
    }
    let snapshots = leftovers.counts.get(&LeftoverKind::Snapshots);
    let snapshots = snapshots.is_some_and(|total| total.count > 0);
    if options.snapshots && snapshots && !removed {
        let list = commands.watchdog("rescue list");
        terminal.sentence(&format!(
            "Work that is only in a snapshot cannot be brought back; see what is there with: {list}"
        ));
    }
    if removed {
        terminal.line(if leftovers.is_empty() {
            "Nothing to remove."
        } else {
            "Removed."
        });
    }
}

fn format_leftover_line(kind: LeftoverKind, total: LeftoverCount) -> String {
    let bytes = total.bytes.map(|bytes| format!("  {}", format_size(bytes)));
    let count = group_thousands(total.count);
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

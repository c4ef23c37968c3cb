//! `watchdog rescue`: salvages now; lists, shows, brings back and drops snapshots.

use crate::cli::args_rescue::{RescueArgs, RescueCommand};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::evidence::RescueOutcome;
use watchdog_facts::shell_line::shell_word;
use watchdog_facts::verdict::Reason;
use watchdog_git::{RestoreTarget, Snapshot};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::judge::planner::PlannerAgent;
use watchdog_judge::modes::rescue_now::rescue_now;
use watchdog_judge::modes::rescue_now::{RescueOptions, RescueReport};
use watchdog_judge::rescue::{PlanError, RescuePreview};
use watchdog_judge::wire::rescue_json::{rescue_preview_json, rescued_json};
use watchdog_process::CancelFlag;
use watchdog_view::amounts::group_thousands;

use super::probe::with_interrupt;
use super::snapshots::{
    RestoreDestination, SHOWN, drop_one, id_of, list_snapshots, restore_snapshot, show_left_out,
    show_more, show_snapshot,
};

/// Salvages, or does what the subcommand says.
pub fn run_rescue_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: RescueArgs,
) -> Result<u8, CommandFailure> {
    let open = match args.command {
        Some(RescueCommand::List { .. } | RescueCommand::Show { .. }) => {
            OpenWorktree::open_to_read(command_env)?
        }
        Some(RescueCommand::Restore { .. } | RescueCommand::Drop { .. }) | None => {
            OpenWorktree::open(command_env)?
        }
    };
    match args.command {
        None => run_rescue(
            command_env,
            terminal,
            &open,
            &RescueOptions {
                spec: args.spec,
                dry_run: args.dry_run,
            },
        ),
        Some(RescueCommand::List { spec, size }) => {
            list_snapshots(terminal, &open, spec.or(args.spec).as_deref(), size)
        }
        Some(RescueCommand::Show { id, stat }) => show_snapshot(terminal, &open, &id, stat),
        Some(RescueCommand::Restore {
            id,
            branch,
            into,
            linked,
            ..
        }) => {
            let target = match (branch, into, linked) {
                (Some(branch), ..) => RestoreDestination::Here(RestoreTarget::Branch(branch)),
                (None, Some(folder), _) => {
                    RestoreDestination::Here(RestoreTarget::Directory(folder))
                }
                (None, None, Some(folder)) => RestoreDestination::LinkedWorktree(folder),
                (None, None, None) => RestoreDestination::Here(RestoreTarget::Automatic),
            };
            restore_snapshot(command_env, terminal, &open, &id, target)
        }
        Some(RescueCommand::Drop { id }) => drop_one(terminal, &open, &id),
    }
}

fn run_rescue(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    options: &RescueOptions,
) -> Result<u8, CommandFailure> {
    let cancel = CancelFlag::new();
    // The agent is asked for as long as nobody presses Ctrl-C.
    let ask = |planner: &PlannerAgent<'_>, prompt: &str, attempt: u32| {
        with_interrupt(&cancel, || planner.ask(prompt, attempt, &cancel)).unwrap_or_else(
            |failure| {
                Err(PlanError::Unavailable {
                    why: failure.message,
                })
            },
        )
    };
    let (rescued, notes) = rescue_now(command_env, open, options, &ask)?;
    for note in notes {
        terminal.tell(&format!(
            "watchdog: {} ({})",
            escape_to_one_line(&note.detail),
            note.code
        ));
    }
    match rescued {
        RescueReport::Nothing => Ok(report_nothing_rescued(terminal)),
        RescueReport::Preview(preview) => Ok(show_preview(terminal, &preview)),
        RescueReport::Rescued { snapshot, outcome } => {
            report_rescue(terminal, open, &snapshot, &outcome)
        }
    }
}

fn report_nothing_rescued(terminal: &CommandTerminal) -> u8 {
    if terminal.json {
        terminal.value(&rescued_json(None, &RescueOutcome::default(), None));
    } else {
        terminal.line("nothing to rescue: no uncommitted changes");
    }
    0
}

fn show_preview(terminal: &CommandTerminal, preview: &RescuePreview) -> u8 {
    if preview.chosen.is_empty() && preview.left_out.is_empty() {
        return report_nothing_rescued(terminal);
    }
    if terminal.json {
        terminal.value(&rescue_preview_json(
            &preview.chosen,
            &preview.left_out,
            preview.refused.as_deref(),
        ));
        return 0;
    }
    terminal.line(&format!(
        "would commit {}:",
        plural(preview.chosen.len() as u64, "file")
    ));
    for path in preview.chosen.iter().take(SHOWN) {
        terminal.line(&format!("  {}", escape_to_one_line(path)));
    }
    show_more(terminal, preview.chosen.len());
    show_left_out(terminal, &preview.left_out);
    if let Some(why) = &preview.refused {
        terminal.line(&format!(
            "but nothing would be committed: {}",
            escape_to_one_line(why)
        ));
    }
    0
}

fn report_rescue(
    terminal: &CommandTerminal,
    open: &OpenWorktree,
    snapshot: &Snapshot,
    outcome: &RescueOutcome,
) -> Result<u8, CommandFailure> {
    let restore = open.commands.watchdog(&format!(
        "rescue restore {}",
        shell_word(id_of(&snapshot.name))
    ));
    let unread = snapshot.require_all_read().err();
    let ok = outcome.failed.is_none() && outcome.lost.is_empty() && unread.is_none();
    if terminal.json {
        terminal.value(&rescued_json(Some(&snapshot.name), outcome, Some(&restore)));
    } else {
        let saved_part = if snapshot.misses_files() {
            "what could be read"
        } else {
            "everything"
        };
        terminal.line(&format!(
            "{} made; {saved_part} is kept in {}",
            plural(outcome.commits, "commit"),
            snapshot.name
        ));
        show_left_out(terminal, &outcome.left_out);
        for warning in &outcome.warnings {
            terminal.line(&format!("  note: {}", escape_to_one_line(&warning.detail)));
        }
        if let Some(held_back) = &outcome.held_back {
            terminal.complain_of(&format!("not committed: {}", held_back.why));
        }
        if let Some(why) = &outcome.failed {
            terminal.complain(&format!(
                "watchdog: not committed: {}",
                watchdog_facts::display::escape_for_display(why)
            ));
        }
        if let Some(branch) = &outcome.fallback_branch {
            terminal.complain_of(&format!("the work is on the branch {branch} instead"));
        }
        for path in outcome.lost.iter().take(SHOWN) {
            terminal.complain_of(&format!("neither in HEAD nor in the work tree: {path}"));
        }
        if outcome.lost.len() > SHOWN {
            terminal.complain(&format!(
                "watchdog: and {} more",
                group_thousands((outcome.lost.len() - SHOWN) as u64)
            ));
        }
        if outcome.failed.is_some() || !outcome.lost.is_empty() {
            terminal.complain(&format!("  bring it back with: {restore}"));
        }
    }
    if let Some(error) = &unread {
        terminal.complain_of(&format!(
            "not all could be kept: {error}; see to the disk, then rescue again"
        ));
    }
    Ok(match &outcome.held_back {
        _ if !ok => Reason::RescueIncomplete.status().exit_code(),
        Some(_) => Reason::SessionActive.status().exit_code(),
        None => 0,
    })
}

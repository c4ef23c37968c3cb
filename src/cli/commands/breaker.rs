//! `watchdog breaker`: shows or resets the breaker of this worktree.

use crate::cli::args::{BreakerArgs, BreakerCommand};
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;

use super::from_session::PrivilegedCommand;
use watchdog_core::decision::breaker::{Breaker, BreakerView};
use watchdog_facts::display::escape_to_one_line;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::configuration::load_effective;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::wire::breaker_json::{breaker_reset_data, shown_breaker_json};
use watchdog_store::RecordType;
use watchdog_store::journal::kind;

/// Shows or resets the breaker.
pub fn run_breaker_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: BreakerArgs,
) -> Result<u8, CommandFailure> {
    let open = if args.command.is_some() {
        OpenWorktree::open(command_env)?
    } else {
        OpenWorktree::open_to_read(command_env)?
    };
    let store = open.store.as_ref();
    let latest = open.recorded_baseline(args.spec.as_deref())?;
    let spec = args
        .spec
        .unwrap_or_else(|| open.spec_or_default(latest.as_ref()));
    let settings = load_effective(
        command_env,
        &open,
        None,
        latest.as_ref().map(|latest| &latest.point),
    )?
    .settings
    .breaker;
    if let Some(BreakerCommand::Reset { from_session }) = args.command {
        PrivilegedCommand {
            command: "watchdog breaker reset",
            store,
            worktree_id: &open.worktree_id,
            from_session,
        }
        .allow()?;
        Breaker::default().write_row(store, &open.worktree_id, &spec)?;
        open.note_event(now(), Some(&spec), kind::BREAKER, breaker_reset_data())?;
    }
    let view = Breaker::read_or_default(store, &open.worktree_id, &spec)?.state(now(), &settings);
    if terminal.json {
        let worktree = open.root().display().to_string();
        terminal.value(&shown_breaker_json(&worktree, &spec, &view));
    } else {
        for line in describe_breaker(&spec, &view) {
            terminal.line(&line);
        }
    }
    Ok(0)
}

fn describe_breaker(spec: &str, breaker: &BreakerView) -> Vec<String> {
    let mut lines = vec![format!(
        "{} for '{}': {} of {} strikes",
        breaker.state.as_str(),
        escape_to_one_line(spec),
        breaker.strikes,
        breaker.limit.unwrap_or_default()
    )];
    if let Some(since) = &breaker.since {
        lines.push(format!("  since {since:.0}"));
    }
    if let Some(until) = &breaker.open_until {
        lines.push(format!("  one trial is let through at {until:.0}"));
    }
    if let Some(why) = &breaker.why {
        lines.push(format!("  last strike: {}", escape_to_one_line(why)));
    }
    lines
}

//! `watchdog on` and `watchdog off`: the hooks of every agent on this machine, in or out with one word.

use crate::cli::args_hook::SettingsArgs;
use crate::cli::args_switch::SwitchArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::prompts::{ask_confirmation, can_ask};
use crate::cli::terminal::CommandTerminal;
use watchdog_facts::display::escape_for_display;
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_judge::hooks::{HeldAgents, HookDialect, HookEntries};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::wire::setup_json::EditedAgents;
use watchdog_judge::wire::verdict_json::as_answer;
use watchdog_process::program_in_path;

use super::hook_settings::{SettingsChange, choose_hook_program, is_shared, read_installed};
use super::init_choice::refuse_without_answer;

/// Whether the hooks go in or out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchPosition {
    /// `watchdog on`.
    On,
    /// `watchdog off`.
    Off,
}

/// Changes the settings of each agent, after one question.
pub fn run_switch_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: SwitchArgs,
    to: SwitchPosition,
) -> Result<u8, CommandFailure> {
    if args.repo {
        command_env.open_worktree().map_err(|error| {
            CommandFailure::from(error).hint("go to the repository, or leave --repo out")
        })?;
    }
    let (mut changes, mut refusals) = (Vec::new(), Vec::new());
    for agent in list_agents(to)? {
        match plan_change(command_env, args, agent, to) {
            Ok(change) => changes.push(change),
            Err(refusal) => refusals.push(refusal),
        }
    }
    changes.retain(|change| to == SwitchPosition::On || change.is_needed());
    let must_write = changes.iter().any(SettingsChange::is_needed) && !args.dry_run;
    let asks = must_write && !args.yes && !terminal.json && can_ask();
    if asks {
        show_changes(terminal, &changes);
        let question = match to {
            SwitchPosition::On => "Write these hooks?",
            SwitchPosition::Off => "Take these hooks out?",
        };
        if !ask_confirmation(question, true).map_err(refuse_without_answer)? {
            terminal.line("nothing was changed");
            return Ok(0);
        }
    }
    if must_write {
        for change in changes.iter().filter(|change| change.is_needed()) {
            change.write(command_env)?;
        }
    }
    let agents = changes.iter().map(|change| change.report(command_env));
    let answer = as_answer(EditedAgents {
        agents: agents.collect(),
    });
    if !terminal.json {
        if must_write && !asks {
            show_changes(terminal, &changes);
        }
        tell_result(command_env, terminal, args, to, &changes);
    }
    let Some(last) = refusals.pop() else {
        if terminal.json {
            terminal.value(&answer);
        }
        return Ok(0);
    };
    for refusal in refusals {
        terminal.complain(&format!("watchdog: {}", refusal.message));
    }
    Err(CommandFailure {
        partial_answer: Some(Box::new(answer)),
        ..last
    })
}

/// The agents whose settings may change: those on this machine, and without hooks all of them.
fn list_agents(to: SwitchPosition) -> Result<Vec<HookDialect>, CommandFailure> {
    let is_here = |agent: &HookDialect| program_in_path(agent.as_str()).is_some();
    let agents: Vec<HookDialect> = (HookDialect::ALL.into_iter())
        .filter(|agent| to == SwitchPosition::Off || is_here(agent))
        .collect();
    if agents.is_empty() {
        let names = HookDialect::ALL.map(HookDialect::as_str).join(", ");
        return Err(
            CommandFailure::usage(format!("no agent with hooks is in PATH ({names})"))
                .hint("install one; `watchdog loop` runs any agent"),
        );
    }
    Ok(agents)
}

fn plan_change(
    command_env: &CommandEnv,
    args: SwitchArgs,
    agent: HookDialect,
    to: SwitchPosition,
) -> Result<SettingsChange, CommandFailure> {
    let which = SettingsArgs {
        agent,
        project: args.repo,
        user: !args.repo,
        dry_run: args.dry_run,
    };
    let worktree = command_env.open_worktree().ok();
    let is_shared = worktree.is_some_and(|worktree| is_shared(&worktree, agent));
    let is_for_others = args.repo && is_shared && to == SwitchPosition::On;
    let program = choose_hook_program(!is_for_others)?;
    let wanted = match to {
        SwitchPosition::On => {
            // A person may have chosen these.
            let (patience, holds) = read_installed(command_env, which, &program).map_or(
                (HookEntries::USUAL_PATIENCE, HeldAgents::default()),
                |installed| (installed.patience, installed.holds),
            );
            HookEntries::usual(agent, &program, patience, holds)
        }
        SwitchPosition::Off => HookEntries::none(agent),
    };
    SettingsChange::plan(command_env, which, &wanted, &program)
}

fn show_changes(terminal: &CommandTerminal, changes: &[SettingsChange]) {
    for change in changes.iter().filter(|change| change.is_needed()) {
        terminal.tell(escape_for_display(&change.format_diff()).trim_end());
    }
}

fn tell_result(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: SwitchArgs,
    to: SwitchPosition,
    changes: &[SettingsChange],
) {
    let worktree = command_env.open_worktree().ok();
    for change in changes {
        change.tell(terminal);
        if to == SwitchPosition::On {
            change.tell_obstacles(terminal, worktree.as_ref());
        }
    }
    if args.dry_run || (changes.is_empty() && to == SwitchPosition::On) {
        return;
    }
    let of_user = WorktreeCommands::default().with_state_dir(command_env.state.explicit_dir());
    let off = match args.repo {
        true => command_env.commands_here().watchdog("off --repo"),
        false => of_user.watchdog("off"),
    };
    terminal.line(&match to {
        SwitchPosition::On => format!("watchdog is on; {off} takes it back"),
        SwitchPosition::Off if args.repo => {
            "watchdog is off in the settings of this repository".into()
        }
        SwitchPosition::Off => "watchdog is off in your own settings".into(),
    });
}

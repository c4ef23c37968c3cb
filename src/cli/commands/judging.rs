//! `watchdog check` and `watchdog run`: judge, and say so.

use std::sync::Arc;

use crate::cli::args::{CheckArgs, RunArgs};
use crate::cli::args_judge::JudgeArgs;
use crate::cli::args_session::UncommittedArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::run_line::RunLine;
use crate::cli::terminal::CommandTerminal;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::judgement_input::Overrides;
use watchdog_judge::modes::check::CheckRequest;
use watchdog_judge::modes::check::judge_since_baseline as judge_check;
use watchdog_judge::modes::run::view::RunView;
use watchdog_judge::modes::run::wrapped::RunRequest;
use watchdog_judge::modes::run::wrapped::run_wrapped_session as judge_run;
use watchdog_judge::session::UncommittedRule;
use watchdog_store::take_unread_notes;

use super::looping::select_agents;
use super::runtime::in_runtime;

/// Judges what happened since a baseline.
pub fn run_check_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: CheckArgs,
) -> Result<u8, CommandFailure> {
    let request = CheckRequest {
        baseline: args.baseline,
        spec: args.judge.spec.clone(),
        pid: args.pid,
        overrides: collect_overrides(&args.judge, args.once),
        ..CheckRequest::default()
    };
    let around = CommandEnv {
        numbers: args.numbers.numbers().map_err(CommandFailure::usage)?,
        ..command_env.clone()
    };
    let mut judgement = in_runtime(async |signals| judge_check(&around, request, signals).await)?;
    judgement.verdict.degraded.extend(take_unread_notes());
    terminal.verdict(&judgement, false);
    Ok(judgement.exit_code())
}

/// Wraps one session.
pub fn run_session_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: RunArgs,
) -> Result<u8, CommandFailure> {
    let numbers = args.numbers.numbers().map_err(CommandFailure::usage)?;
    let line = RunLine::start(terminal);
    let request = RunRequest {
        spec: args.judge.spec.clone(),
        prompt: (args.text).map(|text| {
            let (command, program) = (args.command.clone(), command_env.agent_program.clone());
            (
                text,
                select_agents(args.agent, command, program, Vec::new()),
            )
        }),
        command: args.command,
        terms: args.session.session_terms(false),
        output_to_stderr: terminal.json,
        view: line.clone().map(|line| line as Arc<dyn RunView>),
        overrides: Overrides {
            no_progress_limit: Some(3),
            ..add_uncommitted_args(collect_overrides(&args.judge, false), args.uncommitted)
        },
    };
    let narrate = line
        .as_ref()
        .map_or_else(|| command_env.narrate.clone(), |line| line.narrator());
    let around = CommandEnv {
        narrate,
        numbers,
        ..command_env.clone()
    };
    let judged = in_runtime(async |signals| {
        if let Some(line) = &line {
            line.vanish_when_stopped();
        }
        judge_run(&around, request, signals).await
    });
    if let Some(line) = line {
        line.end();
    }
    let mut judgement = judged?;
    judgement.verdict.degraded.extend(take_unread_notes());
    terminal.verdict(&judgement, true);
    Ok(judgement.exit_code())
}

/// Reads the overrides of the command line.
pub fn collect_overrides(args: &JudgeArgs, once: bool) -> Overrides {
    Overrides {
        max_probes: args.max_probes,
        probe_interval: args.probe_interval,
        probe_timeout: args.probe_timeout,
        no_probe: args.no_probe,
        no_rescue: args.no_rescue,
        once,
        every: args.all,
        no_cache: args.no_cache,
        ..Overrides::default()
    }
}

/// The same, with what the command line says of files that are uncommitted before the session.
pub fn add_uncommitted_args(overrides: Overrides, args: UncommittedArgs) -> Overrides {
    let uncommitted = if args.adopt {
        UncommittedRule::Adopt
    } else {
        UncommittedRule::Inherit
    };
    Overrides {
        uncommitted,
        without_snapshot: args.without_snapshot,
        ..overrides
    }
}

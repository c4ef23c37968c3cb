//! The whole program: reads the command line and the environment, does what they say, and returns the exit code.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
#[cfg(feature = "fleet")]
use std::sync::Arc;
use std::time::Duration;

use watchdog_facts::display::{escape_for_display, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Reason;
use watchdog_git::leave_gone_folder;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::serving_git::serve_refs;
use watchdog_judge::notify::delivery::NotificationWorker;
use watchdog_judge::wire::failure_json::panicked_json;
use watchdog_store::{StateDir, StoreError, take_unread_notes};
use watchdog_view::held_back;

use super::args::{Cli, Command};
use super::args_global::{ColorWhen, GlobalArgs};
use super::command_line::{calls_a_hook, parse_command_line};
use super::commands::switch::SwitchPosition;
use super::commands::{
    agent, breaker, completions, demo, doctor, evaluate, events, explain, fleet, forget, hook,
    init, judging, logs, looping, manual, mcp, notify_test, probe, report, rescue, schema,
    snapshot, status, sweep, switch, task, trust, watch,
};
use super::exit::{answer_all_the_same, finish_with_code, report_failure, without_room};
use super::failure::{BUG, CommandFailure, USAGE};
use super::help;
use super::live;
use super::logging::start_logging;
use super::result_output;
use super::scarcity;
use super::terminal::CommandTerminal;

/// How long the end of a command waits for notifications to be delivered.
const DELIVERY: Duration = Duration::from_secs(3);

/// The whole program: reads the command line, does what it says, and returns the exit code.
pub fn main() -> ExitCode {
    // Claude Code takes some exit codes of a hook for a refusal, so that a hook ends with 0, whatever goes wrong.
    let line: Vec<OsString> = std::env::args_os().collect();
    if let Some(words) = completions::words_to_complete(&line) {
        return completions::print_candidates(words);
    }
    let in_a_hook = calls_a_hook(&line);
    let cli = match parse_command_line(&line) {
        Ok(cli) => cli,
        Err(error) if in_a_hook && error.use_stderr() => {
            let _ = error.print();
            return answer_all_the_same(
                "the command line of the hook is wrong; see what it wrote to stderr",
            );
        }
        Err(error) => {
            // Help and version are results; a complaint about the command line goes to stderr.
            match error.print() {
                Err(why) if !error.use_stderr() => result_output::record_write_error(&why),
                _ => {}
            }
            return finish_with_code(u8::try_from(error.exit_code()).unwrap_or(USAGE));
        }
    };
    let terminal = CommandTerminal::new(&cli.global);
    if let Err(failure) = start_logging(&cli.global) {
        // A hook is answered all the same, without a log; its stdout is for the answer.
        if !in_a_hook {
            report_failure(&terminal, &failure);
            return ExitCode::from(failure.code);
        }
        terminal.complain(&format!(
            "watchdog: {}",
            escape_for_display(&failure.message)
        ));
    }
    scarcity::watch_panics();
    // The agent's folder may be one that it removed.
    if in_a_hook && let Some(folder) = std::env::var_os("PWD") {
        leave_gone_folder(Path::new(&folder));
    }
    // The environment of a session could hide its work from git.
    let is_started_by_agent = in_a_hook || matches!(cli.command, Some(Command::Mcp));
    if is_started_by_agent || std::env::var_os("WATCHDOG_TREE").is_some() {
        watchdog_system::distrust_git_settings();
    }
    let global = cli.global.clone();
    let judges = cli.command.as_ref().is_some_and(judges_one_worktree);
    // A panic is a bug. It must not look like a verdict, nor end with the code that a shell gives to anything that fails.
    match catch_unwind(AssertUnwindSafe(|| dispatch_command(cli, &terminal))) {
        // The host reads exit codes of a hook in its own way. An answer that could not be written is said all the same.
        Ok(Ok(code)) if in_a_hook => {
            let _of_commands = finish_with_code(code);
            ExitCode::from(code)
        }
        Ok(Ok(code)) => finish_with_code(code),
        Ok(Err(failure)) => {
            let failure = locate_hint(failure, &global, &terminal);
            report_failure(&terminal, &failure);
            ExitCode::from(failure.code)
        }
        Err(_) if in_a_hook && let Some(shortage) = scarcity::get_shortage() => {
            answer_all_the_same(&format!("the system has no further {}", shortage.of))
        }
        Err(_) if let Some(shortage) = scarcity::get_shortage() => {
            let around = read_hint_env(&global, &terminal);
            without_room(&terminal, (around.as_ref(), judges), shortage)
        }
        Err(_) if in_a_hook => answer_all_the_same("this is a bug in watchdog; please report it"),
        Err(_) => {
            terminal.complain("watchdog: this is a bug; please report it with the message above");
            if terminal.json {
                terminal.value(&panicked_json());
            }
            ExitCode::from(BUG)
        }
    }
}

/// The failure with a hint that works from anywhere.
fn locate_hint(
    failure: CommandFailure,
    global: &GlobalArgs,
    terminal: &CommandTerminal,
) -> CommandFailure {
    let around = failure
        .hint
        .as_ref()
        .and_then(|_| read_hint_env(global, terminal));
    match around {
        Some(around) => failure.with_worktree_hint(&around.commands_here()),
        None => failure,
    }
}

/// Whether a command comes to a verdict on the worktree that it is called in.
fn judges_one_worktree(command: &Command) -> bool {
    matches!(
        command,
        Command::Check(_) | Command::Run(_) | Command::Loop(_)
    )
}

/// Does what the command line says; returns the exit code.
fn dispatch_command(cli: Cli, terminal: &CommandTerminal) -> Result<u8, CommandFailure> {
    let global = &cli.global;
    let agent = match &cli.command {
        Some(Command::Check(args)) => args.judge.agent_program.clone(),
        Some(Command::Run(args)) => args.judge.agent_program.clone(),
        Some(Command::Loop(args)) => args.judge.agent_program.clone(),
        Some(Command::Probe(args)) => args.agent_program.clone(),
        Some(Command::Sweep(args)) => args.agent_program.clone(),
        Some(Command::Watch(args)) => args.agent_program.clone(),
        Some(Command::Task(args)) => args.agent_program(),
        Some(Command::Doctor(args)) => args.agent_program.clone(),
        _ => None,
    };
    // A message is read where the variable of the state directory may be unset.
    let state = global
        .state_dir
        .as_deref()
        .and_then(|folder| std::path::absolute(folder).ok());
    let notifications =
        NotificationWorker::naming(WorktreeCommands::default().with_state_dir(state.as_deref()));
    let around_state = |state| {
        build_command_env(
            state,
            global,
            terminal,
            agent.clone(),
            notifications.clone(),
        )
    };
    let around = || around_state(state_dir(global)?);
    let Some(command) = cli.command else {
        return status::run_bare_command(&around()?, terminal);
    };
    let done = match command {
        Command::Snapshot(args) => snapshot::run_snapshot_command(&around()?, terminal, args),
        Command::Check(args) => judging::run_check_command(&around()?, terminal, args),
        Command::Run(args) => judging::run_session_command(&around()?, terminal, args),
        Command::Loop(args) => looping::run_loop_command(&around()?, terminal, *args),
        Command::Sweep(args) => sweep::run_sweep_command(&around()?, terminal, args),
        Command::Probe(args) => probe::run_probe_command(around, terminal, args),
        Command::Rescue(args) => rescue::run_rescue_command(&around()?, terminal, args),
        Command::Breaker(args) => breaker::run_breaker_command(&around()?, terminal, args),
        Command::Trust(args) => trust::run_trust_command(&around()?, terminal, args),
        Command::Untrust(args) => trust::run_untrust_command(&around()?, terminal, args),
        Command::Fleet(args) => fleet::run_fleet_command(&around()?, terminal, args),
        Command::Forget(args) => forget::run_forget_command(&around()?, terminal, args),
        Command::Init(args) => init::run_init_command(&around()?, terminal, args),
        Command::Doctor(args) => {
            // Without a place for its state, doctor says just that.
            let state = match state_dir(global) {
                Err(StoreError::NoPlace) => StateDir::without_directory(),
                named => named?,
            };
            let around = around_state(state)?;
            doctor::run_doctor_command(&around, terminal, args)
        }
        Command::Evaluate(args) => {
            evaluate::run_evaluate_command(around, global.worktree.is_some(), terminal, args)
        }
        Command::Status(args) if args.watch => live::watch_live(
            &around()?,
            global.worktree.is_some(),
            terminal,
            args,
            run_words,
        ),
        Command::Status(args) => {
            status::run_status_command(&around()?, global.worktree.is_some(), terminal, args)
        }
        Command::Report(args) => {
            report::run_report_command(&around()?, global.worktree.is_some(), terminal, args)
        }
        Command::Events(args) if args.fleet => {
            fleet::run_fleet_events_command(&around()?, terminal, args)
        }
        Command::Events(args) => events::run_events_command(&around()?, terminal, args),
        Command::Agent(args) => agent::run_agent_command(&around()?, terminal, args),
        Command::Notify(args) => notify_test::run_notify_command(&around()?, terminal, args),
        Command::Logs(args) => logs::run_logs_command(&around()?, terminal, args),
        Command::Explain(args) => explain::run_explain_command(&around()?, terminal, args),
        Command::Schema(args) => schema::run_schema_command(around, terminal, args),
        Command::Watch(args) => watch::run_watch_command(&around()?, terminal, args),
        Command::Task(args) => task::run_task_command(&around()?, terminal, args),
        Command::On(args) => {
            switch::run_switch_command(&around()?, terminal, args, SwitchPosition::On)
        }
        Command::Off(args) => {
            switch::run_switch_command(&around()?, terminal, args, SwitchPosition::Off)
        }
        Command::Hook(args) => hook::run_hook_command(global, around, terminal, args),
        Command::Mcp => mcp::run_mcp_command(&around()?, terminal),
        Command::Demo => demo::run_demo_command(terminal),
        Command::Completions { shell } => completions::run_completions_command(shell),
        Command::Man(args) => manual::run_man_command(terminal, &args),
        Command::Help(args) => help::run_help_command(&args.topic),
    };
    say_unread_notes(terminal, &around);
    // The result is printed; whoever waits for our end waits a little longer, and only where somebody is to be told.
    let undelivered = notifications.finish(DELIVERY);
    if undelivered > 0 {
        terminal.tell(&format!(
            "watchdog: {} to be delivered; the next watchdog tries again",
            plural(undelivered as u64, "notification")
        ));
    }
    done
}

/// Says which faults of the records no result of the command named: a damaged database that was put aside must not pass unnoticed.
fn say_unread_notes(
    terminal: &CommandTerminal,
    around: &dyn Fn() -> Result<CommandEnv, CommandFailure>,
) {
    for note in take_unread_notes() {
        let detail = around().map_or(note.detail.clone(), |around| {
            around.commands_here().name_worktree(&note.detail)
        });
        terminal.complain_of(&format!("{detail} ({})", note.code));
    }
}

/// Does what a command line says, for the live view: what it prints is held back, and a panic is its own alone.
fn run_words(line: &[OsString]) -> u8 {
    let cli = match parse_command_line(line) {
        // People read what comes of it, whatever the environment says of JSON.
        Ok(cli) => Cli {
            global: GlobalArgs {
                json: false,
                quiet: false,
                color: ColorWhen::Auto,
                ..cli.global
            },
            ..cli
        },
        Err(error) => {
            held_back::hold_back_text(&error.to_string());
            return USAGE;
        }
    };
    let terminal = CommandTerminal::new(&cli.global);
    match catch_unwind(AssertUnwindSafe(|| dispatch_command(cli, &terminal))) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => {
            report_failure(&terminal, &failure);
            failure.code
        }
        Err(_) => {
            terminal.complain("watchdog: this is a bug; please report it with the message above");
            BUG
        }
    }
}

/// The environment for the hint of a failure, as far as it can be read.
fn read_hint_env(global: &GlobalArgs, terminal: &CommandTerminal) -> Option<CommandEnv> {
    let state = state_dir(global).ok()?;
    build_command_env(state, global, terminal, None, NotificationWorker::default()).ok()
}

fn state_dir(global: &GlobalArgs) -> Result<StateDir, StoreError> {
    let variable = std::env::var_os("WATCHDOG_STATE_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute());
    let state = StateDir::resolve(
        global.state_dir.clone(),
        std::env::var_os("XDG_STATE_HOME").map(Into::into),
        std::env::var_os("HOME").map(Into::into),
    )?;
    Ok(if variable.is_some() && variable == global.state_dir {
        state.known_to_the_environment()
    } else {
        state
    })
}

/// Reads the environment, once, into what the commands need.
fn build_command_env(
    state: StateDir,
    global: &GlobalArgs,
    terminal: &CommandTerminal,
    agent_program: Option<OsString>,
    notifications: NotificationWorker,
) -> Result<CommandEnv, CommandFailure> {
    serve_refs(&state);
    let worktree = match &global.worktree {
        Some(path) => {
            leave_gone_folder(path);
            path.clone()
        }
        None => std::env::current_dir().map_err(|error| {
            CommandFailure::new(
                Reason::NotARepository,
                format!("the current folder is gone: {error}; cd to one that is there, or name a worktree with -C PATH"),
            )
        })?,
    };
    // A relative path is one from where the command was typed.
    let agent_program = agent_program.map(|program| {
        let by_path = program.as_encoded_bytes().contains(&b'/');
        let program_path = std::path::absolute(worktree.join(&program)).ok();
        program_path
            .filter(|_| by_path)
            .map_or(program, PathBuf::into_os_string)
    });
    Ok(CommandEnv {
        worktree_named: global.worktree.is_some(),
        config: global.config.clone(),
        agent_program,
        narrate: terminal.narrator(),
        notifications,
        trusted: std::env::var("WATCHDOG_TRUST").ok(),
        #[cfg(feature = "fleet")]
        fleet: Some(Arc::new(watchdog_fleet::member::RecordedMembership)),
        ..CommandEnv::new(worktree, state)
    })
}

//! From the parsed command line to the command's own file.

use std::time::Duration;

use crate::cli::args::{Cli, Command};
use crate::cli::failure::CommandFailure;
use crate::cli::help;
use crate::cli::program::command_env;
use crate::cli::terminal::CommandTerminal;
use crate::notify::delivery::NotificationWorker;
use watchdog_facts::display::plural;

use super::{
    breaker, completions, demo, doctor, evaluate, events, forget, hook, init, judging, looping, manual, probe, report, rescue, schema,
    snapshot, status, sweep, task, trust, watch,
};

/// How long the end of a command waits for notifications to be delivered.
const DELIVERY: Duration = Duration::from_secs(3);

/// Whether a command comes to a verdict on the worktree that it is called in.
pub fn judges_one_worktree(command: &Command) -> bool {
    matches!(command, Command::Check(_) | Command::Run(_) | Command::Loop(_))
}

/// Does what the command line says; returns the exit code.
pub fn dispatch(cli: Cli, terminal: &CommandTerminal) -> Result<u8, CommandFailure> {
    let global = &cli.global;
    let agent = match &cli.command {
        Some(Command::Check(args)) => args.judge.agent_program.clone(),
        Some(Command::Run(args)) => args.judge.agent_program.clone(),
        Some(Command::Loop(args)) => args.judge.agent_program.clone(),
        Some(Command::Probe(args)) => args.agent_program.clone(),
        Some(Command::Sweep(args)) => args.agent_program.clone(),
        Some(Command::Watch(args)) => args.agent_program.clone(),
        Some(Command::Task(args)) => args.agent_program(),
        _ => None,
    };
    let notifications = NotificationWorker::default();
    let around = || command_env(global, terminal, agent, notifications.clone());
    let Some(command) = cli.command else { return status::bare(&around()?, terminal) };
    let done = match command {
        Command::Snapshot(args) => snapshot::snapshot(&around()?, terminal, args),
        Command::Check(args) => judging::check(&around()?, terminal, args),
        Command::Run(args) => judging::run(&around()?, terminal, args),
        Command::Loop(args) => looping::repeat(&around()?, terminal, *args),
        Command::Sweep(args) => sweep::sweep(&around()?, terminal, args),
        Command::Probe(args) => probe::probe(around, terminal, args),
        Command::Rescue(args) => rescue::rescue(&around()?, terminal, args),
        Command::Breaker(args) => breaker::breaker(&around()?, terminal, args),
        Command::Trust(args) => trust::trust(&around()?, terminal, args),
        Command::Untrust(args) => trust::untrust(&around()?, terminal, args),
        Command::Forget(args) => forget::forget(&around()?, terminal, args),
        Command::Init(args) => init::init(&around()?, terminal, args),
        Command::Doctor(args) => doctor::doctor(&around()?, terminal, args),
        Command::Evaluate(args) => evaluate::evaluate(around, global.worktree.is_some(), terminal, args),
        Command::Status(args) => status::status(&around()?, global.worktree.is_some(), terminal, args),
        Command::Report(args) => report::report(&around()?, global.worktree.is_some(), terminal, args),
        Command::Events(args) => events::events(&around()?, terminal, args),
        Command::Schema(args) => schema::schema(around, terminal, args),
        Command::Watch(args) => watch::watch(&around()?, terminal, args),
        Command::Task(args) => task::task(&around()?, terminal, args),
        Command::Hook(args) => hook::hook(global, around, terminal, args),
        Command::Demo => demo::demo(terminal),
        Command::Completions { shell } => completions::completions(shell),
        Command::Man(args) => manual::man(terminal, &args),
        Command::Help(args) => help::help(&args.topic),
    };
    // The result is printed; whoever waits for our end waits a little longer, and only where somebody is to be told.
    let left = notifications.finish(DELIVERY);
    if left > 0 {
        terminal.tell(&format!("watchdog: {} to be delivered; the next watchdog tries again", plural(left as u64, "notification")));
    }
    done
}

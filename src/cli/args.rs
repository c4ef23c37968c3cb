//! The words of the command line. Filling these needs nothing but what the user typed or exported;
//! whatever must look at the system happens later.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::args_global::GlobalArgs;
use super::args_hook::HookArgs;
use super::args_judge::{JudgeArgs, NumberArgs};
use super::args_loop::LoopArgs;
use super::args_rescue::RescueArgs;
use super::args_session::SessionArgs;
use super::args_sweep::SweepArgs;
use super::args_switch::SwitchArgs;
use super::commands::evaluate::{self, EvaluateArgs};
use super::commands::schema::SchemaArgs;
use super::examples;
use super::preset_value::AgentNameParser;
use super::time_span::{SinceTime, parse_duration, parse_since};

/// Tells from git whether a coding agent's session is complete, still running, stalled, or done but never committed.
#[derive(Debug, Parser)]
#[command(name = "watchdog", version = super::version::format_short_version(), about, disable_help_subcommand = true, max_term_width = 110)]
pub struct Cli {
    /// What applies to every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do; without it, what is going on here.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record and print the baseline: the commit that HEAD names now
    Snapshot(SnapshotArgs),
    /// Judge what happened since the baseline
    Check(CheckArgs),
    /// Run one session: record the baseline, run CMD, judge
    Run(RunArgs),
    /// Repeat sessions until one is complete, or a limit ends it
    Loop(Box<LoopArgs>),
    /// Check every worktree of repositories and folders once
    Sweep(SweepArgs),
    /// Ask the agent once what its state is
    Probe(ProbeArgs),
    /// Commit uncommitted work now, or list and restore snapshots
    Rescue(RescueArgs),
    /// Judge the checks against a context given as JSON
    #[command(after_long_help = evaluate::AFTER_HELP)]
    Evaluate(EvaluateArgs),
    /// Show or reset the circuit breaker of this worktree
    Breaker(BreakerArgs),
    /// Trust a configuration file at its current content
    Trust(TrustArgs),
    /// Revoke trust in a configuration file
    Untrust(UntrustArgs),
    /// Show, then remove what watchdog left of a repository
    Forget(super::args_forget::ForgetArgs),
    /// Write a first completion.json that fits this project
    Init(InitArgs),
    /// Say what is wrong here, and how to mend it
    Doctor(DoctorArgs),
    /// Show the state of every watched worktree
    Status(super::args_status::StatusArgs),
    /// Show figures of a period: verdicts, probes, tokens, money
    Report(super::args_report::ReportArgs),
    /// Show what watchdog saw and decided, oldest first
    Events(EventsArgs),
    /// Show the agents that watchdog knows, and what they can do
    Agent(super::args_agent::AgentArgs),
    /// Send a test notice to those whom `notify` names
    Notify(super::args_notify::NotifyArgs),
    /// Show the output of a session, as it ends or as it comes
    Logs(super::args_logs::LogsArgs),
    /// Say why a verdict is as it is, and what would have changed it
    Explain(super::args_explain::ExplainArgs),
    /// Judge worktrees on every commit, session end or change
    Watch(super::args_watch::WatchArgs),
    /// Run a queue of tasks, written as markdown files
    Task(super::args_task::TaskArgs),
    /// Let several machines share a server
    Fleet(super::args_fleet::FleetArgs),
    /// Let agents hear what git says: install the hooks of each that is here
    On(SwitchArgs),
    /// Take the hooks out again, and give back every byte
    Off(SwitchArgs),
    /// Answer agents' hooks, or install them
    Hook(HookArgs),
    /// Serve the judge to an agent by the Model Context Protocol, over stdin and stdout
    #[command(after_long_help = examples::MCP)]
    Mcp,
    /// Show the whole flow in a scratch repository; needs no agent
    Demo,
    /// Print the JSON Schema of what watchdog reads or prints
    #[command(after_long_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// Print shell completions
    #[command(after_long_help = examples::COMPLETIONS)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual pages, or write them into a folder
    Man(ManArgs),
    /// Show the help of a command, of all commands, or of the exit codes
    Help(HelpArgs),
}

/// Arguments of `watchdog man`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::MAN)]
pub struct ManArgs {
    /// The page: of a command, or completion.json [default: that of watchdog itself]
    #[arg(value_name = "PAGE", conflicts_with = "dir")]
    pub page: Vec<String>,
    /// Write every page into this folder
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `watchdog help`.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command, such as check or rescue restore, or all, or exit-codes
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

/// Arguments of `watchdog snapshot`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::SNAPSHOT)]
pub struct SnapshotArgs {
    /// A name for the work [default: the branch]
    #[arg(long, value_name = "NAME", env = "WATCHDOG_SPEC")]
    pub spec: Option<String>,
    /// Judge from now on by the criteria and guarded files as they are here, whoever changed them
    #[arg(long)]
    pub accept_criteria: bool,
    /// Count what is uncommitted now as the session's work
    #[arg(long)]
    pub adopt: bool,
    /// Allow this inside a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog check`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::CHECK)]
pub struct CheckArgs {
    /// Any git revision [default: the recorded baseline]
    #[arg(long, value_name = "REV")]
    pub baseline: Option<String>,
    #[command(flatten)]
    pub numbers: NumberArgs,
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// Run one round without waiting; the probe count carries over between runs
    #[arg(long)]
    pub once: bool,
    /// First wait for this process to end
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// Arguments of `watchdog run`.
#[derive(Debug, Args)]
#[command(
    after_long_help = examples::RUN,
    mut_arg("timeout", |arg| arg.help("End the session and all that it started after this time")),
    mut_arg("child_wait", |arg| arg.help("How long to wait for children that outlive the session")),
)]
pub struct RunArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub uncommitted: super::args_session::UncommittedArgs,
    #[command(flatten)]
    pub numbers: NumberArgs,
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// Give the session this prompt, on its stdin or where an argument has {prompt}; without CMD the configured agent runs
    #[arg(short = 'p', value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub text: Option<String>,
    /// Give it to this agent; CMD is then further arguments for it
    #[arg(long, value_name = "AGENT", value_parser = AgentNameParser, requires = "text")]
    pub agent: Option<String>,
    /// The session: a program and its arguments; an agent among them is recognised, behind npx, env or sh -c, too
    #[arg(
        required_unless_present = "text",
        trailing_var_arg = true,
        value_name = "CMD"
    )]
    pub command: Vec<std::ffi::OsString>,
}

/// Arguments of `watchdog probe`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::PROBE)]
pub struct ProbeArgs {
    /// Read a reply from FILE, or from stdin with '-', and ask nobody
    #[arg(long, value_name = "FILE")]
    pub parse: Option<PathBuf>,
    /// Deadline of the question [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub probe_timeout: Option<Duration>,
    /// A name for the work [default: the branch]
    #[arg(long, value_name = "NAME", env = "WATCHDOG_SPEC")]
    pub spec: Option<String>,
    /// The agent's program, where it is not in PATH under its usual name
    #[arg(long, value_name = "PROGRAM", env = "WATCHDOG_AGENT_PROGRAM")]
    pub agent_program: Option<std::ffi::OsString>,
}

/// Arguments of `watchdog breaker`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::BREAKER)]
pub struct BreakerArgs {
    /// What to do; without it, show
    #[command(subcommand)]
    pub command: Option<BreakerCommand>,
    /// A name for the work [default: the branch]
    #[arg(long, value_name = "NAME", env = "WATCHDOG_SPEC", global = true)]
    pub spec: Option<String>,
}

/// What to do with the breaker.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum BreakerCommand {
    /// Print its state
    Show,
    /// Close it and forget its strikes
    Reset {
        /// Allow this inside a watched session
        #[arg(long)]
        from_session: bool,
    },
}

/// Arguments of `watchdog trust`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::TRUST)]
pub struct TrustArgs {
    /// The file, a task's file, or a folder of tasks [default: completion.json of the worktree]
    pub file: Option<PathBuf>,
    /// List what is trusted
    #[arg(long, conflicts_with = "file")]
    pub list: bool,
    /// Allow the file as this revision has it: a baseline's copy governs while that baseline is judged
    #[arg(long, value_name = "REV", conflicts_with = "list")]
    pub rev: Option<String>,
    /// Allow this inside a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog untrust`.
#[derive(Debug, Args)]
pub struct UntrustArgs {
    /// The file [default: completion.json of the worktree]
    pub file: Option<PathBuf>,
    /// Allow this inside a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog init`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::INIT)]
pub struct InitArgs {
    /// Ask nothing: write what is proposed, and run nothing (as without a terminal)
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print the file that would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Run the proposed command of this check once, or of every check, and show how it ends; may be given several times
    #[arg(long = "try", value_name = "NAME", num_args = 0..=1, default_missing_value = "", action = clap::ArgAction::Append)]
    pub try_checks: Vec<String>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Write nothing: print a crontab line and a systemd timer that sweep PATH (or this folder) every ten minutes
    #[arg(long, conflicts_with_all = ["force", "yes", "dry_run", "try_checks"])]
    pub cron: bool,
    /// What they sweep: repositories, or folders to search for them
    #[arg(value_name = "PATH", requires = "cron")]
    pub paths: Vec<PathBuf>,
    /// Allow this inside a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::DOCTOR)]
pub struct DoctorArgs {
    /// Mend what is watchdog's own and safe: rights of its state, lock files of the dead, hooks of another version
    #[arg(long)]
    pub fix: bool,
    /// Bring baselines and snapshots back into the records from the refs in git
    #[arg(long, conflicts_with = "fix")]
    pub rebuild: bool,
    /// The agent's program, where it is not in PATH under its usual name
    #[arg(long, value_name = "PROGRAM", env = "WATCHDOG_AGENT_PROGRAM")]
    pub agent_program: Option<std::ffi::OsString>,
}

/// Arguments of `watchdog events`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::EVENTS)]
pub struct EventsArgs {
    /// Only the last N [default: 50; with --since, all]
    #[arg(long, short = 'n', value_name = "N")]
    pub last: Option<usize>,
    /// Follow new events until interrupted
    #[arg(long, short = 'f')]
    pub follow: bool,
    /// Only what happened since then: a time span such as 2h, or an instant such as 2026-03-04T05:06:07Z
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    pub since: Option<SinceTime>,
    /// Only events of this kind, or verdicts of this status or reason; may be given several times; `watchdog schema event` lists them
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = event_word(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Of every worktree, not only this one
    #[arg(long)]
    pub all: bool,
    /// Of every worktree of every machine of the fleet, in the order of its server
    #[arg(long)]
    pub fleet: bool,
    /// With --fleet, only of this machine; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "fleet")]
    pub machine: Vec<String>,
    /// Show times in UTC instead of those of this machine; JSON always does
    #[arg(long)]
    pub utc: bool,
}

fn event_word() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(watchdog_judge::wire::event_words::event_words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }

    /// Every flag that has a variable, with the command that it is of.
    fn variables(command: &clap::Command, flag_variables: &mut Vec<(String, String, String)>) {
        for arg in command.get_arguments().filter(|arg| !arg.is_global_set()) {
            if let (Some(variable), Some(long)) = (arg.get_env(), arg.get_long()) {
                flag_variables.push((
                    variable.to_string_lossy().into_owned(),
                    long.to_owned(),
                    command.get_name().to_owned(),
                ));
            }
        }
        command
            .get_subcommands()
            .for_each(|command| variables(command, flag_variables));
    }

    #[test]
    fn only_script_flags_have_variables_named_alike() {
        use clap::CommandFactory as _;
        let mut flag_variables = Vec::new();
        variables(&Cli::command(), &mut flag_variables);
        for (variable, long, command) in &flag_variables {
            let expected = format!("WATCHDOG_{}", long.to_ascii_uppercase().replace('-', "_"));
            assert_eq!(*variable, expected, "of {command}");
            assert!(
                ["WATCHDOG_SPEC", "WATCHDOG_AGENT_PROGRAM"].contains(&variable.as_str()),
                "{variable} of {command}"
            );
        }
    }
}

//! The words of the command line. Filling these needs nothing but what the user typed or exported;
//! whatever must look at the system happens later.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use super::args_loop::LoopArgs;
pub use super::args_sweep::SweepArgs;

use super::args_hook::HookArgs;
use super::args_rescue::RescueArgs;
use super::args_silence::SilenceArgs;
use super::commands::evaluate::{self, EvaluateArgs};
use super::commands::schema::SchemaArgs;
use super::examples;

/// Tells from git whether a coding agent's session is complete, still running, stalled, or done but never committed.
#[derive(Debug, Parser)]
#[command(name = "watchdog", version = super::version::short(), about, disable_help_subcommand = true, max_term_width = 110)]
pub struct Cli {
    /// What applies to every command.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// What to do; without it, what is going on here.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The heading of the flags that every command takes.
pub(super) const GLOBAL: &str = "Global options";

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
pub struct GlobalArgs {
    /// Act on the worktree at PATH instead of the current folder, as git -C does
    #[arg(short = 'C', long = "worktree", value_name = "PATH", env = "WATCHDOG_WORKTREE", global = true, help_heading = GLOBAL)]
    pub worktree: Option<PathBuf>,
    /// Use this configuration instead of the worktree's completion.json; naming it means trusting it
    #[arg(long, value_name = "FILE", env = "WATCHDOG_CONFIG", global = true, help_heading = GLOBAL)]
    pub config: Option<PathBuf>,
    /// Where journal, baselines and breakers live [default: $XDG_STATE_HOME/watchdog]
    #[arg(long, value_name = "DIR", env = "WATCHDOG_STATE_DIR", global = true, help_heading = GLOBAL)]
    pub state_dir: Option<PathBuf>,
    /// Print one JSON object on stdout; everything for people goes to stderr
    #[arg(long, env = "WATCHDOG_JSON", value_parser = clap::builder::FalseyValueParser::new(), global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// Say less: only the result
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
    /// Log more to stderr: -v decisions, -vv facts, -vvv calls with their times; WATCHDOG_LOG filters by target (docs/logging.md)
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = GLOBAL)]
    pub verbose: u8,
    /// How -v and WATCHDOG_LOG write: lines for people, or one JSON object a line
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text, env = "WATCHDOG_LOG_FORMAT", global = true, help_heading = GLOBAL)]
    pub log_format: LogFormat,
    /// When to use colours; NO_COLOR is honoured
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto, env = "WATCHDOG_COLOR", global = true, help_heading = GLOBAL)]
    pub color: ColorWhen,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object on each line
    Json,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// When the output is a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
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
    /// Write a first completion.json, and trust it
    Init(InitArgs),
    /// Say what is missing on this machine
    Doctor(DoctorArgs),
    /// Show the state of every watched worktree
    Status(super::args_status::StatusArgs),
    /// Show figures of a period: verdicts, probes, tokens, money
    Report(super::args_report::ReportArgs),
    /// Show what watchdog saw and decided, oldest first
    Events(EventsArgs),
    /// Judge worktrees on every commit, session end or change
    Watch(super::args_watch::WatchArgs),
    /// Run a queue of tasks, written as markdown files
    Task(super::args_task::TaskArgs),
    /// Answer Claude Code's hooks, or install them
    Hook(HookArgs),
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
    /// Show the help of a command, or what the exit codes mean
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
    /// A command, such as check or rescue restore, or exit-codes
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
    /// Do it although this is called from inside of a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// What `check` and `run` have in common.
#[derive(Debug, Clone, Args)]
pub struct JudgeArgs {
    /// A name for the work [default: the branch]
    #[arg(long, value_name = "NAME", env = "WATCHDOG_SPEC")]
    pub spec: Option<String>,
    /// Ask the agent at most N times [default: 5]
    #[arg(long, value_name = "N")]
    pub max_probes: Option<u32>,
    /// Pause between two questions; a commit cuts it short [default: 30s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub probe_interval: Option<Duration>,
    /// Deadline of one question [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub probe_timeout: Option<Duration>,
    /// Never probe the agent; decide from git alone
    #[arg(long)]
    pub no_probe: bool,
    /// Commit nothing; snapshots are taken all the same
    #[arg(long)]
    pub no_rescue: bool,
    /// Run all checks and report every failure
    #[arg(long)]
    pub all: bool,
    /// Run commands again that passed before on the same tree
    #[arg(long)]
    pub no_cache: bool,
    /// The agent's program, where it is not in PATH under its usual name
    #[arg(long, value_name = "PROGRAM", env = "WATCHDOG_AGENT_PROGRAM")]
    pub agent_program: Option<std::ffi::OsString>,
}

/// Arguments of `watchdog check`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::CHECK)]
pub struct CheckArgs {
    /// Any git revision [default: the recorded baseline]
    #[arg(long, value_name = "REV")]
    pub baseline: Option<String>,
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
#[command(after_long_help = examples::RUN)]
pub struct RunArgs {
    /// End the session and all that it started after this time
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub silence: SilenceArgs,
    /// Between TERM and KILL when a session must end
    #[arg(long, value_name = "DUR", value_parser = duration, default_value = "10s")]
    pub grace: Duration,
    /// How long to wait for children that outlive the session
    #[arg(long, value_name = "DUR", value_parser = duration, default_value = "10s")]
    pub child_wait: Duration,
    #[command(flatten)]
    pub uncommitted: super::args_session::UncommittedArgs,
    #[command(flatten)]
    pub judge: JudgeArgs,
    /// The session: a program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
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
    #[arg(long, value_name = "DUR", value_parser = duration)]
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
        /// Do it although this is called from inside of a watched session
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
    /// Do it although this is called from inside of a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog untrust`.
#[derive(Debug, Args)]
pub struct UntrustArgs {
    /// The file [default: completion.json of the worktree]
    pub file: Option<PathBuf>,
    /// Do it although this is called from inside of a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog init`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::INIT)]
pub struct InitArgs {
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    /// Write nothing: print a crontab line and a systemd timer that sweep PATH (or this folder) every ten minutes
    #[arg(long, conflicts_with = "force")]
    pub cron: bool,
    /// What they sweep: repositories, or folders to search for them
    #[arg(value_name = "PATH", requires = "cron")]
    pub paths: Vec<PathBuf>,
    /// Do it although this is called from inside of a watched session
    #[arg(long)]
    pub from_session: bool,
}

/// Arguments of `watchdog doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::DOCTOR)]
pub struct DoctorArgs {
    /// Bring baselines and snapshots back into the records from the refs in git
    #[arg(long)]
    pub rebuild: bool,
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
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<SinceTime>,
    /// Only events of this kind, or verdicts of this status or reason; may be given several times. docs/events.md lists them
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = event_word(), hide_possible_values = true)]
    pub kind: Vec<String>,
    /// Of every worktree, not only this one
    #[arg(long)]
    pub all: bool,
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinceTime {
    /// So long before now.
    Ago(Duration),
    /// An instant.
    At(jiff::Timestamp),
}

/// Reads a time span or an instant.
pub(super) fn since(text: &str) -> Result<SinceTime, String> {
    let instant = || text.parse().map(SinceTime::At).map_err(|_| ());
    duration(text)
        .map(SinceTime::Ago)
        .or_else(|_| instant())
        .map_err(|()| format!("'{text}' is neither a time span nor an instant; write 90s, 2h or 2026-03-04T05:06:07Z"))
}

fn event_word() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(crate::wire::event_words::event_words())
}

/// Reads `90`, `90s`, `1.5m`, `1h30m` or `2 days` as a time span; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let unreadable = || format!("'{text}' is not a time span; write 90s, 5m or 1h30m");
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| unreadable());
    }
    let signed: jiff::SignedDuration = text.parse().map_err(|_| unreadable())?;
    Duration::try_from(signed).map_err(|_| unreadable())
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
    fn variables(command: &clap::Command, found: &mut Vec<(String, String, String)>) {
        for arg in command.get_arguments().filter(|arg| !arg.is_global_set()) {
            if let (Some(variable), Some(long)) = (arg.get_env(), arg.get_long()) {
                found.push((variable.to_string_lossy().into_owned(), long.to_owned(), command.get_name().to_owned()));
            }
        }
        command.get_subcommands().for_each(|command| variables(command, found));
    }

    #[test]
    fn only_flags_for_a_whole_script_have_a_variable_and_it_has_their_name() {
        use clap::CommandFactory as _;
        let mut found = Vec::new();
        variables(&Cli::command(), &mut found);
        for (variable, long, command) in &found {
            let expected = format!("WATCHDOG_{}", long.to_ascii_uppercase().replace('-', "_"));
            assert_eq!(*variable, expected, "of {command}");
            assert!(["WATCHDOG_SPEC", "WATCHDOG_AGENT_PROGRAM"].contains(&variable.as_str()), "{variable} of {command}");
        }
    }

    #[test]
    fn a_beginning_is_a_time_span_or_an_instant() {
        assert_eq!(since("2h"), Ok(SinceTime::Ago(Duration::from_secs(7200))));
        for text in ["2026-03-04T05:06:07Z", "2026-03-04T07:06:07+02:00"] {
            assert_eq!(since(text), Ok(SinceTime::At("2026-03-04T05:06:07Z".parse().unwrap())), "{text}");
        }
        for text in ["", "yesterday", "-5s", "2026-03-04", "2026-13-04T05:06:07Z"] {
            assert!(since(text).is_err(), "{text}");
        }
    }

    #[test]
    fn time_spans_are_read_with_and_without_a_unit() {
        for (text, millis) in
            [("90", 90_000), ("90s", 90_000), ("1.5", 1500), ("5m", 300_000), ("1h30m", 5_400_000), ("0", 0), ("250ms", 250)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "-5", "soon", "-5s", "1e400", "NaN"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}

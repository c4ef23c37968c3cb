//! The flags that every command takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The heading of the flags that every command takes.
const GLOBAL: &str = "Global options";

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
    /// Log more to stderr: -v decisions, -vv facts, -vvv calls with their times; WATCHDOG_LOG filters by target
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

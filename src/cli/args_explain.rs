//! The words of `watchdog explain` and `watchdog replay`.

use std::path::PathBuf;

use clap::Args;

use super::examples;
use super::time_span::{SinceTime, since};

/// Arguments of `watchdog explain`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::EXPLAIN)]
pub struct ExplainArgs {
    /// The last verdict of this spec; or that of an event, by its id or how it begins [default: last, of this worktree]
    #[arg(value_name = "SPEC|EVENT|last")]
    pub verdict: Option<String>,
}

/// Arguments of `watchdog replay`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::REPLAY)]
pub struct ReplayArgs {
    /// JSON lines as `watchdog events --json` prints them, or '-' for stdin [default: the journal of this worktree]
    #[arg(value_name = "FILE", conflicts_with_all = ["all", "since"])]
    pub file: Option<PathBuf>,
    /// Only verdicts of this spec
    #[arg(long, value_name = "NAME")]
    pub spec: Option<String>,
    /// Of every worktree, not only this one
    #[arg(long)]
    pub all: bool,
    /// Only verdicts since then: a time span such as 7d or 2h, or an instant such as 2026-03-04T05:06:07Z
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<SinceTime>,
    /// Exit with 12 where a verdict differs
    #[arg(long)]
    pub fail_on_difference: bool,
}

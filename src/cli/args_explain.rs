//! The words of `watchdog explain`.

use clap::Args;

use super::examples;

/// Arguments of `watchdog explain`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::EXPLAIN)]
pub struct ExplainArgs {
    /// The last verdict of this spec; or that of an event, by its id or how it begins [default: last, of this worktree]
    #[arg(value_name = "SPEC|EVENT|last")]
    pub verdict: Option<String>,
}

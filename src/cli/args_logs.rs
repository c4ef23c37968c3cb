//! The words of `watchdog logs`.

use clap::Args;

use super::examples;

/// Arguments of `watchdog logs`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::LOGS)]
pub struct LogsArgs {
    /// The last session of this spec, or one by its log or its session id [default: the last of all]
    #[arg(value_name = "SPEC|ID")]
    pub session: Option<String>,
    /// Go on until the session ends
    #[arg(long, short = 'f', conflicts_with = "list")]
    pub follow: bool,
    /// Print the output as it was, in the program's own form
    #[arg(long, conflicts_with = "list")]
    pub raw: bool,
    /// List the logs of this worktree, newest first; the only form with --json
    #[arg(long, conflicts_with = "session")]
    pub list: bool,
}

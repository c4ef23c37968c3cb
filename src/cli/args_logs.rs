//! The words of `watchdog logs`.

use clap::Args;

use super::examples;

/// Arguments of `watchdog logs`.
#[derive(Debug, Args)]
#[command(after_long_help = examples::LOGS)]
pub struct LogsArgs {
    /// The last session of this spec; or one by its log, its session id, or an event's id [default: the last of all]
    #[arg(value_name = "SPEC|ID")]
    pub session: Option<String>,
    /// Go on until the session ends
    #[arg(long, short = 'f', conflicts_with = "list")]
    pub follow: bool,
    /// Only the last N lines, or events with --json
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "list")]
    pub last: Option<usize>,
    /// Show what tools returned, and the kinds of events that are not shown
    #[arg(long, conflicts_with_all = ["list", "json"])]
    pub tools: bool,
    /// Print the output as it was, in the program's own form
    #[arg(long, conflicts_with_all = ["tools", "list", "json"])]
    pub raw: bool,
    /// Print the path of the log alone
    #[arg(long, conflicts_with_all = ["raw", "tools", "follow", "last", "list"])]
    pub path: bool,
    /// List the logs of this worktree, newest first
    #[arg(long, conflicts_with = "session")]
    pub list: bool,
}

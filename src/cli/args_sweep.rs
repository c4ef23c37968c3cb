//! The words of `watchdog sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::time_span::parse_duration;

const AFTER_HELP: &str = "\
One line for each worktree: its verdict, after one look as with `check --once`. A worktree without a recorded baseline is \
not watched: it is listed as no_baseline and never an alarm. One whose session still runs, or that another watchdog works \
on, is `waiting` and costs nothing. Overlapping sweeps never judge a worktree twice at a time.

The table comes at the end: first what needs a person, with why in one line and the command to type, last what was not judged. Worktrees of \
one repository that cannot be read for the same reason are one row; -v shows each. --json has a line for each as it is judged.

Exit code: 0, or the highest among review 12, timeout 13, stopped 14, failed 15 and error 16.

  watchdog sweep ~/projects              every repository below a folder
  watchdog sweep . --max-probes-total 0  ask nobody: git alone
  watchdog sweep ~/projects --json --only review,error
  watchdog init --cron ~/projects        print a timer for it";

/// Arguments of `watchdog sweep`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct SweepArgs {
    /// Repositories, or folders to search for them [default: the current folder]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Look at N worktrees side by side [default: one more than there are processors, at most 4]
    #[arg(long, short = 'j', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,
    /// Ask at most N agents side by side
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub max_parallel_probes: u16,
    /// Send at most N probes per sweep; the next sweep starts with other worktrees
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub max_probes_total: u32,
    /// Show only worktrees of this status, or no_baseline, untouched or gone; may be given several times
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = build_only_parser(&["no_baseline", "untouched", "gone"]))]
    pub only: Vec<String>,
    /// Show only what calls for somebody and was not shown by --news before; for cron, which mails what is printed
    #[arg(long)]
    pub news: bool,
    /// Ask each agent at most N times, counted from sweep to sweep [default: 5]
    #[arg(long, value_name = "N")]
    pub max_probes: Option<u32>,
    /// Deadline of one question [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub probe_timeout: Option<Duration>,
    /// Never probe the agent; decide from git alone
    #[arg(long)]
    pub no_probe: bool,
    /// Commit nothing; uncommitted work is still kept in a snapshot
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

/// The words of `--only`: every status, and these.
pub(super) fn build_only_parser(more: &[&'static str]) -> PossibleValuesParser {
    let statuses = [
        "complete",
        "incomplete",
        "waiting",
        "review",
        "timeout",
        "stopped",
        "failed",
        "error",
    ];
    PossibleValuesParser::new(statuses.into_iter().chain(more.iter().copied()))
}

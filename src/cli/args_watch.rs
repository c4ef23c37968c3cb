//! The words of `watchdog watch`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::time_span::parse_duration;

const AFTER_HELP: &str = "\
A worktree is judged from the moment on at which it has a baseline (watchdog snapshot, run, or a hook); each judgement is one line, or \
one JSON object with --json. Commits decide; the agent is asked only where a session ended, or with --probe.

Examples:
  watchdog watch                                this repository
  watchdog watch ~/work --json | ./dispatch.py  all below a folder
  watchdog watch --work-trees --quiet-for 2m    uncommitted changes, too";

/// Arguments of `watchdog watch`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct WatchArgs {
    /// Repositories, or folders to search for them [default: this repository]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Ask the agent also where no session ended; costs tokens
    #[arg(long, conflicts_with = "no_probe")]
    pub probe: bool,
    /// Never probe the agent, not even where a session ended
    #[arg(long)]
    pub no_probe: bool,
    /// Commit nothing; uncommitted work is still kept in a snapshot
    #[arg(long)]
    pub no_rescue: bool,
    /// Ask the agent at most N times about one baseline [default: 5]
    #[arg(long, value_name = "N")]
    pub max_probes: Option<u32>,
    /// Deadline of one question [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub probe_timeout: Option<Duration>,
    /// Watch the work trees as well as the git directories; uses one inotify watch per directory
    #[arg(long)]
    pub work_trees: bool,
    /// With --work-trees: judge uncommitted changes that nobody touched for so long
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "60s")]
    pub quiet_for: Duration,
    /// How often to look where the system lets nobody watch
    #[arg(long, value_name = "DUR", value_parser = parse_duration, default_value = "10s")]
    pub poll: Duration,
    /// Only look every --poll, for file systems that tell nothing, such as network ones
    #[arg(long)]
    pub poll_only: bool,
    /// How many worktrees are judged at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// The agent's program, where it is not in PATH under its usual name
    #[arg(long, value_name = "PROGRAM", env = "WATCHDOG_AGENT_PROGRAM")]
    pub agent_program: Option<OsString>,
}

//! The arguments that `check`, `run` and `loop` share: how a session is judged.

use std::time::Duration;

use clap::Args;

use super::time_span::duration;

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

//! The arguments that `check`, `run` and `loop` share: how a session is judged.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;

use watchdog_core::config::{CriteriaNumbers, NUMBER_NAMES, nearest_hint};

use super::args_loop::variables_by_name;
use super::time_span::parse_duration;

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
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
    pub probe_interval: Option<Duration>,
    /// Deadline of one question [default: 60s]
    #[arg(long, value_name = "DUR", value_parser = parse_duration)]
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

/// Numbers of GitHub for the checks that lack one, in `check` and `run`. The values of a loop are for its prompts, too.
#[derive(Debug, Clone, Args)]
pub struct NumberArgs {
    /// Fill in a number that a check of completion.json lacks: issue=N or project=N
    #[arg(long = "var", value_name = "NAME=N", value_parser = criteria_number)]
    pub vars: Vec<(String, String)>,
}

impl NumberArgs {
    /// The numbers.
    ///
    /// # Errors
    /// Where a name is given twice.
    pub fn numbers(&self) -> Result<CriteriaNumbers, String> {
        Ok(CriteriaNumbers::of_values(&variables_by_name(&self.vars)?))
    }
}

/// The name and the number, which no check would take where it is none.
fn criteria_number(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}' has no value; write issue=N or project=N"))?;
    if !NUMBER_NAMES.contains(&name) {
        let near = nearest_hint(name, NUMBER_NAMES);
        return Err(format!(
            "no check lacks a number named '{name}'{near}; issue=N and project=N are what a check can lack"
        ));
    }
    let given = (name.to_owned(), value.to_owned());
    if CriteriaNumbers::of_values(&BTreeMap::from([given.clone()])) == CriteriaNumbers::default() {
        return Err(format!("'{value}' is not a number from 1; write {name}=7"));
    }
    Ok(given)
}

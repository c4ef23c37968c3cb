//! The words of `watchdog agent`.

use clap::{Args, Subcommand};

use super::preset_value::PresetValueParser;
use watchdog_core::config::PresetName;

const AFTER_HELP: &str = "\
An agent is described by a preset: how it is started, resumed and asked, and
what it can do. Presets are built in, or files of your own:
~/.config/watchdog/agents/NAME.json, or a path that completion.json names.

Examples:
  watchdog agent list                   who is known, and who is installed
  watchdog agent show codex             its command lines and capabilities
  watchdog agent show agents/mine.json  a file of this worktree
  watchdog schema preset                the form of such a file";

/// Arguments of `watchdog agent`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct AgentArgs {
    /// What to do
    #[command(subcommand)]
    pub command: AgentCommand,
}

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List the agents that watchdog knows
    #[command(after_long_help = AFTER_HELP)]
    List,
    /// Show how an agent is started and asked, and what it can do
    #[command(after_long_help = AFTER_HELP)]
    Show {
        /// Its name, or the path of its preset file
        #[arg(value_name = "AGENT", value_parser = PresetValueParser)]
        name: PresetName,
    },
}

//! The words of `watchdog agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::preset_value::PresetValueParser;
use watchdog_conformance::scenes::SCENES;
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

const TEST_AFTER_HELP: &str = "\
Each scene runs the agent's real program in a scratch repository, with a home folder of its own, in front of a scripted model API that watchdog \
serves on this machine. It costs no tokens and needs no login; nothing of yours is read or changed. What happened is judged from git, from the \
requests that the API saw, and from watchdog's own verdict. \
`ok`: the agent does what its preset says. `cannot`: it lacks a capability, and the verdict says so. `FAILED`: what was expected, and what was \
seen. The exit code is 0 where no scene failed, else 12; 15 where the agent's program is missing.

Examples:
  watchdog agent test codex                      every scene
  watchdog agent test gemini --scene commit --scene term
  watchdog agent test qwen --program /opt/qwen/bin/qwen
  watchdog agent test codex -- npx @openai/codex";

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
    /// Try an agent's program against a scripted model API, without tokens
    #[command(after_long_help = TEST_AFTER_HELP)]
    Test(AgentTestArgs),
}

/// Arguments of `watchdog agent test`.
#[derive(Debug, Args)]
pub struct AgentTestArgs {
    /// The agent: the name of a preset
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Play this scene; may be given several times [default: all]
    #[arg(long = "scene", value_name = "SCENE", value_parser = scene_word())]
    pub scenes: Vec<String>,
    /// The agent's program, where it is not in PATH under its usual name
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    pub program: Option<PathBuf>,
    /// Keep the scratch folder of each scene, and say where it is
    #[arg(long)]
    pub keep: bool,
    /// Run this command in the place of the agent's program
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

fn scene_word() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(
        SCENES.map(|scene| clap::builder::PossibleValue::new(scene.name).help(scene.shows)),
    )
}

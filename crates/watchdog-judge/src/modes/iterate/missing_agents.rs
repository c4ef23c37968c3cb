//! Finds the agents that could not take over: their program is not on this machine, or their preset cannot be read.

use std::path::Path;

use super::loop_agents::{LoopAgent, PresetLookup};
use watchdog_agent::SessionAgent;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_process::program_in_path;

/// The program of an agent, where it is not there: a file below the worktree, or a name in `PATH`.
fn missing_program(agent: &LoopAgent, root: &Path) -> Option<String> {
    let program = match &agent.worker {
        SessionAgent::Program(argv) => argv.first()?.to_string_lossy().into_owned(),
        SessionAgent::Agent {
            preset, program, ..
        } => program.as_ref().map_or_else(
            || preset.program.clone(),
            |program| program.to_string_lossy().into_owned(),
        ),
    };
    let is_there = if program.contains('/') {
        root.join(&program).is_file()
    } else {
        program_in_path(&program).is_some()
    };
    (!is_there).then_some(program)
}

/// A warning for each agent of a loop that would take over and has no program here. The first one needs none: its session says it at once.
pub fn warnings_before_the_first_session(agents: &[LoopAgent], root: &Path) -> Vec<String> {
    let missing = agents
        .iter()
        .skip(1)
        .filter_map(|agent| Some((agent, missing_program(agent, root)?)));
    missing
        .map(|(LoopAgent { name, .. }, program)| {
            format!(
                "{name}, which is to take over at a limit, cannot be started: there is no program {program}; install it, or take {name} \
                 out of the fallback"
            )
        })
        .collect()
}

/// An agent that a configuration names in a `fallback`, and why it could not take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingFallback {
    /// The reason, as a sentence.
    pub why: String,
    /// The step that mends it.
    pub mend: String,
}

/// Every agent in a `fallback` of a configuration that could not take over.
pub fn missing_fallbacks(
    settings: &ConfigSettings,
    presets: PresetLookup<'_>,
    root: &Path,
) -> Vec<MissingFallback> {
    let mut names: Vec<&str> = settings
        .agents
        .iter()
        .flat_map(|entry| entry.fallback.iter().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    let missing = names.into_iter().filter_map(|name| match LoopAgent::from_name(settings, presets, name) {
        Err(why) => Some(MissingFallback {
            why: format!("{name}, which agents[].fallback names, cannot take over: {why}"),
            mend: format!("correct its preset, or take {name} out of the fallback"),
        }),
        Ok(agent) => missing_program(&agent, root).map(|program| MissingFallback {
            why: format!("{name}, which agents[].fallback names, cannot take over: there is no program {program}"),
            mend: format!("install {program}, or take {name} out of the fallback"),
        }),
    });
    missing.collect()
}

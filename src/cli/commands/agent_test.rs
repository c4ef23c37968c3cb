//! `watchdog agent test`: plays the conformance scenes with an agent's program, one line for each while it runs.

use std::ffi::OsStr;
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};

use crate::cli::args_agent::AgentTestArgs;
use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::terminal::CommandTerminal;
use watchdog_agent::preset::catalog::PresetCatalog;
use watchdog_conformance::agents::{known_agents, scene_agent};
use watchdog_conformance::scene::ConformanceScene;
use watchdog_conformance::scene_run::{SceneOutcome, SceneResult, play};
use watchdog_conformance::scenes::SCENES;
use watchdog_core::config::nearest_hint;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::page_address;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_judge::judge::spawn_io::spawn_io;
use watchdog_judge::wire::agent_test_json::{SceneFault, TestedScene, agent_test_json};
use watchdog_process::{CancelFlag, is_executable};

use super::runtime::in_runtime;

/// Plays the scenes, and says of each what came of it.
pub fn agent_test(terminal: &CommandTerminal, args: AgentTestArgs) -> Result<u8, CommandFailure> {
    let preset = PresetCatalog::from_env()
        .of_word(&args.name)
        .map_err(|problem| CommandFailure::configuration(problem.to_string()))?;
    let mut agent = preset
        .and_then(scene_agent)
        .ok_or_else(|| refuse_unknown_preset(&args.name))?;
    agent.command = command_of(&args, &agent.preset.program)?;
    let program = agent.command.join(" ");
    let chosen: Vec<&'static ConformanceScene> = SCENES
        .iter()
        .filter(|scene| args.scenes.is_empty() || args.scenes.iter().any(|name| name == scene.name))
        .collect();
    let count = chosen.len();
    let cancel = CancelFlag::new();
    let (results, signal) = in_runtime(async |signals| {
        let (terminal, raised, keep) = (*terminal, cancel.clone(), args.keep);
        let playing = spawn_io(move || {
            let mut results = Vec::new();
            for scene in chosen {
                if raised.is_cancelled() {
                    break;
                }
                let result = play(&agent, scene, keep, &raised);
                // Another program, or one that cannot be pointed at the API: every further scene would fail as slowly.
                let hopeless = results.is_empty()
                    && !result.called_api
                    && matches!(result.outcome, SceneOutcome::Failed(..));
                if !terminal.json {
                    show_run(&terminal, scene, &result);
                }
                results.push(build_tested_run(scene, result));
                if hopeless {
                    break;
                }
            }
            results
        });
        (signals.cancelling(&cancel, playing).await, signals.last())
    })?;
    if terminal.json {
        terminal.value(&agent_test_json(&args.name, &program, &results));
    }
    if cancel.is_cancelled() {
        if terminal.json {
            // The rows say it: a second JSON value behind them could not be read.
            return Ok(signal_code(signal));
        }
        let played = results
            .iter()
            .filter(|scene| scene.outcome != "interrupted")
            .count();
        let message = format!(
            "the test was interrupted after {played} of {count} scenes; nothing of it runs any more"
        );
        return Err(CommandFailure::from_signal(signal, message));
    }
    let of = |outcome: &str| {
        results
            .iter()
            .filter(|scene| scene.outcome == outcome)
            .count()
    };
    let (passed, cannot, failed) = (of("ok"), of("cannot"), of("failed"));
    let mut summary = format!(
        "{}: {passed} of {} ok",
        escape_to_one_line(&args.name),
        plural(results.len() as u64, "scene")
    );
    for (number, word) in [(cannot, "cannot be done and said so"), (failed, "FAILED")] {
        if number > 0 {
            summary.push_str(&format!(", {number} {word}"));
        }
    }
    if results.len() < count {
        summary.push_str(&format!(
            "; {} not played, because the first one reached no model API",
            count - results.len()
        ));
    }
    if !terminal.json {
        terminal.line(&summary);
    }
    Ok(if failed == 0 {
        0
    } else {
        Status::Review.exit_code()
    })
}

fn refuse_unknown_preset(name: &str) -> CommandFailure {
    let near = nearest_hint(name, known_agents());
    let failure = CommandFailure::usage(format!(
        "cannot try '{}': no preset of this name has a local_api{near}",
        escape_to_one_line(name)
    ));
    failure.hint(format!(
        "these have one: {}; a preset of your own needs the block local_api, see {}",
        known_agents().join(", "),
        page_address!("agents.md")
    ))
}

/// Returns the command line that runs in the place of the agent's program.
fn command_of(args: &AgentTestArgs, name: &str) -> Result<Vec<String>, CommandFailure> {
    if !args.command.is_empty() {
        return Ok(args.command.clone());
    }
    let program_path = match &args.program {
        Some(path) => std::path::absolute(path).ok().filter(|path| path.is_file()),
        None => std::env::var_os("PATH").and_then(|path| in_path(name, &path)),
    };
    let missing = || {
        let what = args
            .program
            .as_ref()
            .map_or_else(|| name.to_owned(), |path| path.display().to_string());
        let failure = CommandFailure::new(
            Reason::AgentUnrunnable,
            format!("cannot run '{what}': there is no such program"),
        );
        failure.hint(format!(
            "install it, or say where it is: watchdog agent test {} --program PATH",
            escape_to_one_line(&args.name)
        ))
    };
    program_path
        .map(|path| vec![path.to_string_lossy().into_owned()])
        .ok_or_else(missing)
}

/// The file of a program, by its name.
fn in_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

fn show_run(terminal: &CommandTerminal, scene: &ConformanceScene, result: &SceneResult) {
    let (word, colour, says) = match &result.outcome {
        SceneOutcome::Passed => ("ok", AnsiColor::Green, scene.shows.to_owned()),
        SceneOutcome::Cannot(lacks) => (
            "cannot",
            AnsiColor::Yellow,
            format!("its preset has no `{lacks}`, and the verdict does not assume it"),
        ),
        SceneOutcome::Failed(..) => ("FAILED", AnsiColor::Red, scene.shows.to_owned()),
        SceneOutcome::Interrupted => ("ended", AnsiColor::Yellow, "a signal ended it".to_owned()),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    terminal.line(&format!(
        "{style}{word:6}{style:#}  {:10}  {:5.1} s  {says}",
        result.scene,
        result.duration.as_secs_f64()
    ));
    if let SceneOutcome::Failed(faults, output) = &result.outcome {
        for fault in faults {
            terminal.line(&format!(
                "          expected: {}",
                escape_to_one_line(&fault.expected)
            ));
            terminal.line(&format!(
                "          seen:     {}",
                escape_to_one_line(&fault.seen)
            ));
        }
        for line in output.lines() {
            terminal.line(&format!("          | {}", escape_to_one_line(line)));
        }
    }
    if let Some(folder) = &result.kept {
        terminal.line(&format!(
            "          kept in {}",
            escape_to_one_line(&folder.display().to_string())
        ));
    }
}

fn build_tested_run(scene: &ConformanceScene, result: SceneResult) -> TestedScene {
    let (outcome, capability, faults) = match result.outcome {
        SceneOutcome::Passed => ("ok", None, Vec::new()),
        SceneOutcome::Cannot(lacks) => ("cannot", Some(lacks), Vec::new()),
        SceneOutcome::Failed(faults, _) => (
            "failed",
            None,
            faults
                .into_iter()
                .map(|fault| SceneFault {
                    expected: fault.expected,
                    seen: fault.seen,
                })
                .collect(),
        ),
        SceneOutcome::Interrupted => ("interrupted", None, Vec::new()),
    };
    TestedScene {
        scene: scene.name,
        shows: scene.shows,
        outcome,
        capability,
        faults,
        duration_ms: result.duration.as_millis(),
        folder: result.kept.map(|folder| folder.display().to_string()),
    }
}

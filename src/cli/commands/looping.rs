//! `watchdog loop`: what is asked, as the loop wants it; the live view; the verdict at the end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use crate::cli::args_loop::{LoopArgs, variables_by_name};
use crate::cli::failure::CommandFailure;
use crate::cli::live_view::LiveView;
use crate::cli::terminal::CommandTerminal;
use watchdog_core::config::{CriteriaNumbers, misspelt_word};
use watchdog_core::decision::iteration::prompt::{PromptSet, PromptTexts};
use watchdog_facts::display::escape_for_display;
use watchdog_facts::phase_words::{PHASES, is_phase_name};
use watchdog_git::is_absent;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::modes::iterate::{
    AgentSelection, LoopLimitOverrides, LoopRequest, PauseRequest, about_silence, plan_loop,
    run_loop,
};
use watchdog_judge::wire::loop_plan_json::LoopPlan;
use watchdog_process::MirrorTarget;

use super::fleet::start_fleet_copies;
use super::judging::{add_uncommitted_args, collect_overrides};
use super::runtime::in_runtime;

/// Larger files are no prompts.
const LONGEST_PROMPT: u64 = 4 * 1024 * 1024;

/// Repeats sessions until one is judged complete, or something ends the loop.
pub fn run_loop_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: LoopArgs,
) -> Result<u8, CommandFailure> {
    let dry_run = args.dry_run;
    let show_output = args.show_output;
    let vars = variables_by_name(&args.vars).map_err(CommandFailure::usage)?;
    let command_env = &CommandEnv {
        numbers: CriteriaNumbers::of_values(&vars),
        ..command_env.clone()
    };
    let request = build_loop_request(command_env, args, &vars)?;
    if dry_run {
        let plan = plan_loop(command_env, &request)?;
        show_plan(terminal, &plan);
        return Ok(0);
    }
    let live = if show_output {
        None
    } else {
        LiveView::start(terminal)
    };
    let judgement = {
        // Dropped before the verdict is said: whoever reads that may wait for the end of the process.
        let _copies;
        match live {
            Some(live) => {
                let around = CommandEnv {
                    narrate: live.narrator(),
                    ..command_env.clone()
                };
                _copies = start_fleet_copies(&around);
                let view = live.new_loop_view(String::new());
                let judgement = in_runtime(async |signals| {
                    run_loop(&around, with_pause(request), view, signals).await
                });
                live.end();
                judgement?
            }
            None => {
                _copies = start_fleet_copies(command_env);
                in_runtime(async |signals| {
                    run_loop(command_env, with_pause(request), Arc::new(()), signals).await
                })?
            }
        }
    };
    terminal.verdict(&judgement, false);
    Ok(judgement.exit_code())
}

fn build_loop_request(
    command_env: &CommandEnv,
    args: LoopArgs,
    vars: &BTreeMap<String, String>,
) -> Result<LoopRequest, CommandFailure> {
    let task = match (args.text.clone(), args.prompt.as_deref()) {
        (Some(text), _) if text.trim().is_empty() => {
            return Err(CommandFailure::usage("the text of -p is empty"));
        }
        (Some(text), _) => Some(("-p".to_owned(), text)),
        (None, path) => path
            .map(|path| read_prompt(path).map(|text| (path.display().to_string(), text)))
            .transpose()?,
    };
    if task.is_none()
        && args.prompts.is_none()
        && (args.agent.is_some() || !names_program(&args.command))
    {
        let why = if args.agent.is_some() {
            "--agent needs to be told what to do"
        } else {
            "the loop has neither a prompt nor a program"
        };
        return Err(CommandFailure::usage(why).hint("name a text with -p TEXT or --prompt FILE"));
    }
    let of_set = |name: &str| -> Result<Option<(String, String)>, CommandFailure> {
        let Some(folder) = &args.prompts else {
            return Ok(None);
        };
        let path = folder.join(name);
        if is_absent(&path) {
            return Ok(None);
        }
        Ok(Some((path.display().to_string(), read_prompt(&path)?)))
    };
    let (initial, continuation) = (of_set("initial.md")?, of_set("continuation.md")?);
    let phases = args
        .prompts
        .as_deref()
        .map(phase_prompts)
        .transpose()?
        .unwrap_or_default();
    if let Some(folder) = args
        .prompts
        .as_ref()
        .filter(|_| initial.is_none() && continuation.is_none() && phases.is_empty())
    {
        let why = format!(
            "there is neither initial.md nor continuation.md in {}",
            folder.display()
        );
        return Err(CommandFailure::usage(why).hint(
            "what is not there is taken from watchdog's own prompts; write at least one of them",
        ));
    }
    fn as_named_text(text: &Option<(String, String)>) -> Option<(&str, &str)> {
        text.as_ref()
            .map(|(name, text)| (name.as_str(), text.as_str()))
    }
    let given = PromptTexts {
        task: as_named_text(&task),
        initial: as_named_text(&initial),
        continuation: as_named_text(&continuation),
        phases: &phases,
    };
    let prompts =
        PromptSet::new(given, vars).map_err(|error| CommandFailure::usage(error.to_string()))?;
    let program = command_env.agent_program.clone();
    Ok(LoopRequest {
        spec: args.judge.spec.clone(),
        agents: select_agents(args.agent, args.command, program, args.fallback),
        same_conversation: args.same_conversation,
        prompts,
        limits: LoopLimitOverrides {
            max_iterations: args.max_iterations,
            cooldown: args.cooldown,
            deadline: args.deadline,
            max_turns: args.max_turns,
            max_total_tokens: args.max_total_tokens,
            max_cost_usd: args.max_cost_usd,
            max_wall: args.max_wall,
        },
        no_progress: args.no_progress,
        max_wait: args.max_wait,
        restart: args.restart,
        terms: args.session.session_terms(true),
        mirror: if args.show_output {
            MirrorTarget::ToStderr
        } else {
            MirrorTarget::Off
        },
        overrides: add_uncommitted_args(collect_overrides(&args.judge, false), args.uncommitted),
        effective: None,
        pause: PauseRequest::none(),
    })
}

/// The agents that a command line means: the one that it names with further arguments, its program, or else the configured one, which
/// gets words that begin with an option.
pub fn select_agents(
    agent: Option<String>,
    command: Vec<OsString>,
    program: Option<OsString>,
    fallback: Vec<String>,
) -> AgentSelection {
    match agent {
        Some(name) => AgentSelection::Named {
            name,
            args: command,
            program,
            fallback,
        },
        None if !names_program(&command) => AgentSelection::Configured {
            args: command,
            program,
            fallback,
        },
        None => AgentSelection::Program {
            argv: command,
            fallback,
        },
    }
}

/// Whether the words behind `--` begin with a program.
fn names_program(command: &[OsString]) -> bool {
    let first = command.first();
    first.is_some_and(|word| !word.as_encoded_bytes().starts_with(b"-"))
}

/// The request of a loop that a person can ask to pause. Without the signal it can still be ended.
fn with_pause(request: LoopRequest) -> LoopRequest {
    LoopRequest {
        pause: PauseRequest::listen().unwrap_or_else(|_| PauseRequest::none()),
        ..request
    }
}

/// The prompts `continuation-PHASE.md` of a folder: phase, path and text.
fn phase_prompts(folder: &Path) -> Result<Vec<(String, String, String)>, CommandFailure> {
    let entries = std::fs::read_dir(folder).map_err(|error| {
        CommandFailure::usage(format!(
            "failed to read the folder of prompts {}: {error}",
            folder.display()
        ))
    })?;
    let mut prompts = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let phase = name
            .to_str()
            .and_then(|name| name.strip_prefix("continuation-")?.strip_suffix(".md"));
        let Some(phase) = phase else { continue };
        let path = entry.path().display().to_string();
        let refused = |why: String| {
            Err(CommandFailure::usage(format!(
                "{why}: {}",
                escape_for_display(&path)
            )))
        };
        let shown = escape_for_display(phase);
        // The name of the file declares the phase; a slip of a usual one would be a prompt that no session gets.
        let phase = phase.to_lowercase();
        if !is_phase_name(&phase) {
            return refused(format!(
                "an agent cannot name the phase '{shown}'; use letters, digits, '-' and '_'"
            ));
        }
        if let Some(meant) =
            misspelt_word(&phase, PHASES.iter().copied()).filter(|meant| *meant != phase)
        {
            return refused(format!(
                "no phase is named '{shown}', did you mean '{meant}'?"
            ));
        }
        if prompts
            .iter()
            .any(|(known, ..): &(String, String, String)| *known == phase)
        {
            return refused(format!("the phase '{phase}' has two prompts; keep one"));
        }
        prompts.push((phase, path, read_prompt(&entry.path())?));
    }
    Ok(prompts)
}

fn read_prompt(path: &Path) -> Result<String, CommandFailure> {
    let failed = |why: String| {
        CommandFailure::usage(format!(
            "failed to read the prompt {}: {why}",
            path.display()
        ))
    };
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(LONGEST_PROMPT + 1)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(LONGEST_PROMPT + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > LONGEST_PROMPT {
        return Err(failed(format!("it is larger than {LONGEST_PROMPT} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8 text".into()))?;
    if text.trim().is_empty() {
        return Err(failed("it is empty".into()));
    }
    Ok(text)
}

fn show_plan(terminal: &CommandTerminal, plan: &LoopPlan) {
    if terminal.json {
        return terminal.print_answer(plan);
    }
    let how = if plan.resumed {
        "goes on with"
    } else {
        "begins with"
    };
    terminal.line(&format!(
        "{how} iteration {} ({} left)",
        plan.iteration, plan.budget
    ));
    terminal.line(&format!(
        "spec: {}, first baseline: {}",
        escape_for_display(&plan.spec),
        plan.first_baseline
    ));
    terminal.line(&format!(
        "starts: {}",
        escape_for_display(&plan.command.join(" "))
    ));
    if plan.agents.len() > 1 {
        terminal.line(&format!(
            "agents, the next one at a limit of the one before: {}",
            escape_for_display(&plan.agents.join(", "))
        ));
    }
    terminal.line(&about_silence(plan.idle_timeout));
    if let Some(why) = &plan.refused {
        terminal.line(&format!(
            "but nothing would be started: {}",
            escape_for_display(why)
        ));
    }
    for note in &plan.notes {
        terminal.line(&format!("note: {}", escape_for_display(note)));
    }
    terminal.line("--- prompt");
    terminal.line(&escape_for_display(plan.prompt.trim_end()));
}

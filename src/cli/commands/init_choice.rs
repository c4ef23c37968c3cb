//! The questions of `watchdog init` to a person: the content of the file, and the commands that may
//! run now.

use std::path::Path;

use signal_hook::consts::SIGINT;

use super::runtime::in_runtime;
use crate::cli::failure::CommandFailure;
use crate::cli::prompts::{UnansweredPrompt, ask_confirmation, choose_many, choose_one};
use crate::cli::terminal::CommandTerminal;
use watchdog_core::config::settings::CommandCriterion;
use watchdog_core::config::{nearest_hint, parse_config};
use watchdog_facts::display::{escape_for_display, escape_to_one_line};
use watchdog_facts::evidence::CheckOutcome;
use watchdog_judge::judge::spawn_io::spawn_io;
use watchdog_judge::modes::init::{
    ConfigProposal, FirstRun, ProposedEntry, first_run, list_runnable_commands,
};
use watchdog_judge::wire::setup_json::TriedCheck;
use watchdog_process::CancelFlag;

/// Has a person choose among what is proposed.
pub(super) fn ask_choices(
    terminal: &CommandTerminal,
    proposed: &mut ConfigProposal,
) -> Result<(), UnansweredPrompt> {
    proposed
        .notes
        .iter()
        .for_each(|note| terminal.complain(&format!("note: {}", escape_to_one_line(note))));
    let lines = proposed.entries.iter().map(ProposedEntry::line);
    let usual: Vec<usize> = (0..proposed.entries.len())
        .filter(|at| proposed.entries[*at].is_chosen)
        .collect();
    let picked = choose_many("What does done mean here?", lines, &usual)?;
    for (at, entry) in proposed.entries.iter_mut().enumerate() {
        entry.is_chosen = picked.contains(&at);
    }
    if proposed.agents.len() > 1 && !picked.is_empty() {
        let words = proposed.agents.iter().map(|preset| preset.to_string());
        let picked = choose_one("Which agent is asked about its state?", words)?;
        proposed.agent = proposed.agents.get(picked).cloned();
    }
    Ok(())
}

/// Runs the commands of the file once each: those that are `named`, where an empty name stands for all of them; else those that a person
/// says yes to where one is asked.
pub(super) fn try_checks(
    terminal: &CommandTerminal,
    root: &Path,
    text: &str,
    asks: bool,
    named: &[String],
) -> Result<Vec<TriedCheck>, CommandFailure> {
    let mut tried = Vec::new();
    if !asks && named.is_empty() {
        return Ok(tried);
    }
    let settings = parse_config(text, Path::new("completion.json"))
        .map(|parsed| parsed.settings)
        .unwrap_or_default();
    let checks = list_runnable_commands(&settings);
    if let Some(unknown) = named
        .iter()
        .find(|named| !named.is_empty() && !checks.iter().any(|(name, _)| name == named))
    {
        let near = nearest_hint(unknown, checks.iter().map(|(name, _)| *name));
        let message = format!(
            "no check with a command is named '{}' in the file{near}",
            escape_to_one_line(unknown)
        );
        return Err(CommandFailure::usage(message)
            .hint("nothing was written; see its checks with `watchdog init --dry-run`"));
    }
    for (name, criterion) in checks {
        let question = format!("Run `{}` now, to see how it ends?", criterion.run);
        let is_named = named.iter().any(|named| named.is_empty() || named == name);
        if !named.is_empty() && !is_named {
            continue;
        }
        if !is_named && !ask_confirmation(&question, false).map_err(refuse_without_answer)? {
            continue;
        }
        terminal.tell(&format!(
            "running {}: {}",
            escape_to_one_line(name),
            escape_to_one_line(&criterion.run.to_string())
        ));
        let ended = run_one(root, name, criterion)?;
        let outcome_text = match ended.outcome {
            CheckOutcome::Pass => "passes".to_owned(),
            other => format!(
                "{}: {}",
                other.as_str(),
                escape_for_display(ended.feedback.lines().next().unwrap_or_default())
            ),
        };
        terminal.tell(&format!(
            "  {outcome_text} ({:.1} s)",
            ended.took.as_secs_f64()
        ));
        let millis = u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX);
        tried.push(TriedCheck {
            name: ended.name,
            outcome: ended.outcome.as_str(),
            feedback: Some(ended.feedback).filter(|text| !text.is_empty()),
            duration_ms: millis,
        });
    }
    Ok(tried)
}

/// A question without an answer: nothing is written then.
pub(super) fn refuse_without_answer(why: UnansweredPrompt) -> CommandFailure {
    match why {
        UnansweredPrompt::Stopped => {
            CommandFailure::from_signal(SIGINT, "stopped at a question; nothing was written")
        }
        UnansweredPrompt::Unusable(_) => {
            CommandFailure::usage(why.to_string()).hint("nothing was written; --yes asks nothing")
        }
    }
}

/// Ctrl-C ends the program that runs, and `init` with it.
fn run_one(
    root: &Path,
    name: &str,
    criterion: &CommandCriterion,
) -> Result<FirstRun, CommandFailure> {
    let cancel = CancelFlag::new();
    let (root, name, criterion, flag) = (
        root.to_owned(),
        name.to_owned(),
        criterion.clone(),
        cancel.clone(),
    );
    let ended = in_runtime(async |signals| {
        let work = spawn_io(move || first_run(&root, &name, &criterion, &flag));
        let ended = signals.cancelling(&cancel, work).await;
        (ended, signals.last())
    })?;
    match ended {
        (_, signal @ 1..) => Err(CommandFailure::from_signal(
            signal,
            "stopped while a check ran; nothing was written",
        )),
        (ended, _) => Ok(ended),
    }
}

//! `watchdog explain`: why a verdict is as it is, from the journal alone.

use std::sync::Arc;

use crate::cli::args_explain::ExplainArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::terminal::CommandTerminal;
use watchdog_core::decision::record::explanation::ExplainedStep;
use watchdog_core::decision::record::run::RunEnd;
use watchdog_core::decision::record::what_if::ChangedEnd;
use watchdog_facts::display::escape_to_one_line;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::wire::explain_json::{ExplainedFields, explain_json};
use watchdog_judge::wire::worked_agents::{questions_line, worked_session_line};
use watchdog_store::{LocalStore, open_store_to_read};
use watchdog_view::explained::{ExplainedFacts, ExplainedVerdict, explain_verdict};
use watchdog_view::show_failure::refuse_home;
use watchdog_view::verdict_choice::{JournalScope, VerdictChoice, choose_verdict};

/// Prints why a verdict is as it is.
pub fn run_explain_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: ExplainArgs,
) -> Result<u8, CommandFailure> {
    let (store, scope) = journal_here(command_env)?;
    let named = args.verdict.as_deref();
    let commands = command_env.commands_here();
    let explained_verdict = match choose_verdict(store.as_ref(), &scope, named)? {
        VerdictChoice::Found(event) if !event.data["reason"].is_string() => {
            let why = format!(
                "the verdict of event {} cannot be read: its row is damaged",
                escape_to_one_line(&event.id)
            );
            return Err(CommandFailure::store_failure(why)
                .hint(format!("judge again with: {}", commands.watchdog("check"))));
        }
        VerdictChoice::Found(event) => explain_verdict(store.as_ref(), *event)?,
        VerdictChoice::Ambiguous(count) => {
            let name = escape_to_one_line(named.unwrap_or_default());
            return Err(CommandFailure::usage(format!(
                "events of {count} verdicts begin with '{name}'"
            ))
            .hint(format!(
                "type more of its id; list them with: {}",
                commands.watchdog("events --json --kind verdict")
            )));
        }
        VerdictChoice::Missing => {
            if named.is_none() && matches!(scope, JournalScope::Folder(_)) {
                OpenWorktree::open_to_read(command_env)?;
            }
            return Err(nothing_recorded(command_env, named));
        }
    };
    if terminal.json {
        let facts = explained_verdict
            .facts
            .as_ref()
            .map(|facts| ExplainedFields {
                explanation: &facts.explanation,
                changes: &facts.changes,
            });
        terminal.value(&explain_json(
            &explained_verdict.event,
            &explained_verdict.sessions,
            facts.map_err(String::as_str),
        ));
    } else {
        show_explanation(terminal, &explained_verdict);
    }
    Ok(0)
}

/// The journal, and whose verdicts are meant: the worktree's, or those of the folder where it was.
fn journal_here(
    command_env: &CommandEnv,
) -> Result<(Arc<dyn LocalStore>, JournalScope), CommandFailure> {
    if let Ok(open) = OpenWorktree::open_to_read(command_env) {
        return Ok((open.store, JournalScope::Worktree(open.worktree_id)));
    }
    command_env.state.ensure()?;
    let folder =
        std::path::absolute(&command_env.worktree).unwrap_or_else(|_| command_env.worktree.clone());
    Ok((
        open_store_to_read(&command_env.state)?,
        JournalScope::Folder(folder.display().to_string()),
    ))
}

fn nothing_recorded(command_env: &CommandEnv, named: Option<&str>) -> CommandFailure {
    let commands = command_env.commands_here();
    if let Some(failure) = refuse_home(command_env) {
        return failure.into();
    }
    match named.filter(|name| *name != "last") {
        None => {
            let folder = escape_to_one_line(&command_env.worktree.display().to_string());
            CommandFailure::usage(format!("no verdict is recorded for {folder}")).hint(format!(
                "judge it first with: {}",
                commands.watchdog("check")
            ))
        }
        Some(name) => CommandFailure::usage(format!(
            "no spec and no event is named '{}'",
            escape_to_one_line(name)
        ))
        .hint(format!(
            "list the verdicts with: {}",
            commands.watchdog(match command_env.open_worktree() {
                Ok(_) => "events --kind verdict",
                Err(_) => "events --all --kind verdict",
            })
        )),
    }
}

fn show_explanation(terminal: &CommandTerminal, explained_verdict: &ExplainedVerdict) {
    let (event, data) = (&explained_verdict.event, &explained_verdict.event.data);
    let text = |key: &str| escape_to_one_line(data[key].as_str().unwrap_or("?"));
    let spec = escape_to_one_line(event.spec.as_deref().unwrap_or("-"));
    terminal.sentence(&format!(
        "{} ({}) of {spec}, {:.0}",
        text("status"),
        text("reason"),
        event.at
    ));
    terminal.sentence(&format!("  {}", text("message")));
    terminal.sentence(&format!(
        "  evidence: {}; worktree: {}",
        text("evidence"),
        text("worktree")
    ));
    terminal.sentence(&format!("  event: {}", escape_to_one_line(&event.id)));
    terminal.line("");
    let who = explained_verdict
        .sessions
        .iter()
        .map(worked_session_line)
        .chain(questions_line(data));
    let who: Vec<String> = who
        .map(|line| format!("  {}", escape_to_one_line(&line)))
        .collect();
    if !who.is_empty() {
        terminal.line("Who worked");
        who.iter().for_each(|line| terminal.sentence(line));
        terminal.line("");
    }
    match &explained_verdict.facts {
        Err(why) => terminal.sentence(&format!("Not known: {}.", escape_to_one_line(why))),
        Ok(facts) => show_facts(terminal, facts),
    }
}

fn show_facts(terminal: &CommandTerminal, facts: &ExplainedFacts) {
    terminal.line("How it was decided");
    for (at, step) in facts.explanation.steps.iter().enumerate() {
        show_step(terminal, at + 1, step);
    }
    if !facts.ends_alike {
        let today = match &facts.explanation.end {
            RunEnd::Concluded(verdict) => format!(
                "{} ({})",
                verdict.status().as_str(),
                verdict.reason.as_str()
            ),
            RunEnd::NotRecorded { fact } => format!("at a fact that was not recorded: {fact}"),
        };
        terminal.line("");
        terminal.sentence(&format!(
            "By the rules of this version it ends otherwise: {today}."
        ));
    }
    terminal.line("");
    if facts.changes.is_empty() {
        return terminal.sentence("No single change that watchdog tries leads to another verdict.");
    }
    terminal.line("What would have changed it");
    for (change, end) in &facts.changes {
        let end = match end {
            ChangedEnd::Verdict { reason, .. } => {
                format!("{} ({})", reason.status().as_str(), reason.as_str())
            }
            ChangedEnd::NotRecorded { fact } => {
                format!(
                    "not known, as watchdog would have gone on to a fact that was not recorded: {fact}"
                )
            }
        };
        terminal.sentence(&format!("  if {}: {end}", change.sentence));
    }
}

fn show_step(terminal: &CommandTerminal, number: usize, step: &ExplainedStep) {
    let say = |text: &str| terminal.sentence(&format!("      {}", escape_to_one_line(text)));
    let from = escape_to_one_line(&step.read_from);
    terminal.sentence(&format!(
        " {number:>2}  {} after {} ms, from {from}",
        step.fact, step.after_ms
    ));
    say(&step.finding);
    for out in &step.ruled_out {
        say(&format!("rules out {}: {}", out.what, out.because));
    }
    for rule in &step.rules {
        say(&format!(
            "rule {} ({}): {}",
            rule.as_str(),
            rule.section(),
            rule.sentence()
        ));
    }
    say(&format!("-> {}", step.then));
}

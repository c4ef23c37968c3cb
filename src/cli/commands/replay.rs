//! `watchdog replay`: recorded verdicts by the rules of today, or by another configuration.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anstyle::Style;
use jiff::Timestamp;

use crate::cli::args_explain::ReplayArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::table::{TableColumns, terminal_width};
use crate::cli::terminal::CommandTerminal;
use crate::cli::time_span::SinceTime;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::bad as bad_configuration;
use crate::report::replayed::{ReplayOutcome, ReplayReport, replay};
use crate::report::verdict_choice::{JournalScope, verdicts};
use crate::wire::explain_json::{PastVerdict, ReplayedFields, read_event_line, replay_json};
use watchdog_core::config::parse_bytes;
use watchdog_core::config::settings::ConfigSettings;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::verdict::Status;
use watchdog_store::open_store_to_read;

use super::explain::journal_here;

/// The longest line of a file that is read: far more than an event has.
const LONGEST_LINE: u64 = 4 << 20;

/// Prints what the rules of today say of recorded verdicts.
pub fn replay_verdicts(command_env: &CommandEnv, terminal: &CommandTerminal, args: ReplayArgs) -> Result<u8, CommandFailure> {
    let settings = command_env.config.as_deref().map(read_settings).transpose()?;
    let recorded = match &args.file {
        Some(path) if path.as_os_str() == "-" => from_lines("stdin", io::stdin().lock(), args.spec.as_deref())?,
        Some(path) => {
            let name = escape_to_one_line(&path.display().to_string());
            let file = std::fs::File::open(path).map_err(|error| CommandFailure::usage(format!("cannot read {name}: {error}")))?;
            from_lines(&name, BufReader::new(file), args.spec.as_deref())?
        }
        None => from_journal(command_env, &args)?,
    };
    if recorded.is_empty() {
        let commands = command_env.commands_here();
        return Err(CommandFailure::usage("no verdict is recorded there")
            .hint(format!("list what is recorded with: {}", commands.watchdog("events --all --kind verdict"))));
    }
    let report = replay(recorded, settings.as_ref());
    match terminal.json {
        true => terminal.value(&replay_json(report.verdicts.len(), report.alike(), &fields(&report))),
        false => show(terminal, &report, settings.is_some()),
    }
    Ok(if args.fail_on_difference && report.has_difference() { Status::Review.exit_code() } else { 0 })
}

fn read_settings(path: &Path) -> Result<ConfigSettings, CommandFailure> {
    let name = escape_to_one_line(&path.display().to_string());
    let bytes = std::fs::read(path).map_err(|error| CommandFailure::configuration(format!("cannot read {name}: {error}")))?;
    Ok(parse_bytes(&bytes, path).map_err(|error| bad_configuration(&error))?.settings)
}

fn from_journal(command_env: &CommandEnv, args: &ReplayArgs) -> Result<Vec<PastVerdict>, CommandFailure> {
    let (store, scope) = match args.all {
        true => {
            command_env.state.ensure()?;
            (open_store_to_read(&command_env.state)?, JournalScope::All)
        }
        false => journal_here(command_env)?,
    };
    let since = args.since.as_ref().map(|since| match since {
        SinceTime::Ago(ago) => now().checked_sub(*ago).unwrap_or(Timestamp::MIN),
        SinceTime::At(at) => *at,
    });
    let found = verdicts(store.as_ref(), &scope, args.spec.as_deref(), since)?;
    Ok(found
        .into_iter()
        .map(|event| PastVerdict { event: event.id, at: event.at.to_string(), spec: event.spec, data: event.data })
        .collect())
}

fn from_lines(name: &str, mut lines: impl BufRead, spec: Option<&str>) -> Result<Vec<PastVerdict>, CommandFailure> {
    let (mut found, mut number, mut line) = (Vec::new(), 0u64, String::new());
    loop {
        line.clear();
        number += 1;
        let read = lines.by_ref().take(LONGEST_LINE).read_line(&mut line);
        let count = read.map_err(|error| CommandFailure::usage(format!("cannot read {name}: {error}")))?;
        if count == 0 {
            return Ok(found);
        }
        if line.trim().is_empty() {
            continue;
        }
        let event = read_event_line(&line).map_err(|why| {
            CommandFailure::usage(format!("line {number} of {name} is no event: {}", escape_to_one_line(&why)))
                .hint("write such a file with `watchdog events --json --kind verdict`")
        })?;
        found.extend(event.filter(|event| spec.is_none_or(|spec| event.spec.as_deref() == Some(spec))));
    }
}

fn fields(report: &ReplayReport) -> Vec<ReplayedFields<'_>> {
    report.verdicts.iter().filter_map(|(verdict, outcome)| of(verdict, outcome)).collect()
}

fn of<'a>(verdict: &'a PastVerdict, outcome: &'a ReplayOutcome) -> Option<ReplayedFields<'a>> {
    let (new, why, not_recorded) = match outcome {
        ReplayOutcome::Alike => return None,
        ReplayOutcome::Differs { new, why } => (Some(new.as_ref()), Some(why.as_str()), None),
        ReplayOutcome::NotRecorded { fact } => (None, None, Some(fact.as_str())),
        ReplayOutcome::NotReplayed { why } => (None, Some(why.as_str()), None),
    };
    Some(ReplayedFields { old: verdict, new, why, not_recorded })
}

fn show(terminal: &CommandTerminal, report: &ReplayReport, by_another: bool) {
    let by = if by_another { "that configuration" } else { "the rules of this version" };
    let total = report.verdicts.len();
    terminal.sentence(&format!("{} of {} alike by {by}", report.alike(), plural(total as u64, "verdict")));
    let rows: Vec<[String; 5]> = report.verdicts.iter().filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    terminal.line("");
    let table = TableColumns::new(["AT", "SPEC", "WAS", "IS", "WHY"], &[], &rows).within(terminal_width());
    terminal.line(&table.head());
    rows.iter().for_each(|row| terminal.line(&table.line(row, Style::new())));
}

fn row((verdict, outcome): &(PastVerdict, ReplayOutcome)) -> Option<[String; 5]> {
    let (is, why) = match outcome {
        ReplayOutcome::Alike => return None,
        ReplayOutcome::Differs { new, why } => (format!("{} ({})", new.status().as_str(), new.reason.as_str()), why.clone()),
        ReplayOutcome::NotRecorded { fact } => ("?".into(), format!("not recorded: {fact}")),
        ReplayOutcome::NotReplayed { why } => ("?".into(), format!("not replayed: {why}")),
    };
    let text = |key: &str| verdict.data[key].as_str().unwrap_or("?");
    let was = format!("{} ({})", text("status"), text("reason"));
    let at = verdict.at.get(..19).unwrap_or(&verdict.at).to_owned();
    Some([at, verdict.spec.clone().unwrap_or_default(), was, is, why].map(|text| escape_to_one_line(&text)))
}

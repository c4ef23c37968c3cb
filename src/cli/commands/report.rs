//! `watchdog report`: what a period came to, in figures.

use std::time::Duration;

use anstyle::Style;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::cli::amounts::grouped;
use crate::cli::args_report::ReportArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::table::{TableColumns, shown_path, terminal_width};
use crate::cli::terminal::CommandTerminal;
use crate::cli::time_span::SinceTime;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::report::PathFilter;
use crate::report::figures::report as figures_of;
use crate::wire::figures_json::FiguresReport;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_store::open_store;
use watchdog_store::tally::{CounterSums, word};

/// One day.
const DAY: Duration = Duration::from_secs(86_400);
/// Columns that a bar takes at most, and at least where there is one.
const WIDEST: usize = 40;
const NARROWEST: usize = 8;
/// Columns of a day's row without its bar.
const BESIDE_BAR: usize = 44;
/// More days than this are not told one by one.
const DAYS: usize = 62;

/// Shows what a period came to.
pub fn report(command_env: &CommandEnv, here: bool, terminal: &CommandTerminal, args: ReportArgs) -> Result<u8, CommandFailure> {
    command_env.state.ensure()?;
    let store = open_store(&command_env.state)?;
    let paths = if args.paths.is_empty() && here { vec![".".into()] } else { args.paths };
    let below = PathFilter::new(&command_env.worktree, &paths);
    let today = date(now());
    let from = match args.since {
        // Today is one of them.
        SinceTime::Ago(ago) => {
            let days = i64::try_from(ago.div_duration_f64(DAY).ceil().max(1.0) as u64).unwrap_or(i64::MAX);
            Span::new().try_days(days - 1).and_then(|span| today.checked_sub(span)).unwrap_or(jiff::civil::Date::MIN)
        }
        SinceTime::At(at) => date(at),
    };
    let tell = || terminal.tell("watchdog: counting what happened so far; the next report has it at once");
    let mut found = figures_of(store.as_ref(), &below, from, today, tell)?;
    found.notes.extend(store.notes().into_iter().map(|note| note.detail));
    if terminal.json {
        terminal.value(&found.to_json());
        return Ok(0);
    }
    for note in &found.notes {
        terminal.tell(&format!("note: {}", escape_to_one_line(note)));
    }
    show(terminal, &found, &command_env.commands_here());
    Ok(0)
}

fn date(at: Timestamp) -> jiff::civil::Date {
    TimeZone::UTC.to_datetime(at).date()
}

fn show(terminal: &CommandTerminal, found: &FiguresReport, commands: &WorktreeCommands) {
    if found.total.is_empty() {
        let events = commands.watchdog_anywhere("events --all");
        terminal.tell(&format!("nothing was counted from {} to {}; see what happened last with: {events}", found.from, found.to));
        return;
    }
    let begins = found.begins.filter(|begins| *begins > found.from);
    let begins = begins.map(|begins| format!("; figures begin on {begins}")).unwrap_or_default();
    terminal.line(&format!("{} to {} (UTC){begins}", found.from, found.to));
    terminal.line("");
    for (name, text) in lines(&found.total) {
        terminal.line(&format!("  {name:<10}  {text}"));
    }
    let shown = &found.days[found.days.len().saturating_sub(DAYS)..];
    let most = shown.iter().map(|day| day.sums.verdicts()).max().unwrap_or(0);
    let room = bar_room();
    let days: Vec<[String; 5]> = (shown.iter())
        .map(|day| {
            let (all, complete) = (day.sums.verdicts(), complete(&day.sums));
            let mark = if day.incomplete { "*" } else { "" };
            let numbers = [day.sums.of(word::STARTED), all, complete].map(grouped);
            let [sessions, verdicts, completes] = numbers;
            [format!("{}{mark}", day.date), sessions, verdicts, completes, bar(all, complete, most, room)]
        })
        .collect();
    terminal.line("");
    print(terminal, &TableColumns::new(["DAY", "SESSIONS", "VERDICTS", "COMPLETE", ""], &[1, 2, 3], &days), &days);
    if shown.len() < found.days.len() {
        terminal.tell(&format!("the last {DAYS} of {} days; all of them: --json", found.days.len()));
    }
    let worktrees: Vec<[String; 5]> = (found.worktrees.iter())
        .map(|own| {
            let path = own.path.as_ref().map_or_else(|| format!("({})", own.id), |path| path.display().to_string());
            let [sessions, verdicts, completes] = [own.sums.of(word::STARTED), own.sums.verdicts(), complete(&own.sums)].map(grouped);
            [sessions, verdicts, completes, money(&own.sums), shown_path(&path)]
        })
        .collect();
    terminal.line("");
    let table = TableColumns::new(["SESSIONS", "VERDICTS", "COMPLETE", "COST", "WORKTREE"], &[0, 1, 2, 3], &worktrees);
    print(terminal, &table.within(terminal_width()), &worktrees);
    if found.worktrees.len() < found.worktrees_total {
        terminal.line(&format!("and {} more", plural((found.worktrees_total - found.worktrees.len()) as u64, "worktree")));
    }
}

fn print(terminal: &CommandTerminal, table: &TableColumns<5>, rows: &[[String; 5]]) {
    terminal.line(&table.head());
    for row in rows {
        terminal.line(&table.line(row, Style::new()));
    }
}

/// The whole in words.
fn lines(sums: &CounterSums) -> Vec<(&'static str, String)> {
    let of = |word| sums.of(word);
    let counted = |counts: Vec<(&str, u64)>| {
        let total = grouped(counts.iter().map(|(_, count)| count).sum());
        let each: Vec<String> = counts.into_iter().map(|(word, count)| format!("{} {word}", grouped(count))).collect();
        if each.is_empty() { total } else { format!("{total}: {}", each.join(", ")) }
    };
    let mut reasons: Vec<(&str, u64)> = sums.below(word::VERDICT).collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let reasons: Vec<String> = reasons.into_iter().take(6).map(|(word, count)| format!("{} {word}", grouped(count))).collect();
    let ended = of(word::ENDED);
    let unreported = |reported: u64| match ended.saturating_sub(reported) {
        0 => String::new(),
        unreported => format!(" (not told by {} of {})", grouped(unreported), plural(ended, "session")),
    };
    let tokens = match of(word::TOKENS_REPORTED) {
        0 => "not told".to_owned(),
        reported => format!("{} in, {} out{}", grouped(of(word::TOKENS_IN)), grouped(of(word::TOKENS_OUT)), unreported(reported)),
    };
    let mut questions = grouped(of(word::QUESTIONS));
    if of(word::QUESTION_TOKENS_REPORTED) > 0 {
        questions.push_str(&format!("; {} in, {} out", grouped(of(word::QUESTION_TOKENS_IN)), grouped(of(word::QUESTION_TOKENS_OUT))));
    }
    if let Some(usd) = sums.question_cost_usd() {
        questions.push_str(&format!("; ${usd:.2}"));
    }
    let failed = if of(word::RESCUES_FAILED) > 0 { format!("; {} failed", grouped(of(word::RESCUES_FAILED))) } else { String::new() };
    vec![
        ("sessions", format!("{} began, {} ended", grouped(of(word::STARTED)), grouped(ended))),
        ("iterations", grouped(of(word::ITERATIONS))),
        ("verdicts", counted(sums.verdicts_by_status())),
        ("reasons", if reasons.is_empty() { "-".into() } else { reasons.join(", ") }),
        ("probes", counted(sums.below(word::PROBE).collect())),
        ("questions", questions),
        ("rescues", format!("{}, {}{failed}", grouped(of(word::RESCUES)), plural(of(word::RESCUE_COMMITS), "commit"))),
        ("breaker", format!("opened {}", plural(of(word::TRIPS), "time"))),
        ("tokens", tokens),
        (
            "cost",
            match sums.cost_usd() {
                Some(_) => format!("{}{}", money(sums), unreported(of(word::COST_REPORTED))),
                None => "not told".to_owned(),
            },
        ),
    ]
}

fn complete(sums: &CounterSums) -> u64 {
    sums.verdicts_by_status().into_iter().find(|(status, _)| *status == "complete").map_or(0, |(_, count)| count)
}

fn money(sums: &CounterSums) -> String {
    sums.cost_usd().map_or_else(|| "-".into(), |usd| format!("${usd:.2}"))
}

/// Columns that bars may take; none where the terminal is too narrow.
fn bar_room() -> usize {
    let room = terminal_width().map_or(WIDEST, |width| width.saturating_sub(BESIDE_BAR).min(WIDEST));
    if room < NARROWEST { 0 } else { room }
}

/// `####..`: complete ones, then the others, where `most` fill the room.
fn bar(all: u64, complete: u64, most: u64, room: usize) -> String {
    if all == 0 || room == 0 {
        return String::new();
    }
    let wide = u64::try_from(room).unwrap_or(0);
    let columns = |count: u64| u128::from(count) * u128::from(wide) / u128::from(most.max(1));
    let whole = usize::try_from(columns(all)).unwrap_or(room).max(1);
    let done = usize::try_from(columns(complete)).unwrap_or(room).min(whole).max(usize::from(complete == all));
    format!("{}{}", "#".repeat(done), ".".repeat(whole - done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_its_room_with_the_most_and_shows_the_least() {
        for (all, complete, most, room, expected) in [
            (10, 10, 10, 10, "##########"),
            (10, 5, 10, 10, "#####....."),
            (1, 0, 1000, 10, "."),
            (1, 1, 1000, 10, "#"),
            (0, 0, 10, 10, ""),
            (5, 5, 10, 0, ""),
            (u64::MAX, 0, u64::MAX, 8, "........"),
        ] {
            assert_eq!(bar(all, complete, most, room), expected, "{all} {complete} {most} {room}");
        }
    }
}

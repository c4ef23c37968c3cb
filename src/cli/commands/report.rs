//! `watchdog report`: what a period came to, in figures.

use std::io::stdout;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::cli::args_report::ReportArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::page_file::replace_file;
use crate::cli::report_sections::{build_sections, draw_bar};
use crate::cli::result_output;
use crate::cli::table::{shown_path, terminal_width};
use crate::cli::terminal::CommandTerminal;
use crate::cli::time_span::SinceTime;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::wire::figures_json::FiguresReport;
use watchdog_store::measures::{MeasureSummary, measure};
use watchdog_store::open_store_to_read;
use watchdog_store::tally::{AgentFigures, CounterSums, word};
use watchdog_view::PathFilter;
use watchdog_view::amounts::{format_size, group_thousands};
use watchdog_view::figures::{gather_figures as figures_of, name_machines};
use watchdog_view::page::{page_figures, render_page};

/// The length of a day.
const DAY: Duration = Duration::from_secs(86_400);
/// Columns that a bar takes at most, and at least where there is one.
const WIDEST: usize = 40;
const NARROWEST: usize = 8;
/// Columns of a day's row without its bar, and of a list's.
const BESIDE_BAR: usize = 44;
const BESIDE_LIST: usize = 38;
/// More days than this are not told one by one.
const DAYS: usize = 62;

/// Shows what a period came to.
pub fn run_report_command(
    command_env: &CommandEnv,
    here: bool,
    terminal: &CommandTerminal,
    args: ReportArgs,
) -> Result<u8, CommandFailure> {
    command_env.state.ensure()?;
    let (store, fleet_notes, code) = match args.fleet {
        true => super::fleet::copies_of(command_env, terminal)?,
        false => (open_store_to_read(&command_env.state)?, Vec::new(), 0),
    };
    let paths = if args.paths.is_empty() && here && !args.fleet {
        vec![".".into()]
    } else {
        args.paths
    };
    let below = PathFilter::new(&command_env.worktree, &paths);
    let today = to_utc_date(now());
    let from = match args.since {
        // Today is one of them.
        SinceTime::Ago(ago) => {
            let days =
                i64::try_from(ago.div_duration_f64(DAY).ceil().max(1.0) as u64).unwrap_or(i64::MAX);
            Span::new()
                .try_days(days - 1)
                .and_then(|span| today.checked_sub(span))
                .unwrap_or(jiff::civil::Date::MIN)
        }
        SinceTime::At(at) => to_utc_date(at),
    };
    let tell =
        || terminal.tell("watchdog: counting what happened so far; the next report has it at once");
    if let Some(file) = &args.html {
        if terminal.json {
            return Err(CommandFailure::usage("--html writes a page, and no JSON")
                .hint("leave out --html, or --json"));
        }
        let mut figures = page_figures(store.as_ref(), &below, from, (now(), today), tell)?;
        figures
            .notes
            .extend(store.notes().into_iter().map(|note| note.detail));
        figures.notes.extend(fleet_notes);
        return write_page(terminal, file, &render_page(&figures)).map(|written| written.max(code));
    }
    let mut figures = figures_of(store.as_ref(), &below, from, today, tell)?;
    figures
        .notes
        .extend(store.notes().into_iter().map(|note| note.detail));
    figures.notes.extend(fleet_notes);
    if args.fleet {
        name_machines(&mut figures);
    }
    if terminal.json {
        terminal.value(&figures.to_json());
        return Ok(code);
    }
    for note in &figures.notes {
        terminal.tell_note(note);
    }
    show_report(terminal, &figures, &command_env.commands_here());
    Ok(code)
}

fn write_page(terminal: &CommandTerminal, file: &Path, text: &str) -> Result<u8, CommandFailure> {
    if file == Path::new("-") {
        // Remembered where it fails: the program ends with an error then.
        let _ = result_output::write_result(&mut stdout().lock(), text.as_bytes());
        return Ok(0);
    }
    replace_file(file, text.as_bytes())?;
    terminal.tell(&format!(
        "wrote {} ({})",
        escape_to_one_line(&file.display().to_string()),
        format_size(text.len() as u64)
    ));
    Ok(0)
}

fn to_utc_date(at: Timestamp) -> jiff::civil::Date {
    TimeZone::UTC.to_datetime(at).date()
}

fn show_report(terminal: &CommandTerminal, figures: &FiguresReport, commands: &WorktreeCommands) {
    if figures.total.is_empty() {
        let events = commands.watchdog_anywhere("events --all");
        terminal.tell(&format!(
            "nothing was counted from {} to {}; see what happened last with: {events}",
            figures.from, figures.to
        ));
        return;
    }
    let begins = figures.begins.filter(|begins| *begins > figures.from);
    let begins = begins
        .map(|begins| format!("; figures begin on {begins}"))
        .unwrap_or_default();
    terminal.line(&format!("{} to {} (UTC){begins}", figures.from, figures.to));
    terminal.line("");
    for (name, text) in describe_report(figures) {
        terminal.hung(&format!("  {name:<10}  {text}"), 14);
    }
    show_days(terminal, figures);
    show_worktrees(terminal, figures);
    show_agents(terminal, figures);
    terminal.line("");
    match figures.measured_since {
        None => {
            return terminal.sentence("An older version counted these days: aborts, rescues, questions and strikes are not measured yet.");
        }
        Some(since) if figures.days.first().is_some_and(|day| day.date < since) => {
            terminal.sentence(&format!("What follows was not measured before {since}."));
            terminal.line("");
        }
        Some(_) => {}
    }
    for (at, section) in build_sections(
        &figures.measured,
        &figures.completed,
        room_beside(BESIDE_LIST),
    )
    .into_iter()
    .enumerate()
    {
        if at > 0 {
            terminal.line("");
        }
        terminal.line(&section.head);
        terminal.hung(&format!("  {}", section.meaning), 2);
        section.rows.iter().for_each(|row| terminal.line(row));
    }
}

fn show_days(terminal: &CommandTerminal, figures: &FiguresReport) {
    let shown = &figures.days[figures.days.len().saturating_sub(DAYS)..];
    let most = shown
        .iter()
        .map(|day| count_judgements(&day.sums).0)
        .max()
        .unwrap_or(0);
    let room = room_beside(BESIDE_BAR);
    let days: Vec<[String; 5]> = (shown.iter())
        .map(|day| {
            let (all, complete) = count_judgements(&day.sums);
            let mark = if day.incomplete { "*" } else { "" };
            let [all_shown, complete_shown] = [all, complete].map(|count| {
                if day.measured {
                    group_thousands(count)
                } else {
                    "-".into()
                }
            });
            let sessions = group_thousands(day.sums.get_sum(word::STARTED));
            [
                format!("{}{mark}", day.date),
                sessions,
                all_shown,
                complete_shown,
                draw_bar(all, complete, most, room),
            ]
        })
        .collect();
    terminal.line("");
    terminal.table(
        ["DAY", "SESSIONS", "JUDGED", "COMPLETE", ""],
        &[1, 2, 3],
        &days,
    );
    if shown.len() < figures.days.len() {
        terminal.tell(&format!(
            "the last {DAYS} of {} days; all of them: --json",
            figures.days.len()
        ));
    }
}

fn show_worktrees(terminal: &CommandTerminal, figures: &FiguresReport) {
    let worktrees: Vec<[String; 5]> = (figures.worktrees.iter())
        .map(|own| {
            let path = own.path.as_ref().map_or_else(
                || format!("({})", own.id),
                |path| path.display().to_string(),
            );
            let (all, complete) = count_judgements(&own.measured);
            let [all, complete] = [all, complete].map(|count| {
                if figures.measured_since.is_some() {
                    group_thousands(count)
                } else {
                    "-".into()
                }
            });
            [
                group_thousands(own.sums.get_sum(word::STARTED)),
                all,
                complete,
                format_money(&own.sums),
                shown_path(&path),
            ]
        })
        .collect();
    terminal.line("");
    let heads = ["SESSIONS", "JUDGED", "COMPLETE", "COST", "WORKTREE"];
    terminal.table(heads, &[0, 1, 2, 3], &worktrees);
    if figures.worktrees.len() < figures.worktrees_total {
        terminal.line(&format!(
            "and {} more",
            plural(
                (figures.worktrees_total - figures.worktrees.len()) as u64,
                "worktree"
            )
        ));
    }
}

/// Shows the agents of the sessions. A single unknown agent gets no table.
fn show_agents(terminal: &CommandTerminal, figures: &FiguresReport) {
    let agents = figures.total.by_agent();
    if agents.iter().all(|of| of.agent.is_empty()) {
        return;
    }
    let shown = |of: &AgentFigures| {
        let name = if of.agent.is_empty() {
            "(not known)".to_owned()
        } else {
            shown_path(&of.agent)
        };
        let [read, written] = match of.tokens {
            Some((read, written)) => [group_thousands(read), group_thousands(written)],
            None => ["-".to_owned(), "-".to_owned()],
        };
        let cost = of
            .cost_usd
            .map_or_else(|| "-".to_owned(), |usd| format!("${usd:.2}"));
        [group_thousands(of.sessions), read, written, cost, name]
    };
    let rows: Vec<[String; 5]> = agents.iter().map(shown).collect();
    terminal.line("");
    let heads = ["SESSIONS", "TOKENS IN", "OUT", "COST", "AGENT"];
    terminal.table(heads, &[0, 1, 2, 3], &rows);
}

/// The whole in words.
fn describe_report(figures: &FiguresReport) -> Vec<(&'static str, String)> {
    let (sums, of) = (&figures.total, |word| figures.total.get_sum(word));
    let counted = |counts: Vec<(&str, u64)>| {
        let total = group_thousands(counts.iter().map(|(_, count)| count).sum());
        let each: Vec<String> = counts
            .into_iter()
            .map(|(word, count)| format!("{} {word}", group_thousands(count)))
            .collect();
        if each.is_empty() {
            total
        } else {
            format!("{total}: {}", each.join(", "))
        }
    };
    let measured = |beginning: &str| {
        figures
            .measured
            .below(beginning)
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    let (of_sessions, of_changes) = (
        measured(measure::JUDGED_SESSION),
        measured(measure::JUDGED_CHANGE),
    );
    let judged = match figures.measured_since {
        None => "not measured".to_owned(),
        Some(_) => {
            let counted = |count, noun| {
                format!(
                    "{} {noun}{}",
                    group_thousands(count),
                    if count == 1 { "" } else { "s" }
                )
            };
            let looks = counted(figures.measured.get_sum(measure::LOOKS), "look");
            format!(
                "{}, {} without one; {looks} saw the same again",
                counted(of_sessions, "session"),
                counted(of_changes, "change")
            )
        }
    };
    let ended = of(word::ENDED);
    let unreported = |reported: u64| match ended.saturating_sub(reported) {
        0 => String::new(),
        unreported => format!(
            " (not told by {} of {})",
            group_thousands(unreported),
            plural(ended, "session")
        ),
    };
    let tokens = match of(word::TOKENS_REPORTED) {
        0 => "not told".to_owned(),
        reported => format!(
            "{} in, {} out{}",
            group_thousands(of(word::TOKENS_IN)),
            group_thousands(of(word::TOKENS_OUT)),
            unreported(reported)
        ),
    };
    let mut questions = group_thousands(of(word::QUESTIONS));
    if of(word::QUESTION_TOKENS_REPORTED) > 0 {
        questions.push_str(&format!(
            "; {} in, {} out",
            group_thousands(of(word::QUESTION_TOKENS_IN)),
            group_thousands(of(word::QUESTION_TOKENS_OUT))
        ));
    }
    if let Some(usd) = sums.question_cost_usd() {
        questions.push_str(&format!("; ${usd:.2}"));
    }
    let failed = if of(word::RESCUES_FAILED) > 0 {
        format!("; {} failed", group_thousands(of(word::RESCUES_FAILED)))
    } else {
        String::new()
    };
    vec![
        (
            "sessions",
            format!(
                "{} began, {} ended",
                group_thousands(of(word::STARTED)),
                group_thousands(ended)
            ),
        ),
        ("judged", judged),
        ("iterations", group_thousands(of(word::ITERATIONS))),
        ("verdicts", counted(sums.verdicts_by_status())),
        ("probes", counted(sums.below(word::PROBE).collect())),
        ("questions", questions),
        (
            "rescues",
            format!(
                "{}, {}{failed}",
                group_thousands(of(word::RESCUES)),
                plural(of(word::RESCUE_COMMITS), "commit")
            ),
        ),
        (
            "breaker",
            format!("opened {}", plural(of(word::TRIPS), "time")),
        ),
        ("tokens", tokens),
        (
            "cost",
            match sums.cost_usd() {
                Some(_) => format!(
                    "{}{}",
                    format_money(sums),
                    unreported(of(word::COST_REPORTED))
                ),
                None => "not told".to_owned(),
            },
        ),
    ]
}

/// Judgements of sessions and changes, and how many of them are complete.
fn count_judgements(sums: &CounterSums) -> (u64, u64) {
    let summary = MeasureSummary::new(sums, &[]);
    let all = summary.sessions + summary.changes;
    (all, all - summary.held_back().values().sum::<u64>())
}

fn format_money(sums: &CounterSums) -> String {
    sums.cost_usd()
        .map_or_else(|| "-".into(), |usd| format!("${usd:.2}"))
}

/// Columns that bars may take beside so many others; none where the terminal is too narrow.
fn room_beside(others: usize) -> usize {
    let room = terminal_width().map_or(WIDEST, |width| width.saturating_sub(others).min(WIDEST));
    if room < NARROWEST { 0 } else { room }
}

//! `watchdog sweep`: one look at every worktree, as a table for people or as JSON lines.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::cli::args_sweep::SweepArgs;
use crate::cli::failure::CommandFailure;
use crate::cli::news::NoticeHistory;
use crate::cli::progress_frame::ProgressFrame;
use crate::cli::row_lines;
use crate::cli::table::{shown_path, style_of, table_lines, terminal_width};
use crate::cli::terminal::CommandTerminal;
use crate::cli::terminal_frame::TerminalFrame;
use watchdog_facts::display::{escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::judgement_input::Overrides;
use watchdog_judge::modes::sweep::sweep_worktrees as sweep_all;
use watchdog_judge::modes::sweep::{SweepReport, SweepRequest, SweepTableRow};
use watchdog_view::attention;
use watchdog_view::progress_text::{format_clock, progress_line};
use watchdog_view::same_faults::{FaultGroup, FaultKey, group_by_fault};

use super::runtime::in_runtime;

/// More threads than this only wait for each other.
const JOBS: usize = 4;

/// A sweep that is over sooner needs no word about how far it is.
const QUIET: Duration = Duration::from_secs(1);

/// Sweeps, and says what was found.
pub fn run_sweep_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: SweepArgs,
) -> Result<u8, CommandFailure> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let paths = if args.paths.is_empty() {
        vec![command_env.worktree.clone()]
    } else {
        args.paths
    };
    let progress = Arc::new(SweepProgress::default());
    let frame = {
        let (progress, began) = (Arc::clone(&progress), Instant::now());
        // cron sends what a sweep says by mail.
        TerminalFrame::can_be_drawn()
            .then(|| ProgressFrame::start(terminal, move |_| progress.lines(began.elapsed())))
            .flatten()
    };
    let (json, only) = (terminal.json, args.only);
    let (shown, speaker) = (only.clone(), *terminal);
    let news = args
        .news
        .then(|| NoticeHistory::open(&command_env.state))
        .transpose()?
        .map(Arc::new);
    let request = SweepRequest {
        paths,
        // A worker more than there are processors, as now and then one waits for the records.
        jobs: args.jobs.map_or((processors + 1).min(JOBS), usize::from),
        max_parallel_probes: args.max_parallel_probes.into(),
        max_probes_total: args.max_probes_total,
        overrides: Overrides {
            max_probes: args.max_probes,
            probe_timeout: args.probe_timeout,
            no_probe: args.no_probe,
            no_rescue: args.no_rescue,
            once: true,
            every: args.all,
            no_cache: args.no_cache,
            ..Overrides::default()
        },
        on_row: {
            let (progress, news, frame) = (Arc::clone(&progress), news.clone(), frame.clone());
            Arc::new(move |row, done, total| {
                let is_news = news.as_ref().is_none_or(|news| news.take(row));
                if json && is_news && is_shown(&row.line(), &shown, news.is_some()) {
                    let say = || speaker.print_object(row.to_line());
                    frame.as_ref().map_or_else(say, |frame| frame.above(say));
                }
                // The line that is drawn next has them; a sweep has no time to draw each.
                progress.done.store(done, Ordering::Relaxed);
                progress.total.store(total, Ordering::Relaxed);
            })
        },
    };
    // Thousands of stories at once tell nobody anything; the table does.
    let quiet = CommandEnv {
        narrate: Arc::new(|_: &str| {}),
        ..command_env.clone()
    };
    let report = in_runtime(async |signals| sweep_all(&quiet, request, signals).await);
    if let Some(frame) = frame {
        frame.end();
    }
    let report = report??;
    if !json {
        print_table(
            terminal,
            &report,
            &only,
            news.as_deref(),
            &command_env.commands_here(),
        );
    }
    for note in &report.notes {
        terminal.tell_note(note);
    }
    if !json || report.not_reached > 0 {
        terminal.tell(&summarize_report(&report));
    }
    Ok(report.exit_code())
}

/// Whether a row is among those that are wanted. News of work that an idle session left is, whatever its status.
fn is_shown(line: &SweepTableRow, only: &[String], only_news: bool) -> bool {
    only.is_empty() || only_news && line.long_idle || only.iter().any(|word| word == word_of(line))
}

/// The status, or why there is none.
fn word_of(line: &SweepTableRow) -> &'static str {
    line.status.map_or(line.reason, Status::as_str)
}

fn print_table(
    terminal: &CommandTerminal,
    report: &SweepReport,
    only: &[String],
    news: Option<&NoticeHistory>,
    commands: &WorktreeCommands,
) {
    let is_news = |line: &SweepTableRow| news.is_none_or(|news| !news.is_known(&line.worktree));
    let mut lines: Vec<&SweepTableRow> = report
        .lines
        .iter()
        .filter(|line| is_shown(line, only, news.is_some()) && is_news(line))
        .collect();
    if lines.is_empty() {
        return;
    }
    // Stable: by folder among those of the same rank.
    lines.sort_by_key(|line| line.rank());
    let alone = |at| FaultGroup {
        first: at,
        others: Vec::new(),
    };
    let groups = if terminal.verbose {
        (0..lines.len()).map(alone).collect()
    } else {
        group_by_fault(&lines, |line| find_fault(line))
    };
    let number = |n: Option<u64>| n.map_or_else(|| "-".to_string(), |n| n.to_string());
    let cells = |line: &SweepTableRow| {
        let status = line.status.map_or("-", Status::as_str).to_string();
        let spec = line
            .spec
            .as_deref()
            .map_or_else(|| "-".to_string(), escape_to_one_line);
        [
            status,
            line.reason.to_string(),
            number(line.commits),
            number(line.uncommitted),
            spec,
            shown_path(&line.worktree),
        ]
    };
    let rows: Vec<[String; 6]> = groups
        .iter()
        .map(|group| cells(lines[group.first]))
        .collect();
    let heads = ["STATUS", "REASON", "COMMITS", "LEFT", "SPEC", "WORKTREE"];
    let style = |at: usize| style_of(lines[groups[at].first].status);
    let shown = table_lines(heads, &[2, 3], &rows, terminal_width(), style);
    terminal.line(&shown[0]);
    for (group, shown) in groups.iter().zip(&shown[1..]) {
        let line = lines[group.first];
        terminal.line(shown);
        let commands = commands.clone().with_worktree(&line.path);
        let step = line.next.as_ref().and_then(|next| {
            next.line(
                &commands,
                line.spec.as_deref().unwrap_or_default(),
                "events",
            )
        });
        let says = line.status.is_none()
            || line.needs_person()
            || line.reason == Reason::SessionActive.as_str()
            || line.git_unusable
            || terminal.verbose;
        let why = if says {
            escape_to_one_line(attention::shorten_verdict_message(
                line.reason,
                &line.message,
            ))
        } else {
            String::new()
        };
        row_lines::why_and_command(terminal, &why, step.as_deref());
        row_lines::print_others(
            terminal,
            group.others.iter().map(|at| lines[*at].path.as_path()),
        );
    }
}

/// Returns the fault that makes a worktree unreadable.
fn find_fault(line: &SweepTableRow) -> Option<FaultKey> {
    let is_unreadable =
        line.status == Some(Status::Error) && line.reason == Reason::GitError.as_str();
    if is_unreadable {
        FaultKey::from_worktree(&line.path, &line.message)
    } else {
        None
    }
}

fn summarize_report(report: &SweepReport) -> String {
    let mut counts: BTreeMap<(u8, &str), usize> = BTreeMap::new();
    for line in &report.lines {
        *counts
            .entry((
                line.status.map_or(u8::MAX, Status::exit_code),
                word_of(line),
            ))
            .or_default() += 1;
    }
    let counted: Vec<String> = counts
        .iter()
        .map(|((_, word), count)| format!("{count} {word}"))
        .collect();
    let mut text = plural(report.lines.len() as u64, "worktree");
    if !counted.is_empty() {
        text.push_str(&format!(": {}", counted.join(", ")));
    }
    if report.probes > 0 {
        text.push_str(&format!(
            "; {} asked",
            plural(report.probes.into(), "question")
        ));
    }
    if report.not_reached > 0 {
        text.push_str(&format!(
            "; interrupted, {} not looked at",
            report.not_reached
        ));
    }
    text.push_str(&format!("; {:.1} s", report.duration.as_secs_f64()));
    text
}

/// How far a sweep is.
#[derive(Default)]
struct SweepProgress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl SweepProgress {
    /// The line that says it; none while there is nothing to say.
    fn lines(&self, since: Duration) -> Vec<String> {
        let (done, total) = (
            self.done.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed),
        );
        if since < QUIET || total == 0 {
            return Vec::new();
        }
        vec![progress_line([
            format!("{done} of {total} worktrees"),
            format_clock(since),
        ])]
    }
}

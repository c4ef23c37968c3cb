//! `watchdog status`: what is going on, from the records alone.

use std::path::Path;

use jiff::{Timestamp, Zoned};

use crate::cli::args_status::StatusArgs;
use crate::cli::failure::{CommandFailure, USAGE};
use crate::cli::help;
use crate::cli::metrics_file;
use crate::cli::row_lines;
use crate::cli::table::{shown_path, style_of, table_lines, terminal_width};
use crate::cli::terminal::CommandTerminal;
use watchdog_core::decision::breaker::BreakerState;
use watchdog_facts::display::{cut_text, escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::Reason;
use watchdog_git::{Error, Worktree};
use watchdog_judge::clock::local_time::local_time;
use watchdog_judge::clock::{local_now, now};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::live_session::SessionActivity;
use watchdog_judge::wire::metrics_text::{MetricSeries, metrics_text};
use watchdog_store::open_store_to_read;
use watchdog_view::PathFilter;
use watchdog_view::amounts::format_age;
use watchdog_view::attention::{self, Attention, AttentionRank};
use watchdog_view::git_counts::read_counts;
use watchdog_view::metrics::{collect_metrics, sum_all_days};
use watchdog_view::overview::{
    OlderSpecs, ShownSpecs, StatusRow, count_rows, gather_overview, overview_of,
};
use watchdog_view::same_faults::{FaultGroup, FaultKey, group_by_fault};

/// Shows what is going on.
pub fn run_status_command(
    command_env: &CommandEnv,
    here: bool,
    terminal: &CommandTerminal,
    args: StatusArgs,
) -> Result<u8, CommandFailure> {
    command_env.state.ensure()?;
    let store = open_store_to_read(&command_env.state)?;
    let (below, specs) = choose_rows(command_env, here, &args);
    let now = now();
    let mut status_overview = overview_of(store.as_ref(), &command_env.state, &below, specs, now)?;
    status_overview.read_sessions(command_env, &below);
    status_overview.rows.iter_mut().for_each(read_counts);
    status_overview
        .notes
        .extend(store.notes().into_iter().map(|note| note.detail));
    let own = command_env.open_worktree();
    if let Err(error) = &own
        && !matches!(error, Error::NotARepository { .. } | Error::Bare { .. })
    {
        (status_overview.notes).push(format!("{error}; {}", error.hint()));
    }
    let mut code = 0;
    if args.fleet {
        code = super::fleet::add_others(
            command_env,
            terminal,
            &mut status_overview,
            (specs, &args.machine),
        )?;
    }
    if let Some(path) = &args.prometheus {
        let tell = || terminal.tell("counting the events of the journal, once");
        status_overview
            .notes
            .iter()
            .for_each(|note| terminal.tell_note(note));
        let (sums, incomplete) = sum_all_days(store.as_ref(), &below, now, tell)?;
        return export_metrics(
            terminal,
            path,
            &collect_metrics(&status_overview, &sums, incomplete, now),
        );
    }
    let shown = |row: &StatusRow| row.is_one_of(&args.only);
    if terminal.json {
        terminal.value(&status_overview.to_json(shown));
        return Ok(code);
    }
    let (aged, machines) = status_overview
        .fleet
        .as_ref()
        .map(super::fleet::said_of)
        .unwrap_or_default();
    status_overview.notes.extend(aged);
    for note in &status_overview.notes {
        terminal.tell_note(note);
    }
    if status_overview.rows.is_empty() {
        terminal.tell(&explain_empty_table(
            &below,
            &find_worktree_commands(command_env),
        ));
        machines.iter().for_each(|line| terminal.tell(line));
        return Ok(code);
    }
    let rows: Vec<&StatusRow> = status_overview
        .rows
        .iter()
        .filter(|row| shown(row))
        .collect();
    print_table(terminal, &rows, &command_env.commands_here());
    terminal.tell(&summarize_rows(&status_overview.rows, rows.len()));
    if let Some(own) = own.ok().filter(|_| !args.fleet) {
        let notes = super::snapshots::note_snapshots(&own, &command_env.commands(own.root()));
        notes.iter().for_each(|line| terminal.tell(line));
    }
    machines.iter().for_each(|line| terminal.tell(line));
    Ok(code)
}

/// The paths and the specs whose rows are shown.
pub fn choose_rows(
    command_env: &CommandEnv,
    here: bool,
    args: &StatusArgs,
) -> (PathFilter, ShownSpecs) {
    let below = if args.paths.is_empty() && here && !args.fleet {
        PathFilter::new(&command_env.worktree, &[".".into()])
    } else {
        PathFilter::new(&command_env.worktree, &args.paths)
    };
    let specs = if args.all_specs {
        ShownSpecs::All
    } else {
        ShownSpecs::Live
    };
    (below, specs)
}

/// Writes the metrics in place of the table.
fn export_metrics(
    terminal: &CommandTerminal,
    path: &Path,
    series: &[MetricSeries],
) -> Result<u8, CommandFailure> {
    metrics_file::write_metrics(path, &metrics_text(series)).map_err(|error| {
        let failure = CommandFailure::store_failure(format!("cannot write metrics to {}: {error}", path.display()));
        failure.hint("what was there before is there still; make room, or name a file in a folder that this user may write to")
    })?;
    let samples: usize = series.iter().map(|metric| metric.samples.len()).sum();
    if path != Path::new("-") {
        terminal.tell(&format!(
            "wrote {} to {}",
            plural(samples as u64, "sample"),
            escape_to_one_line(&path.display().to_string())
        ));
    }
    Ok(0)
}

/// `watchdog` alone: what is going on in this worktree where it is watched, else the short help, as for any line without a command.
pub fn run_bare_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
) -> Result<u8, CommandFailure> {
    if command_env.state.database().exists() {
        let store = open_store_to_read(&command_env.state)?;
        let here = gather_overview(
            store.as_ref(),
            &command_env.state,
            &PathFilter::new(&command_env.worktree, &[".".into()]),
            now(),
        )?;
        if !here.rows.is_empty() {
            drop(store);
            return run_status_command(command_env, true, terminal, StatusArgs::default());
        }
    }
    terminal.complain(&help::render_short_help());
    Ok(USAGE)
}

/// Commands about the worktree of this folder; where it is in none, with a word in its place.
fn find_worktree_commands(command_env: &CommandEnv) -> WorktreeCommands {
    let worktree = command_env.open_worktree();
    command_env.commands(
        worktree
            .as_ref()
            .map_or(Path::new("WORKTREE"), Worktree::root),
    )
}

/// Suggests the next command if no worktree is watched.
fn explain_empty_table(below: &PathFilter, commands: &WorktreeCommands) -> String {
    if below.is_all() {
        let (snapshot, run) = (
            commands.watchdog("snapshot"),
            commands.watchdog("run -- CMD"),
        );
        format!(
            "no worktree has a recorded baseline, so nothing is watched yet\n  begin with: {snapshot}\n  or with:    {run}"
        )
    } else {
        format!(
            "no worktree with a recorded baseline is there; see all with: {}",
            commands.watchdog_anywhere("status")
        )
    }
}

fn print_table(terminal: &CommandTerminal, rows: &[&StatusRow], commands: &WorktreeCommands) {
    if rows.is_empty() {
        return;
    }
    let now = local_now();
    // A row that stands for others brings them to where it stands itself.
    let alone = |at| FaultGroup {
        first: at,
        others: Vec::new(),
    };
    let groups = if terminal.verbose {
        (0..rows.len()).map(alone).collect()
    } else {
        group_by_fault(rows, |row| find_fault(row))
    };
    let cells: Vec<[String; 6]> = groups
        .iter()
        .map(|group| format_cells(rows[group.first], now.timestamp()))
        .collect();
    let style = |at: usize| style_of(rows[groups[at].first].judged_status());
    let heads = ["STATUS", "REASON", "WHEN", "NOW", "SPEC", "WORKTREE"];
    let lines = table_lines(heads, &[], &cells, terminal_width(), style);
    terminal.line(&lines[0]);
    for (group, line) in groups.iter().zip(&lines[1..]) {
        let row = rows[group.first];
        terminal.line(line);
        print_row_details(
            terminal,
            row,
            &attention::assess_attention(row, commands, &now),
            &now,
        );
        row_lines::print_others(
            terminal,
            group.others.iter().map(|at| rows[*at].worktree.as_path()),
        );
    }
}

/// Returns the fault that makes a worktree unreadable, now or when it was judged.
fn find_fault(row: &StatusRow) -> Option<FaultKey> {
    let judged = row
        .last_judgement()
        .filter(|verdict| verdict.view.known_reason() == Some(Reason::GitError));
    let why = row
        .broken
        .as_deref()
        .or_else(|| judged.and_then(|verdict| verdict.view.message.as_deref()))?;
    if row.needs_person() {
        FaultKey::from_worktree(&row.worktree, why)
    } else {
        None
    }
}

fn format_cells(row: &StatusRow, now: Timestamp) -> [String; 6] {
    let view = row.verdict.as_ref().map(|verdict| &verdict.view);
    let shown =
        |word: Option<&String>| word.map_or_else(|| "-".into(), |word| escape_to_one_line(word));
    let unjudged = || {
        if row.is_unrecorded {
            "no baseline"
        } else if row.judgement_known {
            "never judged"
        } else {
            "not known"
        }
        .to_owned()
    };
    let when = row
        .verdict
        .as_ref()
        .map_or_else(unjudged, |verdict| format_age(verdict.at, now));
    [
        shown(view.and_then(|view| view.status.as_ref())),
        shown(view.and_then(|view| view.reason.as_ref())),
        when,
        now_of(row),
        escape_to_one_line(&row.spec),
        shown_path(&row.worktree.display().to_string()),
    ]
}

/// Describes the running work in few words.
fn now_of(row: &StatusRow) -> String {
    let looped = row.looped.as_ref().filter(|_| row.loops()).map(|looped| {
        let number = looped.iteration();
        let with = looped
            .standing
            .chosen
            .as_ref()
            .filter(|_| looped.standing.agents.len() > 1);
        let with = with
            .map(|name| format!(" with {}", escape_to_one_line(&cut_text(name, 30))))
            .unwrap_or_default();
        looped.at_most.map_or_else(
            || format!("loop {number}{with}"),
            |most| format!("loop {number} of {most}{with}"),
        )
    });
    let session = row
        .session
        .as_ref()
        .and_then(|session| session.pid)
        .map(|pid| match row.live.map(|live| live.doing) {
            Some(SessionActivity::Running) | None => format!("session {pid}"),
            Some(doing) => format!("session {pid} {}", doing.as_str()),
        });
    let holder = row.holder.as_ref().map(|holder| {
        format!(
            "{} {}",
            escape_to_one_line(&cut_text(&holder.command, 30)),
            holder.pid
        )
    });
    match (looped, session) {
        (Some(looped), Some(session)) => format!("{looped}, {session}"),
        (looped, session) => looped.or(session).or(holder).unwrap_or_else(|| "-".into()),
    }
}

/// Why a row is where it stands, the command to type, and what it has no room for.
fn print_row_details(
    terminal: &CommandTerminal,
    row: &StatusRow,
    row_attention: &Attention,
    now: &Zoned,
) {
    let calls = matches!(
        row_attention.rank,
        AttentionRank::Person | AttentionRank::Resume
    );
    let waits = row
        .verdict
        .as_ref()
        .and_then(|verdict| verdict.view.retry_at)
        .is_some_and(|at| now.timestamp() < at);
    let says = match row_attention.rank {
        AttentionRank::Person
        | AttentionRank::Resume
        | AttentionRank::Running
        | AttentionRank::Gone => true,
        AttentionRank::Next => waits || terminal.verbose,
        AttentionRank::NotJudged => !row.judgement_known || terminal.verbose,
        AttentionRank::Complete => terminal.verbose,
    };
    let why = if says { row_attention.why.as_str() } else { "" };
    row_lines::why_and_command(
        terminal,
        why,
        row_attention
            .command
            .as_deref()
            .filter(|_| calls || terminal.verbose),
    );
    if row.gone {
        return;
    }
    if row.verdict.is_some() && !row.is_judged() {
        let recorded = local_time(row.baseline_at, now);
        terminal.gist(&format!("  that was about earlier work; its baseline was recorded at {recorded}, and nobody judged since"));
    }
    if !row.breaker.is_clean() && row.breaker.state != BreakerState::Open {
        terminal.gist(&format!(
            "  {}",
            escape_to_one_line(&attention::describe_breaker(&row.breaker, now))
        ));
    }
    if row.older.total() > 0 {
        terminal.gist(&format!("  {}", describe_older_specs(row.older)));
    }
}

/// The specs that have no row.
fn describe_older_specs(specs: OlderSpecs) -> String {
    let OlderSpecs {
        complete,
        not_judged,
        unfinished,
    } = specs;
    let counts = [
        (complete, "complete"),
        (not_judged, "not judged"),
        (unfinished, "unfinished"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    format!(
        "{}: {} (--all-specs shows them)",
        plural(specs.total(), "older spec"),
        counts.join(", ")
    )
}

fn summarize_rows(rows: &[StatusRow], shown: usize) -> String {
    let mut text = count_rows(rows);
    for (count, what) in [
        (rows.iter().filter(|row| row.runs()).count(), "running"),
        (
            rows.iter().filter(|row| row.is_stalled()).count(),
            "stalled",
        ),
        (
            rows.iter().filter(|row| row.loop_interrupted()).count(),
            "interrupted",
        ),
        (
            rows.iter().filter(|row| row.broken.is_some()).count(),
            "broken",
        ),
        (
            rows.iter().filter(|row| row.needs_person()).count(),
            "for a person to look at",
        ),
    ] {
        if count > 0 {
            text.push_str(&format!("; {count} {what}"));
        }
    }
    if shown < rows.len() {
        text.push_str(&format!("; {shown} shown"));
    }
    text
}

//! `watchdog logs`: the output of a session, readable, and, with `--follow`, as it comes.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::cli::args_logs::LogsArgs;
use crate::cli::failure::{CommandFailure, signal_code};
use crate::cli::table::terminal_width;
use crate::cli::terminal::CommandTerminal;
use crate::cli::{reader, result_output};
use watchdog_agent::stream::OutputEvents;
use watchdog_facts::display::{escape_for_display, escape_to_one_line};
use watchdog_facts::secret_lines::LineMasker;
use watchdog_facts::session_event::SessionEvent;
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::open_worktree::OpenWorktree;
use watchdog_judge::session::LogReader;
use watchdog_judge::wire::log_event_json::logs_json;
use watchdog_view::amounts::{format_age, format_size};
use watchdog_view::log_view::LogView;
use watchdog_view::logs_choice::{self, ChosenLog, SessionPhase};

use super::runtime::in_runtime;

/// Bytes per read.
const CHUNK: usize = 64 << 10;
/// Bytes of one line of a raw log; a longer one is masked in parts.
const RAW_LINE: usize = 1 << 20;
/// How often a log is looked at while nothing comes.
const POLL: Duration = Duration::from_millis(100);
/// How long a session may be silent whose process is gone without an end: its children may print on.
const GONE: Duration = Duration::from_secs(15);

/// Prints the output of a session.
pub fn run_logs_command(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    args: LogsArgs,
) -> Result<u8, CommandFailure> {
    let open = OpenWorktree::open_to_read(command_env)?;
    if args.list {
        return list_logs(command_env, terminal, &open);
    }
    if terminal.json {
        return Err(
            CommandFailure::usage("the output of a session has no JSON of watchdog's own")
                .hint("--raw prints it as the agent did, --list --json names its file"),
        );
    }
    let chosen = logs_choice::choose_log(command_env, &open, args.session.as_deref())?;
    let runs = chosen.phase(&open) == SessionPhase::Runs;
    terminal.tell(&format!(
        "watchdog: {}",
        escape_to_one_line(&chosen.in_words(runs))
    ));
    let reader = open_chosen(&open, &command_env.state.logs(), &chosen)?;
    let mut output = LogOutput {
        reader,
        form: choose_log_form(args.raw, chosen.events(command_env, &open)),
        last_read: Instant::now(),
    };
    if !args.follow || !runs {
        if output.show_all(&chosen.path)? && !runs {
            output.show_rest(&chosen.path)?;
        }
        output.show_unended();
        return Ok(0);
    }
    follow_log(&open, &chosen, output)
}

fn open_chosen(
    open: &OpenWorktree,
    logs: &Path,
    chosen: &ChosenLog,
) -> Result<LogReader, CommandFailure> {
    let list = || open.commands.watchdog("logs --list");
    chosen.open_reader(logs).map_err(|error| {
        let path = escape_to_one_line(&chosen.path.display().to_string());
        match error.kind() {
            io::ErrorKind::NotFound => {
                let why = "it is older than 30 days, or could not be written";
                CommandFailure::usage(format!("there is no log {path}: {why}"))
                    .hint(format!("list those that are there with: {}", list()))
            }
            io::ErrorKind::InvalidInput => {
                CommandFailure::usage(format!("{path} is not read: {error}"))
                    .hint(format!("list the logs with: {}", list()))
            }
            _ => CommandFailure::store_failure(format!("cannot read {path}: {error}")),
        }
    })
}

fn list_logs(
    command_env: &CommandEnv,
    terminal: &CommandTerminal,
    open: &OpenWorktree,
) -> Result<u8, CommandFailure> {
    let listed = logs_choice::list_logs(command_env, open)?;
    if terminal.json {
        terminal.value(&logs_json(&open.root().to_string_lossy(), &listed));
        return Ok(0);
    }
    if listed.is_empty() {
        terminal.line("no logs");
        return Ok(0);
    }
    let at = now();
    let cell = |text: &Option<String>| {
        text.as_deref()
            .filter(|text| !text.is_empty())
            .map_or("-".into(), escape_to_one_line)
    };
    let rows: Vec<[String; 5]> = listed
        .iter()
        .map(|log| {
            let began = log.began.map_or("-".into(), |began| format_age(began, at));
            [
                escape_to_one_line(&log.id),
                began,
                format_size(log.size),
                cell(&log.end),
                cell(&log.spec),
            ]
        })
        .collect();
    terminal.table(["ID", "BEGAN", "SIZE", "END", "SPEC"], &[2], &rows);
    Ok(0)
}

/// How an output is printed.
enum LogForm {
    /// For people.
    Lines(Box<OutputEvents>, Box<LogView>),
    /// As it was, without secrets; escaped where a terminal shows it.
    Raw {
        masker: LineMasker,
        unended: Vec<u8>,
        to_terminal: bool,
    },
}

fn choose_log_form(raw: bool, events: OutputEvents) -> LogForm {
    if raw {
        LogForm::Raw {
            masker: LineMasker::default(),
            unended: Vec::new(),
            to_terminal: io::stdout().is_terminal(),
        }
    } else {
        LogForm::Lines(Box::new(events), Box::new(LogView::new(terminal_width())))
    }
}

impl LogForm {
    /// Returns the lines that these bytes complete, with their ends.
    fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        match self {
            LogForm::Raw {
                masker,
                unended,
                to_terminal,
            } => {
                let ended = bytes
                    .iter()
                    .rposition(|byte| *byte == b'\n')
                    .map_or(0, |at| at + 1);
                let (whole, rest) = bytes.split_at(ended);
                let mut lines = Vec::new();
                if !whole.is_empty() {
                    unended.extend_from_slice(whole);
                    let whole = std::mem::take(unended);
                    if masker.needs_none(&String::from_utf8_lossy(&whole)) && !*to_terminal {
                        lines.extend(
                            whole
                                .split_inclusive(|byte| *byte == b'\n')
                                .map(<[u8]>::to_vec),
                        );
                    } else {
                        lines.extend(
                            whole
                                .split_inclusive(|byte| *byte == b'\n')
                                .map(|line| raw_line(masker, line, *to_terminal)),
                        );
                    }
                }
                unended.extend_from_slice(rest);
                if unended.len() >= RAW_LINE {
                    lines.push(raw_line(masker, &std::mem::take(unended), *to_terminal));
                }
                lines
            }
            LogForm::Lines(events, view) => render_events(view, &events.push(bytes)),
        }
    }

    /// Returns the lines that the end of the output completes.
    fn finish(&mut self) -> Vec<Vec<u8>> {
        match self {
            LogForm::Lines(events, view) => {
                let mut lines = render_events(view, &events.finish());
                lines.extend(self.pause());
                lines
            }
            LogForm::Raw { .. } => self.pause(),
        }
    }

    /// Returns the incomplete line, while no more output comes.
    fn pause(&mut self) -> Vec<Vec<u8>> {
        match self {
            LogForm::Lines(_, view) => view
                .take_unended()
                .into_iter()
                .map(|line| (line + "\n").into_bytes())
                .collect(),
            LogForm::Raw {
                masker,
                unended,
                to_terminal,
            } if !unended.is_empty() => {
                vec![raw_line(masker, &std::mem::take(unended), *to_terminal)]
            }
            LogForm::Raw { .. } => Vec::new(),
        }
    }
}

fn render_events(view: &mut LogView, events: &[SessionEvent]) -> Vec<Vec<u8>> {
    let lines = events.iter().flat_map(|event| view.lines(event));
    lines.map(|line| (line + "\n").into_bytes()).collect()
}

fn raw_line(masker: &mut LineMasker, line: &[u8], to_terminal: bool) -> Vec<u8> {
    let (content, end) = line
        .strip_suffix(b"\n")
        .map_or((line, &b""[..]), |content| (content, &b"\n"[..]));
    let text = String::from_utf8_lossy(content);
    let masked = masker.mask(&text);
    let shown: Cow<'_, [u8]> = match masked {
        _ if to_terminal => Cow::Owned(escape_for_display(&masked).into_bytes()),
        masked if *masked == *text => Cow::Borrowed(content),
        masked => Cow::Owned(masked.into_owned().into_bytes()),
    };
    [&shown, end].concat()
}

/// A log on its way to stdout.
struct LogOutput {
    reader: LogReader,
    form: LogForm,
    /// When something was read last.
    last_read: Instant,
}

impl LogOutput {
    /// Shows all that is there now; says whether anybody reads on.
    fn show_all(&mut self, path: &Path) -> Result<bool, CommandFailure> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = self.reader.read_next(&mut buffer).map_err(|error| {
                let path = escape_to_one_line(&path.display().to_string());
                CommandFailure::store_failure(format!("cannot read {path}: {error}"))
            })?;
            if count == 0 {
                return Ok(true);
            }
            self.last_read = Instant::now();
            let lines = self.form.push(&buffer[..count]);
            if !write_lines(&lines) {
                return Ok(false);
            }
        }
    }

    /// Shows the rest of an output that has ended: what the parts of a long log held is in the log by now.
    fn show_rest(&mut self, path: &Path) -> Result<(), CommandFailure> {
        if self.reader.session_ended().is_ok() && self.show_all(path)? {
            write_lines(&self.form.finish());
        }
        Ok(())
    }

    /// Shows what was begun and has no end yet. Says whether anybody reads on.
    fn show_unended(&mut self) -> bool {
        write_lines(&self.form.pause())
    }
}

fn write_lines(lines: &[Vec<u8>]) -> bool {
    lines.is_empty()
        || result_output::write_result(&mut anstream::stdout().lock(), &lines.concat()).is_ok()
}

/// Shows what comes until the session ends, a signal comes, or nobody reads any more.
fn follow_log(
    open: &OpenWorktree,
    chosen: &ChosenLog,
    mut output: LogOutput,
) -> Result<u8, CommandFailure> {
    in_runtime(async |signals| {
        if !output.show_all(&chosen.path)? || !output.show_unended() {
            return Ok(0);
        }
        loop {
            // Asked before the log is read: what is written before the end is read after it.
            let phase = chosen.phase(open);
            if !output.show_all(&chosen.path)? {
                return Ok(0);
            }
            if phase == SessionPhase::Ended
                || (phase == SessionPhase::Gone && output.last_read.elapsed() > GONE)
            {
                output.show_rest(&chosen.path)?;
                return Ok(0);
            }
            if !output.show_unended() || reader::is_gone() {
                return Ok(0);
            }
            tokio::select! {
                () = tokio::time::sleep(POLL) => {}
                () = signals.wait_for_interrupt() => return Ok(signal_code(signals.last())),
            }
        }
    })?
}

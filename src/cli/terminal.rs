//! The two streams of the process. Results go to stdout; everything that tells a story goes to stderr.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use serde::Serialize;
use serde_json::Value;

use watchdog_facts::display::{escape_for_display, escape_to_one_line, is_hostile, plural};
use watchdog_facts::evidence::{CheckOutcome, Degradation, WarningCode};
use watchdog_facts::verdict::{Reason, Status};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::ProgressCallback;
use watchdog_judge::wire::verdict_json::{EndedLoop, Judgement, as_answer, as_json};
use watchdog_view::held_back;
use watchdog_view::progress_text::{format_clock, format_spent, progress_line};
use watchdog_view::wrapped_text::{without_end, wrap_line};

use super::args_global::{ColorWhen, GlobalArgs};
use super::result_output;
use super::table::{style_of, table_lines, terminal_width};

/// Sentences are not broken for a terminal that is narrower than this.
const NARROWEST: usize = 24;

/// How a command speaks.
#[derive(Debug, Clone, Copy)]
pub struct CommandTerminal {
    /// Prints a JSON object on stdout.
    pub json: bool,
    quiet: bool,
    /// Whether `-v` was given: what a table folds is shown whole.
    pub verbose: bool,
}

impl CommandTerminal {
    /// Settles colours for the whole process.
    pub fn new(global: &GlobalArgs) -> Self {
        match global.color {
            ColorWhen::Auto => {}
            ColorWhen::Always => anstream::ColorChoice::Always.write_global(),
            ColorWhen::Never => anstream::ColorChoice::Never.write_global(),
        }
        CommandTerminal {
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose > 0,
        }
    }

    /// Whether nothing but the result is wanted.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A line of the result on stdout. A reader that went away is no fault of ours.
    pub fn line(&self, text: &str) {
        if held_back::hold_back_text(text) {
            return;
        }
        // Remembered where it fails: the program ends with an error then.
        let _ = result_output::write_result(
            &mut anstream::stdout().lock(),
            format!("{text}\n").as_bytes(),
        );
    }

    /// A sentence of the result on stdout, broken between words where that is a terminal.
    pub fn sentence(&self, text: &str) {
        self.hung(text, hang_of(text));
    }

    /// A sentence of the result on one line: in a terminal its end is cut where it has no room, unless `-v` wants it whole.
    pub fn gist(&self, text: &str) {
        match terminal_width().filter(|room| *room >= NARROWEST && !self.verbose) {
            Some(room) => self.line(&without_end(text, room)),
            None => self.sentence(text),
        }
    }

    /// The same, with the lines below the first set in by so many columns.
    pub fn hung(&self, text: &str, hang: usize) {
        let room = terminal_width();
        text.lines()
            .flat_map(|line| fit_line(line, room, hang))
            .for_each(|line| self.line(&line));
    }

    /// A table on stdout, whose texts are fit for a terminal already; `right` are the columns of numbers.
    pub fn table<const N: usize>(&self, heads: [&str; N], right: &[usize], rows: &[[String; N]]) {
        for line in table_lines(heads, right, rows, terminal_width(), |_| Style::new()) {
            self.line(&line);
        }
    }

    /// A JSON value on stdout, on one line.
    pub fn value(&self, value: &impl Serialize) {
        self.print_object(as_json(value).to_string());
    }

    /// An answer on stdout, as an object that names the version of its form.
    pub fn print_answer(&self, shape: &impl Serialize) {
        self.value(&as_answer(shape));
    }

    /// A JSON object on stdout, as it is written.
    pub fn print_object(&self, line: String) {
        if held_back::hold_back_text(&line) {
            return;
        }
        let _ = result_output::write_result(
            &mut io::stdout().lock(),
            format!("{}\n", escape_control_characters(line)).as_bytes(),
        );
    }

    /// A JSON value on one line, fit for a terminal.
    pub fn value_to(&self, value: &Value) -> String {
        escape_control_characters(value.to_string())
    }

    /// A line of the story on stderr, unless asked to be quiet.
    pub fn tell(&self, text: &str) {
        if !self.quiet {
            to_stderr(text);
        }
    }

    /// A line on stderr that is never suppressed.
    pub fn complain(&self, text: &str) {
        to_stderr(text);
    }

    /// Complains of a fact, in one line.
    pub fn complain_of(&self, text: &str) {
        self.complain(&format!("watchdog: {}", escape_to_one_line(text)));
    }

    /// The same about a warning of a judgement.
    pub fn complain_of_note(&self, note: &Degradation) {
        self.complain_of(&format!("{} ({})", note.detail, note.code));
    }

    /// Tells a note beside a result.
    pub fn tell_note(&self, note: &str) {
        self.tell(&format!("note: {}", escape_to_one_line(note)));
    }

    /// Returns the callback through which a mode reports progress.
    pub fn narrator(&self) -> ProgressCallback {
        let terminal = *self;
        Arc::new(move |text: &str| {
            let dim = Style::new().dimmed();
            // A log outlives the night that it was written in.
            let time = (!io::stderr().is_terminal()).then(|| format!("{:.0} ", now()));
            terminal.tell(&format!(
                "{dim}{}watchdog: {}{dim:#}",
                time.unwrap_or_default(),
                escape_for_display(text)
            ));
        })
    }

    /// A verdict: the object for programs, or a few lines for people (on `stderr` where stdout belongs to a session).
    pub fn verdict(&self, judgement: &Judgement, to_stderr: bool) {
        if self.json {
            return self.print_object(judgement.to_view().to_line());
        }
        for line in verdict_lines(judgement, self.verbose) {
            if to_stderr || judgement.verdict.reason == Reason::ConfigError {
                self.complain(&line)
            } else {
                self.sentence(&line)
            }
        }
    }
}

impl CommandTerminal {
    /// A judgement on one line: the object for programs; time, worktree and gist for people.
    pub fn judgement_line(&self, judgement: &Judgement) -> String {
        if self.json {
            return escape_control_characters(judgement.to_view().to_line());
        }
        let verdict = &judgement.verdict;
        let bold = style_of(Some(verdict.status()));
        let time = jiff::Zoned::now().strftime("%H:%M:%S");
        let (worktree, message) = (
            escape_to_one_line(&judgement.worktree),
            escape_to_one_line(&verdict.message),
        );
        format!(
            "{time}  {bold}{:<10}{bold:#}  {worktree}  {}: {message}",
            verdict.status().as_str(),
            verdict.reason.as_str()
        )
    }
}

/// How far the lines below the first of a sentence are set in: further than the first.
fn hang_of(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len() + 2
}

/// A line as lines that fit; in a pipe it stays whole.
fn fit_line(line: &str, room: Option<usize>, hang: usize) -> Vec<String> {
    match room {
        Some(room) if room >= NARROWEST => wrap_line(line, room, hang),
        _ => vec![line.to_owned()],
    }
}

/// Sentences in one piece, so that lines of the log do not begin within them.
fn to_stderr(text: &str) {
    if held_back::hold_back_text(text) {
        return;
    }
    let room = rustix::termios::tcgetwinsize(io::stderr())
        .ok()
        .map(|size| usize::from(size.ws_col));
    let lines: Vec<String> = text
        .lines()
        .flat_map(|line| fit_line(line, room, hang_of(line)))
        .collect();
    let text = lines.join("\n");
    let line = match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => format!("{}\n", anstream::adapter::strip_str(&text)),
        _ => format!("{text}\n"),
    };
    let _ = io::stderr().write_all(line.as_bytes());
}

/// JSON leaves C1 and bidirectional characters as they are, and a person may look at it in a terminal.
/// Such characters stand only inside strings there, so their escapes mean the same.
pub(super) fn escape_control_characters(json: String) -> String {
    if json.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return json;
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_hostile(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(c);
        }
    }
    text
}

fn first_ten(name: &str, texts: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = texts.len().saturating_sub(10);
    let mut lines: Vec<String> = texts
        .take(10)
        .map(|text| format!("  {name}: {text}"))
        .collect();
    if more > 0 {
        lines.push(format!("  {name}: {more} more"));
    }
    lines
}

fn verdict_lines(judgement: &Judgement, verbose: bool) -> Vec<String> {
    let verdict = &judgement.verdict;
    let bold = style_of(Some(verdict.status()));
    let mut lines = vec![format!(
        "{bold}{}{bold:#} ({}): {}",
        verdict.status().as_str(),
        verdict.reason.as_str(),
        escape_for_display(&verdict.message)
    )];
    if let Some(commits) = &verdict.commits {
        for commit in commits.listed.iter().take(10) {
            let imported = if commit.origin == watchdog_facts::evidence::CommitOrigin::Imported {
                " (imported)"
            } else {
                ""
            };
            let id: String = commit.id.chars().take(10).collect();
            lines.push(format!(
                "  {id} {}{imported}",
                escape_for_display(&commit.subject)
            ));
        }
        if commits.listed.len() > 10 {
            lines.push(format!(
                "  and {} more",
                commits.new_commits.saturating_sub(10)
            ));
        }
    }
    for check in &verdict.checks {
        let is_new = check.outcome == CheckOutcome::Pass
            && !check.feedback.is_empty()
            && !verdict.message.contains(&check.feedback);
        let finding = is_new.then(|| format!(" ({})", escape_for_display(&check.feedback)));
        lines.push(format!(
            "  check {}: {}{}",
            escape_for_display(&check.name),
            check.outcome.as_str(),
            finding.unwrap_or_default()
        ));
    }
    // A disputed verdict names them as its reason.
    if verdict.reason != Reason::Disputed {
        let helpers = verdict.helpers.iter();
        lines.extend(first_ten(
            "not in HEAD",
            helpers.map(|helper| escape_for_display(helper)),
        ));
    }
    let left_out = verdict.left_out.iter();
    let left_out =
        left_out.map(|file| format!("{} ({})", escape_for_display(&file.path), file.why));
    lines.extend(first_ten("left out", left_out));
    // The judge told these once for each agent.
    let is_shown = |note: &&Degradation| verbose || note.code != WarningCode::AgentLacks;
    for note in verdict.degraded.iter().filter(is_shown) {
        lines.push(format!(
            "  note: {} ({})",
            escape_for_display(&note.detail),
            note.code
        ));
    }
    for survivor in judgement
        .survivors
        .iter()
        .filter(|survivor| survivor.still_runs)
    {
        lines.push(format!(
            "  still running: {}",
            escape_for_display(&survivor.shown)
        ));
    }
    if let Some(log) = judgement
        .log
        .as_ref()
        .filter(|_| verdict.status() != Status::Complete)
    {
        lines.push(format!("  log: {}", escape_for_display(log)));
    }
    if let Some(feedback) = &verdict.feedback {
        lines.push("  feedback:".to_string());
        lines.extend(
            feedback
                .lines()
                .take(20)
                .map(|line| format!("    {}", escape_for_display(line))),
        );
    }
    let looped = judgement.looped.iter();
    lines.extend(looped.map(|looped| describe_loop(looped, verdict.status())));
    if let Some(at) = verdict.retry_at {
        lines.push(format!("  look again at {at:.0}"));
    }
    if let Some(breaker) = judgement
        .breaker
        .as_ref()
        .filter(|breaker| breaker.strikes > 0)
    {
        lines.push(format!(
            "  breaker: {}, {} of {} strikes",
            breaker.state.as_str(),
            breaker.strikes,
            breaker.limit.unwrap_or_default()
        ));
    }
    lines
}

/// Sums up a loop: its sessions, time, commits, cost and tokens, and whether the same command goes on with it.
fn describe_loop(looped: &EndedLoop, status: Status) -> String {
    let sessions = u64::from(looped.iterations);
    let whole = looped.history.len() as u64 == sessions;
    let commits: Option<u64> = looped.history.iter().map(|record| record.commits).sum();
    let commits = commits
        .filter(|_| whole)
        .map(|count| plural(count, "commit"));
    let time = Duration::try_from_secs_f64(looped.spent.wall_seconds).unwrap_or_default();
    let of_sessions = format!("{} in {}", plural(sessions, "session"), format_clock(time));
    let parts = [of_sessions, commits.unwrap_or_default()];
    let [cost, tokens] = format_spent(&looped.spent);
    let untold = &looped.spent.untold;
    let spent = [(cost, untold.cost), (tokens, untold.tokens)].map(|(amount, partial)| {
        if partial && !amount.is_empty() {
            format!("at least {amount}")
        } else {
            amount
        }
    });
    let spent = progress_line(parts.into_iter().chain(spent));
    let goes_on = match (looped.over, status) {
        (false, _) => "; the same command goes on with it",
        (true, Status::Complete) => "",
        (true, _) => "; the same command begins another",
    };
    format!("  loop: {spent}{goes_on}")
}

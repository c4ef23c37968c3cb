//! The message of events for a person: a title, why, the place to look at, and one command to go on
//! with. A pure function of the events.
//!
//! The sentences are those of the verdict itself; nothing is said here in other words.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use super::next_command::{build_status_command, next_command};
use watchdog_facts::display::{cut_text, escape_to_one_line, plural};
use watchdog_facts::shell_line::WorktreeCommands;
use watchdog_facts::verdict::{Reason, Status};
use watchdog_store::journal::kind;

/// So many bytes of the sentence about one event, of a name, of the feedback's first line, and of a line in a digest.
const SENTENCE: usize = 700;
const NAME: usize = 100;
const FEEDBACK: usize = 300;
const DIGEST_LINE: usize = 250;

/// So many events a digest names; the rest is counted.
const NAMED: usize = 20;

/// A message about one event, or about several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeMessage {
    /// A single line.
    pub title: String,
    /// The lines below it.
    pub text: String,
    /// The command to go on with, ready to be pasted.
    pub command: String,
    /// Whether a person must decide or mend something.
    pub needs_person: bool,
    /// The fields of the event that needs a person most, for templates.
    fields: BTreeMap<&'static str, String>,
}

impl NoticeMessage {
    /// The message about events of which there is at least one. `commands` name the records that they are about.
    pub fn about(events: &[&Value], commands: &WorktreeCommands) -> Self {
        let mut entries: Vec<EventSummary<'_>> = events
            .iter()
            .map(|event| EventSummary::from_event(event, commands))
            .collect();
        // Those that need a person come first, the gravest of them at the top; the order of events else stays.
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.severity));
        let Some(first) = entries.first() else {
            return NoticeMessage::about(&[&Value::Null], commands);
        };
        let places: BTreeSet<_> = entries.iter().map(|entry| entry.path).collect();
        let works: BTreeSet<_> = entries
            .iter()
            .map(|entry| (entry.path, &entry.subject))
            .collect();
        let (title, text, command) = match (entries.len(), works.len()) {
            (1, _) => (
                first.title(),
                first.lines().join("\n"),
                first.command.clone(),
            ),
            (_, 1) => (first.title(), list_entries(&entries), first.command.clone()),
            _ => {
                let title = format!(
                    "watchdog: {}: {}",
                    plural(places.len() as u64, "worktree"),
                    count_states(&entries)
                );
                (
                    title,
                    list_entries(&entries),
                    build_status_command(commands),
                )
            }
        };
        NoticeMessage {
            title,
            text,
            command,
            needs_person: first.needs_person(),
            fields: first.fields(),
        }
    }

    /// The value of a placeholder.
    pub fn value(&self, name: &str) -> String {
        match name {
            "title" => self.title.clone(),
            "text" => self.text.clone(),
            "command" => self.command.clone(),
            name => self.fields.get(name).cloned().unwrap_or_default(),
        }
    }
}

/// The summary of an event.
struct EventSummary<'a> {
    event: &'a Value,
    /// The folder of the worktree.
    path: &'a str,
    /// The name of the work.
    spec: String,
    /// The same with its folder: branches of many projects have one name.
    subject: String,
    /// Its state in a word or two, such as `review (untrusted)`.
    state: String,
    /// The word by which events are counted.
    word: String,
    /// Why, in one sentence.
    sentence: String,
    command: String,
    severity: u8,
}

impl<'a> EventSummary<'a> {
    fn from_event(event: &'a Value, commands: &WorktreeCommands) -> Self {
        let data = &event["data"];
        let kind = get_text(event, "kind");
        let path = get_text(event, "path");
        let spec = get_text(event, "spec");
        let short = |name: &str| cut_text(&escape_to_one_line(name), NAME);
        let folder = short(
            &Path::new(path)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy(),
        );
        let spec = if spec.is_empty() {
            folder.clone()
        } else {
            short(spec)
        };
        let subject = if folder.is_empty() || spec == folder {
            spec.clone()
        } else {
            format!("{spec} in {folder}")
        };
        let words = |text: &str| escape_to_one_line(&cut_text(&text.replace('_', " "), 60));
        let (status, reason) = (get_text(data, "status"), get_text(data, "reason"));
        let (state, word) = match kind {
            kind::VERDICT => (
                format!(
                    "{} ({})",
                    words(status),
                    escape_to_one_line(&cut_text(reason, 60))
                ),
                words(status),
            ),
            kind::BREAKER => {
                let state = format!("breaker {}", words(get_text(data, "state")));
                (state.clone(), state)
            }
            kind => (words(kind), words(kind)),
        };
        let sentence = escape_to_one_line(&cut_text(describe_event(kind, data).trim(), SENTENCE));
        let command = next_command(event, commands);
        EventSummary {
            event,
            path,
            spec,
            subject,
            state,
            word,
            sentence,
            command,
            severity: rate_severity(kind, data),
        }
    }

    fn needs_person(&self) -> bool {
        self.severity >= Status::Review.exit_code()
    }

    fn title(&self) -> String {
        format!("watchdog: {}: {}", self.subject, self.state)
    }

    /// Why, what to look at, and where.
    fn lines(&self) -> Vec<String> {
        let data = &self.event["data"];
        let mut lines = Vec::new();
        lines.extend(Some(self.sentence.clone()).filter(|sentence| !sentence.is_empty()));
        lines.extend(feedback_line(data).map(|line| format!("feedback: {line}")));
        let changes: u64 = ["staged", "unstaged", "untracked", "conflicted"]
            .iter()
            .filter_map(|of| data["changes"][*of].as_u64())
            .sum();
        if changes > 0 {
            lines.push(format!("{} uncommitted", plural(changes, "change")));
        }
        let retry_at = get_text(data, "retry_at");
        if !retry_at.is_empty() {
            lines.push(format!(
                "look again at {}",
                escape_to_one_line(&cut_text(&whole_seconds(retry_at), 40))
            ));
        }
        if !self.path.is_empty() {
            lines.push(format!("in {}", escape_to_one_line(self.path)));
        }
        lines
    }

    fn digest_line(&self) -> String {
        let mut line = format!("- {}: {}", self.subject, self.state);
        if !self.sentence.is_empty() {
            line.push_str(&format!(": {}", self.sentence));
        }
        cut_text(&line, DIGEST_LINE)
    }

    fn fields(&self) -> BTreeMap<&'static str, String> {
        let data = &self.event["data"];
        let plain =
            |of: &Value, key: &str| escape_to_one_line(&cut_text(get_text(of, key), SENTENCE));
        BTreeMap::from([
            ("spec", self.spec.clone()),
            ("worktree", escape_to_one_line(self.path)),
            ("status", plain(data, "status")),
            ("reason", plain(data, "reason")),
            (
                "feedback",
                feedback_line(data)
                    .or_else(|| feedback_lines(data).next().map(shown_line))
                    .unwrap_or_default(),
            ),
            ("kind", plain(self.event, "kind")),
            ("id", plain(self.event, "id")),
        ])
    }
}

fn get_text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

/// A time for people. Text that is none stays as it is.
fn whole_seconds(time: &str) -> String {
    let parsed: Result<Timestamp, _> = time.parse();
    parsed.map_or_else(|_| time.to_owned(), |time| format!("{time:.0}"))
}

/// The first line of the feedback that says something that the message does not.
fn feedback_line(data: &Value) -> Option<String> {
    let message = get_text(data, "message");
    feedback_lines(data)
        .find(|line| !message.contains(line))
        .map(shown_line)
}

fn feedback_lines(data: &Value) -> impl Iterator<Item = &str> {
    get_text(data, "feedback")
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

fn shown_line(line: &str) -> String {
    escape_to_one_line(&cut_text(line, FEEDBACK))
}

/// Returns the sentence of an event.
fn describe_event(kind: &str, data: &Value) -> String {
    if kind == kind::BREAKER {
        let strikes = match (data["strikes"].as_u64(), data["limit"].as_u64()) {
            (Some(strikes), Some(limit)) => format!("{strikes} of {limit} strikes"),
            (Some(strikes), None) => plural(strikes, "strike"),
            (None, _) => String::new(),
        };
        let until = get_text(data, "open_until");
        let next_try = if until.is_empty() {
            String::new()
        } else {
            format!("; one trial is let through at {}", whole_seconds(until))
        };
        let why = get_text(data, "why");
        let last = if why.is_empty() {
            String::new()
        } else {
            format!("; last strike: {why}")
        };
        return format!("{strikes}{next_try}{last}");
    }
    let explanation = ["message", "why", "failed"]
        .iter()
        .map(|key| get_text(data, key))
        .find(|words| !words.is_empty());
    explanation
        .or(Some(get_text(data, "reason")).filter(|_| kind != kind::VERDICT))
        .unwrap_or_default()
        .to_owned()
}

/// How much an event needs a person: the exit code of its status.
fn rate_severity(kind: &str, data: &Value) -> u8 {
    let reason = Reason::ALL
        .iter()
        .find(|reason| reason.as_str() == get_text(data, "reason"))
        .map(|reason| reason.status());
    let status = match kind {
        kind::VERDICT | kind::ITERATION => reason,
        kind::BREAKER if get_text(data, "state") == "open" => Some(Status::Stopped),
        kind::REVIEW => Some(Status::Review),
        kind::FAILED => Some(Status::Failed),
        kind::LIMIT if !get_text(data, "loop").is_empty() => reason,
        kind::COMPLETE => Some(Status::Complete),
        _ => None,
    };
    status.map_or(1, Status::exit_code)
}

/// The lines of a digest: those that need a person first.
fn list_entries(entries: &[EventSummary<'_>]) -> String {
    let mut lines: Vec<String> = entries
        .iter()
        .take(NAMED)
        .map(EventSummary::digest_line)
        .collect();
    if entries.len() > NAMED {
        lines.push(format!("and {} more", entries.len() - NAMED));
    }
    lines.join("\n")
}

/// How many there are of each state, in the order of the digest.
fn count_states(entries: &[EventSummary<'_>]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        match counted.iter_mut().find(|(word, _)| *word == entry.word) {
            Some((_, count)) => *count += 1,
            None => counted.push((&entry.word, 1)),
        }
    }
    let all = counted
        .iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect::<Vec<_>>()
        .join(", ");
    cut_text(&all, DIGEST_LINE)
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;

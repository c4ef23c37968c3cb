//! A task: a markdown file with YAML front matter. Read as strictly as `completion.json`, by the same readers.
//!
//! Unknown keys are the project's own (`estimate`, `phase`) and stay; only one that looks like a misspelt key of ours is an
//! error, because a misspelt `depends_on` would otherwise be an ignored dependency.

use std::ops::Range;
use std::path::Path;

use super::elements::{check_list, completion_block, home_of};
use super::nearest::find_misspelt_word;
use super::parse::MAX_BYTES;
use super::problem::{ConfigError, ProblemReport, quote_text, shown_key};
use super::reader::{ConfigNode, ConfigSection};
use super::settings::{CheckKind, CheckSpec, ConfigSettings, Mode, single_checks};
use super::syntax::{SpannedValue, ValueKind};
use super::yaml;
use serde::{Deserialize, Serialize};

/// How urgent a task is. Ordered: the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TaskPriority {
    /// Before all others.
    Critical,
    /// Before most.
    High,
    /// The default.
    #[default]
    Medium,
    /// After all others.
    Low,
}

impl TaskPriority {
    /// The word in files and JSON.
    pub fn as_str(self) -> &'static str {
        word_of(PRIORITIES, self)
    }
}

const PRIORITIES: &[(&str, TaskPriority)] = &[
    ("critical", TaskPriority::Critical),
    ("high", TaskPriority::High),
    ("medium", TaskPriority::Medium),
    ("low", TaskPriority::Low),
];

/// The status of a task.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// No agent works on it.
    #[default]
    Pending,
    /// It waits for other tasks, or a person stopped it.
    Blocked,
    /// An agent has it and has not started.
    Assigned,
    /// An agent works on it.
    InProgress,
    /// A person must look.
    Review,
    /// Trying again by itself cannot help.
    Failed,
    /// Done.
    Complete,
}

/// Every status with its word: the first of [`TASK_STATUS_WORDS`].
pub const TASK_STATUSES: &[(&str, TaskStatus)] = TASK_STATUS_WORDS.split_at(7).0;

/// Every word that a file or a person may use: ours, and those of common task boards.
pub const TASK_STATUS_WORDS: &[(&str, TaskStatus)] = &[
    ("pending", TaskStatus::Pending),
    ("blocked", TaskStatus::Blocked),
    ("assigned", TaskStatus::Assigned),
    ("in_progress", TaskStatus::InProgress),
    ("review", TaskStatus::Review),
    ("failed", TaskStatus::Failed),
    ("complete", TaskStatus::Complete),
    ("todo", TaskStatus::Pending),
    ("doing", TaskStatus::InProgress),
    ("done", TaskStatus::Complete),
];

impl TaskStatus {
    /// The word in files, records and JSON.
    pub fn as_str(self) -> &'static str {
        word_of(TASK_STATUSES, self)
    }

    /// The status of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        TASK_STATUS_WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, status)| *status)
    }
}

fn word_of<T: Copy + PartialEq>(words: &[(&'static str, T)], wanted: T) -> &'static str {
    words
        .iter()
        .find(|(_, value)| *value == wanted)
        .map_or("", |(word, _)| word)
}

/// The longest id, in characters. It becomes part of a branch and of a folder.
const LONGEST_ID: usize = 100;

/// Keys of front matter that mean something to watchdog.
pub(super) const KEYS: &[&str] = &[
    "id",
    "title",
    "priority",
    "role",
    "workstream",
    "depends_on",
    "status",
    "completion",
    "mode",
    "checks",
];

/// Other tools' names for our keys: too different for the nearest word, and too important to ignore.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("dependencies", "depends_on"),
    ("depends", "depends_on"),
    ("deps", "depends_on"),
    ("requires", "depends_on"),
    ("blocked_by", "depends_on"),
    ("verify", "completion.verify"),
    ("signal", "completion.signal"),
    ("max_iterations", "completion.max_iterations"),
];

/// The content of a task's file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskFile {
    /// Its name among the tasks: ASCII letters, digits, `-`, `_` and `.`.
    pub id: String,
    /// Its title, for people.
    pub title: String,
    /// How urgent it is.
    pub priority: TaskPriority,
    /// Which agents take it; `None` = any.
    pub role: Option<String>,
    /// Ids of the tasks that must be complete before it.
    pub depends_on: Vec<String>,
    /// The file's status, if there is one. Counts when the task is first seen; from then on the store is the source.
    pub status: Option<TaskStatus>,
    /// How its checks combine.
    pub mode: Mode,
    /// Its criteria; empty = the criteria of the worktree.
    pub checks: Vec<CheckSpec>,
    /// Iterations of the loop at most, where it says.
    pub max_iterations: Option<u32>,
    /// The text below the front matter, trimmed: the prompt.
    pub body: String,
    /// Notes for the user that are no errors.
    pub notes: Vec<String>,
    /// The position of `status`, for writing it back.
    pub status_position: StatusPosition,
}

/// Byte position of a file's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusPosition {
    /// Here, quotes aside.
    At(Range<usize>),
    /// The key has no value; it belongs here, right behind the colon.
    Behind(usize),
    /// Nowhere; a line for it belongs here, behind so many spaces.
    Line(usize, usize),
    /// Nowhere; the keys are in braces, and it belongs right behind the first.
    FirstInBraces(usize),
}

impl Default for StatusPosition {
    fn default() -> Self {
        StatusPosition::Line(0, 0)
    }
}

impl TaskFile {
    /// Every program that the file would make watchdog run, for `watchdog trust` to show.
    pub fn commands(&self) -> Vec<String> {
        ConfigSettings {
            checks: self.checks.clone(),
            ..ConfigSettings::default()
        }
        .commands()
    }

    /// The texts by which the agent says that the task is done.
    pub fn signals(&self) -> Vec<&str> {
        let signals = single_checks(&self.checks).into_iter();
        signals
            .filter_map(|(_, criterion)| match criterion {
                CheckKind::Signal(signal) => Some(signal.text.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// Range of a text's front matter: after the first line of three dashes, up to the next; `None`
/// where it has none.
fn front_matter(text: &str) -> Option<(Range<usize>, usize)> {
    let opening = text
        .split_inclusive('\n')
        .next()
        .filter(|line| has_front_matter(line.as_bytes()))?;
    let mut at = opening.len();
    for line in text[at..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((opening.len()..at, at + line.len()));
        }
        at += line.len();
    }
    None
}

/// Whether a text begins as one with front matter does.
pub fn has_front_matter(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    bytes
        .split(|byte| *byte == b'\n')
        .next()
        .is_some_and(|line| line.trim_ascii_end() == b"---")
}

/// Reads a task's file. `origin` names it in messages.
///
/// # Errors
/// Everything that is wrong with it, each problem with line, column and key.
pub fn parse_task(bytes: &[u8], origin: &Path) -> Result<TaskFile, ConfigError> {
    let fail = |valid: &str, why: String| {
        let report = ProblemReport::new(valid);
        report.problem(valid.len(), "", || why);
        report.finish(origin).map(|_| TaskFile::default())
    };
    if bytes.len() > MAX_BYTES {
        return fail(
            "",
            format!(
                "the file is {} bytes long; at most {MAX_BYTES} are read",
                bytes.len()
            ),
        );
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            return fail(
                &valid,
                "the file is not UTF-8 text; save it as UTF-8".into(),
            );
        }
    };
    let Some((matter, body)) = front_matter(text) else {
        let why = match has_front_matter(bytes) {
            true => "the front matter has no end; close it with a line of three dashes, ---",
            false => {
                "no front matter; a task begins with a line of three dashes, its keys, and another such line"
            }
        };
        return fail("", why.into());
    };
    let report = ProblemReport::knowing(text, &[], home_of);
    let mut task = TaskFile::default();
    if let Some(json) = yaml::parse_yaml(text, matter.start, matter.end, &report) {
        read_keys(
            &ConfigNode {
                report: &report,
                json: &json,
                path: String::new(),
            },
            &mut task,
        );
        task.status_position = status_position(text, &json, matter, &report);
    }
    task.body = text[body..].trim().to_owned();
    task.notes = report.finish(origin)?;
    Ok(task)
}

fn status_position(
    text: &str,
    front: &SpannedValue<'_>,
    matter: Range<usize>,
    report: &ProblemReport<'_>,
) -> StatusPosition {
    let ValueKind::Object(members) = &front.kind else {
        return StatusPosition::Line(matter.end, 0);
    };
    let Some(member) = members.iter().find(|member| member.name == "status") else {
        let Some(first) = members.first() else {
            return StatusPosition::Line(matter.end, 0);
        };
        let before = text[matter.start..first.at].trim_end();
        if text[front.at..].starts_with('{') {
            return StatusPosition::FirstInBraces(front.at + 1);
        } else if before.ends_with('{') {
            return StatusPosition::FirstInBraces(matter.start + before.len());
        } else if text[front.at..].starts_with(['&', '!']) {
            report.problem(front.at, "", || {
                "the keys as a whole have an anchor or a tag; remove it".to_owned()
            });
        }
        return line_for_a_key(text, first.at, matter);
    };
    let position = match &member.value.kind {
        // Null, written out or left out. For a missing one the parser's place may be behind the
        // line's end.
        ValueKind::Null => match ["~", "null", "Null", "NULL"]
            .into_iter()
            .find(|word| text[member.value.at..].starts_with(word))
        {
            Some(word) => Some(StatusPosition::At(
                member.value.at..member.value.at + word.len(),
            )),
            None => behind_the_colon(text, member.at),
        },
        ValueKind::Text(word) => {
            let start =
                member.value.at + usize::from(text[member.value.at..].starts_with(['"', '\'']));
            // Not where it is escaped.
            text[start..]
                .starts_with(word.as_ref())
                .then(|| StatusPosition::At(start..start + word.len()))
        }
        // Another value is refused where the keys are read.
        _ => return StatusPosition::Line(matter.end, 0),
    };
    position.unwrap_or_else(|| {
        report.problem(member.at, "status", || {
            "write it as one plain word, such as `status: pending`, so that watchdog can write the next one in its place".to_owned()
        });
        StatusPosition::Line(matter.end, 0)
    })
}

/// Position of a new line with a key, beside the key at this place: at the end, or before all keys
/// where a line ends the document.
fn line_for_a_key(text: &str, key: usize, matter: Range<usize>) -> StatusPosition {
    let line = text[..key].rfind('\n').map_or(0, |feed| feed + 1);
    let indent = text[line..key]
        .bytes()
        .take_while(|byte| *byte == b' ')
        .count();
    // After a mark of byte order only blanks may follow, as after three dots.
    let ended = text[matter.clone()]
        .lines()
        .any(|line| line.starts_with("...") || line.starts_with('\u{feff}'));
    StatusPosition::Line(if ended { line } else { matter.end }, indent)
}

/// Right behind the colon of a key at this place that has no value, with nothing but blanks or a comment after it on its line.
fn behind_the_colon(text: &str, key: usize) -> Option<StatusPosition> {
    let after_key = text[key..]
        .trim_start_matches(['"', '\''])
        .strip_prefix("status")?
        .trim_start_matches(['"', '\'']);
    let after_colon = after_key
        .trim_start_matches([' ', '\t'])
        .strip_prefix(':')?;
    let line = after_colon.lines().next().unwrap_or_default().trim_start();
    (line.is_empty() || line.starts_with(['#', ',', '}']))
        .then(|| StatusPosition::Behind(text.len() - after_colon.len()))
}

fn read_keys(node: &ConfigNode<'_>, task: &mut TaskFile) {
    if node.members().is_none() {
        node.report_expected("keys with their values, such as `id: T1`");
        return;
    }
    let Some(section) = node.open_section() else {
        return;
    };
    misspelt_keys(node, task);
    task.id = section
        .get_required("id", "it is the task's name")
        .and_then(|n| read_task_id(&n))
        .unwrap_or_default();
    task.title = section
        .get_required("title", "it says what the task is about")
        .and_then(|n| read_word_or_number(&n))
        .unwrap_or_default();
    task.priority = section
        .nullable("priority", read_priority)
        .flatten()
        .unwrap_or_default();
    task.role = read_role(&section);
    task.depends_on = section
        .nullable("depends_on", |n| n.list(read_task_id))
        .flatten()
        .unwrap_or_default();
    let twice = task
        .depends_on
        .iter()
        .enumerate()
        .find(|(n, id)| task.depends_on[..*n].contains(id));
    if let Some((n, twice)) = twice {
        section.note(
            &format!("depends_on[{n}]"),
            &format!("{twice} is named twice"),
        );
    }
    task.status = section
        .nullable("status", |n| n.word(TASK_STATUS_WORDS))
        .flatten();
    read_criteria(&section, task);
}

fn read_criteria(section: &ConfigSection<'_>, task: &mut TaskFile) {
    if let Some(mode) = section.get("mode").and_then(|n| n.word(check_list::MODES)) {
        task.mode = mode;
    }
    if let Some(node) = section.get("checks").filter(|n| !n.is_null()) {
        task.checks = check_list::read_list(&node).unwrap_or_default();
        if matches!(&node.json.kind, ValueKind::List(items) if items.is_empty()) {
            node.wrong("an empty list of checks is never complete; add one or remove the key");
        }
    }
    let Some(node) = section.get("completion").filter(|n| !n.is_null()) else {
        return;
    };
    let mut limits = ConfigSettings::default().limits;
    let more = completion_block::read_block(&node, &mut limits);
    task.max_iterations = node.has("max_iterations").then_some(limits.max_iterations);
    if task.mode != Mode::All && !task.checks.is_empty() && !more.is_empty() {
        // As in completion.json: blocks side by side all count.
        let group = CheckSpec::Group {
            mode: task.mode,
            checks: std::mem::take(&mut task.checks),
        };
        task.checks.push(group);
        task.mode = Mode::All;
    }
    task.checks.extend(more);
}

fn misspelt_keys(node: &ConfigNode<'_>, task: &TaskFile) {
    debug_assert!(task.id.is_empty(), "keys are looked at first");
    for member in node
        .members()
        .unwrap_or_default()
        .iter()
        .filter(|member| !KEYS.contains(&member.name.as_ref()))
    {
        let other_word = OTHER_WORDS
            .iter()
            .find(|(word, _)| *word == member.name)
            .map(|(_, ours)| *ours);
        // A key that is given may have neighbours with similar names.
        let absent = KEYS.iter().copied().filter(|key| !node.has(key));
        if let Some(meant) = other_word.or_else(|| find_misspelt_word(&member.name, absent)) {
            node.report.problem(member.at, &shown_key(&member.name), || {
                format!("unknown key, did you mean `{meant}`? (keys of your own are fine where they do not look like one of ours)")
            });
        }
    }
}

/// A word or a number, as it is written: ids and titles are often plain numbers.
fn read_word_or_number(node: &ConfigNode<'_>) -> Option<String> {
    match &node.json.kind {
        ValueKind::Number(number) => Some((*number).to_owned()),
        _ => node.text().map(|text| text.trim().to_owned()),
    }
}

fn read_task_id(node: &ConfigNode<'_>) -> Option<String> {
    let id = read_word_or_number(node)?;
    match why_no_id(&id) {
        None => Some(id),
        Some(why) => {
            node.wrong(format!("{} cannot be an id: {why}", quote_text(&id)));
            None
        }
    }
}

/// Why a text cannot name a task; it must also do as a part of a branch and a folder.
pub fn why_no_id(id: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    if !id.chars().all(fits) {
        Some("ASCII letters, digits, `-`, `_` and `.` are allowed")
    } else if id.len() > LONGEST_ID {
        Some("at most 100 characters are allowed")
    } else if !id.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Some("it must begin with a letter or a digit")
    } else if id.ends_with('.') || id.contains("..") || id.to_ascii_lowercase().ends_with(".lock") {
        Some("git allows no branch of this name")
    } else {
        None
    }
}

fn read_priority(node: &ConfigNode<'_>) -> Option<TaskPriority> {
    match &node.json.kind {
        ValueKind::Text(text) if text.trim().is_empty() => Some(TaskPriority::default()),
        _ => node.word(PRIORITIES),
    }
}

fn read_role(section: &ConfigSection<'_>) -> Option<String> {
    let [role, workstream] =
        ["role", "workstream"].map(|key| section.nullable(key, read_word_or_number).flatten());
    if let (Some(role), Some(workstream)) = (&role, &workstream)
        && role != workstream
        && let Some(node) = section.get("workstream")
    {
        node.wrong(format!(
            "says {} where `role` says {}; keep one",
            quote_text(workstream),
            quote_text(role)
        ));
    }
    role.or(workstream)
}

#[cfg(test)]
#[path = "task_file_tests.rs"]
mod tests;

//! The tool calls of a session by its transcript: commands with their outcome, and edits, in order.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;
use serde_json::Value;

use watchdog_core::checks::named_runner;
use watchdog_facts::display::{cut_text, escape_to_one_line};
use watchdog_system::read_behind;

use super::claim_words::{RUNS, compile_words, is_named, read_entry};
use super::command_parts::{CommandParts, split_line};
use super::tool_calls::{CallEntry, CallResult, MARKS, list_entries, read_last_words};
use super::work_claims::WorkClaim::{self, BuildPassed, LintPassed, TestsPassed};

/// Bytes of a transcript that are read, the newest.
pub const MOST_READ: u64 = 64 << 20;
/// Commands that change no file of the work tree, but for what they print into.
static READS: LazyLock<Regex> = LazyLock::new(|| compile_words(&read_entry("commands read")));
/// Words of commands that run in another folder than the one they stand in.
const MOVES: [&str; 5] = [" -C ", "--manifest-path", "--prefix", "--cwd", "../"];
/// The id of a commit as git prints it.
static COMMIT_ID: LazyLock<Regex> =
    LazyLock::new(|| compile_words(r"(?m)^\[\S[^\]\n]* ([0-9a-f]{7,40})\] "));

/// Words of runners that found nothing to run.
const NO_RUN: [&str; 4] = ["no test", "No test", "issing script", "\"test\" not found"];

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CommandEnd {
    /// It succeeded.
    Passed,
    /// It failed with this exit code.
    Failed(u32),
    /// The call does not show it; says why.
    Unclear(&'static str),
}

const NO_WHOLE_RUN: CommandEnd = CommandEnd::Unclear("the transcript records no whole run");

/// How many calls back a call may stand again.
const NEAR: usize = 50;

/// The end of the words about a test command before an edit.
const EDITED: &str = ", files edited since";

/// Bytes of a test command that a line of facts shows.
const SHOWN_LINE: usize = 40;

/// A command that a claim is about: without those around it, with its end, and whether a tool edited a file behind it. Without a line,
/// commands that are not known: they may have changed files, or be such runs.
pub type ClaimedRun = (String, CommandEnd, bool);

/// A command line with its end.
pub(super) struct CommandCall {
    line: CommandParts,
    folder: PathBuf,
    end: CommandEnd,
    output: String,
}

/// A call of a tool.
pub(super) enum Call {
    Command(CommandCall),
    Edit(Vec<PathBuf>),
    Unknown,
}

impl Call {
    /// Whether it is none of the commands that are known to change no file.
    fn may_do_anything(&self) -> bool {
        match self {
            Call::Command(command) => !command.only_reads(),
            call => matches!(call, Call::Unknown),
        }
    }
}

/// The calls of a session.
#[derive(Default)]
pub struct SessionHistory {
    calls: Vec<(String, Call)>,
    /// Whether there may be more calls: what this history lacks may have happened.
    pub is_partial: bool,
    /// The words behind the last call, of agents whose hooks do not tell them.
    pub last_words: Option<String>,
    /// The time of the newest of these events, as the transcript writes it.
    pub newest_at: Option<String>,
    /// The folder of calls that name none.
    folder: PathBuf,
}

impl SessionHistory {
    /// Reads a transcript of a session that began in a folder. One that cannot be read shows nothing.
    pub fn read_from(path: Option<&Path>, folder: &Path) -> Self {
        Self::read_behind((path, folder), 0, MOST_READ).0
    }

    /// Reads the newest bytes of what a transcript has behind a place, and how far its whole lines go.
    pub fn read_behind(
        (path, folder): (Option<&Path>, &Path),
        place: u64,
        most: u64,
    ) -> (Self, u64) {
        let mut history = SessionHistory {
            folder: folder.to_owned(),
            ..SessionHistory::default()
        };
        let part = path.and_then(|path| read_behind(path, place, most).ok());
        let (text, begin) = part.map_or((Vec::new(), None), |(text, begin)| (text, Some(begin)));
        history.is_partial = begin != Some(place);
        text.split(|byte| *byte == b'\n')
            .for_each(|line| history.push_line(line));
        let whole = memchr::memrchr(b'\n', &text).map_or(0, |end| end as u64 + 1);
        (history, begin.unwrap_or(place) + whole)
    }

    /// Adds a command that ended: the transcript may not have it yet.
    pub fn push_ended(&mut self, line: &str, folder: &Path, end: CommandEnd) {
        let call = CommandCall {
            end,
            ..CommandCall::new(line, folder.to_owned())
        };
        self.calls.push((String::new(), Call::Command(call)));
    }

    /// The last test command in words, with its outcome and whether a tool edited a file behind it; `earlier` is the one before these calls.
    /// Missing calls give `None`.
    pub fn describe_test(&self, earlier: Option<String>, root: &Path) -> Option<String> {
        let mut runs = self.list_runs(TestsPassed, root).into_iter();
        let (mut words, is_edited) = match runs.find(|(line, ..)| !line.is_empty()) {
            None => {
                let mut calls = self.calls.iter();
                (
                    earlier?,
                    calls.any(|(_, call)| matches!(call, Call::Edit(_))),
                )
            }
            Some((line, end, is_edited)) => {
                let outcome = match end {
                    CommandEnd::Passed => "passed".to_owned(),
                    CommandEnd::Failed(code) => format!("failed (exit code {code})"),
                    CommandEnd::Unclear(_) => "ended unseen".to_owned(),
                };
                let line = cut_text(&line, SHOWN_LINE);
                (format!("last test command '{line}' {outcome}"), is_edited)
            }
        };
        if is_edited && !words.ends_with(EDITED) {
            words.push_str(EDITED);
        }
        (!self.is_partial).then_some(words)
    }

    fn push_line(&mut self, line: &[u8]) {
        let is_whole = line.is_empty() || line.starts_with(b"{") && line.ends_with(b"}");
        let has_mark = |mark: &&str| memmem::find(line, mark.as_bytes()).is_some();
        if is_whole && !MARKS.iter().any(has_mark) {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(event) => self.push_event(&event),
            Err(_) => self.is_partial = true,
        }
    }

    /// Adds the calls and words of an event. Paths are taken from its `cwd`.
    pub fn push_event(&mut self, event: &Value) {
        self.newest_at = event["timestamp"].as_str().map(str::to_owned);
        if let Some(words) = read_last_words(event) {
            self.last_words = Some(words.to_owned());
        }
        let folder = event["cwd"]
            .as_str()
            .map_or(self.folder.clone(), PathBuf::from);
        for entry in list_entries(event, &folder) {
            match entry {
                CallEntry::Call(id, call) => self.push_call(id, call),
                CallEntry::Result(id, result) => self.push_result(id, result),
            }
        }
    }

    fn push_call(&mut self, id: &str, call: Option<Call>) {
        self.last_words = None;
        let Some(call) = call else { return };
        // Gemini CLI writes a call again once more is known.
        let mut near = self.calls.iter().rev().take(NEAR);
        if id.is_empty() || near.all(|(call_id, _)| call_id != id) {
            self.calls.push((id.to_owned(), call));
        }
    }

    fn push_result(&mut self, id: &str, result: CallResult) {
        let CallResult {
            has_failed,
            code,
            is_over,
            output,
        } = result;
        let Some(at) = self.calls.iter().rposition(|(call_id, _)| call_id == id) else {
            return;
        };
        match &mut self.calls[at].1 {
            Call::Edit(_) if has_failed => drop(self.calls.remove(at)),
            Call::Command(command) => {
                let names = |word: &&str| output.contains(*word);
                // Further codes and words say that no test ran, or that the command did not. Of a failed rule make gives 2.
                let is_run = match code {
                    Some(2) => names(&"] Error 1") && !names(&"] Error 12"),
                    code => matches!(code, Some(1 | 6..=125)) && !NO_RUN.iter().any(names),
                };
                command.end = match (has_failed, code) {
                    (true, Some(code)) if is_run => CommandEnd::Failed(code),
                    (false, _) if is_over => CommandEnd::Passed,
                    _ => command.end,
                };
                command.output = output;
            }
            _ => {}
        }
    }

    /// The commands that a claim is about, the newest first. `root` is the folder of the work.
    pub fn list_runs(&self, claim: WorkClaim, root: &Path) -> Vec<ClaimedRun> {
        let (mut runs, mut is_edited) = (Vec::new(), false);
        for (_, call) in self.calls.iter().rev() {
            if let Call::Command(command) = call {
                runs.extend(command.find_part(claim).map(|index| {
                    let line = escape_to_one_line(&command.line.parts[index].0);
                    (line, command.attribute_end(index, root), is_edited)
                }));
            }
            is_edited |= matches!(call, Call::Edit(_));
            if call.may_do_anything() {
                runs.push((String::new(), CommandEnd::Unclear(""), is_edited));
            }
        }
        runs
    }

    /// The last commit that a command of the session made: its place, and its id where git printed it.
    pub fn find_last_commit(&self) -> Option<(usize, Option<String>)> {
        self.calls
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, (_, call))| {
                let Call::Command(command) = call else {
                    return None;
                };
                command.find_part(WorkClaim::Committed)?;
                let id = COMMIT_ID
                    .captures_iter(&command.output)
                    .last()
                    .map(|id| id[1].to_owned());
                (id.is_some() || !matches!(command.end, CommandEnd::Failed(_))).then_some((at, id))
            })
    }

    /// Whether commits were perhaps pushed behind this place: by a push that did not fail, or by a command or a tool that is not known.
    pub fn may_push_after(&self, place: usize) -> bool {
        let may_push = |command: &CommandCall| {
            let names = |word| command.output.contains(word);
            let is_refused = names("fatal:")
                || names("rejected]")
                || names("error:") && matches!(command.end, CommandEnd::Failed(_));
            command.find_part(WorkClaim::Pushed).is_some() && !is_refused
        };
        self.calls[place..].iter().any(|(_, call)| {
            call.may_do_anything() || matches!(call, Call::Command(command) if may_push(command))
        })
    }

    /// The files of this name that a tool wrote.
    pub fn list_written(&self, path: &str) -> Vec<&Path> {
        let edits = self.calls.iter().filter_map(|(_, call)| match call {
            Call::Edit(edited) => Some(edited),
            _ => None,
        });
        let edited = edits.flatten().map(PathBuf::as_path);
        edited.filter(|edited| edited.ends_with(path)).collect()
    }

    /// Whether a call names this file, in whatever folder, or is not known.
    pub fn may_have_written(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.calls.iter().any(|(_, call)| {
            let names_it = match call {
                Call::Command(command) => {
                    let mut parts = command.line.parts.iter();
                    parts.any(|(part, _)| part.contains(name))
                }
                Call::Edit(edited) => edited.iter().any(|edited| edited.ends_with(name)),
                Call::Unknown => true,
            };
            names_it || call.may_do_anything()
        })
    }

    /// Whether the session wrote this path behind a place, by a tool or a command that prints into it.
    pub fn has_written(&self, place: usize, path: &Path) -> bool {
        self.calls[place..].iter().any(|(_, call)| match call {
            Call::Edit(edited) => edited.iter().any(|edited| edited == path),
            Call::Command(command) => command.line.parts.iter().any(|(part, _)| {
                let prints = ["cat ", "echo ", "printf "]
                    .iter()
                    .any(|word| part.starts_with(word));
                let target = part.rsplit_once('>').filter(|_| prints);
                let target = target.and_then(|(_, target)| target.split_whitespace().next());
                target.is_some_and(|target| command.folder.join(target) == path)
            }),
            Call::Unknown => false,
        })
    }
}

fn bears_out(part: &str, claim: WorkClaim) -> bool {
    claim == TestsPassed && named_runner(part).is_some() || is_named(claim, RUNS, part)
}

/// Whether a line has a command that commits, pushes or tests.
pub fn settles_work(line: &str) -> bool {
    let claims = [WorkClaim::Committed, WorkClaim::Pushed, TestsPassed];
    let mut parts = split_line(line).parts.into_iter();
    parts.any(|(part, _)| claims.iter().any(|claim| bears_out(&part, *claim)))
}

impl CommandCall {
    pub(super) fn new(line: &str, folder: PathBuf) -> Self {
        CommandCall {
            line: split_line(line),
            folder,
            end: NO_WHOLE_RUN,
            output: String::new(),
        }
    }

    /// Its line without here-documents.
    pub(super) fn describe(&self) -> String {
        let parts = self.line.parts.iter();
        let words = parts.flat_map(|(part, operator)| [part.trim(), operator.trim()]);
        let words = words.filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }

    fn find_part(&self, claim: WorkClaim) -> Option<usize> {
        let mut parts = self.line.parts.iter();
        parts.rposition(|(part, _)| bears_out(part, claim))
    }

    fn only_reads(&self) -> bool {
        let reads = |part: &str| {
            let mut checks = [TestsPassed, BuildPassed, LintPassed].into_iter();
            READS.is_match(part)
                || !part.contains("fix") && checks.any(|claim| bears_out(part, claim))
        };
        let mut parts = self.line.parts.iter();
        !self.line.is_opaque
            && parts.all(|(part, _)| reads(part) && !part.replace("2>&1", "").contains('>'))
    }

    /// How one command of a line ended, by the end of the whole line.
    fn attribute_end(&self, index: usize, root: &Path) -> CommandEnd {
        let parts = &self.line.parts;
        let (before, (command, behind)) = (&parts[..index], &parts[index]);
        let mut moves = before
            .iter()
            .rev()
            .filter_map(|(part, _)| part.strip_prefix("cd "));
        let folder = moves.next().map_or(self.folder.as_path(), Path::new);
        if folder != root || MOVES.iter().any(|word| command.contains(word)) {
            return CommandEnd::Unclear("it ran in another folder");
        }
        // The operators before the last command.
        let is_first_to_fail = parts[index..]
            .iter()
            .all(|(_, operator)| ["&&", ""].contains(&operator.as_str()));
        let prepares = |(part, operator): &(String, String)| {
            operator == ";" || operator == "&&" && part.starts_with("cd ")
        };
        let is_shown = !self.line.is_opaque
            && match self.end {
                CommandEnd::Passed => {
                    is_first_to_fail && before.iter().all(|(_, operator)| operator != "||")
                }
                CommandEnd::Failed(_) => behind.is_empty() && before.iter().all(prepares),
                CommandEnd::Unclear(_) => true,
            };
        if is_shown {
            self.end
        } else {
            CommandEnd::Unclear("a pipe or other commands hide its end")
        }
    }
}

#[cfg(test)]
#[path = "session_history_tests.rs"]
pub(crate) mod tests;

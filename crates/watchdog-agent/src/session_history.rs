//! The tool calls of a session by its transcript (Claude Code's): commands with their outcome, and edits, in order.

use std::io;
use std::path::Path;
use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;
use serde_json::Value;

use watchdog_core::checks::named_runner;
use watchdog_facts::display::escape_to_one_line;
use watchdog_facts::work_claim::WorkClaim;

use super::assertions::compile_regex;
use super::command_parts::{LinePart, drop_documents, split_line};
use super::transcript_read::{WINDOW, push_window};

/// Bytes of a command that are read.
const LINE: usize = 4 << 10;

/// Tools that change no file.
const READING_TOOLS: &str =
    "Read Grep Glob LS TodoWrite WebFetch WebSearch BashOutput ToolSearch AskUserQuestion";
/// Tools that write the file they name.
const WRITING_TOOLS: &str = "Write Edit MultiEdit NotebookEdit";

/// Commands by the claim that they bear out; runners of tests are known besides.
const COMMANDS: [(WorkClaim, &str); 6] = [
    (
        WorkClaim::TestsPassed,
        r"^(?:(?:npm|pnpm|yarn|bun)(?: run)? test\b|g?make (?:\S+ )*(?:test|check)\b|just (?:test|check)\b|\S*mvnw? .*\b(?:test|verify)\b|\S*gradlew? .*\b(?:test|check)\b|dotnet test|tox\b|nox\b|(?:bundle exec )?(?:rake|\S*rails) test|composer test|\S*vendor/bin/pest)",
    ),
    (
        WorkClaim::BuildPassed,
        r"^(?:cargo (?:build|check)\b|go build\b|(?:npm|pnpm|yarn|bun) run build\b|g?make(?: -j\d*| all| build)*$|\S*tsc\b|\S*mvnw? .*\b(?:compile|package)\b|\S*gradlew? .*\b(?:build|assemble)\b|dotnet build|cmake --build)",
    ),
    (
        WorkClaim::LintPassed,
        r"^(?:cargo clippy\b|(?:npx )?eslint\b|(?:uv run )?ruff check\b|flake8\b|pylint\b|(?:npm|pnpm|yarn|bun)(?: run)? lint\b|golangci-lint\b|rubocop\b|g?make lint\b)",
    ),
    (WorkClaim::Committed, r"^git (?:-\S+(?: \S+)? )*commit\b"),
    (WorkClaim::Pushed, r"^git (?:-\S+(?: \S+)? )*push\b"),
    (WorkClaim::PullRequestOpened, r"^(?:gh pr|glab mr) create\b"),
];
static KINDS: LazyLock<Vec<(WorkClaim, Regex)>> = LazyLock::new(|| {
    COMMANDS
        .map(|(claim, text)| (claim, compile_regex(text)))
        .into()
});
/// Commands that change no file of the work tree.
static READS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"^(?:git (?:status|log|diff|show|add|commit|push|branch|rev-parse|remote)|gh|glab|cd|ls|cat|head|tail|grep|rg|pwd|wc|echo|true|which|export|source|sleep)\b",
    )
});

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// It succeeded.
    Passed,
    /// It failed with this exit code.
    Failed(u32),
    /// The call does not show it; says why.
    Unclear(&'static str),
}

/// A command that a claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRun {
    /// The command, without those around it.
    pub line: String,
    /// How it ended.
    pub end: CommandEnd,
    /// Whether an edit followed, by a tool for it.
    pub is_before_edit: bool,
    /// Whether anything followed that may have changed a file.
    pub may_be_stale: bool,
    /// Its place in the session.
    pub at: usize,
}

#[derive(Debug)]
enum Call {
    Command {
        line: String,
        folder: String,
        output: Option<CallOutput>,
    },
    Edit {
        path: String,
    },
    Reading,
    Unknown {
        input: String,
    },
}

/// The end of a call and what it printed.
type CallOutput = (CommandEnd, String);

/// The calls of a session.
#[derive(Debug, Default)]
pub struct SessionHistory {
    calls: Vec<(String, Call)>,
    /// Whether the transcript begins before them.
    pub is_part: bool,
}

impl SessionHistory {
    /// A history of which nothing is known.
    pub fn unread() -> Self {
        SessionHistory {
            is_part: true,
            ..SessionHistory::default()
        }
    }

    /// Reads the end of a transcript.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_from(path: &Path) -> io::Result<Self> {
        let (mut history, mut text) = (SessionHistory::default(), Vec::new());
        history.is_part = push_window(path, WINDOW, |bytes| text.extend_from_slice(bytes))?;
        text.split(|byte| *byte == b'\n')
            .for_each(|line| history.push_line(line));
        Ok(history)
    }

    fn push_line(&mut self, line: &[u8]) {
        // Requests repeat the whole conversation.
        let is_call = !line.starts_with(b"{\"type\":\"api-request")
            && (memmem::find(line, b"\"tool_use").is_some()
                || memmem::find(line, b"\"tool_result").is_some());
        let Some(event) = is_call
            .then(|| serde_json::from_slice::<Value>(line).ok())
            .flatten()
        else {
            return;
        };
        if !matches!(event["type"].as_str(), Some("assistant" | "user")) {
            return;
        }
        for block in event["message"]["content"].as_array().into_iter().flatten() {
            match (
                block["type"].as_str(),
                block["id"].as_str(),
                block["tool_use_id"].as_str(),
            ) {
                (Some("tool_use"), Some(id), _) => {
                    self.calls.push((id.to_owned(), read_call(block, &event)));
                }
                (Some("tool_result"), _, Some(id)) => self.push_result(id, block, &event),
                _ => {}
            }
        }
    }

    fn push_result(&mut self, id: &str, block: &Value, event: &Value) {
        let call = self
            .calls
            .iter_mut()
            .rev()
            .find(|(call_id, _)| call_id == id);
        let Some((_, call)) = call else { return };
        let has_failed = block["is_error"] == true;
        match call {
            Call::Edit { .. } if has_failed => *call = Call::Reading,
            Call::Command { output, .. } => {
                let text = match &block["content"] {
                    Value::String(text) => text.clone(),
                    parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
                };
                let details = &event["toolUseResult"];
                let code = text.strip_prefix("Exit code ").map(|text| {
                    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
                    text[..digits].parse().unwrap_or(0)
                });
                let end = match (has_failed, code) {
                    (true, Some(code @ (1..=3 | 6..=125))) => CommandEnd::Failed(code),
                    (true, _) => CommandEnd::Unclear("it did not run to its end"),
                    _ if details["interrupted"] == true
                        || !details["backgroundTaskId"].is_null() =>
                    {
                        CommandEnd::Unclear("it ran in the background, or was interrupted")
                    }
                    _ => CommandEnd::Passed,
                };
                *output = Some((end, text));
            }
            _ => {}
        }
    }

    /// The last command that a claim is about. `root` is the folder of the work.
    pub fn find_last_run(&self, claim: WorkClaim, root: &Path) -> Option<ClaimedRun> {
        let mut is_before_edit = false;
        let mut may_be_stale = false;
        for (at, (_, call)) in self.calls.iter().enumerate().rev() {
            match call {
                Call::Edit { .. } => is_before_edit = true,
                Call::Unknown { .. } => may_be_stale = true,
                Call::Reading => {}
                Call::Command {
                    line,
                    folder,
                    output,
                } => {
                    let parts = split_line(line);
                    if let Some(index) = parts.iter().rposition(|(part, _)| is_kind(part, claim)) {
                        let end =
                            attribute_end(&parts, index, (folder, root), output.as_ref(), claim);
                        let line = escape_to_one_line(&parts[index].0);
                        return Some(ClaimedRun {
                            line,
                            end,
                            is_before_edit,
                            may_be_stale,
                            at,
                        });
                    }
                    may_be_stale |=
                        line.contains('>') || !parts.iter().all(|(part, _)| READS.is_match(part));
                }
            }
        }
        None
    }

    /// Whether a tool for edits wrote this path, or a call names it.
    pub fn names_path(&self, path: &str, only_edits: bool) -> bool {
        self.calls.iter().any(|(_, call)| match call {
            Call::Edit { path: edited } => edited.ends_with(path),
            Call::Command { line: input, .. } | Call::Unknown { input } => {
                !only_edits && input.contains(path)
            }
            Call::Reading => false,
        })
    }
}

fn is_listed(names: &str, name: &str) -> bool {
    names.split(' ').any(|listed| listed == name)
}

fn read_call(block: &Value, event: &Value) -> Call {
    let (name, input) = (block["name"].as_str().unwrap_or_default(), &block["input"]);
    let text = |key: &str| input[key].as_str().map(str::to_owned);
    match name {
        "Bash" => {
            let mut line = text("command").unwrap_or_default();
            line.truncate(line.floor_char_boundary(LINE));
            let folder = event["cwd"].as_str().unwrap_or_default().to_owned();
            Call::Command {
                line: drop_documents(&line),
                folder,
                output: None,
            }
        }
        name if is_listed(WRITING_TOOLS, name) => Call::Edit {
            path: text("file_path")
                .or_else(|| text("notebook_path"))
                .unwrap_or_default(),
        },
        name if is_listed(READING_TOOLS, name) => Call::Reading,
        _ => {
            let mut input = input.to_string();
            input.truncate(input.floor_char_boundary(LINE));
            Call::Unknown { input }
        }
    }
}

fn is_kind(part: &str, claim: WorkClaim) -> bool {
    let by_table = || {
        KINDS
            .iter()
            .any(|(kind, regex)| *kind == claim && regex.is_match(part))
    };
    claim == WorkClaim::TestsPassed && named_runner(part).is_some() || by_table()
}

/// How one command of a line ended, by the end of the whole line.
fn attribute_end(
    parts: &[LinePart],
    index: usize,
    (folder, root): (&str, &Path),
    output: Option<&CallOutput>,
    claim: WorkClaim,
) -> CommandEnd {
    let Some((line_end, text)) = output else {
        return CommandEnd::Unclear("its result is not recorded");
    };
    let moves = |part: &str| {
        part.strip_prefix("cd ")
            .map(|to| to.trim_matches(['"', '\'']).to_owned())
    };
    let mut folders = parts[..index].iter().filter_map(|(part, _)| moves(part));
    let folder = folders.next_back().unwrap_or_else(|| folder.to_owned());
    if claim == WorkClaim::Pushed {
        // git itself says how a push ended, also behind a pipe.
        if ["fatal:", "error:", "[rejected]", "[remote rejected]"]
            .iter()
            .any(|word| text.contains(word))
        {
            return CommandEnd::Failed(1);
        }
        if text.contains(" -> ") || text.contains("Everything up-to-date") {
            return CommandEnd::Passed;
        }
    }
    if !matches!(claim, WorkClaim::Pushed | WorkClaim::PullRequestOpened)
        && Path::new(&folder) != root
    {
        return CommandEnd::Unclear("it ran in another folder");
    }
    let behind = &parts[index].1;
    let all_and = |parts: &[LinePart]| parts.iter().all(|(_, operator)| operator == "&&");
    let goes_first = |(part, _): &LinePart| part.starts_with("cd ") || part.starts_with("export ");
    let is_last = index + 1 == parts.len() && behind.is_empty();
    match (line_end, behind.as_str()) {
        (_, "|" | "||") => CommandEnd::Unclear("a pipe or '||' behind it hides its end"),
        (CommandEnd::Passed, _) if parts[..index].iter().any(|(_, operator)| operator == "||") => {
            CommandEnd::Unclear("it may not have run")
        }
        (CommandEnd::Passed, _) if is_last || all_and(&parts[index..parts.len() - 1]) => {
            CommandEnd::Passed
        }
        (CommandEnd::Failed(code), _) if is_last && parts[..index].iter().all(goes_first) => {
            CommandEnd::Failed(*code)
        }
        (CommandEnd::Unclear(why), _) => CommandEnd::Unclear(why),
        _ => CommandEnd::Unclear("other commands in its line hide its end"),
    }
}

#[cfg(test)]
#[path = "session_history_tests.rs"]
pub(crate) mod tests;

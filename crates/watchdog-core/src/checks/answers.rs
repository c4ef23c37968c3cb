//! The requests of checks to the system, and the answers.

use std::time::Duration;

use crate::config::settings::{CheckKind, CommandLine};
use watchdog_facts::display::plural;
use watchdog_facts::evidence::{OutcomeBeforeWork, ProcessExit, TestCounts};

/// The complete configuration of a check, as a key for its recorded results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckDefinition {
    /// A text without two meanings.
    pub text: String,
    /// Whether it depends on the worktree alone: without any work, its outcome is the same as when the work began.
    pub of_worktree: bool,
    /// Whether it cannot pass before the session did anything: it wants commits of the session, or a call in its messages.
    pub fails_without_work: bool,
}

impl CheckDefinition {
    /// That of a criterion.
    pub fn from_criterion(criterion: &CheckKind) -> Self {
        let fails_without_work = match criterion {
            CheckKind::Git(git) => git.min_commits > 0,
            CheckKind::SqlResult(_) => true,
            _ => false,
        };
        CheckDefinition {
            text: format!("{criterion:?}"),
            of_worktree: criterion.of_worktree(),
            fails_without_work,
        }
    }
}

/// The result of a check from when the work began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResultBeforeWork {
    /// Its outcome.
    pub before: OutcomeBeforeWork,
    /// The test counts of its runner.
    pub tests: Option<TestCounts>,
}

/// A command that passed on these very inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CachedPass {
    /// The test counts that its runner reported.
    pub tests: Option<TestCounts>,
    /// The tree that it passed on.
    pub tree: String,
}

/// The session's changes to tests since the baseline, as far as paths and lines show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestEdits {
    /// Files of tests that are gone, and whose content is nowhere else; sorted.
    pub deleted: Vec<String>,
    /// How many more definitions of tests were removed than added.
    pub removed: u64,
    /// How many more marks that skip a test were added than removed.
    pub ignored: u64,
}

impl TestEdits {
    /// The lost tests, in words; `None` where there are none.
    pub fn describe_lost(&self) -> Option<String> {
        let deleted = (!self.deleted.is_empty()).then(|| {
            let names: Vec<&str> = self.deleted.iter().map(String::as_str).collect();
            format!("deleted {}", super::feedback::first_three(&names))
        });
        let removed = (self.removed > 0 && self.deleted.is_empty())
            .then(|| format!("removed {}", plural(self.removed, "test")));
        let ignored = (self.ignored > 0)
            .then(|| format!("skips {} more than before", plural(self.ignored, "test")));
        let words: Vec<String> = [deleted, removed, ignored].into_iter().flatten().collect();
        (!words.is_empty()).then(|| format!("the session {}", words.join(" and ")))
    }
}

/// A file that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedFile {
    /// Relative to the root of the worktree, with `/`; percent-escaped where not UTF-8.
    pub path: String,
    /// In bytes.
    pub size: u64,
}

/// A command to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandRequest<'a> {
    /// The command to run.
    pub line: &'a CommandLine,
    /// The folder that it runs in, relative to the root of the worktree; `None` = the root. The configuration refuses `..` and
    /// absolute paths; that no symbolic link leads out is for the implementation to see.
    pub cwd: Option<&'a str>,
    /// When its whole process tree is ended.
    pub timeout: Duration,
    /// Its stdin, then end of file.
    pub stdin: &'a [u8],
    /// Whether it runs in a scratch checkout of HEAD with the session's work, without the files that git ignores.
    pub clean: bool,
    /// Whether a program that is a file of TypeScript is given to a runtime of TypeScript.
    pub may_be_typescript: bool,
}

impl<'a> CommandRequest<'a> {
    /// A command to run at the root of the worktree, with an empty stdin.
    pub fn new(line: &'a CommandLine, timeout: Duration) -> Self {
        CommandRequest {
            line,
            cwd: None,
            timeout,
            stdin: &[],
            clean: false,
            may_be_typescript: false,
        }
    }
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRun {
    /// It ended by itself or by a signal of another process.
    Finished {
        /// The code or signal, as the operating system reported it.
        exit: ProcessExit,
        /// Its output, bounded.
        output: CommandOutput,
    },
    /// It could not be started. `why` is for a person, without a final period.
    Unrunnable {
        /// The operating system's error.
        why: String,
    },
    /// The system had no room to start it: trying again may help. `why` as above.
    HeadroomError {
        /// The missing resource.
        why: String,
    },
    /// Its deadline passed, and it was ended.
    TimedOut {
        /// Its output by then, bounded.
        output: CommandOutput,
    },
}

/// How the command of a check went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCommandRun {
    /// How it went.
    pub run: CommandRun,
    /// The report that it wrote during the run, where one is named, or why there is none.
    pub report: Option<Result<Vec<u8>, String>>,
    /// The tree that it ran on, where that was a scratch checkout.
    pub tree: Option<String>,
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandOutput {
    /// Its stdout.
    pub stdout: CapturedStream,
    /// Its stderr.
    pub stderr: CapturedStream,
}

/// A stream, of which at most a bounded part was kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapturedStream {
    /// The first bytes; may be empty where only the end was kept.
    pub head: Vec<u8>,
    /// How many bytes between `head` and `tail` were dropped.
    pub dropped: u64,
    /// The last bytes.
    pub tail: Vec<u8>,
}

impl CapturedStream {
    /// A stream that was kept whole.
    #[cfg(test)]
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        CapturedStream {
            head: Vec::new(),
            dropped: 0,
            tail: bytes.into(),
        }
    }

    /// Whether nothing but white space was written.
    pub fn is_blank(&self) -> bool {
        self.dropped == 0 && self.head.trim_ascii().is_empty() && self.tail.trim_ascii().is_empty()
    }

    /// The stretches of the stream that have no gap.
    pub(super) fn stretches(&self) -> Vec<Vec<u8>> {
        if self.dropped == 0 {
            vec![[self.head.as_slice(), &self.tail].concat()]
        } else {
            vec![self.head.clone(), self.tail.clone()]
        }
    }
}

/// Paths that differ from the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TouchedPaths {
    /// Sorted, percent-escaped where not UTF-8; at most [`TouchedPaths::LISTED`].
    pub paths: Vec<String>,
    /// How many there are in all.
    pub total: u64,
}

impl TouchedPaths {
    /// How many paths are listed by name at most.
    pub const LISTED: usize = 10_000;
}

/// Whether a remote has HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushState {
    /// HEAD names no commit: there is nothing to push.
    Unborn,
    /// No branch of a remote is known here.
    NoRemote,
    /// A branch of a remote reaches it.
    Yes,
    /// No remote has it.
    No {
        /// Commits of HEAD that no branch of a remote reaches.
        ahead: u64,
    },
}

/// A text of bounded length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BoundedText {
    /// The kept bytes.
    pub text: String,
    /// Whether something was left out.
    pub cut: bool,
}

/// A question to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeRequest<'a> {
    /// The complete prompt.
    pub prompt: &'a str,
    /// The program to ask, which reads the prompt on its stdin; `None` = the agent's preset.
    pub run: Option<&'a CommandLine>,
    /// The model of the preset; `None` = that of the configuration.
    pub model: Option<&'a str>,
    /// How long the answer may take.
    pub timeout: Duration,
}

impl<'a> JudgeRequest<'a> {
    /// A question to the agent's preset.
    pub fn new(prompt: &'a str, timeout: Duration) -> Self {
        JudgeRequest {
            prompt,
            run: None,
            model: None,
            timeout,
        }
    }
}

/// The result of a question. Reasons are for a person, without a final period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgeAnswer {
    /// The answer, bounded.
    Text(String),
    /// No model is configured.
    Unrunnable {
        /// Which program or configuration is missing.
        why: String,
    },
    /// The model gave no answer.
    Failed {
        /// How the question failed.
        why: String,
    },
    /// The deadline passed.
    TimedOut,
}

/// The result of a line exchange. Reasons are for a person, without a final period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineOutcome {
    /// The line that it answered, without its end.
    Line(String),
    /// It could not be started.
    Unrunnable {
        /// The operating system's error.
        why: String,
    },
    /// It ended, or broke the rules, instead of answering.
    Failed {
        /// How it ended, or which rule it broke.
        why: String,
    },
    /// The deadline passed, and it was ended.
    TimedOut,
}

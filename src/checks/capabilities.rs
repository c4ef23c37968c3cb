//! All that a check may do to the outside. The supervisor implements it for real; tests hand in facts.

use std::io;
use std::time::Duration;

use crate::config::settings::CommandLine;
use crate::decision::evidence::{Changes, Commits, Exit, Fact};

/// The outside, as checks see it.
///
/// Implementations start every process through the one builder of processes, and end its whole tree at the deadline.
pub trait Capabilities: Sync {
    /// A clock that only goes forward, from any start: it measures how long checks take.
    fn clock(&self) -> Duration;

    /// Runs a command to its end or its deadline. Its stdin is empty.
    fn run_command(&self, request: &CommandRequest<'_>) -> CommandRun;

    /// The commits since the baseline.
    fn commits(&self) -> Fact<Commits>;

    /// The uncommitted changes.
    fn changes(&self) -> Fact<Changes>;

    /// The regular files of the worktree that match a [glob](crate::config::path_glob), ignored ones included, git's own folder not.
    /// Symbolic links count only where they stay inside the worktree.
    ///
    /// # Errors
    /// Whatever kept it from looking; no match is an empty list and no error.
    fn files(&self, glob: &str) -> io::Result<Vec<FoundFile>>;
}

/// A file that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Relative to the root of the worktree, with `/`; percent-escaped where not UTF-8.
    pub path: String,
    /// In bytes.
    pub size: u64,
}

/// A command to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandRequest<'a> {
    /// What to run.
    pub line: &'a CommandLine,
    /// The folder that it runs in, relative to the root of the worktree; `None` = the root. The configuration refuses `..` and
    /// absolute paths; that no symbolic link leads out is for the implementation to see.
    pub cwd: Option<&'a str>,
    /// When its whole process tree is ended.
    pub timeout: Duration,
}

impl<'a> CommandRequest<'a> {
    /// A command to run at the root of the worktree.
    pub fn new(line: &'a CommandLine, timeout: Duration) -> Self {
        CommandRequest { line, cwd: None, timeout }
    }
}

/// How a command went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRun {
    /// It ended by itself or by somebody else's signal.
    Finished { exit: Exit, output: CommandOutput },
    /// It could not be started. `why` is for a person, without a final period.
    Unrunnable { why: String },
    /// Its deadline passed, and it was ended.
    TimedOut { output: CommandOutput },
}

/// What a command wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandOutput {
    /// Its stdout.
    pub stdout: Captured,
    /// Its stderr.
    pub stderr: Captured,
}

/// One stream, of which at most a bounded part was kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The first bytes; may be empty where only the end was kept.
    pub head: Vec<u8>,
    /// How many bytes between `head` and `tail` were dropped.
    pub dropped: u64,
    /// The last bytes.
    pub tail: Vec<u8>,
}

impl Captured {
    /// A stream that was kept whole.
    pub fn whole(bytes: impl Into<Vec<u8>>) -> Self {
        Captured { head: Vec::new(), dropped: 0, tail: bytes.into() }
    }

    /// Whether nothing but white space was written.
    pub fn is_blank(&self) -> bool {
        self.dropped == 0 && self.head.trim_ascii().is_empty() && self.tail.trim_ascii().is_empty()
    }

    /// The stretches of the stream that have no gap.
    pub(super) fn stretches(&self) -> Vec<Vec<u8>> {
        if self.dropped == 0 { vec![[self.head.as_slice(), &self.tail].concat()] } else { vec![self.head.clone(), self.tail.clone()] }
    }
}

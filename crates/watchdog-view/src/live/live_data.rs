//! The plain values that pass between the view and the threads around it.

use std::ffi::OsString;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::overview::StatusRow;

/// Which row: a worktree and the name of its work.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LiveRowKey {
    /// Its top folder.
    pub worktree: PathBuf,
    /// The name of the work.
    pub spec: String,
}

impl LiveRowKey {
    /// Whether the row is on another machine: its folder then begins with that machine's name.
    pub fn is_remote(&self) -> bool {
        !self.worktree.is_absolute()
    }

    /// The key of a row.
    pub fn from_row(row: &StatusRow) -> Self {
        LiveRowKey {
            worktree: row.worktree.clone(),
            spec: row.spec.clone(),
        }
    }
}

/// A figure of a row. An unknown figure is never shown as zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ShownFact<T> {
    /// Not read yet, or there is none.
    #[default]
    Unknown,
    /// It could not be read.
    Unreadable,
    /// Read.
    Known(T),
}

/// The facts of a row from git and the log of the session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowFacts {
    /// Commits since the baseline.
    pub commits: ShownFact<u64>,
    /// Paths that are not committed.
    pub unsaved: ShownFact<u64>,
    /// US dollars of the session that runs, or of the last one.
    pub cost: ShownFact<f64>,
    /// The session's last line. Not escaped.
    pub last_line: String,
    /// Which agent took over last, why and until when. Not escaped.
    pub agent_change: Option<String>,
}

/// A page of the detail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum DetailTab {
    /// The events.
    #[default]
    Timeline,
    /// The session's output, as it comes.
    Output,
    /// The last verdict and what it rests on.
    Verdict,
    /// The snapshots of its work.
    Snapshots,
    /// The tasks of its repository.
    Tasks,
}

impl DetailTab {
    /// Every page, from left to right.
    pub const ALL: [DetailTab; 5] = [
        DetailTab::Timeline,
        DetailTab::Output,
        DetailTab::Verdict,
        DetailTab::Snapshots,
        DetailTab::Tasks,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            DetailTab::Timeline => "timeline",
            DetailTab::Output => "output",
            DetailTab::Verdict => "verdict",
            DetailTab::Snapshots => "snapshots",
            DetailTab::Tasks => "tasks",
        }
    }
}

/// A snapshot that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotChoice {
    /// The worktree.
    pub worktree: PathBuf,
    /// Its name on the command line.
    pub id: String,
    /// Its line in the list. Fit for a terminal.
    pub line: String,
}

/// The content of a page. Fit for a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TabContent {
    /// Its lines.
    pub lines: Vec<String>,
    /// The snapshots to choose from, if it is a list of them.
    pub snapshots: Vec<SnapshotChoice>,
}

/// The facts that a row needs to have read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowQuery {
    /// Which row.
    pub key: LiveRowKey,
    /// The commit of its baseline; `None` = unborn.
    pub baseline: Option<String>,
    /// Whether its folder is there, and git can use it.
    pub readable: bool,
    /// Whether something runs there, so that it is read again soon.
    pub runs: bool,
    /// The log of the session that runs.
    pub log: Option<PathBuf>,
    /// The agent that runs it, by the name or path of its preset, and the preset that its output is read as where that is unknown.
    pub agent: (Option<String>, Option<String>),
    /// Whether its loop has several agents.
    pub has_fallback: bool,
    /// When the row changed last: a later time is a reason to read again.
    pub changed: Timestamp,
}

/// Something to do, before it is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedDeed {
    /// Its name, in a few words.
    pub name: String,
    /// Which row it is about.
    pub key: LiveRowKey,
    /// The effects. Fit for a terminal.
    pub says: Vec<String>,
    /// The command line for the same. Fit for a terminal.
    pub command: String,
    /// How it is done; `None` where it first has to be read up on.
    pub means: Option<DeedMeans>,
}

/// The requests to a loop's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRequest {
    /// To end its session, and itself.
    End,
    /// To end once its session has been judged.
    Pause,
}

/// How a deed is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeedMeans {
    /// By the command line of watchdog itself, the program's name first.
    Words(Vec<OsString>),
    /// By a signal, sent to a process that still is the one that was recorded.
    Signal {
        /// The request to it.
        request: ProcessRequest,
        /// Its number.
        pid: u32,
        /// When it was recorded.
        since: Timestamp,
    },
    /// By the command line, where the file still has the bytes that were shown.
    TrustFile {
        /// The command line.
        words: Vec<OsString>,
        /// The file.
        path: PathBuf,
        /// The bytes that were shown.
        bytes: Vec<u8>,
    },
}

//! Facts read at one instant, as values. A fact that could not be read is a value too
//! ([`UnreadableFact`]), so that no code path can mistake it for zero.
//!
//! The decision machine judges them.

use std::time::Duration;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::display::plural;
use super::gate_hooks::GateOff;
pub use super::held_rescue::HeldRescue;
pub use super::left_out_reason::LeftOutReason;
pub use super::reply::{ProbeOutcome, Reply, ReplyStatus};
use super::shell_line::WorktreeCommands;
pub use super::warning_code::WarningCode;
pub use super::work_beside::{BesideState, WorkBeside};

/// Why a fact is unknown. Ends a check as `error`, never as "nothing there".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{why}")]
pub struct UnreadableFact {
    /// Which class of fault it was; decides the verdict's reason.
    pub kind: FaultKind,
    /// The fault and its cause, for a person, without a final period.
    pub why: String,
    /// The remedy for the person, where one is known.
    pub hint: Option<String>,
}

impl UnreadableFact {
    /// A fault without a known remedy.
    pub fn new(kind: FaultKind, why: impl ToString) -> Self {
        UnreadableFact {
            kind,
            why: why.to_string(),
            hint: None,
        }
    }

    /// The same with a remedy that works from anywhere.
    pub fn with_commands(self, commands: &WorktreeCommands) -> Self {
        UnreadableFact {
            hint: self.hint.map(|hint| commands.name_worktree(&hint)),
            ..self
        }
    }
}

/// The classes of faults that verdicts distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// There is no git work tree at the path.
    NotARepository,
    /// git's data could not be read.
    Git,
    /// watchdog's own state could not be read or written.
    Store,
    /// The configuration is unusable.
    Config,
    /// Work could not be kept in a snapshot.
    Snapshot,
    /// No baseline is recorded.
    NoBaseline,
}

/// A fact, or the reason why it is unknown.
pub type ReadFact<T> = Result<T, UnreadableFact>;

/// Something that weakens the facts without making them unreadable.
///
/// `code` is a stable snake-case word that programs may match; `detail` is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degradation {
    /// Stable word, such as `history_rewritten`.
    pub code: WarningCode,
    /// A sentence for a person.
    pub detail: String,
}

/// Reads warnings without those whose code this version does not know: they are warnings, and no facts.
///
/// # Errors
/// Where there is no list.
pub fn read_known_notes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Degradation>, D::Error> {
    let notes = Vec::<serde_json::Value>::deserialize(from)?;
    Ok(notes
        .into_iter()
        .filter_map(|note| Degradation::deserialize(note).ok())
        .collect())
}

/// Reads a value, or `None` where this version does not understand it.
///
/// # Errors
/// Where there is no JSON.
pub fn read_if_known<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::deserialize(serde_json::Value::deserialize(from)?).unwrap_or_default())
}

impl Degradation {
    /// A warning with its sentence.
    pub fn new(code: WarningCode, detail: impl ToString) -> Self {
        Degradation {
            code,
            detail: detail.to_string(),
        }
    }
}

/// The origin of a commit, as far as HEAD's reflog and the recorded refs prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitOrigin {
    /// No evidence of another origin.
    MadeHere,
    /// Pulled, fast-forwarded, reset to or checked out from another ref.
    Imported,
    /// A rescue made it: it counts as the uncommitted work that it was.
    Rescued,
}

impl CommitOrigin {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CommitOrigin::MadeHere => "made_here",
            CommitOrigin::Imported => "imported",
            CommitOrigin::Rescued => "rescued",
        }
    }
}

/// A commit since the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Full hexadecimal object name.
    pub id: String,
    /// Whether it was made in this worktree.
    pub origin: CommitOrigin,
    /// First line of the message, lossy UTF-8, not yet escaped for display.
    pub subject: String,
}

/// The commits since the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Commits {
    /// HEAD now; `None` on an unborn branch.
    pub head: Option<String>,
    /// The count of `git rev-list --count baseline..HEAD`.
    pub new_commits: u64,
    /// How many count as made here. After a rewritten history: patches that the baseline's side does not have.
    pub made_here: u64,
    /// How many are proved to be imported.
    pub imported: u64,
    /// How many a rescue made. They are not in `made_here`.
    pub rescued: u64,
    /// Whether commits made here, or by a rescue, change anything that is not put back since.
    pub net_change: bool,
    /// In how many files the commits made here brought content that was there before, where all their new content was.
    pub brought: u64,
    /// The unfinished operation in the worktree, if there is one.
    pub operation: Option<GitOperation>,
    /// Paths in conflict, percent-escaped where not UTF-8; at most [`Commits::LISTED`].
    pub conflicts: Vec<String>,
    /// Newest first, at most [`Commits::LISTED`].
    pub listed: Vec<Commit>,
    /// The session's work that HEAD lacks, or has in another form.
    #[serde(rename = "elsewhere")]
    pub beside: Vec<WorkBeside>,
    /// Warnings about these numbers, such as a rewritten history.
    #[serde(deserialize_with = "read_known_notes")]
    pub degraded: Vec<Degradation>,
}

impl Commits {
    /// How many commits are listed by name at most.
    pub const LISTED: usize = 100;

    /// Whether these commits alone show that the session did its work.
    pub fn completes(&self) -> bool {
        self.made_here > 0 && self.net_change && self.brought == 0
    }

    /// Whether an unfinished operation waits for the user.
    pub fn half_done(&self) -> bool {
        self.operation.is_some() || !self.conflicts.is_empty()
    }
}

/// An operation of git that was left half done in a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GitOperation {
    /// `git merge` waits for its commit.
    Merge,
    /// `git rebase`, of either backend.
    Rebase,
    /// `git am`.
    #[serde(rename = "am")]
    ApplyMailbox,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

impl GitOperation {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            GitOperation::Merge => "merge",
            GitOperation::Rebase => "rebase",
            GitOperation::ApplyMailbox => "am",
            GitOperation::CherryPick => "cherry-pick",
            GitOperation::Revert => "revert",
            GitOperation::Bisect => "bisect",
        }
    }
}

/// Uncommitted changes of a worktree, ignored files aside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// Paths whose index entry differs from HEAD.
    pub staged: u64,
    /// Paths whose work tree file differs from the index (deleted and dirty submodules included).
    pub unstaged: u64,
    /// Files that git does not track and does not ignore.
    pub untracked: u64,
    /// Paths with unmerged index entries.
    pub conflicted: u64,
    /// Changed paths that are the session's work: neither inherited, nor changed after its end, nor droppings.
    pub work: u64,
    /// Those paths, sorted; at most [`Changes::LISTED`].
    pub work_paths: Vec<String>,
    /// Changed paths that were uncommitted when the session began, and are as they were.
    pub inherited: u64,
    /// Changed paths that changed after the recorded end of the session: they belong to no session.
    pub since_end: u64,
    /// New links that leave the worktree: droppings, by which a check may end otherwise.
    pub leaving_links: u64,
    /// New links that are droppings, sorted; at most [`Changes::LISTED`].
    pub dropping_links: Vec<String>,
    /// The unfinished operation, if there is one.
    pub operation: Option<GitOperation>,
    /// Changed paths, sorted, each once, percent-escaped where not UTF-8; at most [`Changes::LISTED`].
    pub paths: Vec<String>,
    /// Changes when a changed file is written again: a hash over the changed paths with their sizes and times.
    #[serde(skip)]
    pub fingerprint: u64,
    /// Warnings about this fact, such as entries hidden by assume-unchanged.
    #[serde(deserialize_with = "read_known_notes")]
    pub degraded: Vec<Degradation>,
}

impl Changes {
    /// How many paths are listed by name at most.
    pub const LISTED: usize = 1000;

    /// Whether anything is uncommitted. An operation in progress alone is not a change.
    pub fn any(&self) -> bool {
        self.total() > 0
    }

    /// Whether work of the session is uncommitted.
    pub fn work_left(&self) -> bool {
        self.work > 0
    }

    /// The one fact that an agent which believes to have committed must hear: where HEAD is, and a path that it lacks.
    pub fn not_committed(&self, commits: &Commits) -> Option<String> {
        let first = self.work_paths.first().filter(|_| self.work_left())?;
        let more = self.work.max(self.work_paths.len() as u64) - 1;
        let what = match more {
            0 => format!("`{first}` is not committed"),
            more => format!(
                "`{first}` and {} are not committed",
                plural(more, "more path")
            ),
        };
        // Without new commits HEAD differs from the baseline only if the history was rewritten.
        let at_baseline = commits.new_commits == 0
            && !commits
                .degraded
                .iter()
                .any(|note| note.code == WarningCode::HistoryRewritten);
        Some(if at_baseline {
            format!("HEAD is still the baseline; {what}")
        } else {
            what
        })
    }

    /// How many kinds of changes there are in all; a path that is both staged and unstaged counts twice.
    pub fn total(&self) -> u64 {
        self.staged + self.unstaged + self.untracked + self.conflicted
    }
}

/// How the process of a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl ProcessExit {
    /// Whether it returned 0.
    pub fn success(self) -> bool {
        self == ProcessExit::Code(0)
    }
}

impl std::fmt::Display for ProcessExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProcessExit::Code(code) => write!(f, "exit code {code}"),
            ProcessExit::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Why work has to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReason {
    /// `budget_exhausted`, `deadline_exceeded`, `halted` or `max_iterations`; never one of a complete.
    pub reason: super::verdict::Reason,
    /// A line for a person.
    pub why: String,
}

/// How a session ended, as `run` saw it. `check` knows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// It ended by itself.
    Ended {
        /// The code or signal, as the operating system reported it.
        exit: ProcessExit,
    },
    /// watchdog ended it at its timeout.
    TimedOut {
        /// The configured timeout, from the start of the session.
        after: Duration,
    },
    /// watchdog ended it because it fell silent for this long.
    Idle {
        /// How long nothing was printed.
        after: Duration,
    },
    /// It ended, and the last it said was that a usage limit is reached.
    RateLimited {
        /// The agent's words, for a person.
        why: String,
        /// When the limit resets, where those words say it.
        retry_at: Option<Timestamp>,
    },
    /// It reached a budget or the deadline, or watchdog ended it there.
    OverLimit {
        /// Which of the configured limits it was.
        stop: StopReason,
    },
    /// It ended by itself, and a background task that it named still runs.
    LeftWork {
        /// The code or signal, as the operating system reported it.
        exit: ProcessExit,
        /// The background work that was still found running, for a person.
        what: String,
    },
    /// It ended by itself before its work was done: its service failed, or a budget or turn limit of its own program ended it.
    CutShort {
        /// The code or signal, as the operating system reported it.
        exit: ProcessExit,
        /// The cause in the output of the session, for a person.
        why: String,
    },
    /// It ended, and the last it said was that its program cannot work: a login that is not valid, credit that is spent.
    Unrunnable {
        /// The agent's words, for a person.
        why: String,
    },
    /// It could not be started; `shortage` = the system had no room for it then, so that trying again may help.
    NotStarted {
        /// The operating system's error, for a person.
        why: String,
        /// Whether processes, threads, memory or file descriptors were used up.
        shortage: bool,
    },
    /// It was not started, because the snapshot of the uncommitted files failed.
    NotKept {
        /// Why the snapshot failed, for a person.
        why: String,
    },
}

/// Files that define completion and that changed since the anchor, committed or not. Changes of a mere pull do not
/// count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CriteriaChanged {
    /// Those that the configuration guards, sorted, percent-escaped where not UTF-8; at most [`CriteriaChanged::LISTED`].
    pub guarded: Vec<String>,
    /// How many guarded ones there are in all.
    pub guarded_total: usize,
    /// Those that criteria name and that are not guarded: lists, scripts.
    pub named: Vec<String>,
    /// The repository's own gates that are off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates_off: Vec<GateOff>,
    /// Whether the criteria rely on those.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub relies_on_gates: bool,
    /// The gates that are unknown, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates_unknown: Option<String>,
    /// Why the files are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_unread: Option<UnreadableFact>,
}

impl CriteriaChanged {
    /// How many guarded paths are listed by name at most.
    pub const LISTED: usize = 100;

    /// The first of the guarded ones by name, and how many more there are.
    pub fn guarded_words(&self) -> String {
        let shown = self.guarded.len().min(5);
        let more = match self.guarded_total.saturating_sub(shown) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", self.guarded[..shown].join(", "))
    }
}

/// A configured criterion, judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Its outcome when the work began, before anything was done.
    #[serde(default)]
    pub before: OutcomeBeforeWork,
    /// Whether an earlier pass with the same inputs answered.
    #[serde(default)]
    pub cached: bool,
    /// The tests that fail beside a pass, all of which failed when the work began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_failures: Vec<String>,
    /// Wall time that it took.
    #[serde(rename = "duration_ms", with = "super::millis")]
    pub duration: Duration,
    /// How strong a pass is.
    pub evidence: super::verdict::Evidence,
    /// The missing work, for the agent; on a pass the finding, which may be empty.
    #[serde(default, with = "empty_as_null")]
    pub feedback: String,
    /// Its name in the configuration, or its type.
    pub name: String,
    /// How it ended.
    pub outcome: CheckOutcome,
    /// Its reruns on mixed trees, where the session changed its tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<super::proof::CheckProof>,
    /// The test counts that its runner reports.
    pub tests: Option<TestCounts>,
    /// Whether a known runner showed that tests ran, and not how many: `go test`, a build without work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests_uncounted: bool,
    /// The tree that it ran on, where that was a scratch checkout.
    pub tree: Option<String>,
    /// Its type word.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A text that is null in JSON while it is empty.
mod empty_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        (!text.is_empty()).then_some(text).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or_default())
    }
}

/// The outcome of a check when the work began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeBeforeWork {
    /// It passed already: a pass is no evidence of the work.
    Passed,
    /// It was not met.
    Failed,
    /// Unknown.
    #[default]
    Unknown,
}

impl OutcomeBeforeWork {
    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            OutcomeBeforeWork::Passed => "passed",
            OutcomeBeforeWork::Failed => "failed",
            OutcomeBeforeWork::Unknown => "unknown",
        }
    }
}

/// The report of a test runner about its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TestCounts {
    /// Tests that failed.
    pub failed: u64,
    /// Tests that ran, failed ones included.
    pub ran: u64,
    /// Tests that were skipped or ignored.
    pub skipped: u64,
}

/// How one check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Met.
    Pass,
    /// Not met; the feedback names the missing work.
    Unmet,
    /// Cannot be met yet, because of work that runs outside of the session.
    Waiting,
    /// Could not be run at all; never a pass.
    Unrunnable,
    /// Ran without a result (its deadline passed, its output made no sense).
    Failed,
    /// Its deadline passed.
    TimedOut,
}

impl CheckOutcome {
    /// Every outcome.
    pub const ALL: [CheckOutcome; 6] = [
        CheckOutcome::Pass,
        CheckOutcome::Unmet,
        CheckOutcome::Waiting,
        CheckOutcome::Unrunnable,
        CheckOutcome::Failed,
        CheckOutcome::TimedOut,
    ];

    /// The word used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckOutcome::Pass => "pass",
            CheckOutcome::Unmet => "unmet",
            CheckOutcome::Waiting => "waiting",
            CheckOutcome::Unrunnable => "unrunnable",
            CheckOutcome::Failed => "failed",
            CheckOutcome::TimedOut => "timed_out",
        }
    }
}

/// A path that rescue left alone, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Percent-escaped where not UTF-8.
    pub path: String,
    /// Why.
    pub why: LeftOutReason,
}

/// The result of a rescue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RescueOutcome {
    /// How many commits HEAD gained by it.
    pub commits: u64,
    /// The names of the commits that it made on the current branch.
    pub made: Vec<String>,
    /// Whether a program or git refused, as opposed to having nothing to do. Holds the reason.
    pub failed: Option<String>,
    /// Paths of the snapshot that are neither in HEAD nor in the work tree any more.
    pub lost: Vec<String>,
    /// The branch, without `refs/heads/`, that took commits which may not go to the current one. They are not in `commits`.
    pub fallback_branch: Option<String>,
    /// The paths that it left out on purpose.
    pub left_out: Vec<LeftOut>,
    /// Things a person should know, such as a rescue command that is not there.
    #[serde(deserialize_with = "read_known_notes")]
    pub warnings: Vec<Degradation>,
    /// Why nothing was committed although it could have been: something may still live here.
    pub held_back: Option<HeldRescue>,
}

/// Signs of activity during a check; `None` = unreadable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ActivityFacts {
    /// Files of the worktree changed.
    pub worktree: Option<bool>,
    /// Processes of the session still run.
    pub processes: Option<bool>,
    /// The agent's transcript grew.
    pub transcript: Option<bool>,
}

impl ActivityFacts {
    /// The first kind of activity that was seen, named for the verdict.
    pub fn first_activity(&self) -> Option<&'static str> {
        [
            (self.worktree, "activity_in_worktree"),
            (self.processes, "activity_in_processes"),
            (self.transcript, "activity_in_transcript"),
        ]
        .into_iter()
        .find_map(|(seen, name)| (seen == Some(true)).then_some(name))
    }
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;

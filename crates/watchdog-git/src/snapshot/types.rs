//! The types of a request for a snapshot, and of its description.

use jiff::Timestamp;

use watchdog_facts::display::name_first;
use watchdog_facts::evidence::{LeftOut, LeftOutReason};

use crate::Error;

/// The metadata of a new snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotRequest<'a> {
    /// The name of the work; becomes a part of the ref's name.
    pub spec: &'a str,
    /// Now.
    pub at: Timestamp,
    /// Why it is taken, for a person, such as `before rescue`.
    pub why: &'a str,
    /// New files that are more than this together are left out, the largest first; `None` takes all.
    pub max_new_bytes: Option<u64>,
    /// Whether a clean worktree has one, too: it keeps the commits of HEAD.
    pub even_clean: bool,
}

/// A snapshot that was just taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The whole name of its ref.
    pub name: String,
    /// Its commit, hexadecimal.
    pub commit: String,
    /// The tree of the work, hexadecimal.
    pub tree: String,
    /// The commit that HEAD named, hexadecimal; `None` on an unborn branch.
    pub parent: Option<String>,
    /// Paths in it that differ from HEAD, deleted ones and ignored ones that are kept included.
    pub files: u64,
    /// Size of the files that differ, in bytes.
    pub bytes: u64,
    /// The paths that could not be stored, and why.
    pub left_out: Vec<LeftOut>,
    /// Those of them whose disk failed, each with the error of the operating system. Files without
    /// permission are not among them.
    pub failed_reads: Vec<(String, String)>,
    /// When it was taken.
    pub at: Timestamp,
    /// The newest snapshot of the spec held this very state, so that no new one was needed.
    pub reused: bool,
}

impl Snapshot {
    /// Refuses a snapshot that misses files for another reason than missing rights: before a program starts that may destroy them, they
    /// were there to be kept.
    ///
    /// # Errors
    /// Names the first such file and its error.
    pub fn require_all_read(&self) -> Result<(), Error> {
        let Some((_, error)) = self.failed_reads.first() else {
            return Ok(());
        };
        let quote = |(path, _): &(String, String)| format!("'{path}'");
        let paths: Vec<String> = self.failed_reads.iter().map(quote).collect();
        Err(Error::read_failure(
            format!("read {}", name_first(&paths, 1)),
            error.clone(),
        ))
    }

    /// Whether some files could not be read, for whatever reason.
    pub fn misses_files(&self) -> bool {
        self.left_out
            .iter()
            .any(|skipped| skipped.why == LeftOutReason::Unreadable)
    }

    /// The new files beyond the request's [`SnapshotRequest::max_new_bytes`].
    pub fn over_limit(&self) -> impl Iterator<Item = &str> {
        self.left_out
            .iter()
            .filter(|skipped| skipped.why == LeftOutReason::TooLarge)
            .map(|skipped| skipped.path.as_str())
    }

    /// The paths that this user may not read, so that no snapshot can have them.
    pub fn denied_paths(&self) -> impl Iterator<Item = &str> {
        let failed = |path: &str| self.failed_reads.iter().any(|(one, _)| one == path);
        let unreadable = self
            .left_out
            .iter()
            .filter(|skipped| skipped.why == LeftOutReason::Unreadable);
        unreadable
            .map(|skipped| skipped.path.as_str())
            .filter(move |path| !failed(path))
    }
}

/// Any stored snapshot, as its commit describes it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SnapshotSummary {
    /// The whole name of its ref.
    #[serde(rename = "ref")]
    pub name: String,
    /// The part behind `refs/watchdog/rescue/`: its name on the command line.
    pub id: String,
    /// Its commit, hexadecimal.
    pub commit: String,
    /// The name of the work.
    pub spec: String,
    /// When it was taken.
    pub at: Timestamp,
    /// Why it was taken.
    pub why: String,
    /// The commit that HEAD named, hexadecimal; `None` on an unborn branch.
    pub base: Option<String>,
    /// The branch of that moment; `None` when detached.
    pub branch: Option<String>,
    /// The top folder of the worktree that it was taken of.
    pub worktree: String,
    /// Paths in it that differ from the commit of that moment.
    pub files: u64,
    /// Size of the files that differ, in bytes.
    pub bytes: u64,
    /// The number of private files, which are in a ref of their own that is never merged or pushed.
    pub private_files: u64,
}

/// A changed file, to be judged whether it may be in a snapshot that can be shared.
pub struct SnapshotCandidate<'a> {
    /// Percent-escaped where not UTF-8.
    pub path: &'a str,
    /// Its size.
    pub bytes: u64,
    /// git ignores it: it can only be in the private part, and is no part of the work.
    pub ignored: bool,
    /// It is a folder that git ignores: the rule selects it where files below it may be selected.
    pub folder: bool,
    /// Only rules ignore it that are newer than the baseline.
    pub newly_ignored: bool,
    /// Reads all of it; `None` where it cannot be read. A symlink's content is its target.
    pub content: &'a dyn Fn() -> Option<Vec<u8>>,
    /// Reads what HEAD has at this path; `None` where it has no such file, or it cannot be read.
    pub committed: &'a dyn Fn() -> Option<Vec<u8>>,
    /// The files of this snapshot, and those that it removes, whose name alone makes them secrets.
    pub secrets: &'a [SecretFile],
}

/// A file that the rule calls a secret without having seen its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFile {
    /// Percent-escaped where not UTF-8.
    pub path: String,
    /// All of it.
    pub content: Vec<u8>,
}

/// The reason for storing a changed or ignored file in the private part; `None` for the public part.
pub type PrivacyClassifier<'a> = &'a dyn Fn(&SnapshotCandidate<'_>) -> Option<&'static str>;

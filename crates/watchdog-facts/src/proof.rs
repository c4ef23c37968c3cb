//! How a suite ends on trees that mix old and new files, where the session changed its tests.

use serde::{Deserialize, Serialize};

/// How a check ended in a scratch checkout of a mixed tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RerunOutcome {
    /// It passed.
    Pass,
    /// It failed, and its control shows that the mixed files are the cause.
    Fail,
    /// It ended in no way that its control confirms.
    Unknown,
    /// It was not tried.
    #[default]
    NotRun,
}

/// The reruns of a check that passed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckProof {
    /// The judged tree with the judging files as they were when the work began.
    pub old_tests: RerunOutcome,
    /// The tree of when the work began, with the judging files as they are now.
    pub new_tests: RerunOutcome,
    /// The judged tree with one more test that must fail: `fail` where it does.
    #[serde(default)]
    pub canary: RerunOutcome,
    /// The judging files that the session changed, sorted; at most [`CheckProof::LISTED`].
    pub judging_files: Vec<String>,
    /// The tests, or the files, by which the session weakened what judges it; empty where it did not.
    pub weakened: Vec<String>,
    /// The hidden checks that did not pass, each a sentence without a word of its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why an outcome is unknown, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl CheckProof {
    /// How many files or tests are listed by name at most.
    pub const LISTED: usize = 20;
}

/// The word of a check's owner about changed expectations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestChanges {
    /// The task changes what the tests expect.
    Expected,
    /// No old test may fail.
    Refused,
}

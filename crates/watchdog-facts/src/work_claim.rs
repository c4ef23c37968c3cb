//! A claim of a session's last words about its work, held against the facts.

use serde::{Deserialize, Serialize};

use super::word_table::word_table;

word_table! {
    /// The state of a claim beside the facts.
    enum ClaimState;

    /// A fact bears it out, and none speaks against it.
    Held = "held",
    /// A fact excludes it.
    Contradicted = "contradicted",
    /// No fact decides.
    Unproved = "unproved",
}

word_table! {
    /// A claim that git or the session's own commands can bear out.
    enum WorkClaim;

    /// The work is committed.
    Committed = "committed",
    /// The work tree is clean.
    CleanTree = "clean_tree",
    /// The commits are on a remote.
    Pushed = "pushed",
    /// The tests passed.
    TestsPassed = "tests_passed",
    /// The build passed.
    BuildPassed = "build_passed",
    /// The linter passed.
    LintPassed = "lint_passed",
    /// A pull request was opened.
    PullRequest = "pull_request",
    /// A file was written.
    FileWritten = "file_written",
    /// No work is left.
    NothingLeft = "nothing_left",
}

/// A claim with the fact that decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedClaim {
    /// Its kind, such as `pushed`.
    pub claim: String,
    /// Whether the facts bear it out.
    pub state: ClaimState,
    /// A sentence without an end; empty where the claim holds.
    pub fact: String,
    /// The agent's own words, cut.
    pub quote: String,
}

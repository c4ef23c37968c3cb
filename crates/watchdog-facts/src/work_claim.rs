//! Claims of an agent's last words about its work, and their states beside the facts.

use serde::{Deserialize, Serialize};

use super::word_table::word_table;

word_table! {
    /// A claim that git or the session's own commands can bear out.
    enum WorkClaim;
    /// The work is committed.
    Committed = "committed",
    /// The commits are on a remote.
    Pushed = "pushed",
    /// The tests passed.
    TestsPassed = "tests_passed",
    /// The build passed.
    BuildPassed = "build_passed",
    /// The linter passed.
    LintPassed = "lint_passed",
    /// A pull request was opened.
    PullRequestOpened = "pull_request_opened",
    /// A file was written.
    FileWritten = "file_written",
    /// All of the work is done.
    NothingLeft = "nothing_left",
}

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

/// A claim beside the fact that decides about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedClaim {
    /// The claim.
    pub claim: WorkClaim,
    /// Its state.
    pub state: ClaimState,
    /// The fact, in a sentence without an end.
    pub fact: String,
}

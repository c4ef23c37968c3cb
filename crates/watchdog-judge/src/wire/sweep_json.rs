//! The rows of a sweep that were not judged, as JSON. See `docs/sweep.md`.

use std::path::Path;

use serde::Serialize;

/// Why a worktree of a sweep was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotJudged {
    /// No baseline is recorded.
    NoBaseline,
    /// The worktree is unchanged since its baseline.
    Untouched,
    /// Its folder is gone.
    Gone,
}

impl NotJudged {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            NotJudged::NoBaseline => "no_baseline",
            NotJudged::Untouched => "untouched",
            NotJudged::Gone => "gone",
        }
    }
}

/// A worktree that was not judged, on one line: those keys of a verdict that mean something, in its order.
pub fn not_judged_line(worktree: &Path, why: NotJudged, message: &str) -> String {
    #[derive(Serialize)]
    struct NotJudgedView<'a> {
        schema: u64,
        status: (),
        reason: (),
        complete: bool,
        evidence: &'static str,
        message: &'a str,
        worktree: String,
        not_judged: &'static str,
    }
    let view = NotJudgedView {
        schema: 1,
        status: (),
        reason: (),
        complete: false,
        evidence: "none",
        message,
        worktree: worktree.display().to_string(),
        not_judged: why.as_str(),
    };
    serde_json::to_string(&view).unwrap_or_default()
}

//! The rows of a sweep as JSON, and what is read of the verdict that an earlier sweep left. See `docs/sweep.md`.

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_facts::verdict::Reason;

/// The key of a kept verdict about a worktree in which nothing happened.
const UNTOUCHED: &str = "untouched";

/// Why a worktree of a sweep was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotJudged {
    /// No baseline is recorded.
    NoBaseline,
    /// Nothing happened since its baseline.
    Untouched,
    /// Its folder is gone.
    Gone,
}

impl NotJudged {
    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            NotJudged::NoBaseline => "no_baseline",
            NotJudged::Untouched => UNTOUCHED,
            NotJudged::Gone => "gone",
        }
    }
}

/// A worktree that was not judged: those keys of a verdict that mean something.
pub fn not_judged_json(worktree: &Path, why: NotJudged, message: &str) -> Value {
    json!({
        "schema": 1,
        "status": null,
        "reason": null,
        "not_judged": why.as_str(),
        "complete": false,
        "evidence": "none",
        "message": message,
        "worktree": worktree.display().to_string(),
    })
}

/// The verdict of an earlier sweep, given once more: since when it stands, and without the time that it took. `None` where it is no
/// object.
pub fn unchanged_verdict_json(mut verdict: Value, since: Timestamp) -> Option<Value> {
    let fields = verdict.as_object_mut()?;
    fields.insert("unchanged_since".into(), json!(since.to_string()));
    fields.insert("duration_ms".into(), json!(0));
    Some(verdict)
}

/// The verdict of a worktree in which nothing happened since its baseline, to be kept for a later sweep.
pub fn untouched_json(mut verdict: Value) -> Value {
    verdict[UNTOUCHED] = json!(true);
    verdict
}

/// Whether it is such a verdict.
pub fn is_untouched_json(verdict: &Value) -> bool {
    verdict[UNTOUCHED] == true
}

/// What is read of the verdict of an earlier sweep. What it does not have is `None`, or an empty text.
pub struct EarlierVerdict<'a> {
    /// The reason, where this version knows it.
    pub reason: Option<Reason>,
    /// The name of the work.
    pub spec: Option<&'a str>,
    /// Commits made here.
    pub commits: Option<u64>,
    /// Uncommitted changes.
    pub left: Option<u64>,
    /// The message.
    pub message: &'a str,
}

/// Reads the verdict of an earlier sweep.
pub fn earlier_verdict(verdict: &Value) -> EarlierVerdict<'_> {
    let word = verdict["reason"].as_str().unwrap_or_default();
    let changes = &verdict["changes"];
    let total = || {
        ["staged", "unstaged", "untracked", "conflicted"]
            .iter()
            .filter_map(|kind| changes[*kind].as_u64())
            .sum()
    };
    EarlierVerdict {
        reason: Reason::ALL
            .iter()
            .copied()
            .find(|reason| reason.as_str() == word),
        spec: verdict["spec"].as_str(),
        commits: verdict["made_here"].as_u64(),
        left: changes.is_object().then(total),
        message: verdict["message"].as_str().unwrap_or_default(),
    }
}

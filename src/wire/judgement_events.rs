//! The `data` of the events that a judgement writes: what it read, what it took and what it did. See `docs/events.md`.

use serde_json::{Value, json};

use watchdog_facts::evidence::{Changes, CheckResult, Commits, CriteriaChanged, RescueOutcome};
use watchdog_git::{HistoryPoint, SnapshotSummary};

use super::verdict_json::left_out_json;

/// How many snapshots one event names.
const NAMED: usize = 50;

/// The commit, or `unborn`, from which the work is judged.
pub fn baseline_data(point: &HistoryPoint) -> Value {
    json!({"baseline": point.as_str()})
}

/// Commits that were looked at.
pub fn commits_data(commits: &Commits) -> Value {
    json!({
        "head": commits.head,
        "new_commits": commits.new_commits,
        "made_here": commits.made_here,
        "imported": commits.imported,
        "net_change": commits.net_change,
    })
}

/// Uncommitted changes that were looked at.
pub fn changes_data(changes: &Changes) -> Value {
    json!({
        "staged": changes.staged,
        "unstaged": changes.unstaged,
        "untracked": changes.untracked,
        "conflicted": changes.conflicted,
    })
}

/// A snapshot of the worktree that is judged.
pub fn snapshot_data(name: &str) -> Value {
    json!({"ref": name})
}

/// A snapshot of what a helper left in a worktree of its own.
pub fn helper_snapshot_data(name: &str, commit: &str) -> Value {
    json!({"ref": name, "commit": commit})
}

/// Old snapshots that were deleted, and the age from which they are.
pub fn expired_data(dropped: &[SnapshotSummary], older_than_days: u32) -> Value {
    let named = dropped.iter().take(NAMED).map(|info| json!({"ref": info.name, "commit": info.commit}));
    json!({"count": dropped.len(), "older_than_days": older_than_days, "snapshots": named.collect::<Vec<_>>()})
}

/// A fact that could not be read.
pub fn degraded_data(why: &str) -> Value {
    json!({"why": why})
}

/// Files that say what done means, and that changed.
pub fn criteria_changed_data(changed: &CriteriaChanged) -> Value {
    json!({"guarded": changed.guarded, "guarded_total": changed.guarded_total, "named": changed.named})
}

/// A check that was judged.
pub fn check_data(check: &CheckResult) -> Value {
    json!({"name": check.name, "type": check.kind, "outcome": check.outcome.as_str()})
}

/// A rescue of the machine.
pub fn rescue_data(outcome: &RescueOutcome) -> Value {
    json!({
        "commits": outcome.commits,
        "branch": outcome.fallback_branch,
        "failed": outcome.failed,
        "lost": outcome.lost,
        "left_out": outcome.left_out.iter().map(left_out_json).collect::<Vec<_>>(),
    })
}

/// A rescue that a person asked for.
pub fn manual_rescue_data(snapshot: &str, outcome: &RescueOutcome) -> Value {
    json!({"snapshot": snapshot, "commits": outcome.commits, "branch": outcome.fallback_branch, "failed": outcome.failed})
}

/// A signal that ended watchdog; there is nothing else to say of it.
pub fn interrupted_data() -> Value {
    json!({})
}

//! A rescue that a person asked for as JSON: the output of `watchdog rescue`.

use serde_json::{Value, json};

use watchdog_facts::evidence::{LeftOut, RescueOutcome};

use super::snapshot_json::{LISTED, list_first};

/// `watchdog rescue --dry-run --json`: what would be committed, what would stay out, and why nothing would be committed.
pub fn rescue_preview_json(
    chosen: &[String],
    left_out: &[LeftOut],
    refused: Option<&str>,
) -> Value {
    json!({
        "schema": 1,
        "dry_run": true,
        "would_commit": chosen.iter().take(LISTED).collect::<Vec<_>>(),
        "would_commit_count": chosen.len(),
        "left_out": list_first(left_out),
        "left_out_count": left_out.len(),
        "refused": refused,
    })
}

/// Writes the outcome of a rescue. `restore` is the command that brings everything back; without changes there is no snapshot.
pub fn rescued_json(
    snapshot: Option<&str>,
    outcome: &RescueOutcome,
    restore: Option<&str>,
) -> Value {
    json!({
        "schema": 1,
        "snapshot": snapshot,
        "commits": outcome.commits,
        "branch": outcome.fallback_branch,
        "failed": outcome.failed,
        "held_back": outcome.held_back.as_ref().map(|hold| &hold.why),
        "lost": outcome.lost,
        "left_out": list_first(&outcome.left_out),
        "left_out_count": outcome.left_out.len(),
        "warnings": outcome.warnings,
        "restore": restore,
    })
}

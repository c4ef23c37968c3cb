//! The `data` of the events that a judgement writes: what it read, what it took and what it did. See `docs/events.md`.

use serde_json::{Value, json};

use jiff::SignedDuration;
use watchdog_core::decision::machine::MachineEvent;
use watchdog_core::decision::record::{JudgementRecord, bound_probe, bound_rescue};
use watchdog_facts::evidence::{CheckResult, RescueOutcome};
use watchdog_facts::verdict::ProbeRecord;
use watchdog_git::{HistoryPoint, SnapshotSummary};
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;
use watchdog_store::verdict_parts::{ProbeView, as_json, rescue_data, select_members};

use super::verdict_json::RECORD;

/// Between a verdict's id and the number of an event that its row holds; no id that is written has it.
const WITHIN: char = '.';
/// How many snapshots one event names.
const NAMED: usize = 50;

/// The commit, or `unborn`, from which the work is judged.
pub fn baseline_data(point: &HistoryPoint) -> Value {
    json!({"baseline": point.as_str()})
}

/// A snapshot of the worktree that is judged.
pub fn snapshot_data(name: &str) -> Value {
    json!({"ref": name})
}

/// A snapshot with its commit: of a helper's worktree, or one that a person dropped.
pub fn snapshot_commit_data(name: &str, commit: &str) -> Value {
    json!({"ref": name, "commit": commit})
}

/// Old snapshots that were deleted, and the age from which they are.
pub fn expired_data(dropped: &[SnapshotSummary], older_than_days: u32) -> Value {
    let named = dropped
        .iter()
        .take(NAMED)
        .map(|info| snapshot_commit_data(&info.name, &info.commit));
    json!({"count": dropped.len(), "older_than_days": older_than_days, "snapshots": named.collect::<Vec<_>>()})
}

/// A check that was judged.
pub fn check_data(check: &CheckResult) -> Value {
    select_members(check, &["name", "type", "outcome"])
}

/// A question and what came of it, to be written.
pub fn probe_row(record: &ProbeRecord) -> Value {
    as_json(ProbeView::from(&bound_probe(record)))
}

/// A rescue of the machine, to be written.
pub fn rescue_row(outcome: &RescueOutcome) -> Value {
    rescue_data(&bound_rescue(outcome))
}

/// The events for what was only read: kind and `data` of each.
pub fn read_data(event: &MachineEvent) -> Vec<(&'static str, Value)> {
    match event {
        MachineEvent::Commits(Ok(commits)) => {
            let keys = [
                "head",
                "new_commits",
                "made_here",
                "imported",
                "net_change",
                "brought",
            ];
            vec![(kind::COMMITS, select_members(commits, &keys))]
        }
        MachineEvent::Changes(Ok(changes)) => {
            let keys = ["staged", "unstaged", "untracked", "conflicted"];
            vec![(kind::CHANGES, select_members(changes, &keys))]
        }
        MachineEvent::Commits(Err(unreadable))
        | MachineEvent::Changes(Err(unreadable))
        | MachineEvent::Snapshot(Err(unreadable))
        | MachineEvent::Criteria(Err(unreadable))
        | MachineEvent::Rescue(Err(unreadable)) => {
            vec![(kind::DEGRADED, json!({"why": unreadable.why}))]
        }
        MachineEvent::Criteria(Ok(changed)) if changed.guarded_total + changed.named.len() > 0 => {
            let keys = ["guarded", "guarded_total", "named"];
            vec![(kind::CRITERIA_CHANGED, select_members(changed, &keys))]
        }
        MachineEvent::Checks(judged) => judged
            .results
            .iter()
            .map(|check| (kind::CHECK, check_data(check)))
            .collect(),
        _ => Vec::new(),
    }
}

/// An event, and before it those that its row holds.
pub fn with_those_within(event: StoredEvent) -> Vec<StoredEvent> {
    let mut events = if event.kind == kind::VERDICT {
        events_within(&event)
    } else {
        Vec::new()
    };
    events.push(event);
    events
}

/// Whether an event is held by the row of its verdict.
pub fn is_within(event: &StoredEvent) -> bool {
    event.id.contains(WITHIN)
}

/// The events that the row of a verdict holds: what was only read, at the time of each. Their ids are that of the verdict with a number.
pub fn events_within(verdict: &StoredEvent) -> Vec<StoredEvent> {
    let Ok(record) = JudgementRecord::from_json(&verdict.data[RECORD]) else {
        return Vec::new();
    };
    // A verdict's own duration counts its session, too.
    let took = record
        .steps
        .last()
        .map_or(0, |step| i64::try_from(step.after_ms).unwrap_or(0));
    let begun = verdict
        .at
        .checked_sub(SignedDuration::from_millis(took))
        .unwrap_or(verdict.at);
    let mut open_paths = Vec::new();
    for step in &record.steps {
        let after = SignedDuration::from_millis(i64::try_from(step.after_ms).unwrap_or(i64::MAX));
        for (kind, data) in step.event.iter().flat_map(read_data) {
            open_paths.push(StoredEvent {
                id: format!("{}{WITHIN}{}", verdict.id, open_paths.len()),
                at: begun
                    .checked_add(after)
                    .map_or(verdict.at, |at| at.min(verdict.at)),
                kind: kind.to_owned(),
                data,
                ..verdict.clone()
            });
        }
    }
    open_paths
}

/// A rescue that a person asked for.
pub fn manual_rescue_data(snapshot: &str, outcome: &RescueOutcome) -> Value {
    json!({"snapshot": snapshot, "commits": outcome.commits, "branch": outcome.fallback_branch, "failed": outcome.failed})
}

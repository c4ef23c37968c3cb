//! The parts of a verdict that its row keeps once, as facts, in the JSON that readers know: what `watchdog_store` puts together again. The
//! verdict itself, and everything else that is printed, is shaped in `wire`.

use std::time::Duration;

use serde_json::{Value, json};

use watchdog_facts::evidence::{
    Changes, CheckResult, CommitOrigin, Commits, Degradation, LeftOut, ProbeOutcome, Reply,
    RescueOutcome,
};
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage};

/// The commits of a verdict.
pub fn commits_json(commits: &Commits) -> Vec<Value> {
    let origin = |origin| match origin {
        CommitOrigin::MadeHere => "made_here",
        CommitOrigin::Imported => "imported",
        CommitOrigin::Rescued => "rescued",
    };
    commits.listed.iter().map(|commit| json!({"id": commit.id, "subject": commit.subject, "origin": origin(commit.origin)})).collect()
}

/// The uncommitted changes of a verdict.
pub fn changes_json(changes: &Changes) -> Value {
    json!({
        "staged": changes.staged,
        "unstaged": changes.unstaged,
        "untracked": changes.untracked,
        "conflicted": changes.conflicted,
        "operation": changes.operation.map(|operation| operation.as_str()),
        "paths": changes.paths,
    })
}

/// A path that a rescue or a snapshot left out, and why.
pub fn left_out_json(left_out: &LeftOut) -> Value {
    json!({"path": left_out.path, "why": left_out.why.as_str()})
}

/// A warning beside a result.
pub fn note_json(note: &Degradation) -> Value {
    json!({"code": note.code.as_str(), "detail": note.detail})
}

/// A probe, as in `probes` of a verdict.
pub fn probe_json(record: &ProbeRecord) -> Value {
    json!({
        "at": record.at.to_string(),
        "duration_ms": millis(record.duration),
        "outcome": record.outcome.as_str(),
        "reply": reply_of(&record.outcome).map(reply_json),
        "why": record.outcome.why(),
        "retry_at": retry_at_of(&record.outcome),
        "disputed": record.disputed,
        "session_id": record.session_id,
        "usage": usage_json(&record.usage),
    })
}

/// When a usage limit ends, where the agent told that.
pub fn retry_at_of(outcome: &ProbeOutcome) -> Option<String> {
    match outcome {
        ProbeOutcome::RateLimited { retry_at, .. } => retry_at.map(|at| at.to_string()),
        _ => None,
    }
}

/// Cost of questions, as in `probe_usage` of a verdict. Figures that the agent does not report are
/// null.
pub fn usage_json(usage: &ProbeUsage) -> Value {
    json!({
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    })
}

/// The reply of a probe, if it brought one.
pub fn reply_of(outcome: &ProbeOutcome) -> Option<&Reply> {
    match outcome {
        ProbeOutcome::Reply(reply) => Some(reply),
        _ => None,
    }
}

/// A reply with the field names of the question.
pub fn reply_json(reply: &Reply) -> Value {
    json!({
        "status": reply.status.as_str(),
        "message": reply.message,
        "agents_active": reply.agents_active,
        "agents_details": reply.agents_details,
        "tasks_completed": reply.tasks_completed,
        "tasks_pending": reply.tasks_pending,
        "commits_made": reply.commits_made,
        "should_continue": reply.should_continue,
        "next_action": reply.next_action,
    })
}

/// A check of a verdict.
pub fn check_json(check: &CheckResult) -> Value {
    json!({
        "name": check.name,
        "type": check.kind,
        "outcome": check.outcome.as_str(),
        "evidence": check.evidence.as_str(),
        "feedback": (!check.feedback.is_empty()).then_some(&check.feedback),
        "duration_ms": millis(check.duration),
        "cached": check.cached,
        "before": check.before.as_str(),
        "tests": check.tests.map(|tests| json!({"ran": tests.ran, "failed": tests.failed, "skipped": tests.skipped})),
        "tree": check.tree,
    })
}

/// Whole milliseconds, saturating.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A rescue of a judgement, as its event has it.
pub fn rescue_data(outcome: &RescueOutcome) -> Value {
    json!({
        "commits": outcome.commits,
        "branch": outcome.fallback_branch,
        "failed": outcome.failed,
        "lost": outcome.lost,
        "left_out": outcome.left_out.iter().map(left_out_json).collect::<Vec<_>>(),
    })
}

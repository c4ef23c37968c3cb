//! The JSON of a verdict: one object, `schema` 1. Fields may be added; none changes its meaning.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_core::decision::breaker::BreakerView;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::evidence::{Changes, CheckResult, Commits, Degradation, LeftOut, ProbeOutcome, Reply};
use watchdog_facts::secret_shapes::mask_value;
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage, Reason, Status, Verdict};

use super::breaker_json::breaker_json;
use super::loop_json::loop_json;

/// A verdict with its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The judgement itself.
    pub verdict: Verdict,
    /// The worktree's top folder, or the requested path where there is none.
    pub worktree: String,
    /// The name of the work.
    pub spec: Option<String>,
    /// The branch, where HEAD is on one.
    pub branch: Option<String>,
    /// Full hexadecimal name, or `unborn`.
    pub baseline: Option<String>,
    /// The breaker after this verdict.
    pub breaker: Option<BreakerView>,
    /// The session's log file, where watchdog ran it.
    pub log: Option<String>,
    /// The session that the judgement is about, where one is known.
    pub session: Option<JudgedSession>,
    /// The processes that outlived the session's own end.
    pub survivors: Vec<OutlivedProcess>,
    /// The loop that it ends, where it does.
    pub looped: Option<EndedLoop>,
    /// Wall time of the whole judgement.
    pub duration: Duration,
}

/// A process that outlived its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlivedProcess {
    /// Its name and number.
    pub shown: String,
    /// Whether it still ran when the judgement ended.
    pub still_runs: bool,
}

/// The session in a verdict: the one that probes ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedSession {
    /// The agent's own name for it, where it is known.
    pub id: Option<String>,
    /// How it is known: `output`, `hook`, `transcript`, or `latest` where the session is unknown.
    pub known_by: &'static str,
    /// For how long it has been silent, in whole seconds, where that was checked.
    pub idle_seconds: Option<u64>,
}

/// The loop that a verdict ends.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedLoop {
    /// Iterations that ended, earlier processes of the same loop included.
    pub iterations: u32,
    /// Its id, unlike that of the previous loop.
    pub id: String,
    /// When it began.
    pub begun_at: Timestamp,
    /// Its last iterations, oldest first.
    pub history: Vec<IterationRecord>,
    /// The usage of all of its sessions.
    pub spent: SpentUsage,
    /// The commit, or `unborn`, at which it began.
    pub first_baseline: String,
    /// Whether an earlier process began it.
    pub resumed: bool,
    /// Whether it is over, so that the next call begins another.
    pub over: bool,
}

impl Judgement {
    /// The exit code that goes with it: the status's, but for a bad configuration file, which is wrong usage.
    pub fn exit_code(&self) -> u8 {
        match self.verdict.reason {
            Reason::ConfigError => 2,
            reason => reason.status().exit_code(),
        }
    }

    /// The object of the contract.
    pub fn to_json(&self) -> Value {
        let verdict = &self.verdict;
        let commits = verdict.commits.as_ref();
        let head = commits.map(|commits| commits.head.clone().unwrap_or_else(|| "unborn".into()));
        let mut object = json!({
            "schema": 1,
            "status": verdict.status().as_str(),
            "reason": verdict.reason.as_str(),
            "complete": verdict.status() == Status::Complete,
            "evidence": verdict.evidence.as_str(),
            "message": verdict.message,
            "feedback": verdict.feedback,
            "retry_at": verdict.retry_at.map(|at| at.to_string()),
            "worktree": self.worktree,
            "spec": self.spec,
            "branch": self.branch,
            "baseline": self.baseline,
            "head": head,
            "new_commits": commits.map(|commits| commits.new_commits),
            "made_here": commits.map(|commits| commits.made_here),
            "imported_commits": commits.map(|commits| commits.imported),
            "net_change": commits.map(|commits| commits.net_change),
            "commits": commits.map(commits_json).unwrap_or_default(),
            "changes": verdict.changes.as_ref().map(changes_json),
            "rescued": verdict.rescue_commits > 0,
            "rescue": rescue_json(verdict),
            "probes_used": verdict.probes_used,
            "probes": verdict.probes.iter().map(probe_json).collect::<Vec<_>>(),
            "checks": verdict.checks.iter().map(check_json).collect::<Vec<_>>(),
            "session": self.session.as_ref().map(session_json),
            "inherited": verdict.inherited,
            "changed_since_end": verdict.changed_since_end,
            "unchanged_since": verdict.unchanged_since.map(|at| at.to_string()),
            "helpers": verdict.helpers,
            "probe_usage": usage_json(&verdict.probe_usage),
            "strike": verdict.strike,
            "not_a_strike_because": verdict.not_a_strike_because,
            "breaker": self.breaker.as_ref().map(breaker_json),
            "degraded": verdict.degraded.iter().map(|note| note.code.as_str()).collect::<Vec<_>>(),
            "notes": verdict.degraded.iter().map(note_json).collect::<Vec<_>>(),
            "log": self.log,
            "survivors": self.survivors.iter().map(|left| &left.shown).collect::<Vec<_>>(),
            "duration_ms": millis(self.duration),
        });
        if let Some(looped) = &self.looped {
            object["iterations"] = json!(looped.iterations);
            object["loop"] = loop_json(looped);
        }
        mask_value(&mut object);
        object
    }
}

fn session_json(session: &JudgedSession) -> Value {
    json!({"id": session.id, "known_by": session.known_by, "idle_seconds": session.idle_seconds})
}

fn commits_json(commits: &Commits) -> Vec<Value> {
    let origin = |origin| match origin {
        watchdog_facts::evidence::CommitOrigin::MadeHere => "made_here",
        watchdog_facts::evidence::CommitOrigin::Imported => "imported",
        watchdog_facts::evidence::CommitOrigin::Rescued => "rescued",
    };
    commits.listed.iter().map(|commit| json!({"id": commit.id, "subject": commit.subject, "origin": origin(commit.origin)})).collect()
}

fn changes_json(changes: &Changes) -> Value {
    json!({
        "staged": changes.staged,
        "unstaged": changes.unstaged,
        "untracked": changes.untracked,
        "conflicted": changes.conflicted,
        "operation": changes.operation.map(|operation| operation.as_str()),
        "paths": changes.paths,
    })
}

fn rescue_json(verdict: &Verdict) -> Value {
    if verdict.snapshot.is_none() && verdict.rescue_commits == 0 && verdict.left_out.is_empty() {
        return Value::Null;
    }
    json!({
        "snapshot": verdict.snapshot,
        "commits": verdict.rescue_commits,
        "branch": verdict.rescue_branch,
        "left_out": verdict.left_out.iter().map(left_out_json).collect::<Vec<_>>(),
    })
}

/// What a rescue or a snapshot left alone, and why.
pub fn left_out_json(left: &LeftOut) -> Value {
    json!({"path": left.path, "why": left.why.as_str()})
}

/// What a person should know beside a result.
pub fn note_json(note: &Degradation) -> Value {
    json!({"code": note.code.as_str(), "detail": note.detail})
}

/// One probe, as in `probes` of a verdict.
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
pub(super) fn retry_at_of(outcome: &ProbeOutcome) -> Option<String> {
    match outcome {
        ProbeOutcome::RateLimited { retry_at, .. } => retry_at.map(|at| at.to_string()),
        _ => None,
    }
}

/// What questions cost, as in `probe_usage` of a verdict. Figures that the agent does not report are null.
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

fn check_json(check: &CheckResult) -> Value {
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

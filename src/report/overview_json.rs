//! The overview as programs read it: the words and fields of a verdict where they mean the same. See `docs/status.md`.

use serde_json::{Value, json};

use super::overview::{RecordedBreaker, StatusOverview, StatusRow};
use crate::modes::live_session::LiveSession;
use watchdog_facts::verdict::Status;
use watchdog_store::lock::LockHolder;
use watchdog_store::looped::LoopRecord;
use watchdog_store::session::SessionRecord;

/// The fields that are copied from the last verdict.
const OF_THE_VERDICT: [&str; 7] = ["reason", "complete", "evidence", "message", "retry_at", "head", "new_commits"];

impl StatusOverview {
    /// One object with every row that `shown` lets through.
    pub fn to_json(&self, shown: impl Fn(&StatusRow) -> bool) -> Value {
        let rows: Vec<Value> = self.rows.iter().filter(|row| shown(row)).map(row_json).collect();
        json!({"schema": 1, "worktrees": rows, "notes": self.notes})
    }
}

fn row_json(row: &StatusRow) -> Value {
    let mut object = json!({
        "worktree": row.worktree.display().to_string(),
        "spec": row.spec,
        "branch": row.branch,
        "baseline": row.baseline.as_deref().unwrap_or("unborn"),
        "baseline_at": row.baseline_at.to_string(),
        "gone": row.gone,
        "broken": row.broken,
        "needs_person": row.needs_person(),
        "running": row.runs(),
        "status": row.verdict.as_ref().and_then(|verdict| verdict.status).map(Status::as_str),
        "judged_at": row.verdict.as_ref().map(|verdict| verdict.at.to_string()),
        "judged_since_baseline": row.is_judged(),
        "session": row.session.as_ref().map(|session| session_json(session, row.live)),
        "loop": row.looped.as_ref().map(|looped| loop_json(looped, row.loops())),
        "lock": row.holder.as_ref().map(holder_json),
        "breaker": breaker_json(&row.breaker),
    });
    for key in OF_THE_VERDICT {
        object[key] = row.verdict.as_ref().map_or(Value::Null, |verdict| verdict.object[key].clone());
    }
    // Nothing that was not judged is complete, and a verdict on earlier work says nothing of this one.
    object["complete"] = json!(object["complete"] == true && row.is_judged());
    object
}

fn session_json(session: &SessionRecord, live: Option<LiveSession>) -> Value {
    json!({
        "pid": session.pid,
        "session_id": session.session_id,
        "since": session.started_at.to_string(),
        "log": session.log.as_ref().map(|log| log.display().to_string()),
        "state": live.map(|live| live.doing.as_str()),
        "idle_seconds": live.and_then(|live| live.idle).map(|idle| idle.as_secs()),
    })
}

fn loop_json(looped: &LoopRecord, running: bool) -> Value {
    json!({
        "iteration": looped.iteration(),
        "max_iterations": looped.at_most,
        "begun_at": looped.begun_at.to_string(),
        "running": running,
    })
}

fn holder_json(holder: &LockHolder) -> Value {
    json!({"pid": holder.pid, "command": holder.command, "since": holder.since.to_string(), "session_active": holder.session_active})
}

fn breaker_json(breaker: &RecordedBreaker) -> Value {
    json!({
        "state": breaker.state.as_str(),
        "strikes": breaker.strikes,
        "limit": breaker.limit,
        "open_until": breaker.open_until.map(|at| at.to_string()),
        "since": breaker.since.map(|at| at.to_string()),
        "why": breaker.why,
    })
}

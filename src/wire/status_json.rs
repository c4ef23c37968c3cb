//! What is going on, as JSON: `watchdog status --json`, in the words and fields of a verdict where they mean the same. See
//! `docs/status.md`.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_facts::verdict::Status;
use watchdog_store::lock::LockHolder;
use watchdog_store::looped::LoopRecord;
use watchdog_store::session::SessionRecord;

use super::breaker_json::BreakerFields;
use super::last_verdict::LastVerdict;

/// A worktree with a baseline, as its row shows it.
pub struct WorktreeStatus<'a> {
    /// The machine that it is on, and for how long that has been silent while this ran; `None` where no fleet is shown.
    pub machine: Option<(&'a str, Option<Duration>)>,
    /// Its top folder.
    pub worktree: &'a Path,
    /// The name of the work.
    pub spec: &'a str,
    /// The branch when the baseline was recorded.
    pub branch: Option<&'a str>,
    /// The commit of that moment; `None` = unborn.
    pub baseline: Option<&'a str>,
    /// That moment.
    pub baseline_at: Timestamp,
    /// Whether its folder is gone.
    pub gone: bool,
    /// Why git cannot use what is there.
    pub broken: Option<&'a str>,
    /// Whether a person must look.
    pub needs_person: bool,
    /// Whether something works on it now.
    pub running: bool,
    /// The last verdict on this work.
    pub verdict: Option<&'a LastVerdict>,
    /// A session that runs now.
    pub session: Option<StatusSession<'a>>,
    /// The loop that is not over, and whether it runs.
    pub looped: Option<(&'a LoopRecord, bool)>,
    /// Who works on it now.
    pub holder: Option<&'a LockHolder>,
    /// Its breaker.
    pub breaker: &'a BreakerFields,
    /// Whether its baseline is the worktree's newest.
    pub is_newest: bool,
    /// The specs of the worktree that have no row, by what became of them.
    pub older_specs: [(&'static str, u64); 3],
    /// Whether the journal tells if it was judged.
    pub judgement_known: bool,
}

/// A session that runs now.
pub struct StatusSession<'a> {
    /// Its record.
    pub record: &'a SessionRecord,
    /// The word for how it is doing, where that was looked at.
    pub state: Option<&'static str>,
    /// For how long it has been silent, where that is known.
    pub idle: Option<Duration>,
}

/// One object with these rows.
pub fn status_json(
    rows: Vec<Value>,
    notes: &[String],
    fleet: Option<FleetOverviewJson<'_>>,
) -> Value {
    let mut object = json!({"schema": 1, "worktrees": rows, "notes": notes});
    if let Some(fleet) = fleet {
        object["fleet"] = json!({
            "machine": fleet.this,
            "server": fleet.server,
            "read_at": fleet.read_at.map(|at| at.to_string()),
            "away": fleet.away,
            "machines": fleet.machines.into_iter().map(|machine| json!({
                "name": machine.name,
                "this": machine.is_this,
                "seen_at": machine.seen_at.to_string(),
                "silent_seconds": machine.silent_seconds,
                "silent": machine.is_silent,
            })).collect::<Vec<_>>(),
        });
    }
    object
}

/// A fleet, as it was looked at.
#[derive(Debug)]
pub struct FleetOverviewJson<'a> {
    /// This machine's name.
    pub this: &'a str,
    /// Its server.
    pub server: &'a str,
    /// When that was read last; `None` = never.
    pub read_at: Option<Timestamp>,
    /// Why it could not be read now.
    pub away: Option<&'a str>,
    /// The machines that joined.
    pub machines: Vec<SeenMachineJson<'a>>,
}

/// A machine of a fleet, as it was looked at.
#[derive(Debug)]
pub struct SeenMachineJson<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is this one.
    pub is_this: bool,
    /// Its last heartbeat.
    pub seen_at: Timestamp,
    /// Seconds between that and the reading.
    pub silent_seconds: u64,
    /// Whether it was at work, and should have been heard of.
    pub is_silent: bool,
}

/// One row.
pub fn worktree_status_json(row: &WorktreeStatus<'_>) -> Value {
    let verdict = row.verdict;
    let view = verdict.map(|verdict| &verdict.view);
    // Nothing that was not judged is complete, and a verdict on earlier work says nothing of this one.
    let is_judged = verdict.is_some_and(|verdict| verdict.since_baseline);
    let is_complete = verdict.is_some_and(|verdict| {
        verdict.view.complete == Some(true)
            || verdict.is_by_hook && verdict.status == Some(Status::Complete)
    });
    let mut object = json!({
        "worktree": row.worktree.display().to_string(),
        "spec": row.spec,
        "branch": row.branch,
        "baseline": row.baseline.unwrap_or("unborn"),
        "baseline_at": row.baseline_at.to_string(),
        "gone": row.gone,
        "broken": row.broken,
        "needs_person": row.needs_person,
        "running": row.running,
        "status": verdict.and_then(|verdict| verdict.status),
        "reason": view.map(|view| &view.reason),
        "complete": is_judged && is_complete,
        "evidence": view.map(|view| &view.evidence),
        "message": view.map(|view| &view.message),
        "retry_at": view.map(|view| view.retry_at),
        "head": view.map(|view| &view.head),
        "new_commits": view.map(|view| view.new_commits),
        "judged_at": verdict.map(|verdict| verdict.at.to_string()),
        "judged_since_baseline": is_judged,
        "session": row.session.as_ref().map(session_json),
        "loop": row.looped.map(|(looped, running)| loop_json(looped, running)),
        "lock": row.holder.map(holder_json),
        "breaker": row.breaker,
        "newest": row.is_newest,
        "older_specs": row.older_specs.iter().copied().collect::<BTreeMap<_, _>>(),
        "judgement_known": row.judgement_known,
        "judged_by": verdict.map(|verdict| if verdict.is_by_hook { "hook" } else { "verdict" }),
        "hook_answer": verdict.map(|verdict| &verdict.hook_answer),
    });
    if let Some((machine, silent)) = row.machine {
        object["machine"] = json!(machine);
        object["silent_seconds"] = json!(silent.map(|silent| silent.as_secs()));
    }
    object
}

fn session_json(session: &StatusSession<'_>) -> Value {
    let record = session.record;
    json!({
        "pid": record.pid,
        "session_id": record.session_id,
        "agent": record.agent,
        "since": record.started_at.to_string(),
        "log": record.log.as_ref().map(|log| log.display().to_string()),
        "state": session.state,
        "idle_seconds": session.idle.map(|idle| idle.as_secs()),
    })
}

fn loop_json(looped: &LoopRecord, running: bool) -> Value {
    json!({
        "iteration": looped.iteration(),
        "max_iterations": looped.at_most,
        "begun_at": looped.begun_at.to_string(),
        "running": running,
        "agent": looped.standing.chosen,
    })
}

fn holder_json(holder: &LockHolder) -> Value {
    json!({"pid": holder.pid, "command": holder.command, "since": holder.since.to_string(), "session_active": holder.session_active})
}

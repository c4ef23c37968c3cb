//! A loop and its iterations as JSON: in a verdict, and in the events that a loop writes.

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_core::decision::iteration::agent_order::{AgentChange, AgentStanding};
use watchdog_core::decision::iteration::next::PauseReason;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::verdict::Reason;
use watchdog_git::HistoryPoint;

use super::verdict_json::{EndedLoop, millis};

/// An iteration, as in `loop.history` of a verdict and in the journal.
pub fn record_json(record: &IterationRecord) -> Value {
    json!({
        "iteration": record.number,
        "at": record.at,
        "duration_ms": millis(record.duration),
        "status": record.reason.status(),
        "reason": record.reason,
        "message": record.message,
        "crash": record.crash,
        "commits": record.commits,
        "log": record.log,
        "agent": record.agent,
    })
}

/// The beginning of a loop, as an event has it.
pub fn loop_started_data(
    id: &str,
    resumed: bool,
    max_iterations: u32,
    first_baseline: &HistoryPoint,
) -> Value {
    json!({"loop": id, "resumed": resumed, "max_iterations": max_iterations, "first_baseline": first_baseline.as_str()})
}

/// A pause between two iterations, as an event has it.
pub fn loop_pause_data(why: PauseReason, until: Timestamp) -> Value {
    json!({"pause": why.as_str(), "until": until})
}

/// Another agent has the next session of a loop, as an event has it.
pub fn agent_changed_data(change: &AgentChange) -> Value {
    json!({"from": change.from, "to": change.to, "why": change.why.as_str(), "until": change.until})
}

/// The end of a loop, as an event has it.
pub fn loop_ended_data(id: &str, reason: Reason, message: &str, iterations: u32) -> Value {
    json!({"loop": id, "reason": reason, "message": message, "iterations": iterations})
}

/// A loop, as in `loop` of a verdict.
pub fn loop_json(looped: &EndedLoop) -> Value {
    let EndedLoop {
        id,
        begun_at,
        history,
        spent,
        agents,
        first_baseline,
        resumed,
        over,
        ..
    } = looped;
    json!({
        "id": id,
        "begun_at": begun_at,
        "first_baseline": first_baseline,
        "resumed": resumed,
        "over": over,
        "spent": spent_json(spent),
        "agents": agents.iter().map(agent_json).collect::<Vec<_>>(),
        "history": history.iter().map(record_json).collect::<Vec<_>>(),
    })
}

fn spent_json(spent: &SpentUsage) -> Value {
    let SpentUsage {
        turns,
        tokens,
        cost_usd,
        wall_seconds,
        untold,
    } = *spent;
    json!({
        // A sum without any report is unknown, not zero.
        "turns": (turns > 0 || !untold.turns).then_some(turns),
        "tokens": (tokens > 0 || !untold.tokens).then_some(tokens),
        "cost_usd": (cost_usd > 0.0 || !untold.cost).then_some(cost_usd),
        "wall_seconds": wall_seconds,
    })
}

/// Writes the record of a loop's agent, and until when it gets no session.
fn agent_json(agent: &AgentStanding) -> Value {
    json!({
        "name": agent.name,
        "sessions": agent.sessions,
        "spent": spent_json(&agent.spent),
        "held_until": agent.hold.map(|hold| hold.until),
        "held_because": agent.hold.map(|hold| hold.why),
    })
}

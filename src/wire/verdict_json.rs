//! The JSON of a verdict: one object, `schema` 1. Fields may be added; none changes its meaning.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use watchdog_core::decision::breaker::BreakerView;
use watchdog_core::decision::iteration::agent_order::AgentStanding;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::record::{JudgementRecord, bound_verdict, form};
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::refused_tool::{RefusedTool, ToolRefusals};
use watchdog_facts::secret_members::mask_value;
use watchdog_facts::session_exit::SessionExit;
use watchdog_facts::verdict::{Reason, Status, Verdict};
use watchdog_store::verdict_parts::{changes_json, check_json, commits_json};
pub use watchdog_store::verdict_parts::{
    left_out_json, millis, note_json, probe_json, reply_json, reply_of, retry_at_of, usage_json,
};
use watchdog_store::verdict_row::{RECORD, ROWS};

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
    /// The tools that the session was refused.
    pub refused: ToolRefusals,
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
    /// The agent that ran it, by the name or path of its preset, where that is known.
    pub agent: Option<String>,
    /// How it is known: `output`, `hook`, `transcript`, or `latest` where the session is unknown.
    pub known_by: &'static str,
    /// For how long it has been silent, in whole seconds, where that was checked.
    pub idle_seconds: Option<u64>,
    /// How its process ended, where watchdog ran it.
    pub ended: Option<SessionExit>,
}

impl JudgedSession {
    /// A session that no id and no agent is known of.
    pub fn unknown() -> Self {
        JudgedSession {
            id: None,
            agent: None,
            known_by: "latest",
            idle_seconds: None,
            ended: None,
        }
    }
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
    /// What each of its agents did.
    pub agents: Vec<AgentStanding>,
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
            "brought": commits.map(|commits| commits.brought),
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
            "refused_tools": refused_json(&self.refused),
            "duration_ms": millis(self.duration),
        });
        if let Some(looped) = &self.looped {
            object["iterations"] = json!(looped.iterations);
            object["loop"] = loop_json(looped);
        }
        mask_value(&mut object);
        object
    }

    /// The `data` of its event: long lists and texts are bounded, with their totals, and the facts are in `record`. The steps that are
    /// rows of their own come with the ids of those.
    pub fn to_event_data(
        &self,
        recorded: Option<(&JudgementRecord, &BTreeMap<usize, String>)>,
    ) -> Value {
        let bounded = Judgement {
            verdict: bound_verdict(&self.verdict),
            ..self.clone()
        };
        let mut object = bounded.to_json();
        let totals = [
            (
                "/changes",
                "paths",
                self.verdict
                    .changes
                    .as_ref()
                    .map_or(0, |changes| changes.paths.len()),
            ),
            ("/rescue", "left_out", self.verdict.left_out.len()),
            ("", "checks", self.verdict.checks.len()),
        ];
        for (holder, list, total) in totals {
            if let Some(Value::Object(holder)) = object.pointer_mut(holder)
                && holder
                    .get(list)
                    .and_then(Value::as_array)
                    .is_some_and(|kept| kept.len() < total)
            {
                holder.insert(format!("{list}_total"), json!(total));
            }
        }
        if let Some((record, rows)) = recorded {
            object[RECORD] = form::write(record);
            if !rows.is_empty() {
                object[ROWS] = rows
                    .iter()
                    .map(|(step, id)| (step.to_string(), json!(id)))
                    .collect();
            }
        }
        object
    }
}

/// The keys of a verdict, in the order of the contract.
const KEYS: [&str; 43] = [
    "schema",
    "status",
    "reason",
    "complete",
    "evidence",
    "message",
    "feedback",
    "retry_at",
    "worktree",
    "spec",
    "branch",
    "baseline",
    "head",
    "new_commits",
    "made_here",
    "imported_commits",
    "net_change",
    "brought",
    "commits",
    "changes",
    "rescued",
    "rescue",
    "probes_used",
    "probes",
    "checks",
    "claims",
    "session",
    "inherited",
    "changed_since_end",
    "unchanged_since",
    "helpers",
    "probe_usage",
    "strike",
    "not_a_strike_because",
    "breaker",
    "degraded",
    "notes",
    "log",
    "survivors",
    "refused_tools",
    "duration_ms",
    "iterations",
    "loop",
];

/// A value as text on one line: a verdict has its keys in the order of the contract, and further ones behind them.
pub fn to_line(value: &Value) -> String {
    let Some(object) = value
        .as_object()
        .filter(|object| object.contains_key("reason") && object.contains_key("evidence"))
    else {
        return value.to_string();
    };
    let ours = KEYS
        .iter()
        .filter_map(|key| Some((*key, object.get(*key)?)));
    let further = object
        .iter()
        .map(|(key, member)| (key.as_str(), member))
        .filter(|(key, _)| !KEYS.contains(key));
    let members: Vec<String> = ours
        .chain(further)
        .map(|(key, member)| format!("{}:{member}", json!(key)))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// Each tool with the option that allows it, so that a reader of one needs no other key.
fn refused_json(refused: &ToolRefusals) -> Vec<Value> {
    let of = |tool: &RefusedTool| json!({"tool": tool.tool, "cause": tool.cause.as_str(), "allow_with": refused.allow_with});
    refused.tools.iter().map(of).collect()
}

fn session_json(session: &JudgedSession) -> Value {
    let ended = session.ended.map(|ended| json!({"exit_code": ended.exit_code(), "signal": ended.signal(), "by": ended.by.as_str()}));
    json!({
        "id": session.id,
        "agent": session.agent,
        "known_by": session.known_by,
        "idle_seconds": session.idle_seconds,
        "ended": ended,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_verdict_stand_in_the_contracts_order() {
        let verdict = json!({"reason": "working", "a": 1, "evidence": "none", "message": "m \" {", "status": "incomplete", "schema": 1});
        let line = to_line(&verdict);
        assert_eq!(
            line,
            r#"{"schema":1,"status":"incomplete","reason":"working","evidence":"none","message":"m \" {","a":1}"#
        );
        assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON"), verdict);
        assert_eq!(to_line(&json!({"b": 1, "a": 2})), r#"{"a":2,"b":1}"#);
    }
}

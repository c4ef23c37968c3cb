//! The JSON of a verdict: one object, `schema` 1. Fields may be added; none changes its meaning.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use watchdog_core::decision::breaker::BreakerView;
use watchdog_core::decision::iteration::agent_order::AgentStanding;
use watchdog_core::decision::iteration::record::IterationRecord;
use watchdog_core::decision::record::{JudgementRecord, bound_verdict};
use watchdog_core::decision::termination::SpentUsage;
use watchdog_facts::evidence::{CheckResult, Commit, Degradation, WarningCode};
use watchdog_facts::gate_hooks::GateOff;
use watchdog_facts::ignored_files::LostFile;
use watchdog_facts::refused_tool::{RefusedTool, ToolRefusals};
use watchdog_facts::secret_members::mask_value;
use watchdog_facts::session_exit::SessionExit;
use watchdog_facts::verdict::{ProbeUsage, Reason, Status, Verdict};
use watchdog_facts::work_beside::WorkBeside;
use watchdog_facts::work_claim::WeighedClaim;
pub use watchdog_store::verdict_parts::{
    ChangesView, ProbeView, RescueView, as_answer, as_json, millis, reply_of, retry_at_of,
    shown_reply,
};

use super::loop_json::loop_json;

/// The key in the data of a verdict under which its facts are, as [`JudgementRecord::to_json`] writes them.
pub const RECORD: &str = "record";

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JudgedSession {
    /// The agent's own name for it, where it is known.
    pub id: Option<String>,
    /// The agent that ran it, by the name or path of its preset, where that is known.
    pub agent: Option<String>,
    /// How it is known: `output`, `hook`, `transcript`, or `latest` where the session is unknown.
    pub known_by: &'static str,
    /// For how long it has been silent, in whole seconds, where that was checked.
    pub idle_seconds: Option<u64>,
    /// The process of a live session that watchdog did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The state of that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// How its process ended, where watchdog ran it.
    #[serde(serialize_with = "write_exit")]
    pub ended: Option<SessionExit>,
}

impl JudgedSession {
    /// A session that no id and no agent is known of.
    pub fn unknown() -> Self {
        JudgedSession {
            known_by: "latest",
            ..JudgedSession::default()
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
    /// The work of each of its agents.
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

    /// The object of the contract, without secrets.
    pub fn to_view(&self) -> VerdictView {
        let mut object = as_json(self.view_with(&self.verdict));
        mask_value(&mut object);
        VerdictView::read(&object)
    }

    /// The same as a JSON value.
    pub fn to_json(&self) -> Value {
        as_json(self.to_view())
    }

    /// The view with the lists and texts of this form of the verdict.
    fn view_with(&self, verdict: &Verdict) -> VerdictView {
        let commits = verdict.commits.as_ref();
        let rescue = RescueView {
            branch: verdict.rescue_branch.clone(),
            commits: verdict.rescue_commits,
            left_out: verdict.left_out.clone(),
            left_out_total: count_all(&verdict.left_out, &self.verdict.left_out),
            snapshot: verdict.snapshot.clone(),
        };
        VerdictView {
            schema: 1,
            status: Some(verdict.status().as_str().into()),
            reason: Some(verdict.reason.as_str().into()),
            complete: Some(verdict.status() == Status::Complete),
            evidence: Some(verdict.evidence.as_str().into()),
            message: Some(verdict.message.clone()),
            feedback: verdict.feedback.clone(),
            retry_at: verdict.retry_at,
            worktree: Some(self.worktree.clone()),
            spec: self.spec.clone(),
            branch: self.branch.clone(),
            baseline: self.baseline.clone(),
            head: commits.map(|commits| commits.head.clone().unwrap_or_else(|| "unborn".into())),
            new_commits: commits.map(|commits| commits.new_commits),
            made_here: commits.map(|commits| commits.made_here),
            imported_commits: commits.map(|commits| commits.imported),
            net_change: commits.map(|commits| commits.net_change),
            brought: commits.map(|commits| commits.brought),
            commits: commits
                .map(|commits| commits.listed.clone())
                .unwrap_or_default(),
            changes: verdict.changes.as_ref().map(|changes| ChangesView {
                paths_total: self
                    .verdict
                    .changes
                    .as_ref()
                    .and_then(|all| count_all(&changes.paths, &all.paths)),
                ..changes.into()
            }),
            rescued: verdict.rescue_commits > 0,
            rescue: rescue.unless_empty(),
            probes_used: verdict.probes_used,
            probes: Some(verdict.probes.iter().map(ProbeView::from).collect()),
            checks: Some(verdict.checks.clone()),
            checks_total: count_all(&verdict.checks, &self.verdict.checks),
            session: as_json(&self.session),
            inherited: verdict.inherited,
            changed_since_end: verdict.changed_since_end,
            unchanged_since: verdict.unchanged_since,
            claims: verdict.claims.clone(),
            helpers: verdict.helpers.clone(),
            ignored_lost: verdict.ignored_lost.clone(),
            beside: commits
                .map(|commits| commits.beside.clone())
                .unwrap_or_default(),
            gates_off: verdict.gates_off.clone(),
            probe_usage: verdict.probe_usage,
            strike: Some(verdict.strike),
            not_a_strike_because: verdict.not_a_strike_because.map(str::to_owned),
            breaker: self.breaker.clone(),
            degraded: verdict.degraded.iter().map(|note| note.code).collect(),
            notes: verdict.degraded.clone(),
            log: self.log.clone(),
            survivors: self
                .survivors
                .iter()
                .map(|process| process.shown.clone())
                .collect(),
            refused_tools: self.refused_tools(),
            duration_ms: millis(self.duration),
            iterations: self.looped.as_ref().map(|looped| looped.iterations),
            looped: self.looped.as_ref().map(loop_json),
            untouched: false,
        }
    }

    /// Each tool with the option that allows it, so that a reader of one needs no other key.
    fn refused_tools(&self) -> Vec<RefusedToolView> {
        let ToolRefusals { tools, allow_with } = &self.refused;
        let view = |tool: &RefusedTool| RefusedToolView {
            allow_with: allow_with.clone(),
            cause: tool.cause.as_str().into(),
            tool: tool.tool.clone(),
        };
        tools.iter().map(view).collect()
    }

    /// The `data` of its event: long lists and texts are bounded, with their totals, and the facts are in `record`.
    pub fn to_event_data(&self, record: Option<&JudgementRecord>) -> Value {
        let mut object = as_json(self.view_with(&bound_verdict(&self.verdict)));
        mask_value(&mut object);
        if let Some(record) = record {
            object[RECORD] = record.to_json();
        }
        object
    }
}

/// How many there are in all, where fewer are listed.
fn count_all<T>(listed: &[T], all: &[T]) -> Option<usize> {
    (listed.len() < all.len()).then_some(all.len())
}

/// A verdict as programs see it, in the order of the contract: made from a [`Judgement`], and read back from what is recorded. What that
/// does not hold is `None`, and never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerdictView {
    pub schema: u64,
    pub status: Option<String>,
    pub reason: Option<String>,
    pub complete: Option<bool>,
    pub evidence: Option<String>,
    pub message: Option<String>,
    pub feedback: Option<String>,
    pub retry_at: Option<Timestamp>,
    pub worktree: Option<String>,
    pub spec: Option<String>,
    pub branch: Option<String>,
    pub baseline: Option<String>,
    pub head: Option<String>,
    pub new_commits: Option<u64>,
    pub made_here: Option<u64>,
    pub imported_commits: Option<u64>,
    pub net_change: Option<bool>,
    pub brought: Option<u64>,
    #[serde(deserialize_with = "read_known_entries")]
    pub commits: Vec<Commit>,
    pub changes: Option<ChangesView>,
    pub rescued: bool,
    pub rescue: Option<RescueView>,
    pub probes_used: u32,
    pub probes: Option<Vec<ProbeView>>,
    pub checks: Option<Vec<CheckResult>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks_total: Option<usize>,
    #[serde(deserialize_with = "read_known_entries")]
    pub claims: Vec<WeighedClaim>,
    pub session: Value,
    pub inherited: u64,
    pub changed_since_end: u64,
    pub unchanged_since: Option<Timestamp>,
    pub helpers: Vec<String>,
    #[serde(deserialize_with = "read_known_entries")]
    pub ignored_lost: Vec<LostFile>,
    #[serde(rename = "elsewhere", deserialize_with = "read_known_entries")]
    pub beside: Vec<WorkBeside>,
    #[serde(deserialize_with = "read_known_entries")]
    pub gates_off: Vec<GateOff>,
    pub probe_usage: ProbeUsage,
    pub strike: Option<bool>,
    pub not_a_strike_because: Option<String>,
    pub breaker: Option<BreakerView>,
    #[serde(deserialize_with = "read_known_entries")]
    pub degraded: Vec<WarningCode>,
    #[serde(deserialize_with = "read_known_entries")]
    pub notes: Vec<Degradation>,
    pub log: Option<String>,
    pub survivors: Vec<String>,
    pub refused_tools: Vec<RefusedToolView>,
    pub duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<Value>,
    /// Whether nothing happened since the baseline: of a verdict that a sweep keeps.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untouched: bool,
}

/// Reads the entries that this version knows: one of a later version hides no other.
fn read_known_entries<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let entries = Vec::<Value>::deserialize(from)?;
    let known_entries = entries.into_iter().map(serde_json::from_value);
    Ok(known_entries.filter_map(Result::ok).collect())
}

impl VerdictView {
    /// Reads a recorded verdict. A member that this version cannot read is as one that is missing.
    pub fn read(data: &Value) -> Self {
        VerdictView::deserialize(data).unwrap_or_else(|_| {
            let mut members = data.as_object().cloned().unwrap_or_default();
            members.retain(|key, member| {
                let alone = Map::from_iter([(key.clone(), member.clone())]);
                VerdictView::deserialize(&Value::Object(alone)).is_ok()
            });
            VerdictView::deserialize(&Value::Object(members)).unwrap_or_default()
        })
    }

    /// The object on one line.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Why, where this version knows the word.
    pub fn known_reason(&self) -> Option<Reason> {
        Reason::from_word(self.reason.as_deref()?)
    }
}

/// A tool that the session was refused, as in `refused_tools` of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefusedToolView {
    pub allow_with: Option<String>,
    pub cause: String,
    pub tool: String,
}

/// How the process of a session ended.
fn write_exit<S: Serializer>(ended: &Option<SessionExit>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct ExitView {
        exit_code: Option<i32>,
        signal: Option<i32>,
        by: &'static str,
    }
    let view = ended.map(|ended| ExitView {
        exit_code: ended.exit_code(),
        signal: ended.signal(),
        by: ended.by.as_str(),
    });
    view.serialize(to)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Verdicts that the scenes of `tests/it` printed at format 3, 200 shapes with 39 reasons; times, ids and folders are masked.
    const PRINTED: &str = include_str!("../../../../tests/fixtures/verdicts.jsonl");

    #[test]
    fn printed_verdicts_are_read_without_loss() {
        for line in PRINTED.lines() {
            let printed = serde_json::from_str(line).expect("JSON");
            // The keys are younger.
            let read = VerdictView::read(&printed).to_line();
            let younger = "\"ignored_lost\":[],\"elsewhere\":[],\"gates_off\":[],";
            let read = read.replace(younger, "").replace("\"claims\":[],", "");
            assert_eq!(read, line);
        }
    }

    #[test]
    fn unreadable_member_hides_no_other() {
        let view = VerdictView::read(&json!({
            "reason": "of a later version", "new_commits": 2, "checks": [{"outcome": 7}], "degraded": ["of a later version", "survivors"],
            "changes": {"staged": 1}, "more": null,
        }));
        let changes = view.changes.expect("the changes are there");
        assert_eq!((changes.staged, changes.unstaged), (Some(1), None));
        assert_eq!((view.new_commits, view.made_here), (Some(2), None));
        assert_eq!(view.reason.as_deref(), Some("of a later version"));
        assert_eq!(view.checks, None);
        assert_eq!(view.degraded, [WarningCode::Survivors]);
    }
}

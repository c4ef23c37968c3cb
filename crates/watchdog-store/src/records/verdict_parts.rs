//! The parts of a verdict that its row keeps once, as facts, in the JSON that readers know: what `watchdog_store` puts together again. The
//! verdict itself, and everything else that is printed, is shaped in `wire`. Members stand in the order of their names.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use watchdog_facts::evidence::{
    Changes, GitOperation, LeftOut, ProbeOutcome, Reply, RescueOutcome,
};
pub use watchdog_facts::millis::millis;
use watchdog_facts::verdict::{ProbeRecord, ProbeUsage};

/// A shape of ours as a JSON value.
pub fn as_json(shape: impl Serialize) -> Value {
    serde_json::to_value(shape).unwrap_or_default()
}

/// Those members of the same whose keys are named.
pub fn select_members(shape: impl Serialize, keys: &[&str]) -> Value {
    let mut object = as_json(shape);
    if let Some(members) = object.as_object_mut() {
        members.retain(|key, _| keys.contains(&key.as_str()));
    }
    object
}

/// The same as an object that names the version of its form.
pub fn as_answer(shape: impl Serialize) -> Value {
    let mut object = as_json(shape);
    object["schema"] = 1.into();
    object
}

/// The uncommitted changes of a verdict. A count that an event lacks is `None`, and never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangesView {
    /// Paths with unmerged index entries.
    pub conflicted: Option<u64>,
    /// The unfinished operation, if there is one.
    pub operation: Option<GitOperation>,
    /// Changed paths.
    pub paths: Vec<String>,
    /// How many paths there are, where an event lists fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths_total: Option<usize>,
    /// Paths whose index entry differs from HEAD.
    pub staged: Option<u64>,
    /// Paths whose work tree file differs from the index.
    pub unstaged: Option<u64>,
    /// Files that git does not track and does not ignore.
    pub untracked: Option<u64>,
}

impl ChangesView {
    /// How many kinds of changes there are in all.
    pub fn total(&self) -> u64 {
        let counts = [self.staged, self.unstaged, self.untracked, self.conflicted];
        counts.into_iter().flatten().sum()
    }
}

impl From<&Changes> for ChangesView {
    fn from(changes: &Changes) -> Self {
        ChangesView {
            conflicted: Some(changes.conflicted),
            operation: changes.operation,
            paths: changes.paths.clone(),
            paths_total: None,
            staged: Some(changes.staged),
            unstaged: Some(changes.unstaged),
            untracked: Some(changes.untracked),
        }
    }
}

/// The rescue of a verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RescueView {
    /// The branch that took its commits instead of the current one.
    pub branch: Option<String>,
    /// How many commits it made.
    pub commits: u64,
    /// The paths that it left out.
    pub left_out: Vec<LeftOut>,
    /// How many there are, where an event lists fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out_total: Option<usize>,
    /// The last snapshot ref.
    pub snapshot: Option<String>,
}

impl RescueView {
    /// The same, unless nothing was rescued.
    pub fn unless_empty(self) -> Option<Self> {
        (self.snapshot.is_some() || self.commits > 0 || !self.left_out.is_empty()).then_some(self)
    }
}

/// A probe, as in `probes` of a verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeView {
    /// When it was sent.
    pub at: Option<Timestamp>,
    /// Why its reply is disputed, if it is.
    pub disputed: Option<String>,
    /// Wall time that it took.
    pub duration_ms: u64,
    /// The word for how it ended.
    pub outcome: String,
    /// The reply, if it brought one.
    pub reply: Option<Reply>,
    /// When a usage limit ends, where the agent told that.
    pub retry_at: Option<Timestamp>,
    /// The session that answered, where its output has it.
    pub session_id: Option<String>,
    /// Its cost.
    pub usage: ProbeUsage,
    /// The explanation for a person, where the outcome carries one.
    pub why: Option<String>,
}

impl From<&ProbeRecord> for ProbeView {
    fn from(record: &ProbeRecord) -> Self {
        ProbeView {
            at: Some(record.at),
            disputed: record.disputed.clone(),
            duration_ms: millis(record.duration),
            outcome: record.outcome.as_str().into(),
            reply: shown_reply(&record.outcome),
            retry_at: retry_at_of(&record.outcome),
            session_id: record.session_id.clone(),
            usage: record.usage,
            why: record.outcome.why().map(str::to_owned),
        }
    }
}

/// When a usage limit ends, where the agent told that.
pub fn retry_at_of(outcome: &ProbeOutcome) -> Option<Timestamp> {
    match outcome {
        ProbeOutcome::RateLimited { retry_at, .. } => *retry_at,
        _ => None,
    }
}

/// The reply of a probe, if it brought one.
pub fn reply_of(outcome: &ProbeOutcome) -> Option<&Reply> {
    match outcome {
        ProbeOutcome::Reply(reply) => Some(reply),
        _ => None,
    }
}

/// The same as it is shown: a doubt is shown as a dispute.
pub fn shown_reply(outcome: &ProbeOutcome) -> Option<Reply> {
    let reply = reply_of(outcome)?.clone();
    Some(Reply {
        doubt: None,
        ..reply
    })
}

/// A rescue of a judgement, as its event has it.
pub fn rescue_data(outcome: &RescueOutcome) -> Value {
    #[derive(Serialize)]
    struct RecordedRescue<'a> {
        commits: u64,
        branch: &'a Option<String>,
        failed: &'a Option<String>,
        lost: &'a [String],
        left_out: &'a [LeftOut],
    }
    as_json(RecordedRescue {
        commits: outcome.commits,
        branch: &outcome.fallback_branch,
        failed: &outcome.failed,
        lost: &outcome.lost,
        left_out: &outcome.left_out,
    })
}

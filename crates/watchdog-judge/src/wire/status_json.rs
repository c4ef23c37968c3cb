//! The current state as JSON: `watchdog status --json`, in the words and fields of a verdict where
//! they mean the same. See
//! `docs/status.md`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use watchdog_core::decision::breaker::BreakerView;
use watchdog_facts::verdict::Status;

use super::last_verdict::LastVerdict;
use watchdog_store::seen_machines::SeenMachine;

/// A worktree with a baseline or a session, as its row shows it.
#[derive(Serialize)]
pub struct WorktreeStatus<'a> {
    /// The machine that it is on; `None` where no fleet is shown.
    #[serde(flatten)]
    pub machine: Option<StatusMachine<'a>>,
    /// Its top folder.
    pub worktree: String,
    /// The name of the work.
    pub spec: &'a str,
    /// The branch when the baseline was recorded.
    pub branch: Option<&'a str>,
    /// The commit of that moment, or `unborn`; `None` without a baseline.
    pub baseline: Option<&'a str>,
    /// That moment.
    pub baseline_at: Option<Timestamp>,
    /// Whether its folder is gone.
    pub gone: bool,
    /// Why git cannot use what is there.
    pub broken: Option<&'a str>,
    /// Whether a person must look.
    pub needs_person: bool,
    /// Whether something works on it now.
    pub running: bool,
    /// The last verdict on this work.
    #[serde(flatten)]
    pub verdict: VerdictStatus<'a>,
    /// A session that runs now.
    pub session: Option<StatusSession<'a>>,
    /// The loop that is not over.
    #[serde(rename = "loop")]
    pub looped: Option<StatusLoop<'a>>,
    /// The process that works on it now.
    pub lock: Option<StatusHolder<'a>>,
    /// Its breaker.
    pub breaker: &'a BreakerView,
    /// Whether its baseline is the worktree's newest.
    pub newest: bool,
    /// The specs of the worktree that have no row, by what became of them.
    pub older_specs: BTreeMap<&'static str, u64>,
    /// Whether the journal tells if it was judged.
    pub judgement_known: bool,
}

/// The machine of a row, and for how long that has been silent while this ran.
#[derive(Serialize)]
pub struct StatusMachine<'a> {
    pub machine: &'a str,
    pub silent_seconds: Option<u64>,
}

/// What a row takes from the last verdict.
#[derive(Default, Serialize)]
pub struct VerdictStatus<'a> {
    status: Option<Status>,
    reason: Option<&'a str>,
    complete: bool,
    evidence: Option<&'a str>,
    message: Option<&'a str>,
    retry_at: Option<Timestamp>,
    head: Option<&'a str>,
    new_commits: Option<u64>,
    judged_at: Option<Timestamp>,
    judged_since_baseline: bool,
    judged_by: Option<&'static str>,
    hook_answer: Option<&'a str>,
}

impl<'a> From<&'a LastVerdict> for VerdictStatus<'a> {
    fn from(verdict: &'a LastVerdict) -> Self {
        let view = &verdict.view;
        // Unjudged work is not complete, and a verdict on earlier work does not apply to this one.
        let is_complete = view.complete == Some(true)
            || verdict.is_by_hook && verdict.status == Some(Status::Complete);
        VerdictStatus {
            status: verdict.status,
            reason: view.reason.as_deref(),
            complete: is_complete && verdict.since_baseline,
            evidence: view.evidence.as_deref(),
            message: view.message.as_deref(),
            retry_at: view.retry_at,
            head: view.head.as_deref(),
            new_commits: view.new_commits,
            judged_at: Some(verdict.at),
            judged_since_baseline: verdict.since_baseline,
            judged_by: Some(if verdict.is_by_hook {
                "hook"
            } else {
                "verdict"
            }),
            hook_answer: verdict.hook_answer.as_deref(),
        }
    }
}

/// A session that runs now.
#[derive(Serialize)]
pub struct StatusSession<'a> {
    pub pid: Option<u32>,
    pub session_id: Option<&'a str>,
    pub agent: Option<&'a str>,
    pub since: Timestamp,
    pub log: Option<String>,
    /// The word for how it is doing, where that was looked at.
    pub state: Option<&'static str>,
    /// For how long it has been silent, where that is known.
    pub idle_seconds: Option<u64>,
    /// The last words of a session that watchdog did not start, and what git shows beside it.
    pub says: Option<&'a str>,
    pub new_commits: Option<u64>,
    pub uncommitted: Option<u64>,
}

/// A loop that is not over.
#[derive(Serialize)]
pub struct StatusLoop<'a> {
    pub iteration: u32,
    pub max_iterations: Option<u32>,
    pub begun_at: Timestamp,
    pub running: bool,
    pub agent: Option<&'a str>,
}

/// Who holds the lock.
#[derive(Serialize)]
pub struct StatusHolder<'a> {
    pub pid: u32,
    pub command: &'a str,
    pub since: Timestamp,
    pub session_active: bool,
}

/// Writes an object with these rows.
#[derive(Serialize)]
pub struct StatusListing<'a> {
    /// The rows.
    pub worktrees: Vec<WorktreeStatus<'a>>,
    /// What a person should know beside them.
    pub notes: &'a [String],
    /// The fleet, where one is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetOverviewJson<'a>>,
}

/// A fleet, as it was looked at.
#[derive(Debug, Serialize)]
pub struct FleetOverviewJson<'a> {
    /// This machine's name.
    #[serde(rename = "machine")]
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
#[derive(Debug, Serialize)]
pub struct SeenMachineJson<'a> {
    /// As the server knew it.
    #[serde(flatten)]
    pub seen: &'a SeenMachine,
    /// Whether it is this one.
    #[serde(rename = "this")]
    pub is_this: bool,
    /// Whether it was at work, and should have been heard of.
    #[serde(rename = "silent")]
    pub is_silent: bool,
}

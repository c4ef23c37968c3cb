//! The present state: every worktree with a recorded baseline, its running session, and its last verdict. From the records alone, and
//! from the existence of git's own files; runs no git, and takes no lock.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::PathFilter;
use super::attention::AttentionRank;
use crate::agent::transcript::ClaudeHome;
use crate::modes::live_session::{SessionActivity, SessionLiveness, live_session};
use crate::wire::breaker_json::BreakerFields;
use crate::wire::last_verdict::LastVerdict;
use crate::wire::status_json::{StatusSession, WorktreeStatus, status_json, worktree_status_json};
use watchdog_core::decision::breaker::{Breaker, BreakerState};
use watchdog_facts::verdict::Status;
use watchdog_git::why_broken;
use watchdog_process::still_runs;
use watchdog_store::baseline::{self, BaselineRecord};
use watchdog_store::journal::kind;
use watchdog_store::lock::{LockHolder, named_holder};
use watchdog_store::looped::{self, LoopRecord};
use watchdog_store::session::{self, SessionRecord};
use watchdog_store::{LocalStore, RowsByWorktree, StateDir, StoreError, breaker};

/// A verdict may lie behind so many newer events of its worktree, such as snapshots of a long session; one further back is not looked for.
const HISTORY: usize = 1_000;

/// How a loop names itself in the lock, which it holds from its first iteration to its last.
const LOOP: &str = "watchdog loop";

/// The state of all of them.
#[derive(Debug, Default)]
pub struct StatusOverview {
    /// The worktrees, those that need a person first.
    pub rows: Vec<StatusRow>,
    /// Read errors, in words.
    pub notes: Vec<String>,
}

/// One worktree with a baseline.
#[derive(Debug)]
pub struct StatusRow {
    /// Its top folder, as it was when the baseline was recorded.
    pub worktree: PathBuf,
    /// The name of the work: that of the baseline that was recorded last.
    pub spec: String,
    /// The branch of that moment.
    pub branch: Option<String>,
    /// The commit of that moment; `None` = unborn.
    pub baseline: Option<String>,
    /// When that was.
    pub baseline_at: Timestamp,
    /// Whether its folder is gone.
    pub gone: bool,
    /// Why git cannot use it.
    pub broken: Option<String>,
    /// The last verdict on this work.
    pub verdict: Option<LastVerdict>,
    /// A session that runs now.
    pub session: Option<SessionRecord>,
    /// How that session is doing.
    pub live: Option<SessionLiveness>,
    /// The loop that is not over.
    pub looped: Option<LoopRecord>,
    /// The running session of the worktree.
    pub holder: Option<LockHolder>,
    /// The breaker.
    pub breaker: RecordedBreaker,
}

/// The breaker as it is recorded. Its limit and cooldown are the configuration's, which nobody reads here: the last verdict told them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedBreaker {
    /// The three states.
    pub state: BreakerState,
    /// Strikes since the last `complete`.
    pub strikes: u32,
    /// Strikes that open it, where the last verdict told.
    pub limit: Option<u64>,
    /// When one trial is let through, where the last verdict told; only while it is open.
    pub open_until: Option<Timestamp>,
    /// When it opened.
    pub since: Option<Timestamp>,
    /// Why the last strike was one.
    pub why: Option<String>,
}

impl RecordedBreaker {
    fn new(breaker: Breaker, verdict: Option<&LastVerdict>, now: Timestamp) -> Self {
        let until = verdict.and_then(LastVerdict::breaker_open_until);
        let (state, since, why) = match &breaker {
            Breaker::Closed { why, .. } => (BreakerState::Closed, None, why.clone()),
            // As `watchdog breaker` shows it: once the cooldown is over.
            Breaker::Open { since, why, .. } if until.is_some_and(|until| *since < until && until <= now) => {
                (BreakerState::HalfOpen, Some(*since), Some(why.clone()))
            }
            Breaker::Open { since, why, .. } => (BreakerState::Open, Some(*since), Some(why.clone())),
            Breaker::HalfOpen { since, why, .. } => (BreakerState::HalfOpen, Some(*since), Some(why.clone())),
        };
        RecordedBreaker {
            state,
            strikes: breaker.strikes(),
            limit: verdict.and_then(LastVerdict::breaker_limit),
            open_until: until.filter(|until| state == BreakerState::Open && now < *until),
            since,
            why,
        }
    }

    fn as_fields(&self) -> BreakerFields<'_> {
        let RecordedBreaker { state, strikes, limit, open_until, since, why } = self;
        BreakerFields { state: *state, strikes: *strikes, limit: *limit, open_until: *open_until, since: *since, why: why.as_deref() }
    }

    /// Closed, and without a strike.
    pub fn is_clean(&self) -> bool {
        self.state == BreakerState::Closed && self.strikes == 0
    }
}

impl StatusRow {
    /// Whether something works on it now.
    pub fn runs(&self) -> bool {
        self.session.is_some() || self.holder.is_some()
    }

    /// Whether its session has been silent for longer than it may.
    pub fn stalled(&self) -> bool {
        self.live.is_some_and(|live| live.doing == SessionActivity::Stalled)
    }

    /// Whether its loop runs now; a loop that is neither over nor running was interrupted.
    pub fn loops(&self) -> bool {
        self.looped.is_some() && self.holder.as_ref().is_some_and(|holder| holder.command == LOOP)
    }

    /// Whether its work was judged since the baseline was recorded.
    pub fn is_judged(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.since_baseline)
    }

    /// Whether its loop was interrupted within an iteration.
    pub fn loop_interrupted(&self) -> bool {
        !self.loops() && self.looped.as_ref().is_some_and(|looped| looped.under_way.is_some())
    }

    /// Whether a person must look: its session has stalled, or nothing runs, and the verdict asks for one, the breaker is open or git cannot
    /// use the worktree.
    pub fn needs_person(&self) -> bool {
        AttentionRank::of(self).needs_person()
    }

    /// The words that it is chosen by: its verdict's status, `running`, `stalled`, `not_judged`, `broken`, `gone`.
    pub fn words(&self) -> Vec<&'static str> {
        let status = self.verdict.as_ref().and_then(|verdict| verdict.status).map(Status::as_str);
        let flags = [
            (self.runs(), "running"),
            (self.stalled(), "stalled"),
            (!self.is_judged(), "not_judged"),
            (self.broken.is_some(), "broken"),
            (self.gone, "gone"),
        ];
        status.into_iter().chain(flags.into_iter().filter_map(|(holds, word)| holds.then_some(word))).collect()
    }

    fn to_json(&self) -> Value {
        worktree_status_json(&WorktreeStatus {
            worktree: &self.worktree,
            spec: &self.spec,
            branch: self.branch.as_deref(),
            baseline: self.baseline.as_deref(),
            baseline_at: self.baseline_at,
            gone: self.gone,
            broken: self.broken.as_deref(),
            needs_person: self.needs_person(),
            running: self.runs(),
            verdict: self.verdict.as_ref(),
            session: self.session.as_ref().map(|record| StatusSession {
                record,
                state: self.live.map(|live| live.doing.as_str()),
                idle: self.live.and_then(|live| live.idle),
            }),
            looped: self.looped.as_ref().map(|looped| (looped, self.loops())),
            holder: self.holder.as_ref(),
            breaker: self.breaker.as_fields(),
        })
    }

    /// By rank; among rows of the same rank whatever happened last comes first.
    fn order(&self) -> (AttentionRank, Reverse<Timestamp>, PathBuf) {
        let last = self.verdict.as_ref().map_or(self.baseline_at, |verdict| verdict.at.max(self.baseline_at));
        (AttentionRank::of(self), Reverse(last), self.worktree.clone())
    }
}

impl StatusOverview {
    /// The object for programs, with every row that `shown` lets through.
    pub fn to_json(&self, shown: impl Fn(&StatusRow) -> bool) -> Value {
        status_json(self.rows.iter().filter(|row| shown(row)).map(StatusRow::to_json).collect(), &self.notes)
    }

    /// Looks at the sessions that run, each as far as it takes to tell whether it shows life.
    pub fn read_sessions(&mut self, state: &StateDir, home: &ClaudeHome) {
        for row in self.rows.iter_mut().filter(|row| !row.gone) {
            row.live = row.session.as_ref().map(|session| live_session(session, &row.worktree, state, home));
        }
        self.rows.sort_by_cached_key(StatusRow::order);
    }
}

/// Gathers the state of the selected worktrees.
///
/// # Errors
/// When the store cannot be read. An unreadable row is a note.
pub fn overview(store: &dyn LocalStore, state: &StateDir, below: &PathFilter, now: Timestamp) -> Result<StatusOverview, StoreError> {
    let mut notes = Vec::new();
    let mut latest = latest_baselines(baseline::everywhere(store)?, &mut notes);
    below.choose(&mut latest, |(.., found)| &found.worktree);
    let of: Vec<(String, String)> = latest.iter().map(|(id, spec, _)| (id.clone(), spec.clone())).collect();
    let mut verdicts = verdicts(store, &of)?;
    let mut sessions = living(session::everywhere(store)?, &mut notes);
    let mut loops = by_work(looped::everywhere(store)?, &mut notes);
    let mut breakers = by_work(breaker::everywhere(store)?, &mut notes);
    let rows = latest.into_iter().map(|(id, spec, found)| {
        let work = (id, spec);
        let verdict = verdicts.remove(&work);
        let breaker = RecordedBreaker::new(breakers.remove(&work).unwrap_or_default(), verdict.as_ref(), now);
        let gone = is_gone(&found.worktree);
        StatusRow {
            gone,
            broken: if gone { None } else { why_broken(&found.worktree) },
            worktree: found.worktree,
            branch: found.branch,
            baseline: found.commit,
            baseline_at: found.at,
            verdict,
            session: sessions.remove(&work.0),
            live: None,
            looped: loops.remove(&work).filter(|looped| looped.over.is_none()),
            holder: named_holder(state, &work.0).filter(|holder| still_runs(holder.pid, holder.since)),
            breaker,
            spec: work.1,
        }
    });
    let mut rows: Vec<StatusRow> = rows.collect();
    rows.sort_by_cached_key(StatusRow::order);
    Ok(StatusOverview { rows, notes })
}

/// The baseline of each worktree that was recorded last, as commands that name no spec take it.
fn latest_baselines(rows: RowsByWorktree<BaselineRecord>, notes: &mut Vec<String>) -> Vec<(String, String, BaselineRecord)> {
    let mut latest: Vec<(String, String, BaselineRecord)> = Vec::new();
    for (id, spec, row) in rows {
        // In the order of their keys: those of a worktree come one after the other.
        match (row, latest.last_mut()) {
            (Err(error), _) => notes.push(format!("{error} (worktree {id})")),
            (Ok(row), Some(last)) if last.0 == id => {
                if last.2.at <= row.at {
                    *last = (id, spec, row);
                }
            }
            (Ok(row), _) => latest.push((id, spec, row)),
        }
    }
    latest
}

/// The last verdicts by worktree and spec.
fn verdicts(store: &dyn LocalStore, of: &[(String, String)]) -> Result<HashMap<(String, String), LastVerdict>, StoreError> {
    let mut found = HashMap::new();
    let mut begun_anew = Vec::new();
    // The order of events decides, even if the clock was set back in between.
    for (work, event) in of.iter().zip(store.newest_of(of, &[kind::VERDICT, kind::BASELINE], HISTORY)?) {
        match event {
            Some(event) if event.kind == kind::VERDICT => drop(found.insert(work.clone(), LastVerdict::new(event, true))),
            Some(_) => begun_anew.push(work.clone()),
            None => {}
        }
    }
    for (work, event) in begun_anew.iter().zip(store.newest_of(&begun_anew, &[kind::VERDICT], HISTORY)?) {
        if let Some(event) = event {
            found.insert(work.clone(), LastVerdict::new(event, false));
        }
    }
    Ok(found)
}

/// The sessions whose process still lives, by worktree.
fn living(rows: RowsByWorktree<SessionRecord>, notes: &mut Vec<String>) -> HashMap<String, SessionRecord> {
    let mut living: HashMap<String, SessionRecord> = HashMap::new();
    for (id, _, row) in rows {
        match row {
            Err(error) => notes.push(format!("{error} (worktree {id})")),
            Ok(row) => {
                let runs = row.ended_at.is_none() && row.pid.is_some_and(|pid| still_runs(pid, row.started_at));
                if runs && living.get(&id).is_none_or(|other| other.started_at <= row.started_at) {
                    living.insert(id, row);
                }
            }
        }
    }
    living
}

fn by_work<R>(rows: RowsByWorktree<R>, notes: &mut Vec<String>) -> HashMap<(String, String), R> {
    let mut found = HashMap::new();
    for (id, spec, row) in rows {
        match row {
            Ok(row) => drop(found.insert((id, spec), row)),
            Err(error) => notes.push(format!("{error} (worktree {id})")),
        }
    }
    found
}

/// Whether a path no longer exists. An unreadable one may still exist.
fn is_gone(worktree: &Path) -> bool {
    worktree.metadata().is_err_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

#[cfg(test)]
#[path = "overview_tests.rs"]
mod tests;

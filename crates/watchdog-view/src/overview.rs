//! The present state: every work with a recorded baseline or a running session, and its last judgement. From the records alone, and
//! from the existence of git's own files; runs no git, and takes no lock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jiff::Timestamp;
use serde_json::Value;

use super::PathFilter;
use super::attention::AttentionRank;
use super::fleet_overview::{FleetOverview, RowMachine};
use super::last_judgements::{WorkKey, last_judgements};
use watchdog_core::decision::breaker::Breaker;
use watchdog_core::decision::breaker::BreakerView;
use watchdog_facts::display::plural;
use watchdog_facts::verdict::Status;
use watchdog_git::{Worktree, why_broken};
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_judge::judge::live_session::{SessionActivity, SessionLiveness, live_session};
use watchdog_judge::judge::seen_session::SeenSession;
use watchdog_judge::wire::last_verdict::LastVerdict;
use watchdog_judge::wire::status_json::{
    StatusHolder, StatusListing, StatusLoop, StatusMachine, StatusSession, VerdictStatus,
    WorktreeStatus,
};
use watchdog_judge::wire::verdict_json::as_answer;
use watchdog_process::still_runs;
use watchdog_store::baseline::BaselineRecord;
use watchdog_store::lock::{LockHolder, named_holder};
use watchdog_store::looped::LoopRecord;
use watchdog_store::session::SessionRecord;
use watchdog_store::{LocalStore, RecordType, RowsByWorktree, StateDir, StoreError};
use watchdog_system::is_missing;

/// So many sessions are looked at at a time.
const SIDE_BY_SIDE: usize = 16;

/// How a loop names itself in the lock, which it holds from its first iteration to its last.
const LOOP: &str = "watchdog loop";

/// The state of all of them.
#[derive(Debug, Default)]
pub struct StatusOverview {
    /// The worktrees, those that need a person first.
    pub rows: Vec<StatusRow>,
    /// Read errors, in words.
    pub notes: Vec<String>,
    /// The fleet whose machines are among them; `None` where only this machine is shown.
    pub fleet: Option<FleetOverview>,
}

/// Whose records are looked at.
#[derive(Debug, Clone, Copy)]
pub(super) enum RecordsOf<'a> {
    /// This machine, with its state directory.
    Here(&'a StateDir),
    /// The other machines of a fleet, from copies of their events.
    Others(&'a FleetOverview),
}

/// Which specs of a worktree have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownSpecs {
    /// The one whose baseline was recorded last, and every other that runs, waits, needs a person or is to be resumed.
    Live,
    /// Every one with a baseline.
    All,
}

/// The specs of a worktree that have no row, by what their last judgement was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OlderSpecs {
    /// Those that are complete.
    pub complete: u64,
    /// Those that nobody judged since their baseline, as far as the journal tells.
    pub not_judged: u64,
    /// All others; only where the folder of the worktree is gone.
    pub unfinished: u64,
}

impl OlderSpecs {
    /// How many they are.
    pub fn total(self) -> u64 {
        self.complete + self.not_judged + self.unfinished
    }

    fn count(&mut self, row: &StatusRow) {
        match row.last_judgement() {
            Some(verdict) if verdict.status == Some(Status::Complete) => self.complete += 1,
            Some(_) => self.unfinished += 1,
            None => self.not_judged += 1,
        }
    }
}

/// A spec of a worktree, with a baseline or a session.
#[derive(Debug, Default)]
pub struct StatusRow {
    /// Its top folder, as it was when the worktree's newest baseline was recorded.
    pub worktree: PathBuf,
    /// The name of the work.
    pub spec: String,
    /// Whether its baseline is the worktree's newest: commands that name no spec mean it.
    pub is_newest: bool,
    /// The specs of the worktree that have no row; all zero but in the newest one's.
    pub older: OlderSpecs,
    /// The branch of that moment.
    pub branch: Option<String>,
    /// The commit of that moment; `None` = unborn.
    pub baseline: Option<String>,
    /// When that was; without a baseline when its session began.
    pub baseline_at: Timestamp,
    /// Whether it has no baseline, only a session that watchdog did not start.
    pub is_unrecorded: bool,
    /// Whether its folder is gone.
    pub gone: bool,
    /// Why git cannot use it.
    pub broken: Option<String>,
    /// The last judgement on this work.
    pub verdict: Option<LastVerdict>,
    /// Whether the journal reaches back to the baseline or to a judgement. If it does not, one may
    /// have been pruned.
    pub judgement_known: bool,
    /// A session that runs now.
    pub session: Option<SessionRecord>,
    /// How that session is doing.
    pub live: Option<SessionLiveness>,
    /// The same session, where watchdog did not start it.
    pub seen: Option<SeenSession>,
    /// Commits since the baseline and uncommitted paths beside such a session, where they were read.
    pub counts: Option<(Option<u64>, u64)>,
    /// The loop that is not over.
    pub looped: Option<LoopRecord>,
    /// The holder of the worktree's lock for this work.
    pub holder: Option<LockHolder>,
    /// The breaker.
    pub breaker: BreakerView,
    /// The machine that it is on, where that is another one; `worktree` then begins with its name.
    pub machine: Option<RowMachine>,
}

impl StatusRow {
    /// The row of a worktree that has a session and no baseline.
    fn of_session(worktree: &Worktree, seen: SeenSession) -> Self {
        let session = seen.to_record();
        StatusRow {
            worktree: worktree.root().to_owned(),
            spec: worktree.default_spec(),
            is_newest: true,
            branch: worktree.branch(),
            baseline_at: session.started_at,
            is_unrecorded: true,
            judgement_known: true,
            live: Some(seen.live),
            session: Some(session),
            seen: Some(seen),
            ..StatusRow::default()
        }
    }

    /// Whether something works on it now.
    pub fn runs(&self) -> bool {
        self.session.is_some()
            || self.holder.is_some()
            || self.machine.as_ref().is_some_and(|machine| machine.loops)
    }

    /// Whether its session has been silent for longer than it may.
    pub fn is_stalled(&self) -> bool {
        self.live
            .is_some_and(|live| live.doing == SessionActivity::Stalled)
    }

    /// Whether the turn of its session is over.
    pub fn is_idle(&self) -> bool {
        self.live
            .is_some_and(|live| live.doing == SessionActivity::Idle)
    }

    /// Whether its loop runs now; a loop that is neither over nor running was interrupted.
    pub fn loops(&self) -> bool {
        let held_by_loop = self
            .holder
            .as_ref()
            .is_some_and(|holder| holder.command == LOOP);
        self.looped.is_some()
            && (held_by_loop || self.machine.as_ref().is_some_and(|machine| machine.loops))
    }

    /// The last judgement of its work since the baseline was recorded.
    pub fn last_judgement(&self) -> Option<&LastVerdict> {
        self.verdict
            .as_ref()
            .filter(|verdict| verdict.since_baseline)
    }

    /// Its status.
    pub fn judged_status(&self) -> Option<Status> {
        self.last_judgement().and_then(|verdict| verdict.status)
    }

    /// Whether its work was judged since the baseline was recorded.
    pub fn is_judged(&self) -> bool {
        self.last_judgement().is_some()
    }

    /// When it was judged last, or its baseline was recorded.
    pub fn judged_at(&self) -> Timestamp {
        self.verdict
            .as_ref()
            .map_or(self.baseline_at, |verdict| verdict.at.max(self.baseline_at))
    }

    /// Whether its loop was interrupted within an iteration.
    pub fn loop_interrupted(&self) -> bool {
        !self.loops()
            && self
                .looped
                .as_ref()
                .is_some_and(|looped| looped.under_way.is_some())
    }

    /// Whether a person must look: its session has stalled, or nothing runs, and the verdict asks for one, the breaker is open or git cannot
    /// use the worktree.
    pub fn needs_person(&self) -> bool {
        AttentionRank::from_row(self).needs_person()
    }

    /// The words that it is chosen by: its verdict's status, `needs_person`, `running`, `stalled`, `interrupted`, `not_judged`, `broken`,
    /// `gone`.
    pub fn words(&self) -> Vec<&'static str> {
        let status = self
            .verdict
            .as_ref()
            .and_then(|verdict| verdict.status)
            .map(Status::as_str);
        let flags = [
            (self.needs_person(), "needs_person"),
            (self.runs(), "running"),
            (self.is_stalled(), "stalled"),
            (self.loop_interrupted(), "interrupted"),
            (!self.is_judged(), "not_judged"),
            (self.broken.is_some(), "broken"),
            (self.gone, "gone"),
            (self.silent().is_some(), "silent"),
        ];
        status
            .into_iter()
            .chain(
                flags
                    .into_iter()
                    .filter_map(|(holds, word)| holds.then_some(word)),
            )
            .collect()
    }

    /// Whether `--only` shows it: it has one of these words, or there are none.
    pub fn is_one_of(&self, only: &[String]) -> bool {
        only.is_empty()
            || self
                .words()
                .iter()
                .any(|word| only.iter().any(|only| only == word))
    }

    fn to_view<'a>(&'a self, fleet: Option<&'a FleetOverview>) -> WorktreeStatus<'a> {
        let machine = |fleet: &'a FleetOverview| StatusMachine {
            machine: (self.machine.as_ref()).map_or(&fleet.this, |machine| &machine.name),
            silent_seconds: self.silent().map(|silent| silent.as_secs()),
        };
        WorktreeStatus {
            machine: fleet.map(machine),
            worktree: self.folder().display().to_string(),
            spec: &self.spec,
            branch: self.branch.as_deref(),
            baseline: (!self.is_unrecorded).then(|| self.baseline.as_deref().unwrap_or("unborn")),
            baseline_at: (!self.is_unrecorded).then_some(self.baseline_at),
            gone: self.gone,
            broken: self.broken.as_deref(),
            needs_person: self.needs_person(),
            running: self.runs(),
            verdict: (self.verdict.as_ref())
                .map(VerdictStatus::from)
                .unwrap_or_default(),
            session: self.session.as_ref().map(|record| StatusSession {
                pid: record.pid,
                session_id: record.session_id.as_deref(),
                agent: record.agent.as_deref(),
                since: record.started_at,
                log: record.log.as_ref().map(|log| log.display().to_string()),
                state: self.live.map(|live| live.doing.as_str()),
                idle_seconds: self
                    .live
                    .and_then(|live| live.idle)
                    .map(|idle| idle.as_secs()),
                says: self.seen.as_ref().and_then(|seen| seen.says.as_deref()),
                new_commits: self.counts.and_then(|(commits, _)| commits),
                uncommitted: self.counts.map(|(_, uncommitted)| uncommitted),
            }),
            looped: self.looped.as_ref().map(|looped| StatusLoop {
                iteration: looped.iteration(),
                max_iterations: looped.at_most,
                begun_at: looped.begun_at,
                running: self.loops(),
                agent: looped.standing.chosen.as_deref(),
            }),
            lock: self.holder.as_ref().map(|holder| StatusHolder {
                pid: holder.pid,
                command: &holder.command,
                since: holder.since,
                session_active: holder.session_active,
            }),
            breaker: &self.breaker,
            newest: self.is_newest,
            older_specs: BTreeMap::from([
                ("complete", self.older.complete),
                ("not_judged", self.older.not_judged),
                ("unfinished", self.older.unfinished),
            ]),
            judgement_known: self.judgement_known,
        }
    }

    /// By rank; among rows of the same rank whatever happened last comes first.
    pub(super) fn order(&self) -> (AttentionRank, Reverse<Timestamp>, PathBuf) {
        (
            AttentionRank::from_row(self),
            Reverse(self.judged_at()),
            self.worktree.clone(),
        )
    }
}

impl StatusOverview {
    /// The object for programs, with every row that `shown` lets through.
    pub fn to_json(&self, shown: impl Fn(&StatusRow) -> bool) -> Value {
        let fleet = self.fleet.as_ref();
        let rows = self.rows.iter().filter(|row| shown(row));
        as_answer(StatusListing {
            worktrees: rows.map(|row| row.to_view(fleet)).collect(),
            notes: &self.notes,
            fleet: fleet.map(FleetOverview::as_fields),
        })
    }

    /// Adds the sessions that watchdog did not start, each to the newest row of its worktree, which may have no other reason. A hook's session that rests by its agent's own
    /// word is not stalled; whether one that works is, its silence shows.
    pub fn add_seen_sessions(&mut self, command_env: &CommandEnv, below: &PathFilter) {
        for worktree in command_env.worktrees_with_agents() {
            let root = worktree.root();
            if self.rows.iter().all(|row| row.worktree != root)
                && let Some(seen) = SeenSession::find_inside(command_env, root)
            {
                self.rows.push(StatusRow::of_session(&worktree, seen));
            }
        }
        below.choose(&mut self.rows, |row| &row.worktree);
        let pid_of = |row: &StatusRow| row.session.as_ref().and_then(|session| session.pid);
        let recorded: HashSet<u32> = self.rows.iter().filter_map(pid_of).collect();
        for row in &mut self.rows {
            let is_here = !row.gone && row.machine.is_none();
            // The processes of a session that watchdog runs are part of it.
            let runs = (row.session.as_ref()).is_some_and(|session| session.log.is_some());
            if !is_here || runs || row.session.is_none() && !row.is_newest {
                continue;
            }
            let Some(seen) = SeenSession::find_inside(command_env, &row.worktree) else {
                continue;
            };
            match pid_of(row) {
                Some(pid) if pid == seen.pid && seen.live.idle.is_some() => {}
                None if row.session.is_none() && !recorded.contains(&seen.pid) => {
                    row.session = Some(seen.to_record());
                }
                _ => continue,
            }
            row.live = Some(seen.live);
            row.seen = Some(seen);
        }
        self.rows.sort_by_cached_key(StatusRow::order);
    }

    /// Looks at the sessions that run, each as far as it takes to tell whether it shows life.
    pub fn read_sessions(&mut self, command_env: &CommandEnv, below: &PathFilter) {
        self.add_seen_sessions(command_env, below);
        let (state, home) = (&command_env.state, &command_env.claude_home);
        let running: Vec<usize> = self
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| !row.gone && row.machine.is_none() && row.session.is_some())
            .filter(|(_, row)| row.seen.is_none())
            .map(|(at, _)| at)
            .collect();
        let (next, found) = (
            AtomicUsize::new(0),
            running
                .iter()
                .map(|_| OnceLock::new())
                .collect::<Vec<OnceLock<SessionLiveness>>>(),
        );
        let rows = &self.rows;
        let measure = || {
            while let Some((at, cell)) = Some(next.fetch_add(1, Relaxed))
                .and_then(|job| running.get(job).zip(found.get(job)))
            {
                if let Some(session) = &rows[*at].session {
                    let _first = cell.set(live_session(session, &rows[*at].worktree, state, home));
                }
            }
        };
        // A silent session is measured for a second: several side by side. If the system has no
        // thread, fewer do the work.
        std::thread::scope(|scope| {
            for _ in 1..running.len().min(SIDE_BY_SIDE) {
                let _thread = std::thread::Builder::new().spawn_scoped(scope, measure);
            }
            measure();
        });
        for (at, live) in running.into_iter().zip(found) {
            self.rows[at].live = live.into_inner();
        }
        self.rows.sort_by_cached_key(StatusRow::order);
    }
}

/// How many worktrees and specs these are, and how many of them have each status.
pub fn count_rows(rows: &[StatusRow]) -> String {
    let mut counts: BTreeMap<(u8, &str), usize> = BTreeMap::new();
    for row in rows {
        let status = row.judged_status().filter(|_| !row.gone);
        let word = status.map_or(if row.gone { "gone" } else { "not judged" }, Status::as_str);
        *counts
            .entry((status.map_or(u8::MAX, Status::exit_code), word))
            .or_default() += 1;
    }
    let counted: Vec<String> = counts
        .iter()
        .map(|((_, word), count)| format!("{count} {word}"))
        .collect();
    let worktrees = rows.iter().filter(|row| row.is_newest).count();
    let specs = if worktrees < rows.len() {
        format!(", {}", plural(rows.len() as u64, "spec"))
    } else {
        String::new()
    };
    let worktrees = plural(worktrees as u64, "worktree");
    let text = format!("{worktrees}{specs}: {}", counted.join(", "));
    text.trim_end_matches(": ").to_owned()
}

/// Gathers the state of the selected worktrees, with a row for each spec that is live.
///
/// # Errors
/// When the store cannot be read. An unreadable row is a note.
pub fn gather_overview(
    store: &dyn LocalStore,
    state: &StateDir,
    below: &PathFilter,
    now: Timestamp,
) -> Result<StatusOverview, StoreError> {
    overview_of(store, state, below, ShownSpecs::Live, now)
}

/// Gathers the state of the selected worktrees, with a row for each of these specs.
///
/// # Errors
/// When the store cannot be read. An unreadable row is a note.
pub fn overview_of(
    store: &dyn LocalStore,
    state: &StateDir,
    below: &PathFilter,
    specs: ShownSpecs,
    now: Timestamp,
) -> Result<StatusOverview, StoreError> {
    gather_from_records(store, RecordsOf::Here(state), below, specs, now)
}

/// Gathers the state of the selected worktrees of this machine, or of all others.
pub(super) fn gather_from_records(
    store: &dyn LocalStore,
    records: RecordsOf<'_>,
    below: &PathFilter,
    specs: ShownSpecs,
    now: Timestamp,
) -> Result<StatusOverview, StoreError> {
    let mut notes = Vec::new();
    let mut worktrees = by_worktree(BaselineRecord::list_rows(store)?, &mut notes);
    below.choose(&mut worktrees, WorktreeBaselines::worktree);
    if let RecordsOf::Others(fleet) = records {
        worktrees.retain(|baselines| fleet.shows(&baselines.id));
    }
    let of: Vec<WorkKey> = worktrees.iter().flat_map(WorktreeBaselines::keys).collect();
    let mut judged = last_judgements(store, &of)?;
    let mut sessions = by_work(SessionRecord::list_rows(store)?, &mut notes);
    sessions.retain(|_, row| match records {
        RecordsOf::Here(_) => {
            row.ended_at.is_none() && row.pid.is_some_and(|pid| still_runs(pid, row.started_at))
        }
        RecordsOf::Others(_) => row.ended_at.is_none(),
    });
    let mut loops = by_work(LoopRecord::list_rows(store)?, &mut notes);
    let mut breakers = by_work(Breaker::list_rows(store)?, &mut notes);
    let mut rows: Vec<StatusRow> = Vec::with_capacity(worktrees.len());
    for baselines in worktrees {
        let worktree = baselines.worktree().to_owned();
        let (gone, broken, mut holder) = match records {
            RecordsOf::Here(state) => {
                let gone = is_gone(&worktree);
                let broken = if gone { None } else { why_broken(&worktree) };
                (
                    gone,
                    broken,
                    named_holder(state, &baselines.id)
                        .filter(|holder| still_runs(holder.pid, holder.since)),
                )
            }
            RecordsOf::Others(_) => (false, None, None),
        };
        let holder_spec = holder
            .as_ref()
            .and_then(|holder| holder.spec.clone())
            .filter(|spec| baselines.has(spec));
        let mut older = OlderSpecs::default();
        // The newest comes last, and takes what belongs to none of the others.
        for (is_newest, (spec, record)) in baselines.specs_newest_last() {
            let work = (baselines.id.clone(), spec);
            let judged = judged.remove(&work).unwrap_or_default();
            let breaker = BreakerView::from_record(
                breakers.remove(&work).unwrap_or_default(),
                (judged.verdict.as_ref().or(judged.last.as_ref()))
                    .and_then(|verdict| verdict.view.breaker.as_ref()),
                now,
            );
            let session = sessions.remove(&work).or_else(|| {
                if is_newest {
                    newest_session(&mut sessions, &work.0)
                } else {
                    None
                }
            });
            let looped = loops.remove(&work).filter(|looped| looped.over.is_none());
            let is_remote = matches!(records, RecordsOf::Others(_));
            let machine =
                is_remote.then(|| RowMachine::from_id(&work.0, &worktree, looped.as_ref()));
            let is_held = holder_spec
                .as_ref()
                .map_or(is_newest, |spec| *spec == work.1);
            let mut row = StatusRow {
                worktree: worktree.clone(),
                is_newest,
                older: OlderSpecs::default(),
                gone,
                broken: None,
                branch: record.branch,
                baseline: record.commit,
                baseline_at: record.at,
                is_unrecorded: false,
                verdict: judged.last,
                judgement_known: judged.known,
                session,
                live: None,
                seen: None,
                counts: None,
                looped,
                holder: if is_held { holder.take() } else { None },
                breaker,
                machine,
                spec: work.1,
            };
            if is_newest {
                row.older = older;
            } else if specs == ShownSpecs::Live && !AttentionRank::from_row(&row).is_live() {
                older.count(&row);
                continue;
            }
            // Not before: a broken worktree makes no work live that is over.
            row.broken.clone_from(&broken);
            rows.push(row);
        }
    }
    rows.sort_by_cached_key(StatusRow::order);
    Ok(StatusOverview {
        rows,
        notes,
        fleet: None,
    })
}

/// The baselines of one worktree, by spec.
struct WorktreeBaselines {
    id: String,
    specs: Vec<(String, BaselineRecord)>,
    /// Which of them was recorded last, as commands that name no spec take it.
    newest: usize,
}

impl WorktreeBaselines {
    fn worktree(&self) -> &Path {
        &self.specs[self.newest].1.worktree
    }

    fn keys(&self) -> impl Iterator<Item = WorkKey> {
        self.specs
            .iter()
            .map(|(spec, _)| (self.id.clone(), spec.clone()))
    }

    fn has(&self, spec: &str) -> bool {
        self.specs.iter().any(|(known, _)| known == spec)
    }

    fn specs_newest_last(&self) -> impl Iterator<Item = (bool, (String, BaselineRecord))> {
        let others = self
            .specs
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != self.newest)
            .map(|(_, found)| (false, found.clone()));
        others.chain(
            self.specs
                .get(self.newest)
                .map(|spec_record| (true, spec_record.clone())),
        )
    }
}

fn by_worktree(
    rows: RowsByWorktree<BaselineRecord>,
    notes: &mut Vec<String>,
) -> Vec<WorktreeBaselines> {
    let mut worktrees: Vec<WorktreeBaselines> = Vec::new();
    for (id, spec, row) in rows {
        // In the order of their keys: those of a worktree come one after the other.
        match (row, worktrees.last_mut()) {
            (Err(error), _) => notes.push(format!("{error} (worktree {id})")),
            (Ok(row), Some(last)) if last.id == id => {
                if last.specs[last.newest].1.at <= row.at {
                    last.newest = last.specs.len();
                }
                last.specs.push((spec, row));
            }
            (Ok(row), _) => worktrees.push(WorktreeBaselines {
                id,
                specs: vec![(spec, row)],
                newest: 0,
            }),
        }
    }
    worktrees
}

/// Takes the session of a worktree that began last.
fn newest_session(
    sessions: &mut HashMap<WorkKey, SessionRecord>,
    id: &str,
) -> Option<SessionRecord> {
    let of_it = sessions.iter().filter(|((worktree, _), _)| worktree == id);
    let newest = of_it
        .max_by_key(|(_, row)| row.started_at)
        .map(|(work, _)| work.clone())?;
    sessions.remove(&newest)
}

fn by_work<R>(rows: RowsByWorktree<R>, notes: &mut Vec<String>) -> HashMap<WorkKey, R> {
    let mut rows_by_work = HashMap::new();
    for (id, spec, row) in rows {
        match row {
            Ok(row) => drop(rows_by_work.insert((id, spec), row)),
            Err(error) => notes.push(format!("{error} (worktree {id})")),
        }
    }
    rows_by_work
}

/// Whether a path no longer exists. An unreadable one may still exist.
fn is_gone(worktree: &Path) -> bool {
    worktree.metadata().is_err_and(|error| is_missing(&error))
}

#[cfg(test)]
#[path = "overview_tests.rs"]
mod tests;

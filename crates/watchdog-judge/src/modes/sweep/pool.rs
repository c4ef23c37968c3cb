//! The threads of a sweep: many that scan worktrees, and a few that ask agents. They share one store, one journal and one probe budget.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::report::{SweepOutcome, SweepReport, SweepRequest, SweepRow};
use super::scan::{JudgementAwaitingProbe, SweepScanOutcome, catch_scan_panic};
use super::sweep_cache::SweepCache;
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::journal::JournalBatcher;
use crate::judge::judgement_run::JudgementRun;
use crate::judge::signals::SignalState;
use crate::judge::snapshots::expire;
use crate::judge::spawn_io::spawn_io;
use crate::session::RecentRefs;
use watchdog_agent::transcript_source::TranscriptSource;
use watchdog_facts::evidence::{UnreadableFact, WarningCode};
use watchdog_facts::verdict::Status;
use watchdog_git::{FoundWorktree, RepoCache, ask_for_broken_settings, find_worktrees};
use watchdog_process::CancelFlag;
use watchdog_store::baseline::BaselineRecord;
use watchdog_store::journal::tidy_journal;
use watchdog_store::session::SessionRecord;
use watchdog_store::{LocalStore, RecordType, open_store};

/// How many judgements wait for their turn to ask at most. Each holds a lock and an open repository.
const WAITING: usize = 64;

/// How many repositories a thread keeps open.
const REPO_CACHES: usize = 8;

/// The state that the threads of a sweep share.
pub struct SweepShared<'a> {
    pub(super) around: &'a CommandEnv,
    pub(super) request: &'a SweepRequest,
    pub(super) store: Arc<dyn LocalStore>,
    pub(super) batcher: Arc<JournalBatcher>,
    pub(super) probe_budget: ProbeBudget,
    pub(super) cancel: CancelFlag,
    pub(super) memory: SweepCache,
    /// The recorded refs that worktrees of one repository share.
    pub(super) recent_refs: RecentRefs,
    /// The worktrees for which a baseline is recorded.
    pub(super) watched: HashSet<String>,
    /// Those for which a session is.
    pub(super) with_sessions: HashSet<String>,
    /// The places of agents' transcripts, also of an agent whose folder is made while the sweep runs.
    pub(super) transcript_sources: Vec<TranscriptSource>,
    /// Repositories whose old snapshots were already deleted in this sweep.
    expired: Mutex<HashSet<PathBuf>>,
    jobs: Mutex<VecDeque<FoundWorktree>>,
    total: usize,
    done: AtomicUsize,
    report: Mutex<SweepReport>,
}

/// Judges every worktree once. A first signal ends it after the judgements in progress.
///
/// # Errors
/// When watchdog's own state cannot be read; the fault of a single worktree is a row.
pub async fn sweep_worktrees(
    command_env: &CommandEnv,
    request: SweepRequest,
    signals: &mut SignalState,
) -> Result<SweepReport, UnreadableFact> {
    let cancel = CancelFlag::new();
    let sweeping = {
        let (command_env, cancel) = (command_env.clone(), cancel.clone());
        spawn_io(move || sweep_now(&command_env, &request, cancel))
    };
    tokio::select! {
        swept = sweeping => swept,
        never = signals.escalate(&cancel) => match never {},
    }
}

fn sweep_now(
    around: &CommandEnv,
    request: &SweepRequest,
    cancel: CancelFlag,
) -> Result<SweepReport, UnreadableFact> {
    let begun = Instant::now();
    around.state.ensure()?;
    let store: Arc<dyn LocalStore> = open_store(&around.state)?;
    let search = find_worktrees(&request.paths, &|| cancel.is_cancelled());
    tracing::debug!(target: "watchdog::sweep", worktrees = search.worktrees.len(), "found worktrees");
    let mut jobs = VecDeque::from(search.worktrees);
    // Begins at another worktree each time, so that a spent probe budget does not always leave out the same ones.
    if !jobs.is_empty() {
        let turn = usize::try_from(now().as_second().unsigned_abs())
            .unwrap_or(0)
            .wrapping_mul(7919)
            % jobs.len();
        jobs.rotate_left(turn);
    }
    let sweep = SweepShared {
        around,
        request,
        batcher: Arc::new(JournalBatcher::new(Arc::clone(&store))),
        probe_budget: ProbeBudget::new(if request.overrides.no_probe {
            0
        } else {
            request.max_probes_total
        }),
        cancel,
        memory: SweepCache::open(Arc::clone(&store), around, request)?,
        recent_refs: RecentRefs::default(),
        watched: BaselineRecord::list_worktrees(store.as_ref())?,
        with_sessions: SessionRecord::list_worktrees(store.as_ref())?,
        transcript_sources: (around.presets.presets_where(|_| true).iter())
            .filter_map(|preset| TranscriptSource::from_preset(preset, &around.claude_home))
            .collect(),
        store,
        expired: Mutex::default(),
        total: jobs.len(),
        jobs: Mutex::new(jobs),
        done: AtomicUsize::new(0),
        report: Mutex::new(SweepReport {
            notes: search.notes,
            ..SweepReport::default()
        }),
    };
    // People get one message about the whole sweep. Notices that an earlier sweep could not deliver
    // are tried now, also if no worktree is judged anew.
    let gathered = around.notifications.gather();
    around.notifications.wake(&sweep.store);
    sweep.work();
    drop(gathered);
    let mut report = std::mem::take(&mut *lock_mutex(&sweep.report));
    if let Err(error) = sweep.batcher.finish().and_then(|()| sweep.memory.finish()) {
        report
            .notes
            .push(format!("what was seen could not be written down: {error}"));
    }
    if let Err(error) = tidy_journal(sweep.store.as_ref(), now(), report.lines.len()) {
        report.notes.push(format!(
            "old events could not be removed from the journal: {error}"
        ));
    }
    // The notes of the store, such as a damaged database.
    for note in sweep.store.notes() {
        report.has_lost_records |= note.code == WarningCode::StoreDamaged;
        report.notes.push(note.detail);
    }
    // A file of the user that git cannot read is the fault of no worktree alone.
    if let Some(fault) = ask_for_broken_settings("/".as_ref()) {
        report.notes.push(format!("{fault}; {}", fault.hint()));
    }
    report.lines.sort_by(|a, b| a.worktree.cmp(&b.worktree));
    report.not_reached = lock_mutex(&sweep.jobs).len();
    report.probes = sweep.probe_budget.taken();
    report.duration = begun.elapsed();
    Ok(report)
}

impl SweepShared<'_> {
    fn work(&self) {
        let (want, wanted) = sync_channel(WAITING);
        let wanted = Mutex::new(Some(wanted));
        std::thread::scope(|scope| {
            let begin = || std::thread::Builder::new();
            let ask = || {
                begin()
                    .spawn_scoped(scope, || self.ask_all(&wanted))
                    .is_ok()
            };
            // If the system refuses a thread, fewer do the work; without probe threads no probe is sent.
            if (0..self.request.max_parallel_probes.max(1))
                .filter(|_| ask())
                .count()
                == 0
            {
                *lock_mutex(&wanted) = None;
            }
            let scan = |want: SyncSender<JudgementAwaitingProbe>| {
                begin()
                    .spawn_scoped(scope, move || self.scan_all(&want))
                    .is_ok()
            };
            if (0..self.request.jobs.max(1))
                .filter(|_| scan(want.clone()))
                .count()
                == 0
            {
                self.scan_all(&want);
            }
            drop(want);
        });
    }

    fn scan_all(&self, want: &SyncSender<JudgementAwaitingProbe>) {
        let mut repo_caches: HashMap<PathBuf, RepoCache> = HashMap::new();
        while !self.cancel.is_cancelled() {
            let Some(worktree) = lock_mutex(&self.jobs).pop_front() else {
                return;
            };
            let root = worktree.root.clone();
            // Each holds an opened repository. A bug that one was in the middle of must not spread.
            if repo_caches.len() == REPO_CACHES && !repo_caches.contains_key(&worktree.common_dir) {
                repo_caches.clear();
            }
            let mut repo_cache = repo_caches.remove(&worktree.common_dir).unwrap_or_default();
            let outcome = catch_scan_panic(root.clone(), || {
                let outcome = self.scan(&worktree, &mut repo_cache);
                repo_caches.insert(worktree.common_dir.clone(), repo_cache);
                outcome
            });
            match outcome {
                SweepScanOutcome::Row(row) => self.tell(&row),
                SweepScanOutcome::Wants(pending) if self.probe_budget.take() => {
                    // Probe threads are joined after scan threads.
                    if let Err(refused) = want.send(*pending) {
                        self.tell_of(root, || self.without_asking(refused.0));
                    }
                }
                SweepScanOutcome::Wants(pending) => {
                    self.tell_of(root, || self.without_asking(*pending))
                }
            }
        }
    }

    fn ask_all(&self, wanted: &Mutex<Option<Receiver<JudgementAwaitingProbe>>>) {
        loop {
            let next = lock_mutex(wanted)
                .as_ref()
                .and_then(|wanted| wanted.recv().ok());
            let Some(pending) = next else { return };
            self.tell_of(pending.root().to_owned(), || self.ask(pending));
        }
    }

    fn tell_of(&self, root: PathBuf, work: impl FnOnce() -> SweepRow) {
        if let SweepScanOutcome::Row(row) = catch_scan_panic(root, || SweepScanOutcome::Row(work()))
        {
            self.tell(&row);
        }
    }

    fn tell(&self, row: &SweepRow) {
        let line = row.line();
        tracing::info!(
            target: "watchdog::sweep",
            worktree = line.worktree,
            spec = line.spec,
            status = line.status.map(Status::as_str),
            reason = line.reason,
            again = matches!(row.outcome, SweepOutcome::Again { .. }),
            "looked at a worktree"
        );
        lock_mutex(&self.report).lines.push(line);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.request.on_row)(row, done, self.total);
    }

    /// Deletes old snapshots, once per repository and sweep.
    pub(super) fn expire(&self, judgement_run: &JudgementRun) {
        let worktree = judgement_run.input().worktree();
        if !lock_mutex(&self.expired).insert(worktree.common_dir().to_owned()) {
            return;
        }
        if let Err(why) = expire(
            &worktree,
            self.store.as_ref(),
            &self.around.state.logs(),
            judgement_run.input().settings.rescue.keep_days,
        ) {
            lock_mutex(&self.report).notes.push(format!(
                "old snapshots of {} could not be dropped: {why}",
                worktree.root().display()
            ));
        }
    }
}

/// Shared state stays consistent after a panic: every change to it is one step.
fn lock_mutex<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The remaining probes of a sweep.
pub struct ProbeBudget {
    left: AtomicU32,
    total: u32,
}

impl ProbeBudget {
    /// So many questions for the whole sweep.
    pub fn new(total: u32) -> Self {
        ProbeBudget {
            left: AtomicU32::new(total),
            total,
        }
    }

    /// Takes one question, if one is left.
    pub fn take(&self) -> bool {
        self.left
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |probes_left| {
                probes_left.checked_sub(1)
            })
            .is_ok()
    }

    /// Puts one back that was not sent.
    pub fn put_back(&self) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// How many were taken.
    pub fn taken(&self) -> u32 {
        self.total - self.left.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is_however_many_ask_at_once() {
        let probe_budget = ProbeBudget::new(100);
        let taken: usize = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..60).filter(|_| probe_budget.take()).count()))
                .collect();
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(
            (taken, probe_budget.taken(), probe_budget.is_spent()),
            (100, 100, true)
        );
        probe_budget.put_back();
        assert!(
            (
                probe_budget.taken(),
                probe_budget.take(),
                probe_budget.take()
            ) == (99, true, false),
            "one that was not sent"
        );
    }
}

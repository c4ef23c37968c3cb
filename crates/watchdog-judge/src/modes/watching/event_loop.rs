//! The event loop of a watch: receives events of the file system, waits until git is done, and has each worktree judged, a few at a time
//! and none twice at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::discovery::Discovery;
use super::due_scans::DueScans;
use super::fs_events::FsEvents;
use super::head_scan::{GitDirsState, scan_heads, still_there};
use super::request::WatchRequest;
use super::scan::{ScanCause, ScanSubject, ScanTask, WatchScanOutcome, scan_in_thread};
use super::stalled::ReportedStalls;
use super::suspend_detector::SuspendDetector;
use super::watch_set::{AffectedWorktrees, WatchSet};
use super::watch_sources::{WatchSources, open_sources};
use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::judgement_input::Overrides;
use crate::judge::panicked::verdict_of_panic;
use crate::judge::refusal::about;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::notify::event_tail::EventTail;
use crate::watch::{FsMovement, WatchDepth};
use watchdog_facts::display::plural;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_git::{HistoryPoint, SearchResult, WorktreeState};
use watchdog_store::LocalStore;
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::{is_ours, kind};

/// The events of one commit come within milliseconds of each other.
const SETTLE: Duration = Duration::from_millis(4);
/// The longest pause between two batches of events, while they concern only worktrees that are due already.
const NO_NEWS: Duration = Duration::from_millis(16);
/// A lock that lives longer than this is not that of a running commit, and a worktree that is broken for longer is not about to be removed.
const PATIENCE: Duration = Duration::from_secs(2);
/// The first and the longest pause before a locked worktree is tried again.
const BUSY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// The longest pause before an unreadable worktree is tried again.
const BROKEN: Duration = Duration::from_secs(60);
/// Every worktree is scanned this often, with or without events: some file systems report none.
const ROUND: Duration = Duration::from_secs(300);
/// How often the outbox is emptied.
const TICK: Duration = Duration::from_secs(30);
/// How many worktrees have their HEAD read at a time.
const TOGETHER: usize = 64;

/// A scan in progress.
struct RunningScan {
    id: String,
    cause: ScanCause,
    since: Instant,
}

struct WatchLoop<'a, L> {
    around: &'a CommandEnv,
    request: &'a WatchRequest,
    store: Arc<dyn LocalStore>,
    signals: SignalState,
    watch_set: WatchSet,
    fs_events: FsEvents,
    due: DueScans,
    /// When a work tree will have been left alone for long enough.
    quiet: BTreeMap<String, Instant>,
    scan: L,
    scans: JoinSet<WatchScanOutcome>,
    /// The worktree of each scan in progress, also to find it after a panic.
    tasks: HashMap<Id, RunningScan>,
    /// The worktrees that are being scanned.
    under_way: BTreeSet<String>,
    discovery: Discovery,
    suspend_detector: SuspendDetector,
    last_round: Instant,
    /// When work trees without events were last scanned.
    last_work: Instant,
    watch_error_reported: bool,
    /// The faults that were reported already, by worktree.
    complaints: BTreeMap<String, String>,
    stalled: ReportedStalls,
}

/// Watches until a signal comes or the output is closed. Returns the number of the signal, or 0.
///
/// # Errors
/// Fails if there is no place for the records, or they cannot be read.
pub async fn watch_worktrees(
    around: &CommandEnv,
    request: &WatchRequest,
    signals: &mut SignalState,
) -> Result<i32, UnreadableFact> {
    watch_by(around, request, signals, scan_in_thread).await
}

/// The same, with `scan` for each scan.
pub(super) async fn watch_by(
    around: &CommandEnv,
    request: &WatchRequest,
    signals: &mut SignalState,
    scan: impl AsyncFn(ScanTask) -> WatchScanOutcome + Clone + 'static,
) -> Result<i32, UnreadableFact> {
    let (state, poll_only) = (around.state.clone(), request.poll_only);
    let WatchSources {
        store,
        mut tail,
        fs_events,
    } = spawn_io(move || open_sources(&state, poll_only)).await?;
    let mut discovery = Discovery::new(request.paths.clone());
    let first = discovery.first(signals).await?;
    around.notifications.wake(&store);
    let mut watch = WatchLoop {
        around,
        request,
        store,
        signals: signals.clone(),
        watch_set: WatchSet::default(),
        fs_events,
        due: DueScans::default(),
        quiet: BTreeMap::new(),
        scan,
        scans: JoinSet::new(),
        tasks: HashMap::new(),
        under_way: BTreeSet::new(),
        discovery,
        suspend_detector: SuspendDetector::new(Instant::now(), now()),
        last_round: Instant::now(),
        last_work: Instant::now(),
        watch_error_reported: false,
        complaints: BTreeMap::new(),
        stalled: ReportedStalls::default(),
    };
    watch.apply_search_result(first).await;
    tokio::task::LocalSet::new()
        .run_until(watch.stay(&mut tail, signals))
        .await;
    Ok(signals.last())
}

impl<L: AsyncFn(ScanTask) -> WatchScanOutcome + Clone + 'static> WatchLoop<'_, L> {
    async fn stay(&mut self, tail: &mut EventTail, signals: &mut SignalState) {
        let mut next_regular_scan = Instant::now() + self.pause();
        // A ref that git moves is eight movements or so: those that come within a moment are taken
        // together.
        let (mut listen_at, mut pause) = (Instant::now(), SETTLE);
        loop {
            self.discovery.begin_due();
            self.begin_scans().await;
            let next = self
                .due
                .next(&self.under_way)
                .into_iter()
                .chain(self.quiet.values().copied())
                .chain(self.discovery.due())
                .min();
            let full = self.scans.len() >= self.request.jobs;
            let go_on = tokio::select! {
                moved = async { sleep_until(listen_at).await; self.fs_events.next().await } => {
                    pause = if self.on_movement(moved) { SETTLE } else { (pause * 2).min(NO_NEWS) };
                    listen_at = Instant::now() + pause;
                    true
                }
                () = sleep_until(next.unwrap_or(next_regular_scan)), if next.is_some() && !full => true,
                Some(outcome) = self.scans.join_next_with_id(), if !self.scans.is_empty() => self.on_scan_end(outcome),
                found = self.discovery.wait_for_result() => { self.finish_search(found).await; true }
                () = tail.wait_for_change() => { self.read_events(tail).await; true }
                () = sleep_until(next_regular_scan) => {
                    self.scan_regularly().await;
                    next_regular_scan = Instant::now() + self.pause();
                    (self.request.has_readers)()
                }
                () = signals.wait_for_interrupt() => false,
            };
            if !go_on {
                break;
            }
            if self.suspend_detector.stood_still(Instant::now(), now()) {
                self.all_due("the machine slept, or this process was stopped");
            }
        }
        self.discovery.end();
        // Running scans get the signal too, and report their verdicts.
        while let Some(outcome) = self.scans.join_next_with_id().await {
            self.on_scan_end(outcome);
        }
    }

    fn pause(&self) -> Duration {
        if self.polls() {
            self.request.poll
        } else {
            TICK
        }
    }

    fn polls(&self) -> bool {
        self.request.poll_only || self.fs_events.watch_error.is_some()
    }

    /// Events are only hints, and come in bursts; nothing is opened or read here. Returns whether any was news, or might be.
    fn on_movement(&mut self, moved: FsMovement) -> bool {
        let FsMovement::At(paths) = moved else {
            self.all_due("movements were dropped");
            for id in self.watch_set.names() {
                self.note_change(id);
            }
            return true;
        };
        let mut is_news = false;
        for path in paths {
            let AffectedWorktrees {
                heads,
                work,
                search,
            } = self.watch_set.concern(&path);
            if search {
                self.discovery.want();
                is_news = true;
            }
            for id in heads {
                is_news |= !self.due.has(&id);
                self.due.add(id, ScanCause::Head, SETTLE);
            }
            for id in work {
                self.note_change(id);
            }
        }
        is_news
    }

    /// Notes that something may have changed in a work tree just now.
    fn note_change(&mut self, id: String) {
        if let Some(quiet) = self.request.quiet_for {
            self.quiet.insert(id, Instant::now() + quiet);
        }
    }

    fn all_due(&mut self, why: &str) {
        tracing::info!(target: "watchdog::watch", why = why, "every worktree is looked at");
        self.discovery.want();
        for id in self.watch_set.names() {
            self.due.add(id, ScanCause::Head, SETTLE);
        }
    }

    async fn begin_scans(&mut self) {
        let time = Instant::now();
        let fallen: Vec<String> = self
            .quiet
            .iter()
            .filter(|(_, at)| **at <= time)
            .map(|(id, _)| id.clone())
            .collect();
        for id in fallen {
            // A pending scan for HEAD alone would replace this one.
            if self.due.has(&id) {
                self.quiet.insert(id, time + BUSY.0);
            } else {
                self.quiet.remove(&id);
                self.due.add(id, ScanCause::Quiet, Duration::ZERO);
            }
        }
        let ready = self.due.ready(time, &self.under_way);
        for ready in ready.chunks(TOGETHER) {
            let mut heads = self.read_heads(ready.iter().map(|(id, _, _)| id)).await;
            for (id, cause, since) in ready {
                let Some(head) = heads.remove(id) else {
                    self.due.remove(id);
                    continue;
                };
                if self.is_ready(id, *cause, time - *since, &head) {
                    if self.scans.len() >= self.request.jobs {
                        return;
                    }
                    if let Some(watched) = self.watch_set.get_mut(id) {
                        // Before the scan, so that a later movement counts as new.
                        watched.head_fingerprint = head.head_fingerprint;
                    }
                    self.due.begin(id);
                    self.begin_scan(id.clone(), *cause, *since);
                }
            }
        }
    }

    /// Reads what says where HEAD is in these worktrees, as far as they are watched, in a thread of its own.
    async fn read_heads(
        &self,
        ids: impl Iterator<Item = &String>,
    ) -> BTreeMap<String, GitDirsState> {
        let dirs: Vec<_> = ids
            .filter_map(|id| Some((id.clone(), self.watch_set.get(id)?.dirs.clone())))
            .collect();
        if dirs.is_empty() {
            BTreeMap::new()
        } else {
            spawn_io(move || scan_heads(dirs)).await
        }
    }

    /// Whether a due scan may begin now. A scan that is too early is put off, one without possible
    /// news is dropped.
    fn is_ready(
        &mut self,
        id: &str,
        cause: ScanCause,
        waited: Duration,
        head: &GitDirsState,
    ) -> bool {
        if cause != ScanCause::Ended && head.is_busy && waited < PATIENCE {
            self.due.put_off(id, SETTLE);
            return false;
        }
        if cause == ScanCause::Head {
            if head.head_fingerprint.is_none() {
                self.discovery.want();
            }
            // The scan finds out whether one without a HEAD is gone or broken.
            if head.head_fingerprint.is_some()
                && self
                    .watch_set
                    .get(id)
                    .is_some_and(|watched| watched.head_fingerprint == head.head_fingerprint)
            {
                self.due.remove(id);
                return false;
            }
        }
        true
    }

    fn begin_scan(&mut self, id: String, cause: ScanCause, since: Instant) {
        let Some(watched) = self.watch_set.get(&id) else {
            return;
        };
        let root = watched.root.clone();
        tracing::info!(target: "watchdog::watch", worktree = %root.display(), cause = cause.as_str(), "looks at a worktree");
        let subject = ScanSubject {
            id: id.clone(),
            root: root.clone(),
            cause,
            seen: watched.seen.clone(),
            fingerprint: watched.fingerprint,
        };
        let may_ask = self.request.probe || cause == ScanCause::Ended;
        let overrides = Overrides {
            once: true,
            no_probe: self.request.overrides.no_probe || !may_ask,
            ..self.request.overrides.clone()
        };
        let narrate = Arc::clone(&self.around.narrate);
        let named = root.display().to_string();
        let around = CommandEnv {
            worktree: self.around.typed_folder(&root),
            narrate: Arc::new(move |text: &str| narrate(&format!("{named}: {text}"))),
            ..self.around.clone()
        };
        let (store, signals) = (Arc::clone(&self.store), self.signals.clone());
        self.under_way.insert(id.clone());
        let scan = self.scan.clone();
        let task = self.scans.spawn_local(async move {
            scan(ScanTask {
                around,
                store,
                subject,
                overrides,
                signals,
            })
            .await
        });
        self.tasks
            .insert(task.id(), RunningScan { id, cause, since });
    }

    /// Takes the outcome of a scan; `false` where the output is closed.
    fn on_scan_end(&mut self, outcome: Result<(Id, WatchScanOutcome), JoinError>) -> bool {
        let task = outcome
            .as_ref()
            .map_or_else(JoinError::id, |(task, _)| *task);
        let Some(RunningScan { id, cause, since }) = self.tasks.remove(&task) else {
            return true;
        };
        self.under_way.remove(&id);
        self.due.end(&id);
        let outcome = match outcome {
            Ok((_, outcome)) => outcome,
            Err(panicked) => return self.report_panic(id, panicked),
        };
        let Some(watched) = self.watch_set.get_mut(&id) else {
            return true;
        };
        match outcome {
            WatchScanOutcome::Unwatched => true,
            WatchScanOutcome::Same { head } => {
                watched.seen = head.or(watched.seen.take());
                self.complaints.remove(&id);
                true
            }
            WatchScanOutcome::Busy => {
                // A movement during it made it due already.
                watched.head_fingerprint = None;
                let pause = (since.elapsed() / 4).clamp(BUSY.0, BUSY.1);
                self.due.add_again_after(id, cause, since, pause);
                true
            }
            WatchScanOutcome::Judged {
                head,
                fingerprint,
                judgement,
            } => {
                // Commits of the judgement itself are no news.
                let after = judgement
                    .verdict
                    .commits
                    .as_ref()
                    .map(|commits| commits.head.clone().into());
                watched.seen = after.or(head);
                watched.fingerprint = fingerprint.or(watched.fingerprint);
                self.complaints.remove(&id);
                (self.request.on_row)(&judgement)
            }
            WatchScanOutcome::Unreadable {
                why: unreadable,
                is_gone,
            } => {
                // It may just have been moved or removed, which the search finds, or be readable again soon.
                watched.head_fingerprint = None;
                let root = watched.root.clone();
                self.discovery.want();
                let pause = (since.elapsed() / 4).clamp(BUSY.0, BROKEN);
                self.due.add_again(id.clone(), cause, since, pause);
                // A worktree is broken for a moment while it is being removed, which needs no report.
                if is_gone
                    || since.elapsed() < PATIENCE
                    || self.complaints.get(&id) == Some(&unreadable.why)
                {
                    return true;
                }
                self.complaints.insert(id, unreadable.why.clone());
                let around = CommandEnv {
                    worktree: root,
                    ..self.around.clone()
                };
                (self.request.on_row)(&about(
                    &around,
                    None,
                    Verdict::unreadable(unreadable),
                    now(),
                ))
            }
        }
    }

    /// Reports a panic for its worktree only, and continues to watch the others. That worktree is scanned again on its next event:
    /// at once, it would only panic again.
    fn report_panic(&mut self, id: String, panicked: JoinError) -> bool {
        let Ok(panic) = panicked.try_into_panic() else {
            return true;
        };
        let worktree = self
            .watch_set
            .get(&id)
            .map(|watched| watched.root.clone())
            .unwrap_or_else(|| id.into());
        let around = CommandEnv {
            worktree,
            ..self.around.clone()
        };
        (self.request.on_row)(&about(
            &around,
            None,
            verdict_of_panic(panic.as_ref()),
            now(),
        ))
    }

    /// Reads what other processes recorded: ends of sessions, and verdicts that make ours superfluous.
    async fn read_events(&mut self, tail: &mut EventTail) {
        // A store that cannot be read now is read with the next change.
        while let Ok(events) = tail.read_events().await {
            if events.is_empty() {
                break;
            }
            for event in events.iter().filter(|event| !is_ours(&event.id)) {
                self.read_one(event);
            }
        }
        // Such as that a damaged one was put aside, and every baseline with it.
        let store = Arc::clone(&self.store);
        for note in spawn_io(move || store.notes()).await {
            self.around.tell(&note.detail);
        }
    }

    fn read_one(&mut self, event: &StoredEvent) {
        let Some(watched) = self.watch_set.get_mut(&event.worktree) else {
            // It may be one that came unheard.
            if event.kind == kind::BASELINE {
                self.discovery.want();
            }
            return;
        };
        match event.kind.as_str() {
            kind::SESSION_ENDED => self
                .due
                .add(event.worktree.clone(), ScanCause::Ended, SETTLE),
            kind::BASELINE | kind::SESSION_STARTED => {
                self.due
                    .add(event.worktree.clone(), ScanCause::Head, SETTLE)
            }
            kind::VERDICT => {
                let reason = event.data["reason"].as_str();
                let was_judged = [Reason::Locked, Reason::SessionActive]
                    .iter()
                    .all(|busy| reason != Some(busy.as_str()));
                if let Some(head) = event.data["head"].as_str().filter(|_| was_judged) {
                    watched.seen = Some(
                        Some(head.to_owned())
                            .filter(|head| head != HistoryPoint::UNBORN)
                            .into(),
                    );
                    self.due.remove(&event.worktree);
                    // The next scan finds out whether HEAD moved since then.
                    watched.head_fingerprint = None;
                    self.due
                        .add(event.worktree.clone(), ScanCause::Head, BUSY.0);
                }
            }
            _ => {}
        }
    }

    async fn scan_regularly(&mut self) {
        self.around.notifications.wake(&self.store);
        let worktrees = self
            .watch_set
            .names()
            .into_iter()
            .filter_map(|id| Some((id.clone(), self.watch_set.get(&id)?.root.clone())));
        self.stalled
            .scan(self.around, &self.store, worktrees.collect());
        if self.last_round.elapsed() >= ROUND {
            self.last_round = Instant::now();
            self.all_due("it is time");
        } else if self.polls() {
            for (id, head) in self.read_heads(self.watch_set.names().iter()).await {
                if self
                    .watch_set
                    .get(&id)
                    .is_some_and(|watched| watched.head_fingerprint != head.head_fingerprint)
                {
                    self.due.add(id, ScanCause::Head, SETTLE);
                }
            }
            // Without events it is unknown for how long changes were left alone; then they are judged once.
            if self
                .request
                .quiet_for
                .is_some_and(|quiet| self.last_work.elapsed() >= quiet)
            {
                self.last_work = Instant::now();
                for id in self.watch_set.names() {
                    self.due.add(id, ScanCause::Quiet, SETTLE);
                }
            }
        }
    }

    async fn finish_search(&mut self, outcome: Result<SearchResult, JoinError>) {
        match outcome {
            Ok(search) => self.apply_search_result(search).await,
            Err(_) => self.around.tell("the search for worktrees failed, which is a bug; those that are known stay watched"),
        }
    }

    /// Takes the result of a search.
    async fn apply_search_result(&mut self, search: SearchResult) {
        let before = self.watch_set.size();
        for note in search.notes {
            self.around.tell(&note);
        }
        for worktree in &search.worktrees {
            // Those that are known stay watched.
            if let WorktreeState::Unlisted { why } = &worktree.standing {
                self.around
                    .tell(&format!("{}: {why}", worktree.root.display()));
            }
        }
        let roots = self.watch_set.roots_beside(&search.worktrees);
        let roots_left = spawn_io(move || still_there(roots)).await;
        let new = self
            .watch_set
            .replace(&search.worktrees, &|root| roots_left.contains(root));
        self.complaints
            .retain(|id, _| self.watch_set.get(id).is_some());
        let mut wanted = BTreeMap::new();
        for watched in self.watch_set.all() {
            wanted.extend(watched.dirs.own());
            wanted.extend(watched.dirs.list_shared());
            // Only there does a whole repository that is moved away cause an event.
            if let Some(parent) = watched.root.parent() {
                wanted
                    .entry(parent.to_owned())
                    .or_insert(WatchDepth::Folder);
            }
            if self.request.quiet_for.is_some() {
                wanted.insert(watched.root.clone(), WatchDepth::Tree);
            }
        }
        let mut signals = self.signals.clone();
        let begun = tokio::select! {
            begun = self.fs_events.listen_to(wanted) => begun,
            // A system that tells of no events may never answer, and a large tree takes long.
            () = signals.wait_for_interrupt() => return,
        };
        // This scan sees movements between the search and the watch, and reports broken worktrees.
        for id in new
            .into_iter()
            .chain(self.watch_set.with_git_data_in(&begun))
        {
            self.due.add(id, ScanCause::Head, Duration::ZERO);
        }
        for id in self.watch_set.with_top_in(&begun) {
            self.note_change(id);
        }
        if before != self.watch_set.size() {
            let (worktrees, repositories) = self.watch_set.size();
            let of = if repositories == 1 {
                "1 repository".to_owned()
            } else {
                format!("{repositories} repositories")
            };
            let line = format!(
                "watching {} of {of}, in {}",
                plural(worktrees as u64, "worktree"),
                plural(self.fs_events.count() as u64, "folder")
            );
            self.around.tell(&line);
        }
        if let Some(error) = self
            .fs_events
            .watch_error
            .as_ref()
            .filter(|_| !self.watch_error_reported)
        {
            self.around.tell(&format!(
                "{error}; looking every {} s instead",
                self.request.poll.as_secs_f64()
            ));
        }
        self.watch_error_reported = self.fs_events.watch_error.is_some();
    }
}

//! Scans one worktree: decides whether there is anything to judge, and judges it as `check --once` does.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::now;
use crate::judge::command_env::CommandEnv;
use crate::judge::judgement_input::Overrides;
use crate::judge::open_worktree::{OpenWorktree, WATCH};
use crate::judge::session_life::WorktreeLife;
use crate::judge::signals::SignalState;
use crate::judge::spawn_io::spawn_io;
use crate::modes::check::{CheckRequest, judge_worktree};
use crate::session::{is_another_clone, read_recorded_baseline};
use crate::wire::verdict_json::Judgement;
use watchdog_core::decision::session_life::SessionLife;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_facts::verdict::Reason;
use watchdog_git::{HistoryPoint, Worktree, is_absent};
use watchdog_store::LocalStore;
use watchdog_store::engine::EventCursor;
use watchdog_store::journal::kind;
use watchdog_store::lock::{LockAttempt, LockHolder, WorktreeLock};

/// Why a worktree is scanned; a later one is the stronger reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanCause {
    /// Changes in its work tree fell quiet.
    Quiet,
    /// Its HEAD may have moved.
    Head,
    /// A session ended.
    Ended,
}

impl ScanCause {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ScanCause::Quiet => "quiet",
            ScanCause::Head => "head",
            ScanCause::Ended => "session_ended",
        }
    }
}

/// A worktree to scan, with its state at the last scan.
pub struct ScanSubject {
    /// Its name in the records.
    pub id: String,
    /// Its top folder.
    pub root: PathBuf,
    /// Why.
    pub cause: ScanCause,
    /// The commit that was last judged.
    pub seen: Option<HistoryPoint>,
    /// The uncommitted changes that were last judged.
    pub fingerprint: Option<u64>,
}

/// The inputs of one scan.
pub struct ScanTask {
    /// The environment of the command, with the worktree's own folder.
    pub around: CommandEnv,
    /// The records.
    pub store: Arc<dyn LocalStore>,
    /// The worktree.
    pub subject: ScanSubject,
    /// The overrides for the judgement.
    pub overrides: Overrides,
    /// Signals that end it early.
    pub signals: SignalState,
}

/// The outcome of a scan.
pub enum WatchScanOutcome {
    /// It has no baseline, so it is not watched.
    Unwatched,
    /// The worktree has no news.
    Same {
        /// The position of HEAD.
        head: Option<HistoryPoint>,
    },
    /// Another process holds its lock, or a session works there.
    Busy,
    /// A judgement.
    Judged {
        /// The position of HEAD just before.
        head: Option<HistoryPoint>,
        /// The uncommitted changes just before, where they were read.
        fingerprint: Option<u64>,
        /// The judgement.
        judgement: Box<Judgement>,
    },
    /// It could not be read.
    Unreadable {
        /// Why.
        why: UnreadableFact,
        /// Whether its top folder is gone.
        is_gone: bool,
    },
}

/// Scans in a thread of its own, and judges where there is something new.
pub async fn scan_in_thread(task: ScanTask) -> WatchScanOutcome {
    spawn_io(move || scan_here(&task)).await
}

fn scan_here(task: &ScanTask) -> WatchScanOutcome {
    let ScanTask {
        around,
        store,
        subject,
        overrides,
        signals,
    } = task;
    match prepare_scan(around, store, subject) {
        Ok(PreparedScan::Judge(open, lock, head, fingerprint)) => {
            let request = CheckRequest {
                overrides: overrides.clone(),
                ..CheckRequest::default()
            };
            let begun = now();
            let judged = judge_worktree(around, *open, &request, signals, begun);
            let judgement =
                Box::new(judged.unwrap_or_else(|refusal| refusal.into_judgement(around, begun)));
            drop(lock);
            match find_unreadable_fact(&judgement).filter(|_| head.is_none()) {
                Some(unreadable) => unreadable_scan(subject, unreadable),
                None => WatchScanOutcome::Judged {
                    head,
                    fingerprint,
                    judgement,
                },
            }
        }
        Ok(PreparedScan::Nothing(outcome)) => outcome,
        Err(unreadable) => unreadable_scan(subject, unreadable),
    }
}

fn unreadable_scan(subject: &ScanSubject, why: UnreadableFact) -> WatchScanOutcome {
    WatchScanOutcome::Unreadable {
        why,
        is_gone: is_absent(&subject.root),
    }
}

/// The reason why git became unreadable during a judgement: a worktree is broken for a moment while it is being removed.
fn find_unreadable_fact(judgement: &Judgement) -> Option<UnreadableFact> {
    let kind = match judgement.verdict.reason {
        Reason::GitError => FaultKind::Git,
        Reason::NotARepository => FaultKind::NotARepository,
        _ => return None,
    };
    Some(UnreadableFact::new(kind, judgement.verdict.message.clone()))
}

enum PreparedScan {
    Judge(
        Box<OpenWorktree>,
        WorktreeLock,
        Option<HistoryPoint>,
        Option<u64>,
    ),
    Nothing(WatchScanOutcome),
}

fn prepare_scan(
    around: &CommandEnv,
    store: &Arc<dyn LocalStore>,
    subject: &ScanSubject,
) -> Result<PreparedScan, UnreadableFact> {
    let Some(recorded) = read_recorded_baseline(store, &subject.id, None)? else {
        return Ok(PreparedScan::Nothing(WatchScanOutcome::Unwatched));
    };
    let worktree = Worktree::open(&subject.root)?;
    if worktree.worktree_id() != subject.id {
        let why = format!(
            "another worktree is in the place of {}",
            subject.root.display()
        );
        return Err(UnreadableFact::new(FaultKind::NotARepository, why));
    }
    if is_another_clone(store.as_ref(), &worktree)? {
        return Ok(PreparedScan::Nothing(WatchScanOutcome::Unwatched));
    }
    // HEAD is not readable everywhere; then every movement is judged.
    let head = worktree.head().ok();
    let before = subject.seen.as_ref().unwrap_or(&recorded.point);
    let moved = head.as_ref().is_none_or(|head| head != before);
    let mut fingerprint = None;
    let new = match subject.cause {
        ScanCause::Ended => true,
        ScanCause::Head => moved,
        ScanCause::Quiet => {
            let changes = worktree.changes()?;
            fingerprint = Some(changes.fingerprint);
            moved || (changes.any() && subject.fingerprint != fingerprint)
        }
    };
    if !new {
        return Ok(PreparedScan::Nothing(WatchScanOutcome::Same { head }));
    }
    // A session that works is waited for, as a lock is.
    let life = WorktreeLife::read_sessions(
        around,
        store.as_ref(),
        (&subject.id, &subject.root),
        Duration::ZERO,
    )?;
    if matches!(life.life, SessionLife::Busy { .. }) {
        return Ok(PreparedScan::Nothing(WatchScanOutcome::Busy));
    }
    // Takes the lock only now, so that a scan without news blocks no other process.
    let holder = LockHolder::of_this_process(WATCH, now());
    let LockAttempt::Held(lock) = WorktreeLock::try_acquire(&around.state, &subject.id, holder)?
    else {
        return Ok(PreparedScan::Nothing(WatchScanOutcome::Busy));
    };
    if subject.cause != ScanCause::Quiet && was_judged(store.as_ref(), &subject.id, head.as_ref())?
    {
        return Ok(PreparedScan::Nothing(WatchScanOutcome::Same { head }));
    }
    let open = OpenWorktree::with_store(around, worktree, store);
    Ok(PreparedScan::Judge(Box::new(open), lock, head, fingerprint))
}

/// Whether the last record of a worktree is a verdict on this very head: the former holder of the lock may have just written one.
fn was_judged(
    store: &dyn LocalStore,
    id: &str,
    head: Option<&HistoryPoint>,
) -> Result<bool, UnreadableFact> {
    let (events, _) = store.read_back(EventCursor::END, Some(id), 1)?;
    let busy = |reason: &str| {
        [Reason::Locked, Reason::SessionActive]
            .iter()
            .any(|busy| reason == busy.as_str())
    };
    Ok(events.last().is_some_and(|event| {
        let judged =
            event.kind == kind::VERDICT && !event.data["reason"].as_str().is_some_and(busy);
        judged && head.is_some_and(|head| event.data["head"].as_str() == Some(head.as_str()))
    }))
}

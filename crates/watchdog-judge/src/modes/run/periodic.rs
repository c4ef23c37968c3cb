//! Takes snapshots while a session runs, so that work that the agent itself discards can be restored.
//!
//! A thread of its own scans the work tree now and then, with its own view of the repository. It takes no lock, writes nothing but objects
//! and refs, and runs at the lowest priority, so that the agent never waits for it. On Linux the priority of disk access follows that of
//! the processor, as nothing else is set. The thread is not one of the runtime's, because a lowered priority cannot be raised again.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::rescue::{BEFORE_SESSION, take_snapshot};
use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_git::{OriginEvidence, Snapshot, Worktree};
use watchdog_store::LocalStore;
use watchdog_store::journal::snapshot_event;

use crate::clock::now;
use crate::judge::command_env::ProgressCallback;
use crate::judge::snapshots::{describe_gaps, snapshot_helpers};

/// The longest time between two scans that show whether the work tree is quiet.
const SETTLE: Duration = Duration::from_secs(10);

/// The session whose work the snapshots hold.
pub struct SnapshotSubject {
    /// A path in the worktree.
    pub root: PathBuf,
    /// Its name in the store.
    pub worktree_id: String,
    /// The name of the work.
    pub spec: String,
    /// The interval, and the rule for private files.
    pub settings: RescueSettings,
    /// Finds the session's helpers, whose worktrees get snapshots like its own.
    pub evidence: OriginEvidence,
    /// For the journal.
    pub store: Arc<dyn LocalStore>,
    /// The receiver of progress messages.
    pub narrate: ProgressCallback,
    /// The state in which each helper was kept, and when.
    pub helpers: RefCell<HashMap<PathBuf, (u64, Instant)>>,
}

/// The thread that takes them.
pub struct PeriodicSnapshots {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl PeriodicSnapshots {
    /// Starts, unless the configuration wants no snapshots. Call it before the session starts.
    ///
    /// Takes a snapshot of the uncommitted files before it returns: the session did not make that work, and may destroy it. Returns
    /// why that failed, if it did.
    pub fn start(subject: SnapshotSubject) -> (Option<Self>, Option<String>) {
        if subject.settings.mode == RescueMode::Off {
            return (None, None);
        }
        let every = subject.settings.snapshot_every;
        let mut schedule = SnapshotSchedule::new(every, (every / 3).min(SETTLE));
        let unkept = subject.scan(&mut schedule).err();
        if every.is_zero() {
            return (None, unkept);
        }
        let complained = unkept.is_some();
        let (stop, stopped) = channel();
        let narrate = Arc::clone(&subject.narrate);
        let span = tracing::Span::current();
        let watch_over =
            move || span.in_scope(|| subject.watch_over(schedule, complained, &stopped));
        let thread = std::thread::Builder::new()
            .name("snapshots".into())
            .spawn(watch_over);
        match thread {
            Ok(thread) => (Some(PeriodicSnapshots { stop, thread }), unkept),
            Err(error) => {
                narrate(&format!(
                    "no snapshots are taken during the session: {error}"
                ));
                (None, unkept)
            }
        }
    }

    /// Ends after the snapshot that is under way, if one is.
    pub fn stop(self) {
        // It may have ended already.
        let _ = self.stop.send(());
        if self.thread.join().is_err() {
            tracing::warn!(target: "watchdog::rescue", "the thread that takes snapshots panicked");
        }
    }
}

impl SnapshotSubject {
    fn watch_over(
        self,
        mut schedule: SnapshotSchedule,
        mut complained: bool,
        stopped: &Receiver<()>,
    ) {
        watchdog_system::lower_thread_priority();
        while matches!(
            stopped.recv_timeout(schedule.pause()),
            Err(RecvTimeoutError::Timeout)
        ) {
            match self.scan(&mut schedule) {
                Ok(()) => complained = false,
                // A repository that is in the middle of something may be readable at the next look; one complaint will do.
                Err(why) if !complained => {
                    complained = true;
                    self.complain(&why);
                }
                Err(_) => {}
            }
        }
    }

    fn complain(&self, why: &str) {
        (self.narrate)(&format!(
            "a snapshot during the session could not be taken: {why}"
        ));
    }

    fn scan(&self, schedule: &mut SnapshotSchedule) -> Result<(), String> {
        // Opened again each time, because the agent may change configuration and refs.
        let opened = Worktree::open(&self.root)
            .and_then(|worktree| worktree.changes().map(|changes| (worktree, changes)));
        let (worktree, changes) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                schedule.record_scan_failure();
                return Err(error.to_string());
            }
        };
        // Before the session, even a clean tree gets a snapshot: it holds small ignored settings, which are no change.
        let due = schedule.is_due(changes.any().then_some(changes.fingerprint)) || !schedule.begun;
        let at = now();
        let request = (self.spec.as_str(), at, schedule.why());
        self.snapshot_helpers(&worktree, request);
        if !due {
            return Ok(());
        }
        let taken = take_snapshot(&worktree, request, &self.settings).map_err(|error| {
            schedule.forget();
            error.to_string()
        })?;
        self.note(taken.as_ref().filter(|snapshot| !snapshot.reused), at);
        let Some(taken) = taken else { return Ok(()) };
        if !schedule.begun
            && let Some(sentence) = describe_gaps(&taken)
        {
            (self.narrate)(&sentence);
        }
        taken.require_all_read().map_err(|error| {
            schedule.forget();
            error.to_string()
        })
    }

    /// A new helper gets a snapshot at once, later ones as often as the session's own worktree.
    fn snapshot_helpers(&self, worktree: &Worktree, request: (&str, Timestamp, &str)) {
        let every = self.settings.snapshot_every;
        let is_due = |root: &Path, state: u64| {
            let mut seen = self.helpers.borrow_mut();
            let due = seen
                .get(root)
                .is_none_or(|(kept, at)| *kept != state && at.elapsed() >= every);
            if due {
                seen.insert(root.to_owned(), (state, Instant::now()));
            }
            due
        };
        let snapshots = snapshot_helpers(worktree, &self.evidence, request, &self.settings, is_due);
        for snapshot in &snapshots.taken {
            self.note(Some(snapshot), request.1);
        }
        for why in snapshots.failed {
            tracing::debug!(target: "watchdog::rescue", why = why, "cannot keep the work of a helper");
        }
    }

    fn note(&self, taken: Option<&Snapshot>, at: Timestamp) {
        if let Some(snapshot) = taken {
            let event = snapshot_event(
                at,
                &self.worktree_id,
                Some(&self.spec),
                &snapshot.name,
                &snapshot.commit,
            );
            // The ref is what counts, and the journal can be rebuilt from it.
            let _ = self.store.append(&[event], None);
        }
    }
}

/// Decides when to scan, and whether a scan is worth a snapshot. Pure.
#[derive(Debug)]
struct SnapshotSchedule {
    every: Duration,
    settle: Duration,
    /// How long ago the last snapshot was taken, as the pauses since say.
    since: Duration,
    /// The fingerprint at the last scan, while the work tree is watched for quiet.
    last: Option<u64>,
    /// For how long it is watched.
    restless: Duration,
    /// The fingerprint of the last snapshot.
    last_fingerprint: Option<u64>,
    /// No scan yet.
    first: bool,
    /// The last look was not the first.
    begun: bool,
    pause: Duration,
}

impl SnapshotSchedule {
    fn new(every: Duration, settle: Duration) -> Self {
        SnapshotSchedule {
            every,
            settle,
            since: Duration::ZERO,
            last: None,
            restless: Duration::ZERO,
            last_fingerprint: None,
            first: true,
            begun: false,
            pause: every,
        }
    }

    /// Takes the fingerprint of a scan (`None`: nothing uncommitted); returns whether to take a snapshot now.
    fn is_due(&mut self, seen: Option<u64>) -> bool {
        if !self.first {
            self.since += self.pause;
            self.restless += self.pause;
        }
        let first = std::mem::replace(&mut self.first, false);
        self.begun = !first;
        let before = std::mem::take(&mut self.last);
        if before.is_none() {
            self.restless = Duration::ZERO;
        }
        let open = self.since >= self.every;
        let Some(seen) = seen.filter(|seen| Some(*seen) != self.last_fingerprint) else {
            // Without news: even after a long quiet time, a change must be noticed soon, but scans
            // cost something.
            self.pause = if open {
                self.settle.max(self.every / 5)
            } else {
                self.every.saturating_sub(self.since)
            };
            return false;
        };
        // A work tree that is never quiet must not go without any.
        if first || (open && (before == Some(seen) || self.restless >= self.every)) {
            self.last_fingerprint = Some(seen);
            self.since = Duration::ZERO;
            self.pause = self.every;
            return true;
        }
        self.last = open.then_some(seen);
        self.pause = if open {
            self.settle
        } else {
            self.every.saturating_sub(self.since)
        };
        false
    }

    /// Why a snapshot is taken, once it is due.
    fn why(&self) -> &'static str {
        if self.begun {
            "during the session"
        } else {
            BEFORE_SESSION
        }
    }

    fn record_scan_failure(&mut self) {
        self.since += if self.first {
            Duration::ZERO
        } else {
            self.pause
        };
        self.first = false;
        self.pause = self.every;
    }

    /// The snapshot that was due could not be taken: the same state is due again.
    fn forget(&mut self) {
        self.last_fingerprint = None;
    }

    fn pause(&self) -> Duration {
        // A pause of nothing would be a busy loop.
        self.pause.max(Duration::from_millis(50))
    }
}

#[cfg(test)]
mod tests {
    use super::super::periodic::*;

    const EVERY: Duration = Duration::from_secs(300);
    const SETTLE: Duration = Duration::from_secs(10);

    /// The times, in seconds, of the snapshots that a series of scans led to.
    fn taken(until: u64, seen: impl Fn(u64) -> Option<u64>) -> Vec<u64> {
        let mut schedule = SnapshotSchedule::new(EVERY, SETTLE);
        let (mut at, mut taken) = (0, Vec::new());
        while at <= until {
            if schedule.is_due(seen(at)) {
                taken.push(at);
            }
            at += schedule.pause().as_secs();
        }
        taken
    }

    #[test]
    fn initial_state_is_kept_immediately_and_once() {
        assert_eq!(taken(4000, |_| Some(1)), [0]);
        assert_eq!(taken(4000, |_| None), Vec::<u64>::new());
    }

    #[test]
    fn a_change_is_kept_once_it_is_quiet() {
        assert_eq!(
            taken(4000, |at| (at >= 100).then_some(7)),
            [310],
            "the first look after the interval, and one to see that it rests"
        );
        assert_eq!(
            taken(4000, |at| (at >= 1000).then_some(7)),
            [1030],
            "looked at every minute after a long quiet time"
        );
        assert_eq!(
            taken(400, |at| Some(if at < 350 { at } else { 1 })),
            [0, 360],
            "it changes until 350"
        );
    }

    #[test]
    fn between_two_snapshots_the_interval_passes() {
        let times = taken(4000, |at| Some(at / 100));
        assert!(
            times
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= EVERY.as_secs()),
            "{times:?}"
        );
        assert!(times.len() > 8, "{times:?}");
    }

    #[test]
    fn constantly_changing_worktree_is_still_kept() {
        assert_eq!(taken(1300, Some), [0, 600, 1200]);
    }
}

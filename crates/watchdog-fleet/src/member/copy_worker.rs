//! Copies in a thread of its own, for commands that stay: `loop`, `watch`, `task work`. No work
//! ever waits for it, not even the end of the command: the rest is then handed over to a process of
//! its own.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use watchdog_store::{LocalStore, SharedStore, StoreError, copied};

use super::copying::{CopiedEvents, CopyIdentity, copy_events};
use watchdog_judge::clock::{now, pauses};
use watchdog_judge::judge::command_env::ProgressCallback;

/// How long an event waits for its copy at most, while the server answers.
const EVERY: Duration = Duration::from_secs(5);
/// How long the thread leaves a command alone that begins: its own first steps need the processors,
/// and a short command ends before. Its events are handed over then.
const BEGINS_AFTER: Duration = Duration::from_millis(250);
/// The longest pause after the server could not be reached.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many batches are sent before the thread looks whether the command ends.
const BATCHES: usize = 5;

/// How often this machine says that it is there, while such a command runs.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// The fleet as the thread knows it. Every call ends within a deadline of its own.
pub trait FleetLink: Send {
    /// Returns the store that receives the copies.
    fn store(&self) -> &dyn SharedStore;

    /// Says that this machine is there.
    ///
    /// # Errors
    /// Fails if the server cannot be used.
    fn heartbeat(&self) -> Result<(), StoreError>;

    /// Tells of the usage limits that were met here, and asks for those that others of the same account met.
    ///
    /// # Errors
    /// Fails if a store cannot be used.
    fn share_account(&self, local: &dyn LocalStore) -> Result<(), StoreError>;
}

/// Reaches the fleet.
pub(super) type ConnectFleet = Box<dyn Fn() -> Result<Box<dyn FleetLink>, StoreError> + Send>;

/// Has somebody else send what is left. Returns at once.
pub(super) type HandOver = Box<dyn FnOnce() + Send>;

/// Opens the records of this machine on a connection of the worker's own; `None` where that fails, which the command itself says.
pub(super) type OpenRecords = Arc<dyn Fn() -> Option<Arc<dyn LocalStore>> + Send + Sync>;

/// A thread that copies until this is dropped, which hands over what is left, where the server was
/// not found to be away. Unsent events wait for the next such command, or for `watchdog fleet
/// sync`.
#[must_use = "dropping it ends the copying"]
pub struct CopyWorker {
    shared: Arc<WorkerShared>,
    open: OpenRecords,
    fleet: String,
    hand_over: Option<HandOver>,
}

#[derive(Default)]
struct WorkerShared {
    state: Mutex<WorkerState>,
    changed: Condvar,
}

#[derive(Default)]
struct WorkerState {
    /// The records, once the thread has opened them. The thread has them only while it works, so that the end of the command closes them.
    local: Option<Arc<dyn LocalStore>>,
    /// The command ends.
    closing: bool,
}

impl CopyWorker {
    /// Begins to copy; the command's own work does not wait for the records to be opened. `tell` gets one line when the server is away, and one
    /// when it is back.
    pub fn begin(
        open: OpenRecords,
        identity: CopyIdentity,
        connect: ConnectFleet,
        tell: ProgressCallback,
        hand_over: HandOver,
    ) -> Self {
        let shared = Arc::new(WorkerShared::default());
        let worker = CopyWorker {
            shared: Arc::clone(&shared),
            open: Arc::clone(&open),
            fleet: identity.fleet.clone(),
            hand_over: Some(hand_over),
        };
        // Without a thread the copies are handed over at the end.
        let _begun = std::thread::Builder::new()
            .name("fleet copies".into())
            .spawn(move || {
                CopyThread {
                    shared,
                    identity,
                    connect,
                    tell,
                    link: None,
                    failures: 0,
                }
                .work(&open)
            });
        worker
    }
}

/// Describes a server that is away, for a person.
fn describe_away_server(why: &str) -> String {
    format!("{why}; the work goes on, and what happens is copied to the fleet later")
}

impl Drop for CopyWorker {
    /// Ends the thread's work, without waiting for it, and hands over what it did not send.
    fn drop(&mut self) {
        let local = {
            let mut state = self.shared.state();
            state.closing = true;
            self.shared.changed.notify_all();
            state.local.take()
        };
        let Some(local) = local.or_else(|| (self.open)()) else {
            return;
        };
        // No process is started for a server that did not answer just now, be it in an earlier
        // command.
        if copied::is_left(local.as_ref(), &self.fleet, now()).unwrap_or(false)
            && let Some(hand_over) = self.hand_over.take()
        {
            hand_over();
            // The started process moves the log into the database; this command's end does not wait
            // for that.
            local.leave_log();
        }
    }
}

impl WorkerShared {
    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().expect("mutex poisoned")
    }

    /// Has the end of the command close the records. `false` where it came before they were open.
    fn keep(&self, local: Arc<dyn LocalStore>) -> bool {
        let mut state = self.state();
        if !state.closing {
            state.local = Some(local);
        }
        !state.closing
    }

    /// Waits so long, or until the command ends.
    fn rest(&self, pause: Duration) {
        let changed = &self.changed;
        let _rested = changed
            .wait_timeout_while(self.state(), pause, |state| !state.closing)
            .expect("mutex poisoned");
    }

    /// The records for one round; `None` where the command ends.
    fn local(&self) -> Option<Arc<dyn LocalStore>> {
        self.state().local.clone()
    }
}

struct CopyThread {
    shared: Arc<WorkerShared>,
    identity: CopyIdentity,
    connect: ConnectFleet,
    tell: ProgressCallback,
    link: Option<(Box<dyn FleetLink>, Option<Instant>)>,
    failures: u32,
}

impl CopyThread {
    fn work(mut self, open: &OpenRecords) {
        let Some(local) = open() else { return };
        if let Ok(Some(why)) = copied::take_unsaid(local.as_ref(), &self.identity.fleet) {
            (self.tell)(&describe_away_server(&why));
        }
        if !self.shared.keep(local) {
            return;
        }
        self.shared.rest(BEGINS_AFTER);
        while let Some(local) = self.shared.local() {
            let pause = self.round(local.as_ref());
            drop(local);
            self.shared.rest(pause.unwrap_or_default());
        }
    }

    /// Copies some batches. Returns how long to wait for the next ones; `None` where more may wait already.
    fn round(&mut self, local: &dyn LocalStore) -> Option<Duration> {
        match self.copy(local) {
            Ok(done) => {
                if std::mem::take(&mut self.failures) > 0 {
                    (self.tell)("the fleet's server answers again; what waited is being copied");
                }
                (done.busy || done.read == 0).then_some(EVERY)
            }
            Err(error) => {
                // A connection that failed may be half open.
                self.link = None;
                self.failures += 1;
                let is_news = copied::record_failure(local, &self.identity.fleet, now())
                    .unwrap_or(self.failures == 1);
                if is_news {
                    (self.tell)(&describe_away_server(&error.to_string()));
                }
                Some(pauses::calculate_pause(self.failures, LONGEST_PAUSE))
            }
        }
    }

    fn copy(&mut self, local: &dyn LocalStore) -> Result<CopiedEvents, StoreError> {
        let (link, beaten) = match &mut self.link {
            Some(link) => link,
            none => none.insert(((self.connect)()?, None)),
        };
        if beaten.is_none_or(|beaten| beaten.elapsed() >= HEARTBEAT) {
            link.heartbeat()?;
            *beaten = Some(Instant::now());
        }
        link.share_account(local)?;
        copy_events(local, link.store(), &self.identity, BATCHES)
    }
}

#[cfg(test)]
#[path = "copy_worker_tests.rs"]
mod tests;

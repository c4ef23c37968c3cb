//! Copies in a thread of its own, for commands that stay: `loop`, `watch`, `task work`. Nothing ever waits for it, not even the end of the
//! command: what is left then is handed over to a process of its own.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use watchdog_store::{LocalStore, SharedStore, StoreError, copied};

use super::copying::{CopiedEvents, CopyIdentity, copy_events, waiting};
use crate::clock::{now, pauses};

/// How long an event waits for its copy at most, while the server answers.
const EVERY: Duration = Duration::from_secs(5);
/// The longest pause after the server could not be reached.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many batches are sent before the thread looks whether the command ends.
const BATCHES: usize = 5;

/// How often this machine says that it is there, while such a command runs.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// The fleet as the thread knows it. Every call ends within a deadline of its own.
pub trait FleetLink: Send {
    /// Where copies go.
    fn store(&self) -> &dyn SharedStore;

    /// Says that this machine is there.
    ///
    /// # Errors
    /// Where the server cannot be used.
    fn heartbeat(&self) -> Result<(), StoreError>;

    /// Tells of the usage limits that were met here, and asks for those that others of the same account met.
    ///
    /// # Errors
    /// Where a store cannot be used.
    fn share_account(&self, local: &dyn LocalStore) -> Result<(), StoreError>;
}

/// Reaches the fleet.
pub type ConnectFleet = Box<dyn Fn() -> Result<Box<dyn FleetLink>, StoreError> + Send>;

/// Receives one line for a person.
pub type TellPerson = Arc<dyn Fn(&str) + Send + Sync>;

/// Has somebody else send what is left. Returns at once.
pub type HandOver = Box<dyn FnOnce() + Send>;

/// A thread that copies until this is dropped, which hands over what is left, where the server was not found to be away. What is not sent
/// waits for the next such command, or for `watchdog fleet sync`.
#[must_use = "dropping it ends the copying"]
pub struct CopyWorker {
    shared: Arc<WorkerShared>,
    local: Arc<dyn LocalStore>,
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
    /// The server did not answer the last time, be it in an earlier command: nobody waits for it.
    is_away: bool,
    /// The command ends.
    closing: bool,
}

impl CopyWorker {
    /// Begins to copy. `tell` gets one line when the server is away, and one when it is back.
    pub fn begin(local: Arc<dyn LocalStore>, identity: CopyIdentity, connect: ConnectFleet, tell: TellPerson, hand_over: HandOver) -> Self {
        let shared = Arc::new(WorkerShared::default());
        let fleet = identity.fleet.clone();
        let was_away = copied::of(local.as_ref(), &fleet).ok().flatten().is_some_and(|progress| progress.failing_since.is_some());
        shared.state().is_away = was_away;
        if was_away && let Ok(Some(why)) = copied::take_unsaid(local.as_ref(), &fleet) {
            tell(&away(&why));
        }
        let worker = CopyWorker { shared: Arc::clone(&shared), local: Arc::clone(&local), fleet, hand_over: Some(hand_over) };
        // Without a thread the copies are handed over at the end.
        let _begun = std::thread::Builder::new()
            .name("fleet copies".into())
            .spawn(move || CopyThread { shared, local, identity, connect, tell, link: None, failures: 0 }.work());
        worker
    }

    /// Ends the thread's work, without waiting for it, and hands over what it did not send.
    fn finish(&mut self) {
        let is_away = {
            let mut state = self.shared.state();
            state.closing = true;
            self.shared.changed.notify_all();
            state.is_away
        };
        if !is_away
            && waiting(self.local.as_ref(), &self.fleet, 1).is_ok_and(|events| events > 0)
            && let Some(hand_over) = self.hand_over.take()
        {
            hand_over();
        }
    }
}

/// What a person is told of a server that is away.
fn away(why: &str) -> String {
    format!("{why}; the work goes on, and what happens is copied to the fleet later")
}

impl Drop for CopyWorker {
    fn drop(&mut self) {
        self.finish();
    }
}

impl WorkerShared {
    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().expect("mutex poisoned")
    }
}

struct CopyThread {
    shared: Arc<WorkerShared>,
    local: Arc<dyn LocalStore>,
    identity: CopyIdentity,
    connect: ConnectFleet,
    tell: TellPerson,
    link: Option<(Box<dyn FleetLink>, Option<Instant>)>,
    failures: u32,
}

impl CopyThread {
    fn work(mut self) {
        while !self.shared.state().closing {
            let pause = self.round();
            let mut state = self.shared.state();
            state.is_away = self.failures > 0;
            let due = Instant::now() + pause.unwrap_or_default();
            while !state.closing {
                let left = due.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state = self.shared.changed.wait_timeout(state, left).expect("mutex poisoned").0;
            }
        }
    }

    /// Copies some batches. Returns how long to wait for the next ones; `None` where more may wait already.
    fn round(&mut self) -> Option<Duration> {
        match self.copy() {
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
                let is_news = copied::failed(self.local.as_ref(), &self.identity.fleet, now()).unwrap_or(self.failures == 1);
                if is_news {
                    (self.tell)(&away(&error.to_string()));
                }
                Some(pauses::pause(self.failures, LONGEST_PAUSE))
            }
        }
    }

    fn copy(&mut self) -> Result<CopiedEvents, StoreError> {
        let (link, beaten) = match &mut self.link {
            Some(link) => link,
            none => none.insert(((self.connect)()?, None)),
        };
        if beaten.is_none_or(|beaten| beaten.elapsed() >= HEARTBEAT) {
            link.heartbeat()?;
            *beaten = Some(Instant::now());
        }
        link.share_account(self.local.as_ref())?;
        copy_events(self.local.as_ref(), link.store(), &self.identity, BATCHES)
    }
}

#[cfg(test)]
#[path = "copy_worker_tests.rs"]
mod tests;

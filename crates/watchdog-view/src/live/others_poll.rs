//! Reads the other machines of a fleet in a thread of its own: a server that is slow or away delays nothing of this machine.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;

use super::signals::spawn_reader;
use crate::fleet_overview::FleetOverview;
use crate::overview::{ShownSpecs, StatusOverview};
use watchdog_store::{LocalStore, StoreError};
use watchdog_system::lock_mutex;

/// Between two readings.
const EVERY: Duration = Duration::from_secs(1);

/// The copies of the other machines, and the fleet as it was looked at.
pub type ReadOthers = (Arc<dyn LocalStore>, FleetOverview);

/// Reads once; why it cannot, in words. Blocks.
pub type OthersReader = Box<dyn FnMut() -> Result<ReadOthers, String> + Send>;

/// Says how old what is shown of other machines is, where the server is away.
pub type AgeNote = fn(&FleetOverview) -> Option<String>;

/// The overview that was read last.
#[derive(Clone)]
pub struct OthersPoll {
    seen: Arc<Mutex<Option<Result<ReadOthers, String>>>>,
    age_note: AgeNote,
}

impl OthersPoll {
    /// Begins to read, again and again.
    pub fn start(mut read: OthersReader, age_note: AgeNote) -> std::io::Result<Self> {
        let poll = OthersPoll {
            seen: Arc::default(),
            age_note,
        };
        let seen = Arc::downgrade(&poll.seen);
        spawn_reader("other machines", move || {
            loop {
                let others = read();
                let Some(seen) = seen.upgrade() else { return };
                *lock_mutex(&seen) = Some(others);
                drop(seen);
                std::thread::sleep(EVERY);
            }
        })?;
        Ok(poll)
    }

    fn lock_seen(&self) -> MutexGuard<'_, Option<Result<ReadOthers, String>>> {
        lock_mutex(&self.seen)
    }

    /// Differs as soon as something was read that was not there before.
    pub fn stamp(&self) -> (Option<i64>, Option<String>) {
        match &*self.lock_seen() {
            None => (None, None),
            Some(Err(why)) => (None, Some(why.clone())),
            Some(Ok((store, overview))) => (
                store.cursor_at(Timestamp::MAX).ok().map(|cursor| cursor.0),
                overview.away.clone(),
            ),
        }
    }

    /// Adds what is known of the other machines.
    ///
    /// # Errors
    /// Fails if the copies cannot be read.
    pub fn add_to(
        &self,
        shown_overview: &mut StatusOverview,
        specs: ShownSpecs,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match &*self.lock_seen() {
            None => shown_overview
                .notes
                .push("the other machines of the fleet are being read".into()),
            Some(Err(why)) => shown_overview.notes.push(format!(
                "the other machines of the fleet cannot be read: {why}"
            )),
            Some(Ok((store, overview))) => {
                if !overview.has(&overview.this) {
                    shown_overview.rows.clear();
                }
                shown_overview.notes.extend((self.age_note)(overview));
                shown_overview.add_others(store.as_ref(), overview.clone(), specs, now)?;
            }
        }
        Ok(())
    }
}

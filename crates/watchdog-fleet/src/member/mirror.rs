//! The mirror of the fleet: the events of all machines and the records that follow from them, in a
//! store of its own, so that a view of a store shows the fleet. Read on from where it was; begun
//! anew where the server does not continue it. The mirror is never sent anywhere.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::event_stream::{FleetEvent, events_after};
use crate::machines::list_machines;
use crate::{FleetError, FleetServer};
use jiff::Timestamp;
use watchdog_core::decision::breaker::Breaker;
use watchdog_store::engine::{EventCursor, NewEvent, StoredEvent};
use watchdog_store::journal::tidy_journal;
use watchdog_store::seen_machines::{self, SeenMachine, SeenMachines};
use watchdog_store::{
    LocalStore, RecordType, StateDir, StoreError, baseline::BaselineRecord, copied,
    looped::LoopRecord, open_store, session::SessionRecord,
};

use super::fleet_setting::{FleetSetting, FleetSettingError, unusable};
use super::mirrored::{MirroredWork, mirrored_id};
use crate::wire::fleet_copy::of_machine;
use watchdog_judge::clock::now;

/// How many events are read at a time.
const BATCH: u32 = 2_000;
/// How long the right to read on lasts; it is taken anew for every batch.
const LEASE: Duration = Duration::from_secs(60);

/// The mirror of a fleet.
pub struct FleetMirror {
    fleet: String,
    dir: StateDir,
    store: Arc<dyn LocalStore>,
    server: FleetServer,
}

/// How reading on ended.
#[derive(Debug)]
pub enum MirrorState {
    /// Everything that the server has is here.
    Current,
    /// Another process of this machine reads at the moment.
    Busy,
    /// The server cannot be used: what is here is older.
    Away(FleetError),
}

/// Removes what was read of a fleet that is left, or of another history.
///
/// # Errors
/// Fails if it cannot be removed.
pub(super) fn remove_mirror(mirror: &StateDir) -> Result<(), FleetSettingError> {
    match fs::remove_dir_all(mirror.root()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(unusable(mirror.root())(error.to_string()))
        }
        _ => Ok(()),
    }
}

impl FleetMirror {
    /// The mirror of the fleet that this machine is in; connects to nothing yet.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn open(state: &StateDir, setting: &FleetSetting) -> Result<Self, FleetSettingError> {
        let dir = state.fleet_mirror();
        let fleet = setting.fleet();
        let is_of = |store: &Arc<dyn LocalStore>| -> Result<bool, StoreError> {
            Ok(copied::read_progress(store.as_ref(), &fleet)?.is_some()
                || store.cursor_at(Timestamp::MAX)? == EventCursor::START)
        };
        dir.ensure()?;
        let mut store = open_store(&dir)?;
        if !is_of(&store)? {
            drop(store);
            remove_mirror(&dir)?;
            dir.ensure()?;
            store = open_store(&dir)?;
        }
        Ok(FleetMirror {
            fleet,
            dir,
            store,
            server: setting.server()?.needing_its_format(),
        })
    }

    /// Returns the store of the mirrored events.
    pub fn store(&self) -> &Arc<dyn LocalStore> {
        &self.store
    }

    /// Returns the machines as the server listed them last; `None` if it was never read.
    ///
    /// # Errors
    /// Fails if the mirror cannot be read.
    pub fn machines(&self) -> Result<Option<SeenMachines>, StoreError> {
        seen_machines::read_machines(self.store.as_ref(), &self.fleet)
    }

    /// Reads on to the newest event. `tell` is called once where there is much to read.
    ///
    /// # Errors
    /// Fails if the mirror cannot be used. A server that is away is none.
    pub fn read_on(&mut self, tell: impl FnOnce()) -> Result<MirrorState, FleetSettingError> {
        let mut tell = Some(tell);
        let mut read = 0;
        loop {
            let Some(lease) = copied::acquire_copy_lease(self.store.as_ref(), &self.fleet, LEASE)?
            else {
                return Ok(MirrorState::Busy);
            };
            let batch = self.read_batch(read == 0);
            // A right that is not given back ends by itself.
            let _ = self.store.release(&lease);
            match batch {
                Ok(count) if count < BATCH as usize => return Ok(MirrorState::Current),
                Ok(count) => read += count,
                Err(FleetSettingError::Server(error)) => return Ok(MirrorState::Away(error)),
                Err(error) => return Err(error),
            }
            if let Some(tell) = tell.take() {
                tell();
            }
        }
    }

    /// Reads a batch, and says how many events it had.
    fn read_batch(&mut self, is_first: bool) -> Result<usize, FleetSettingError> {
        let mut through = copied::read_progress(self.store.as_ref(), &self.fleet)?
            .unwrap_or_default()
            .through();
        if is_first {
            let read = self.store.newest(BATCH as usize + 1)?;
            let seen = list_machines(&self.server)?;
            if !self.is_continued(through, &read)? {
                // A standby took over that lacked some of it, or a backup was brought back: what is here is of another history.
                remove_mirror(&self.dir)?;
                self.dir.ensure()?;
                self.store = open_store(&self.dir)?;
                through = EventCursor::START;
            }
            let of = |machine: crate::machines::FleetMachine| SeenMachine {
                name: machine.name,
                seen_at: machine.seen_at,
                silent_seconds: machine.silent_seconds,
            };
            let seen = SeenMachines {
                read_at: now(),
                machines: seen.into_iter().map(of).collect(),
            };
            seen_machines::record_machines(self.store.as_ref(), &self.fleet, &seen)?;
        }
        let events = events_after(&self.server, through, BATCH)?;
        if let Some(last) = events.last() {
            self.take(&events)?;
            // Last: a process that dies before takes the same events again, which changes nothing.
            copied::advance_copying(self.store.as_ref(), &self.fleet, last.position, 0)?;
            let _ = tidy_journal(self.store.as_ref(), now(), events.len());
        } else if copied::read_progress(self.store.as_ref(), &self.fleet)?.is_none() {
            copied::advance_copying(self.store.as_ref(), &self.fleet, through, 0)?;
        }
        Ok(events.len())
    }

    /// Whether the server has, where reading ended, an event that was read. The newest here may be of a batch behind, of a process that died.
    fn is_continued(&self, through: EventCursor, read: &[StoredEvent]) -> Result<bool, FleetError> {
        if through == EventCursor::START || read.is_empty() {
            return Ok(true);
        }
        let events = events_after(&self.server, EventCursor(through.0 - 1), 1)?;
        Ok(events.first().is_some_and(|fleet_event| {
            fleet_event.position == through
                && read.iter().any(|read| read.id == fleet_event.event.id)
        }))
    }

    fn take(&self, events: &[FleetEvent]) -> Result<(), StoreError> {
        let store = self.store.as_ref();
        let mirrored: Vec<NewEvent> = events
            .iter()
            .map(|fleet_event| {
                let event = of_machine(fleet_event.event.clone(), &fleet_event.machine);
                NewEvent {
                    worktree: mirrored_id(&fleet_event.machine, &event.worktree),
                    ..event
                }
            })
            .collect();
        // This append has no guarding lease, so it cannot be fenced.
        let _ = store.append(&mirrored, None)?;
        let mut works: HashMap<(String, String), MirroredWork> = HashMap::new();
        for fleet_event in events {
            let Some(spec) = fleet_event.event.spec.clone() else {
                continue;
            };
            let work = (
                mirrored_id(&fleet_event.machine, &fleet_event.event.worktree),
                spec,
            );
            if !works.contains_key(&work) {
                works.insert(work.clone(), self.work(&work)?);
            }
            if let Some(mirrored_work) = works.get_mut(&work) {
                mirrored_work.take(&fleet_event.machine, &fleet_event.event);
            }
        }
        for ((worktree, spec), work) in works {
            if let Some(baseline) = &work.baseline {
                baseline.write_row(store, &worktree, &spec)?;
            }
            if let Some(session) = &work.session {
                session.write_row(store, &worktree, &spec)?;
            }
            if let Some(looped) = &work.looped {
                looped.write_row(store, &worktree, &spec)?;
            }
            if let Some(recorded) = &work.breaker {
                Breaker::update_row(store, &worktree, &spec, |breaker| {
                    breaker.clone_from(recorded)
                })?;
            }
        }
        Ok(())
    }

    fn work(&self, (worktree, spec): &(String, String)) -> Result<MirroredWork, StoreError> {
        let store = self.store.as_ref();
        Ok(MirroredWork {
            baseline: BaselineRecord::read_row(store, worktree, spec)?,
            session: SessionRecord::read_row(store, worktree, spec)?,
            looped: LoopRecord::read_row(store, worktree, spec)?,
            // Written only where an event says so.
            breaker: None,
        })
    }
}

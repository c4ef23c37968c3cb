//! The sources of a watch, opened before anything is scanned, so that nothing happens unseen in between. Blocks.

use std::sync::Arc;

use jiff::Timestamp;

use super::fs_events::FsEvents;
use crate::notify::event_tail::EventTail;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::{LocalStore, StateDir, open_store};

/// The records, the end of the journal, and the events of the file system.
pub struct WatchSources {
    /// The records.
    pub store: Arc<dyn LocalStore>,
    /// The events that the journal gets from now on.
    pub tail: EventTail,
    /// Events in folders; none is watched yet.
    pub fs_events: FsEvents,
}

/// Opens them all; with `poll_only`, no folder is ever watched.
pub fn open_sources(state: &StateDir, poll_only: bool) -> Result<WatchSources, UnreadableFact> {
    state.ensure()?;
    let store: Arc<dyn LocalStore> = open_store(state)?;
    let tail = EventTail::new(
        Arc::clone(&store),
        state.root(),
        store.cursor_at(Timestamp::MAX)?,
    );
    Ok(WatchSources {
        store,
        tail,
        fs_events: FsEvents::new(poll_only),
    })
}

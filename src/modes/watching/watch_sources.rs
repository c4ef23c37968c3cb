//! What a watch listens to, opened before anything is looked at, so that nothing happens in between. Blocks.

use std::sync::Arc;

use jiff::Timestamp;

use super::fs_events::FsEvents;
use crate::notify::event_tail::EventTail;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_store::{LocalStore, StateDir, open_store};

/// The records, their end, and the movements.
pub struct WatchSources {
    /// The records.
    pub store: Arc<dyn LocalStore>,
    /// What is written down from now on.
    pub tail: EventTail,
    /// Movements in folders; none are watched yet.
    pub fs_events: FsEvents,
}

/// Opens them all; with `poll_only`, no movement is heard.
pub fn open_sources(state: &StateDir, poll_only: bool) -> Result<WatchSources, UnreadableFact> {
    state.ensure()?;
    let store: Arc<dyn LocalStore> = open_store(state)?;
    let tail = EventTail::new(Arc::clone(&store), state.root(), store.cursor_at(Timestamp::MAX)?);
    Ok(WatchSources { store, tail, fs_events: FsEvents::new(poll_only) })
}

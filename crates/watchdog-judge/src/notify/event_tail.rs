//! Follows the end of the journal. Waits for a change of the state directory, and polls as well: a network folder reports
//! no changes, and a replaced store continues in a new file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::watch::{FolderWatch, WatchDepth};
use watchdog_store::engine::{EventCursor, StoredEvent};
use watchdog_store::{LocalStore, StoreError};

/// How many events are read at a time.
const BATCH: usize = 500;

/// The pause between readings while the folder is watched, and while it cannot be.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(500));

/// A burst of writes is one change.
const SETTLE: Duration = Duration::from_millis(15);

/// Events after a place in the journal, in the order of the store.
pub struct EventTail {
    store: Arc<dyn LocalStore>,
    cursor: EventCursor,
    moved: Arc<Notify>,
    watching: Option<FolderWatch>,
    /// A change was reported; the rest of its burst may still come.
    stirred: bool,
}

impl EventTail {
    /// The events after `cursor`. `folder` is the one that the store writes to. Blocks.
    pub fn new(store: Arc<dyn LocalStore>, folder: &Path, cursor: EventCursor) -> Self {
        let moved = Arc::new(Notify::new());
        let notifier = Arc::clone(&moved);
        let watching = FolderWatch::start(move |_| notifier.notify_one())
            .and_then(|mut watch| watch.add(folder, WatchDepth::Folder).map(|()| watch));
        EventTail {
            store,
            cursor,
            moved,
            watching: watching.ok(),
            stirred: false,
        }
    }

    /// The events since the last call, at most one batch, read in a thread of its own; may be empty.
    ///
    /// # Errors
    /// When the store cannot be read; the next call retries at the same position.
    pub async fn read_events(&mut self) -> Result<Vec<StoredEvent>, StoreError> {
        let (store, cursor) = (Arc::clone(&self.store), self.cursor);
        let reading = tokio::task::spawn_blocking(move || store.read_events(cursor, BATCH));
        let (events, cursor) = reading
            .await
            .unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))?;
        self.cursor = cursor;
        Ok(events)
    }

    /// Waits until another reading may find events. Safe to cancel.
    pub async fn wait_for_change(&mut self) {
        let pause = if self.watching.is_some() {
            PAUSES.0
        } else {
            PAUSES.1
        };
        if !self.stirred {
            tokio::select! {
                () = tokio::time::sleep(pause) => return,
                () = self.moved.notified() => self.stirred = true,
            }
        }
        tokio::time::sleep(SETTLE).await;
        self.stirred = false;
    }
}

//! Receives events of the file system in folders. The queue is bounded: where too many come at once, they become one event "anywhere".

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::watched_folders::WatchedFolders;
use crate::judge::spawn_io::spawn_io;
use crate::watch::{FsMovement, WatchDepth, WatchError};

/// The length of the queue.
const WAITING: usize = 8192;

/// Receives events in a set of folders.
pub struct FsEvents {
    /// `None` where nothing is watched, and while a thread has them.
    folders: Option<WatchedFolders>,
    receiver: Receiver<FsMovement>,
    /// Whether events were dropped. Kept until that is reported, however many are taken out meanwhile.
    dropped: Arc<Notify>,
    /// Whether new folders without a watch may lie below those that are watched as trees.
    missed: bool,
    /// Why not everything is watched.
    pub watch_error: Option<WatchError>,
    /// Kept, so that waiting for what never comes does not end.
    _sender: Sender<FsMovement>,
}

impl FsEvents {
    /// Watches nothing yet; with `closed`, never anything.
    pub fn new(closed: bool) -> Self {
        let (sender, receiver) = channel(WAITING);
        let dropped = Arc::new(Notify::new());
        let (folders, watch_error) = match WatchedFolders::start(hearing(sender.clone(), Arc::clone(&dropped))) {
            Ok(_) if closed => (None, None),
            Ok(folders) => (Some(folders), None),
            Err(error) => (None, Some(error)),
        };
        FsEvents { folders, receiver, dropped, missed: false, watch_error, _sender: sender }
    }

    /// Watches these folders and no others, and returns the new ones: earlier events in them were missed. `watch_error` holds why one
    /// cannot be watched.
    pub async fn listen_to(&mut self, wanted: BTreeMap<PathBuf, WatchDepth>) -> BTreeSet<PathBuf> {
        let Some(mut folders) = self.folders.take() else { return BTreeSet::new() };
        let missed = std::mem::take(&mut self.missed);
        let listening = move || {
            let (begun, error) = folders.replace(wanted, missed);
            (folders, begun, error)
        };
        let (folders, begun, error) = spawn_io(listening).await;
        self.folders = Some(folders);
        self.watch_error = error;
        begun
    }

    /// How many folders are watched, without those below them.
    pub fn count(&self) -> usize {
        self.folders.as_ref().map_or(0, WatchedFolders::count)
    }

    /// The next event. Safe to cancel.
    pub async fn next(&mut self) -> FsMovement {
        let moved = tokio::select! {
            () = self.dropped.notified() => FsMovement::Anywhere,
            moved = self.receiver.recv() => moved.unwrap_or(FsMovement::Anywhere),
        };
        self.noted(moved)
    }

    /// An event that is in the queue already.
    pub fn more(&mut self) -> Option<FsMovement> {
        let moved = self.receiver.try_recv().ok()?;
        Some(self.noted(moved))
    }

    fn noted(&mut self, moved: FsMovement) -> FsMovement {
        self.missed |= moved == FsMovement::Anywhere;
        moved
    }
}

/// Puts events into the queue; sets `dropped` where it is full.
fn hearing(sender: Sender<FsMovement>, dropped: Arc<Notify>) -> impl Fn(FsMovement) + Send + 'static {
    move |moved| {
        if sender.try_send(moved).is_err() {
            dropped.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::fs_events::*;

    #[test]
    fn what_found_no_room_is_anywhere_even_after_all_the_rest_was_taken_out() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut fs_events = FsEvents::new(true);
            let on_row = hearing(fs_events._sender.clone(), Arc::clone(&fs_events.dropped));
            (0..WAITING).for_each(|_| on_row(FsMovement::At(vec!["/r/.git/index".into()])));
            assert_ne!(fs_events.next().await, FsMovement::Anywhere, "nothing was dropped yet");
            on_row(FsMovement::At(vec!["/r/.git/index".into()]));
            on_row(FsMovement::At(vec!["/r/.git/HEAD".into()]));
            while fs_events.more().is_some() {}
            let told = tokio::time::timeout(Duration::from_secs(20), fs_events.next()).await;
            assert_eq!(told.expect("it is told without a further movement"), FsMovement::Anywhere);
            assert!(fs_events.missed, "folders may have come unheard");
        });
    }
}

//! Hears movements in folders. What is heard is bounded: where too much comes at once, it is "anywhere".

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::watch::{FolderWatch, FsMovement, WatchDepth, WatchError};

/// How many movements wait to be looked at.
const WAITING: usize = 8192;

/// Hears movements in a set of folders.
pub struct FsEvents {
    watching: Option<FolderWatch>,
    /// What is watched, with the inode that it had then: a folder that was made anew is another one.
    watched: BTreeMap<PathBuf, (WatchDepth, u64)>,
    heard: Receiver<FsMovement>,
    /// More came than waits. Kept until it was heard of, however much is taken out meanwhile.
    dropped: Arc<Notify>,
    /// Folders that came unheard may lie below those that are watched as trees.
    missed: bool,
    /// Why not everything is watched.
    pub watch_error: Option<WatchError>,
    /// Kept, so that waiting for what never comes does not end.
    _sender: Sender<FsMovement>,
}

impl FsEvents {
    /// Ears that hear nothing yet; with `closed`, never anything.
    pub fn new(closed: bool) -> Self {
        let (sender, heard) = channel(WAITING);
        let dropped = Arc::new(Notify::new());
        let watching = FolderWatch::start(hearing(sender.clone(), Arc::clone(&dropped)));
        let (watching, watch_error) = match watching {
            Ok(_) if closed => (None, None),
            Ok(watching) => (Some(watching), None),
            Err(error) => (None, Some(error)),
        };
        FsEvents { watching, watched: BTreeMap::new(), heard, dropped, missed: false, watch_error, _sender: sender }
    }

    /// Watches these folders and no others, and returns those that are only now: what moved in them before went unheard. What cannot be
    /// watched is noted in `watch_error`.
    pub fn listen_to(&mut self, wanted: BTreeMap<PathBuf, WatchDepth>) -> BTreeSet<PathBuf> {
        let mut begun = BTreeSet::new();
        let Some(watching) = &mut self.watching else { return begun };
        let there: BTreeMap<PathBuf, (WatchDepth, u64)> =
            wanted.into_iter().filter_map(|(folder, depth)| inode(&folder).map(|inode| (folder, (depth, inode)))).collect();
        for folder in self.watched.iter().filter(|(folder, known)| there.get(*folder) != Some(*known)).map(|(folder, _)| folder) {
            watching.remove(folder);
        }
        self.watched.retain(|folder, known| there.get(folder) == Some(known));
        self.watch_error = None;
        let missed = std::mem::take(&mut self.missed);
        for (folder, known) in there {
            let again = missed && known.0 == WatchDepth::Tree;
            if self.watched.contains_key(&folder) && !again {
                continue;
            }
            match watching.add(&folder, known.0) {
                Ok(()) => {
                    begun.insert(folder.clone());
                    self.watched.insert(folder, known);
                }
                // It went away in between, and whoever removed it moved something that is heard.
                Err(_) if inode(&folder).is_none() => {}
                Err(error) => {
                    let limit = matches!(error, WatchError::Limit);
                    self.watch_error = Some(error);
                    // Each further folder would be refused as well.
                    if limit {
                        return begun;
                    }
                }
            }
        }
        begun
    }

    /// How many folders are watched; what is below them not counted.
    pub fn count(&self) -> usize {
        self.watched.len()
    }

    /// The next movement. Loses nothing where it is dropped before.
    pub async fn next(&mut self) -> FsMovement {
        let moved = tokio::select! {
            () = self.dropped.notified() => FsMovement::Anywhere,
            moved = self.heard.recv() => moved.unwrap_or(FsMovement::Anywhere),
        };
        self.noted(moved)
    }

    /// A movement that waits already.
    pub fn more(&mut self) -> Option<FsMovement> {
        let moved = self.heard.try_recv().ok()?;
        Some(self.noted(moved))
    }

    fn noted(&mut self, moved: FsMovement) -> FsMovement {
        self.missed |= moved == FsMovement::Anywhere;
        moved
    }
}

/// Hands movements over; what finds no room is told by `dropped`.
fn hearing(sender: Sender<FsMovement>, dropped: Arc<Notify>) -> impl Fn(FsMovement) + Send + 'static {
    move |moved| {
        if sender.try_send(moved).is_err() {
            dropped.notify_one();
        }
    }
}

fn inode(folder: &Path) -> Option<u64> {
    std::fs::metadata(folder).ok().filter(std::fs::Metadata::is_dir).map(|meta| meta.ino())
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

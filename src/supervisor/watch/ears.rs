//! Hears movements in folders. What is heard is bounded: where too much comes at once, it is "anywhere".

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::watch::{Depth, Moved, WatchError, Watching};

/// How many movements wait to be looked at.
const WAITING: usize = 8192;

/// Hears movements in a set of folders.
pub struct Ears {
    watching: Option<Watching>,
    /// What is watched, with the inode that it had then: a folder that was made anew is another one.
    watched: BTreeMap<PathBuf, (Depth, u64)>,
    heard: Receiver<Moved>,
    dropped: Arc<AtomicBool>,
    /// Why not everything is watched.
    pub deaf: Option<WatchError>,
    /// Kept, so that waiting for what never comes does not end.
    _sender: Sender<Moved>,
}

impl Ears {
    /// Ears that hear nothing yet; with `closed`, never anything.
    pub fn new(closed: bool) -> Self {
        let (sender, heard) = channel(WAITING);
        let dropped = Arc::new(AtomicBool::new(false));
        let watching = Watching::start({
            let (sender, dropped) = (sender.clone(), Arc::clone(&dropped));
            move |moved| {
                if sender.try_send(moved).is_err() {
                    dropped.store(true, Ordering::Relaxed);
                }
            }
        });
        let (watching, deaf) = match watching {
            Ok(_) if closed => (None, None),
            Ok(watching) => (Some(watching), None),
            Err(error) => (None, Some(error)),
        };
        Ears { watching, watched: BTreeMap::new(), heard, dropped, deaf, _sender: sender }
    }

    /// Watches these folders and no others. What cannot be watched is noted in `deaf`.
    pub fn listen_to(&mut self, wanted: BTreeMap<PathBuf, Depth>) {
        let Some(watching) = &mut self.watching else { return };
        let there: BTreeMap<PathBuf, (Depth, u64)> =
            wanted.into_iter().filter_map(|(folder, depth)| inode(&folder).map(|inode| (folder, (depth, inode)))).collect();
        for folder in self.watched.iter().filter(|(folder, known)| there.get(*folder) != Some(*known)).map(|(folder, _)| folder) {
            watching.remove(folder);
        }
        self.watched.retain(|folder, known| there.get(folder) == Some(known));
        self.deaf = None;
        for (folder, known) in there {
            if self.watched.contains_key(&folder) {
                continue;
            }
            match watching.add(&folder, known.0) {
                Ok(()) => {
                    self.watched.insert(folder, known);
                }
                // It went away in between, and whoever removed it moved something that is heard.
                Err(_) if inode(&folder).is_none() => {}
                Err(error) => {
                    let limit = matches!(error, WatchError::Limit);
                    self.deaf = Some(error);
                    // Each further folder would be refused as well.
                    if limit {
                        return;
                    }
                }
            }
        }
    }

    /// How many folders are watched; what is below them not counted.
    pub fn count(&self) -> usize {
        self.watched.len()
    }

    /// The next movement. Loses nothing where it is dropped before.
    pub async fn next(&mut self) -> Moved {
        let moved = self.heard.recv().await.unwrap_or(Moved::Anywhere);
        if self.dropped.swap(false, Ordering::Relaxed) { Moved::Anywhere } else { moved }
    }

    /// A movement that waits already.
    pub fn more(&mut self) -> Option<Moved> {
        self.heard.try_recv().ok()
    }
}

fn inode(folder: &Path) -> Option<u64> {
    std::fs::metadata(folder).ok().filter(std::fs::Metadata::is_dir).map(|meta| meta.ino())
}

//! The file system events of a watch, and the folders that they come from.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use crate::judge::spawn_io::spawn_io;
use crate::watch::{FolderWatch, FsMovement, WatchDepth, WatchError};
use watchdog_system::lock_mutex;

/// The most paths that are kept.
const WAITING: usize = 8192;

/// Receives events in a set of folders.
pub struct FsEvents {
    /// Without it, no folder is watched, or a thread has them.
    folders: Option<WatchedFolders>,
    waiting: Arc<WaitingEvents>,
    /// Whether new folders without a watch may lie below those that are watched as trees.
    missed: bool,
    /// Why not everything is watched.
    pub watch_error: Option<WatchError>,
}

/// The movements since events were last taken.
#[derive(Default)]
struct WaitingEvents {
    moved: Mutex<MovedPaths>,
    /// Told once when the first one comes.
    some: Notify,
}

#[derive(Default)]
struct MovedPaths {
    at: HashSet<PathBuf>,
    /// Whether any were dropped.
    anywhere: bool,
}

impl WaitingEvents {
    /// Keeps an event; called for each, on the thread that reads them from the system.
    fn keep(&self, movement: FsMovement) {
        let mut moved = lock_mutex(&self.moved);
        let was_empty = moved.at.is_empty() && !moved.anywhere;
        match movement {
            FsMovement::Anywhere => moved.anywhere = true,
            FsMovement::At(paths) => moved.at.extend(paths),
        }
        if moved.anywhere || moved.at.len() > WAITING {
            *moved = MovedPaths {
                at: HashSet::new(),
                anywhere: true,
            };
        }
        if was_empty {
            self.some.notify_one();
        }
    }

    fn take(&self) -> Option<FsMovement> {
        let moved = std::mem::take(&mut *lock_mutex(&self.moved));
        match moved {
            MovedPaths { anywhere: true, .. } => Some(FsMovement::Anywhere),
            MovedPaths { at, .. } if at.is_empty() => None,
            MovedPaths { at, .. } => Some(FsMovement::At(at.into_iter().collect())),
        }
    }
}

impl FsEvents {
    /// Watches nothing yet; with `closed`, never anything.
    pub fn new(closed: bool) -> Self {
        let waiting = Arc::new(WaitingEvents::default());
        let for_thread = Arc::clone(&waiting);
        let (folders, watch_error) =
            match WatchedFolders::start(move |moved| for_thread.keep(moved)) {
                Ok(_) if closed => (None, None),
                Ok(folders) => (Some(folders), None),
                Err(error) => (None, Some(error)),
            };
        FsEvents {
            folders,
            waiting,
            missed: false,
            watch_error,
        }
    }

    /// Watches these folders and no others, and returns the new ones: earlier events in them were missed. `watch_error` holds why one
    /// cannot be watched.
    pub async fn listen_to(&mut self, wanted: BTreeMap<PathBuf, WatchDepth>) -> BTreeSet<PathBuf> {
        let Some(mut folders) = self.folders.take() else {
            return BTreeSet::new();
        };
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

    /// All that moved since the last call, once there is any. Safe to cancel.
    pub async fn next(&mut self) -> FsMovement {
        loop {
            if let Some(moved) = self.waiting.take() {
                self.missed |= moved == FsMovement::Anywhere;
                return moved;
            }
            self.waiting.some.notified().await;
        }
    }
}

/// A set of watched folders.
pub struct WatchedFolders {
    watching: FolderWatch,
    /// The watched folders, each with its inode: a folder that was created again is another one.
    watched: BTreeMap<PathBuf, (WatchDepth, u64)>,
}

impl WatchedFolders {
    /// No folder yet.
    pub fn start(on_movement: impl Fn(FsMovement) + Send + 'static) -> Result<Self, WatchError> {
        Ok(WatchedFolders {
            watching: FolderWatch::start(on_movement)?,
            watched: BTreeMap::new(),
        })
    }

    /// How many folders are watched, without those below them.
    pub fn count(&self) -> usize {
        self.watched.len()
    }

    /// Watches exactly these folders; watches trees again if new folders below them may have been `missed`. Returns the newly watched
    /// ones, and the reason if some are not watched.
    pub fn replace(
        &mut self,
        wanted: BTreeMap<PathBuf, WatchDepth>,
        missed: bool,
    ) -> (BTreeSet<PathBuf>, Option<WatchError>) {
        let mut begun = BTreeSet::new();
        let there: BTreeMap<PathBuf, (WatchDepth, u64)> = wanted
            .into_iter()
            .filter_map(|(folder, depth)| inode(&folder).map(|inode| (folder, (depth, inode))))
            .collect();
        for folder in self
            .watched
            .iter()
            .filter(|(folder, known)| there.get(*folder) != Some(*known))
            .map(|(folder, _)| folder)
        {
            self.watching.remove(folder);
        }
        self.watched
            .retain(|folder, known| there.get(folder) == Some(known));
        let mut watch_error = None;
        for (folder, known) in there {
            let again = missed && known.0 == WatchDepth::Tree;
            if self.watched.contains_key(&folder) && !again {
                continue;
            }
            match self.watching.add(&folder, known.0) {
                Ok(()) => {
                    begun.insert(folder.clone());
                    self.watched.insert(folder, known);
                }
                // It was removed in between, which causes an event of its own.
                Err(_) if inode(&folder).is_none() => {}
                Err(error) => {
                    let limit = matches!(error, WatchError::Limit);
                    watch_error = Some(error);
                    // Each further folder would be refused as well.
                    if limit {
                        break;
                    }
                }
            }
        }
        (begun, watch_error)
    }
}

fn inode(folder: &Path) -> Option<u64> {
    std::fs::metadata(folder)
        .ok()
        .filter(std::fs::Metadata::is_dir)
        .map(|meta| meta.ino())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(path: &str) -> FsMovement {
        FsMovement::At(vec![path.into()])
    }

    #[test]
    fn events_merge_per_path_and_overflow_means_anywhere() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut fs_events = FsEvents::new(true);
            let waiting = Arc::clone(&fs_events.waiting);
            (0..=2 * WAITING).for_each(|_| waiting.keep(at("/r/.git/index")));
            assert_eq!(fs_events.next().await, at("/r/.git/index"));
            assert!(!fs_events.missed, "nothing was dropped");
            (0..=WAITING).for_each(|n| waiting.keep(at(&format!("/r/{n}"))));
            waiting.keep(at("/r/.git/HEAD"));
            let reported = tokio::time::timeout(Duration::from_secs(20), fs_events.next()).await;
            assert_eq!(
                reported.expect("it is reported without a further movement"),
                FsMovement::Anywhere
            );
            assert!(fs_events.missed, "folders may have come without an event");
            waiting.keep(at("/r/.git/HEAD"));
            assert_eq!(
                fs_events.next().await,
                at("/r/.git/HEAD"),
                "all of it was taken"
            );
            waiting.keep(FsMovement::Anywhere);
            assert_eq!(fs_events.next().await, FsMovement::Anywhere);
        });
    }
}

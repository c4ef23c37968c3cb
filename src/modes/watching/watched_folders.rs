//! The folders that a watch gets events from. Everything here blocks: a tree is read down to its last folder before it is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::watch::{FolderWatch, FsMovement, WatchDepth, WatchError};

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

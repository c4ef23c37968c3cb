//! The directories where git writes for a commit, and the fingerprint of HEAD in them.
//!
//! Directories are watched, never files, because git replaces files by renaming.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::watching::{FolderWatch, WatchDepth, WatchError};

/// No file that says where HEAD is is longer.
const LONGEST: u64 = 4096;

/// The git directories of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitDirs {
    /// The worktree's own git directory: HEAD, index, logs.
    pub git_dir: PathBuf,
    /// The repository's: branches, packed refs. The same folder in a main worktree.
    pub common_dir: PathBuf,
}

/// A hash of the files that define HEAD, each with the mark of its version: while it is the same, nothing moved HEAD, not even to and fro. It may
/// differ without a move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeadFingerprint {
    /// The branch that HEAD is on, as `refs/heads/…`; empty where it is on none.
    pub branch: Vec<u8>,
    mark: u64,
}

impl GitDirs {
    /// Calls `moved` whenever something changes in these directories. The callback runs on
    /// notify's own thread and must return at once.
    ///
    /// # Errors
    /// Fails if the system refuses; the caller can wait for its whole pause then.
    pub fn watch(&self, moved: impl Fn() + Send + 'static) -> Result<FolderWatch, WatchError> {
        let mut watching = FolderWatch::start(move |_| moved())?;
        let logs = (self.git_dir.join("logs"), WatchDepth::Folder);
        for (path, depth) in self
            .own()
            .into_iter()
            .chain(self.list_shared())
            .chain([logs])
        {
            if path.is_dir() {
                watching.add(&path, depth)?;
            }
        }
        Ok(watching)
    }

    /// The worktree's own: HEAD and index, and the tables of reftable.
    pub fn own(&self) -> Vec<(PathBuf, WatchDepth)> {
        vec![
            (self.git_dir.clone(), WatchDepth::Folder),
            (self.git_dir.join("reftable"), WatchDepth::Folder),
        ]
    }

    /// The repository's: packed refs, branches that others move, the tables of reftable, and which worktrees there are.
    pub fn list_shared(&self) -> Vec<(PathBuf, WatchDepth)> {
        vec![
            (self.common_dir.clone(), WatchDepth::Folder),
            (self.common_dir.join("refs/heads"), WatchDepth::Tree),
            (self.common_dir.join("reftable"), WatchDepth::Folder),
            (self.common_dir.join("worktrees"), WatchDepth::Folder),
        ]
    }

    /// The fingerprint of HEAD; `None` where it is unreadable. Takes some microseconds.
    pub fn head_fingerprint(&self) -> Option<HeadFingerprint> {
        let (version, head) = read_short_file(&self.git_dir.join("HEAD"))?;
        let mut mark = DefaultHasher::new();
        (version, &head).hash(&mut mark);
        let branch = head
            .strip_prefix(b"ref:")
            .map(|name| name.trim_ascii().to_owned())
            .unwrap_or_default();
        if !branch.is_empty() {
            let loose =
                read_short_file(&self.common_dir.join(std::ffi::OsStr::from_bytes(&branch)));
            // Only where there is no loose ref does the packed one count.
            if loose.is_none() {
                hash_version(&self.common_dir.join("packed-refs"), &mut mark);
            }
            loose.hash(&mut mark);
        }
        for tables in [
            self.git_dir.join("reftable/tables.list"),
            self.common_dir.join("reftable/tables.list"),
        ] {
            hash_version(&tables, &mut mark);
        }
        Some(HeadFingerprint {
            branch,
            mark: mark.finish(),
        })
    }

    /// Whether git is at work here right now: the index follows the branch, and a scan in between would see half of it.
    pub fn is_busy(&self) -> bool {
        self.git_dir.join("index.lock").exists() || self.git_dir.join("HEAD.lock").exists()
    }
}

/// Tells one state of a file that is replaced by renaming from another, also where both hold the same.
type FileVersion = (u64, u64, i64, i64);

/// A file's version, and what is in it. The version is read first: a file that was replaced in between has another one the next time.
fn read_short_file(path: &Path) -> Option<(FileVersion, Vec<u8>)> {
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LONGEST {
        None
    } else {
        Some((to_version(&meta), fs::read(path).ok()?))
    }
}

fn hash_version(path: &Path, mark: &mut DefaultHasher) {
    fs::metadata(path)
        .ok()
        .map(|meta| to_version(&meta))
        .hash(mark);
}

fn to_version(meta: &fs::Metadata) -> FileVersion {
    (meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec())
}

//! The targets, results and errors of restoring a snapshot.

use std::io;
use std::path::PathBuf;

use crate::Error;
use watchdog_facts::display::name_first;
use watchdog_facts::evidence::LeftOut;

/// How many paths are named.
pub(super) const SHOWN: usize = 5;

/// The target of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreTarget {
    /// Into the work tree where that harms nothing, else as the branch `watchdog/restored/<id>`.
    Automatic,
    /// Into the work tree, or not at all.
    InPlace,
    /// As a new branch of this name at the snapshot's commit.
    Branch(String),
    /// The whole tree into a new or empty folder.
    Directory(PathBuf),
    /// The whole tree and the index into this worktree, which git just made without any files.
    Fresh,
}

/// The place of a restored snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoredTo {
    /// Into the work tree. `index` says whether the index is as it was, too.
    WorkTree {
        /// `false` where the index was left alone; the note says why.
        index: bool,
    },
    /// As this branch.
    Branch(String),
    /// Into this folder.
    Directory(PathBuf),
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreResult {
    /// Its target after.
    pub to: RestoredTo,
    /// Paths that were written or removed.
    pub files: u64,
    /// The paths that were not restored, and why: submodules (`nested_repository`), names that no work tree may hold (`excluded`).
    pub left_out: Vec<LeftOut>,
    /// A note for a person, such as why it is a branch.
    pub note: Option<String>,
}

/// Why a snapshot could not be brought back. All files are unchanged, except after
/// [`RestoreError::Write`].
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// git's data could not be read or written.
    #[error(transparent)]
    Git(#[from] Error),
    /// There is no such snapshot.
    #[error("there is no snapshot '{id}'")]
    Unknown {
        /// As the caller gave it.
        id: String,
    },
    /// Several snapshots begin so.
    #[error(
        "several snapshots begin with '{id}' ({}): give more of the id",
        name_first(candidates, SHOWN)
    )]
    Ambiguous {
        /// As the caller gave it.
        id: String,
        /// The full ids that begin with it.
        candidates: Vec<String>,
    },
    /// The work tree or index has changes that are in no commit.
    #[error(
        "the work tree has uncommitted changes ({}): commit them first, or restore into a branch or a folder",
        name_first(paths, SHOWN)
    )]
    NotClean {
        /// The changed paths, relative to the top of the work tree.
        paths: Vec<String>,
    },
    /// Files that git does not track are in the way.
    #[error(
        "files that are in no commit are in the way ({}): move them, or restore into a branch or a folder",
        name_first(paths, SHOWN)
    )]
    WouldOverwrite {
        /// The untracked paths, relative to the top of the work tree.
        paths: Vec<String>,
    },
    /// HEAD has other content there than the snapshot started from.
    #[error(
        "HEAD changed the same files since the snapshot ({}): restore into a branch and merge it",
        name_first(paths, SHOWN)
    )]
    Moved {
        /// The paths that differ, relative to the top of the work tree.
        paths: Vec<String>,
    },
    /// The branch is there already, or one that its name needs as a folder.
    #[error("cannot create the branch '{name}': {why}")]
    Branch {
        /// The requested branch, without `refs/heads/`.
        name: String,
        /// The obstacle, for a person.
        why: String,
    },
    /// The folder has something in it, or is no folder.
    #[error("{path} is not an empty folder: name a new one")]
    NotEmpty {
        /// The folder that the caller named.
        path: PathBuf,
    },
    /// The file system refused. Files restored so far stay; the same restore can be run again.
    #[error("failed to restore {path}: {source}")]
    Write {
        /// The first path that failed.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
}

impl RestoreError {
    /// The failure to write a path, for `map_err`.
    pub(super) fn at_path(path: impl Into<String>) -> impl Fn(io::Error) -> Self {
        let path = path.into();
        move |source| RestoreError::Write {
            path: path.clone(),
            source,
        }
    }
}

//! Reads the state of git directories from their files, before any worktree is opened. Everything here blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::watch::{GitDirs, HeadFingerprint};

/// The state of a worktree's git directories at one moment.
pub struct GitDirsState {
    /// Whether git is at work there.
    pub is_busy: bool,
    /// The fingerprint of the files that define HEAD; `None` where they are unreadable.
    pub head_fingerprint: Option<HeadFingerprint>,
}

/// Reads what says where HEAD is in each of these worktrees.
pub fn scan_heads(worktrees: Vec<(String, GitDirs)>) -> BTreeMap<String, GitDirsState> {
    worktrees
        .into_iter()
        .map(|(id, dirs)| {
            (
                id,
                GitDirsState {
                    is_busy: dirs.is_busy(),
                    head_fingerprint: dirs.head_fingerprint(),
                },
            )
        })
        .collect()
}

/// Those of these top folders that still have git data.
pub fn still_there(roots: BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    roots
        .into_iter()
        .filter(|root| root.join(".git").symlink_metadata().is_ok())
        .collect()
}

//! The short ids of worktrees and repositories in watchdog's records.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::open::Worktree;
use watchdog_facts::display::to_hex;

impl Worktree {
    /// A short hexadecimal name of this worktree, the same in every process and every time.
    pub fn worktree_id(&self) -> String {
        worktree_id(&self.git_dir, &self.common_dir)
    }

    /// A short hexadecimal name of the repository, the same in all of its worktrees.
    pub fn repository_id(&self) -> String {
        short_id(&[
            b"watchdog repository",
            self.common_dir.as_os_str().as_bytes(),
        ])
    }
}

/// A short hexadecimal name of a worktree, the same in every process and every time.
pub(super) fn worktree_id(git_dir: &Path, common_dir: &Path) -> String {
    let name = if git_dir == common_dir {
        &[]
    } else {
        git_dir.file_name().map_or(&[][..], OsStr::as_bytes)
    };
    short_id(&[
        b"watchdog worktree",
        common_dir.as_os_str().as_bytes(),
        name,
    ])
}

/// The first 16 hexadecimal digits of the SHA-256 over the parts, separated by NUL.
fn short_id(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    to_hex(&hash.finalize()[..8])
}

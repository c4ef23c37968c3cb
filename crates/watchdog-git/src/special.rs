//! Refuses files of a repository that are not regular: opening a pipe waits until another process writes to it, and one worktree would
//! block all others.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The optional files that are opened in a worktree's own git directory.
const OWN: [&str; 4] = ["index", "logs/HEAD", "config.worktree", "FETCH_HEAD"];

/// The same, in the git directory that worktrees share.
const SHARED: [&str; 5] = [
    "config",
    "packed-refs",
    "shallow",
    "info/grafts",
    "objects/info/alternates",
];

/// The first of those, or the branch that HEAD names, that is neither a file nor missing. `head` is what HEAD holds.
pub(super) fn special_file(git_dir: &Path, common_dir: &Path, head: &[u8]) -> Option<PathBuf> {
    let branch = head
        .strip_prefix(b"ref:")
        .map(|name| common_dir.join(std::ffi::OsStr::from_bytes(name.trim_ascii())));
    let own = OWN.iter().map(|name| git_dir.join(name));
    let shared = SHARED.iter().map(|name| common_dir.join(name));
    // Opening a folder fails at once, so that the reader itself refuses it.
    own.chain(shared).chain(branch).find(|path| {
        fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    })
}

//! Distinguishes a repository from another one that was made later at the same path.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

use super::open::Worktree;

impl Worktree {
    /// Names this very git directory: one that is made anew at the same path has another name. `None` where the system cannot tell.
    pub fn birth(&self) -> Option<String> {
        let found = fs::metadata(self.git_dir()).ok()?;
        // File systems use the number of a removed folder again; when it was made tells them apart, where the file system keeps that.
        let made = found.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok()).map_or(0, |made| made.as_nanos());
        Some(format!("{:x}-{:x}-{made:x}", found.dev(), found.ino()))
    }
}

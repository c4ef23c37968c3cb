//! Distinguishes a repository from another one that was made later at the same path.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::UNIX_EPOCH;

use super::open::Worktree;

impl Worktree {
    /// Names this very git directory: one created later at the same path has another name; `None`
    /// where the system lacks the data.
    pub fn birth(&self) -> Option<String> {
        let metadata = fs::metadata(self.git_dir()).ok()?;
        // File systems reuse the inode number of a removed folder; the creation time distinguishes both, where the file system keeps it.
        let made = metadata
            .created()
            .ok()
            .and_then(|made| made.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |made| made.as_nanos());
        Some(format!(
            "{:x}-{:x}-{made:x}",
            metadata.dev(),
            metadata.ino()
        ))
    }
}

//! Reads files as they were in a commit.

use super::error::{Error, ReadContext as _};
use super::open::Worktree;

impl Worktree {
    /// Whether a commit is in this clone.
    pub fn has_commit(&self, commit: &str) -> bool {
        commit
            .parse::<gix::ObjectId>()
            .is_ok_and(|id| self.has_object(id) && self.repo.find_commit(id).is_ok())
    }

    /// Whether an object is in this clone. gix panics at the names of another object format.
    pub(super) fn has_object(&self, id: gix::ObjectId) -> bool {
        id.kind() == self.repo.object_hash() && self.repo.has_object(id)
    }

    /// When a commit was made by its own word, to the second: any program may set it.
    ///
    /// # Errors
    /// When the commit cannot be read.
    pub fn committed_at(&self, commit: &str) -> Result<i64, Error> {
        let doing = || format!("read the time of commit {commit}");
        let commit = self.find_commit(commit, doing)?;
        Ok(commit.time().with_context(doing)?.seconds)
    }

    /// The bytes of a file at the root of a commit's tree; `None` where the commit has no such file.
    ///
    /// # Errors
    /// When the commit or the file cannot be read: a configuration that is unreadable is not one that is missing.
    pub fn blob_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let doing = || format!("read {path} of commit {commit}");
        let tree = self
            .find_commit(commit, doing)?
            .tree()
            .with_context(doing)?;
        let Some(entry) = tree.lookup_entry_by_path(path).with_context(doing)? else {
            return Ok(None);
        };
        if !entry.mode().is_blob() {
            return Ok(None);
        }
        let object = entry.object().with_context(doing)?;
        Ok(Some(object.data.clone()))
    }

    /// Those of the paths that were a file, or a link, in a commit's tree.
    ///
    /// # Errors
    /// As [`Worktree::blob_at`].
    pub fn files_at(&self, commit: &str, paths: Vec<String>) -> Result<Vec<String>, Error> {
        let doing = || format!("read the tree of commit {commit}");
        let tree = self
            .find_commit(commit, doing)?
            .tree()
            .with_context(doing)?;
        let mut file_paths = Vec::new();
        for path in paths {
            let entry = tree.lookup_entry_by_path(&path).with_context(doing)?;
            if entry.is_some_and(|entry| entry.mode().is_blob_or_symlink()) {
                file_paths.push(path);
            }
        }
        Ok(file_paths)
    }
}

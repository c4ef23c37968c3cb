//! Writes the state of the work as one text, to find out whether anything was done: committed and uncommitted, by content alone.

use super::error::Error;
use super::open::Worktree;
use super::snapshot::{PrivacyClassifier, SnapshotRequest};

impl Worktree {
    /// HEAD's tree if nothing is uncommitted, half done or hidden, so that the tree is the complete state apart from ignored files; `None`
    /// otherwise.
    ///
    /// # Errors
    /// As [`Worktree::changes`].
    pub fn clean_tree(&self) -> Result<Option<String>, Error> {
        let before = self.head_tree()?;
        let changes = self.changes()?;
        let clean = !changes.any()
            && changes.operation.is_none()
            && changes.degraded.is_empty()
            && self.head_tree()? == before;
        // git does not compare a hidden entry, so that its file may be gone.
        let clean = clean && self.hidden_entries()?.is_none();
        Ok(clean.then(|| before.to_hex().to_string()))
    }

    /// The state of the work: equal only if HEAD's tree and everything uncommitted are the same. Rewriting a file with the same content,
    /// and commits that change nothing, leave it equal.
    ///
    /// Takes a snapshot of the uncommitted files first, as before any operation that could damage them.
    ///
    /// # Errors
    /// As [`Worktree::take_snapshot`].
    pub fn work_state(
        &self,
        request: &SnapshotRequest<'_>,
        rule: PrivacyClassifier<'_>,
    ) -> Result<String, Error> {
        self.refresh()?;
        let committed = self.head_tree()?;
        let uncommitted = self
            .take_snapshot_with_private(request, rule)?
            .map_or_else(|| committed.to_hex().to_string(), |snapshot| snapshot.tree);
        Ok(format!("{}-{uncommitted}", committed.to_hex()))
    }
}

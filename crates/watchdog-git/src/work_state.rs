//! Writes the state of the work as one text, to find out whether anything was done: committed and uncommitted, by content alone.

use jiff::Timestamp;

use super::error::Error;
use super::open::Worktree;
use super::snapshot::{PrivateRule, SnapshotRequest};

impl Worktree {
    /// HEAD's tree where nothing at all is uncommitted, half done or hidden from a look, so that the tree is all there is but for what is
    /// ignored; `None` otherwise.
    ///
    /// # Errors
    /// As [`Worktree::changes`].
    pub fn clean_tree(&self) -> Result<Option<String>, Error> {
        let before = self.head_tree()?;
        let changes = self.changes()?;
        let clean = !changes.any() && changes.operation.is_none() && changes.degraded.is_empty() && self.head_tree()? == before;
        Ok(clean.then(|| before.to_hex().to_string()))
    }

    /// The state of the work: equal only where HEAD's tree and everything uncommitted are the same, whatever was written again with the
    /// same content, and whatever commits there are that change nothing.
    ///
    /// What is uncommitted is kept in a snapshot on the way, as before anything that could disturb it.
    ///
    /// # Errors
    /// As [`Worktree::take_snapshot`].
    pub fn work_state(&self, spec: &str, at: Timestamp, rule: PrivateRule<'_>) -> Result<String, Error> {
        self.refresh()?;
        let committed = self.head_tree()?;
        let request = SnapshotRequest { spec, at, why: "between two sessions" };
        let uncommitted = self.take_snapshot_with_private(&request, rule)?.map_or_else(|| committed.to_hex().to_string(), |kept| kept.tree);
        Ok(format!("{}-{uncommitted}", committed.to_hex()))
    }
}

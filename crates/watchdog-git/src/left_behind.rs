//! Reads which commits HEAD left behind, by its reflog: recorded with a baseline, they prove later that content was there before.

use gix::ObjectId;

use super::error::Error;
use super::open::Worktree;
use super::reflog;

/// How many entries of HEAD's reflog are read, newest first.
const MAX_ENTRIES: usize = 1_000;

/// How many commits are named.
const MAX_COMMITS: usize = 64;

impl Worktree {
    /// The commits that HEAD left for others that do not stand on them, newest first: by a reset, a checkout, a rebase, an amended commit; one
    /// is named as often as HEAD left it.
    ///
    /// # Errors
    /// [`Error::Read`] where the reflog of HEAD cannot be read.
    pub fn left_behind(&self) -> Result<Vec<String>, Error> {
        let commits = self.left_commits()?.into_iter();
        Ok(commits.map(|(id, _)| id.to_hex().to_string()).collect())
    }

    /// The same, each with whether an amended commit took its place.
    pub(super) fn left_commits(&self) -> Result<Vec<(ObjectId, bool)>, Error> {
        // git reads no log of a HEAD without a commit.
        let Some(head) = self.head_id()? else {
            return Ok(Vec::new());
        };
        let log = self.head_log()?;
        let tail = reflog::read_newest(&log, MAX_ENTRIES)?;
        let leaves = |entry: &&reflog::ReflogEntry| {
            (!entry.action.makes() || entry.amends) && ![head, entry.new].contains(&entry.old)
        };
        let left_behind = tail
            .entries
            .iter()
            .rev()
            .filter(leaves)
            .filter(|entry| !entry.old.is_null());
        Ok(left_behind
            .take(MAX_COMMITS)
            .map(|entry| (entry.old, entry.amends))
            .collect())
    }
}

//! Finds whether HEAD moved by a fast-forward or a rebase onto fetched commits, without any work of a session.

use gix::ObjectId;

use super::baseline::HistoryPoint;
use super::error::{Error, ReadContext as _};
use super::known_refs::RefTip;
use super::open::Worktree;

/// The refs into which `git fetch` writes.
const REMOTES: &str = "refs/remotes/";

/// More remote branches than this that moved are not compared.
const MOST_REFS: usize = 64;

impl Worktree {
    /// The refs of remotes as they are now; `None` where there are more than `most`.
    ///
    /// # Errors
    /// When refs cannot be listed.
    pub fn remote_tips(&self, most: usize) -> Result<Option<Vec<RefTip>>, Error> {
        let tips = self.ref_tips_below(REMOTES)?;
        Ok((tips.len() <= most).then_some(tips))
    }

    /// The newest commit of HEAD's first parents that a remote branch holds which moved since `remotes_then`, and that HEAD did not have
    /// when it named `head_then`. That is where a fast-forward or a rebase brought HEAD. A rebase leaves `anchor` behind, so that it need
    /// not be an ancestor.
    ///
    /// # Errors
    /// When refs or commits cannot be read.
    pub fn fetched_since(
        &self,
        anchor: &HistoryPoint,
        head_then: &HistoryPoint,
        remotes_then: &[RefTip],
    ) -> Result<Option<HistoryPoint>, Error> {
        let (HistoryPoint::Commit(_), Some(head)) = (anchor, self.head_id()?) else {
            return Ok(None);
        };
        let Some(anchor) = self.commit_of(anchor)? else {
            return Ok(None);
        };
        let head_then = self.commit_of(head_then)?;
        if head_then == Some(head) {
            return Ok(None);
        }
        let tips = self.ref_tips_below(REMOTES)?.into_iter();
        let moved = tips.filter(|tip| !remotes_then.contains(tip));
        let mut newest: Option<ObjectId> = None;
        for (_, tip) in moved.take(MOST_REFS) {
            let Ok(tip) = tip.parse::<ObjectId>() else {
                continue;
            };
            let Some(base) = self.merge_base_of(head, tip)? else {
                continue;
            };
            let was_there = match head_then {
                Some(then) => self.is_ancestor_of(base, then)?,
                None => false,
            };
            if base == anchor || was_there || !self.is_first_parent_of(base, head)? {
                continue;
            }
            if match newest {
                None => true,
                Some(newest) => self.is_ancestor_of(newest, base)?,
            } {
                newest = Some(base);
            }
        }
        Ok(newest.map(|id| HistoryPoint::Commit(id.to_hex().to_string())))
    }

    pub(super) fn merge_base_of(
        &self,
        first: ObjectId,
        second: ObjectId,
    ) -> Result<Option<ObjectId>, Error> {
        // A ref may name what is no commit, and histories may have nothing in common: then nothing came from there.
        let Ok(bases) = self.repo.merge_bases_many(first, &[second]) else {
            return Ok(None);
        };
        Ok(bases.first().map(|id| id.detach()))
    }

    pub(super) fn is_ancestor_of(
        &self,
        ancestor: ObjectId,
        descendant: ObjectId,
    ) -> Result<bool, Error> {
        Ok(ancestor == descendant || self.merge_base_of(ancestor, descendant)? == Some(ancestor))
    }

    fn is_first_parent_of(&self, wanted: ObjectId, head: ObjectId) -> Result<bool, Error> {
        let mut at = head;
        while at != wanted {
            let doing = || format!("read commit {at}");
            let commit = self.repo.find_commit(at).with_context(doing)?;
            let Some(parent) = commit.parent_ids().next() else {
                return Ok(false);
            };
            at = parent.detach();
        }
        Ok(true)
    }
}

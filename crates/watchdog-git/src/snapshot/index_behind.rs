//! Finds index entries that a commit should have replaced and did not: git moves the branch first and the index after it,
//! and a git that dies in between leaves an index that would take the commit back.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::Flags;
use gix::objs::tree::EntryKind;

use super::contents::read_record;
use super::proof::entry_at;
use super::{diff, nested};
use crate::Worktree;
use crate::commit_text::{tree_of, trees_around};
use crate::error::Error;

/// The start of the line in a commit message that names the snapshot of a rescue.
const TRAILER: &str = "Watchdog-Snapshot:";
/// Commits of one rescue that are looked through at most.
const COMMITS: usize = 100;

type IndexContent = Option<(EntryKind, ObjectId)>;

impl Worktree {
    /// Paths that the commits `made` changed and that the index still has as before: as their parents have them, as
    /// the index of the snapshot `snapshot` (a commit) has them, or announced without content.
    ///
    /// Leaves out everything else that is staged: it may be the user's work.
    ///
    /// # Errors
    /// When the index or a commit cannot be read.
    pub fn index_behind(
        &self,
        made: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        if made.is_empty() {
            return Ok(Vec::new());
        }
        let doing = "compare the index with the commits of the rescue";
        self.refresh()?;
        let repo = &self.repo;
        let index = nested::read_index(repo)?;
        let head = self.head_tree()?;
        let staged = match snapshot {
            Some(snapshot) => (read_record(repo, snapshot)?.0.index)
                .map(|id| tree_of(repo, id))
                .transpose()?,
            None => None,
        };
        // By path, as it was before the first of the commits that changed it.
        let mut before: BTreeMap<BString, IndexContent> = BTreeMap::new();
        for commit in made {
            let commit = self.find_commit(commit, || doing)?;
            let (parent, tree) = trees_around(repo, &commit)?;
            for change in diff::diff_trees(repo, parent, tree)? {
                before
                    .entry(change.path)
                    .or_insert(change.before.map(|(mode, id)| (mode.kind(), id)));
            }
        }
        let mut behind = Vec::new();
        for (path, before) in before {
            let name: &BStr = path.as_bstr();
            if in_sparse_folder(&index, name) {
                continue;
            }
            let entry = index.entry_by_path(name);
            let now: IndexContent =
                entry.and_then(|e| Some((e.mode.to_tree_entry_mode()?.kind(), e.id)));
            let announced = entry.is_some_and(|e| e.flags.contains(Flags::INTENT_TO_ADD));
            let at = |tree: ObjectId| {
                entry_at(repo, tree, name).map(|e| e.map(|(mode, id)| (mode.kind(), id)))
            };
            let committed = at(head)?;
            if (now == committed && !announced)
                || (entry.is_none() && index.entry_index_by_path(name).is_ok())
            {
                continue;
            }
            if announced
                || now == before
                || staged
                    .map(at)
                    .transpose()?
                    .is_some_and(|staged| staged == now)
            {
                behind.push(path.into());
            }
        }
        Ok(behind)
    }

    /// The commits at the tip of HEAD that a rescue made, newest first, and the snapshot's commit that the oldest of them names,
    /// where it is still there. Told by their messages, which anybody can write.
    ///
    /// # Errors
    /// When HEAD or a commit cannot be read.
    pub fn rescue_commits_at_head(&self) -> Result<(Vec<String>, Option<String>), Error> {
        let doing = "read the commits of HEAD";
        let mut at = self.head_commit()?;
        let (mut commits, mut name) = (Vec::new(), None);
        while let Some(hex) = at.take().filter(|_| commits.len() < COMMITS) {
            let commit = self.find_commit(&hex, || doing)?;
            let message = commit.message_raw_sloppy().to_str_lossy().into_owned();
            let Some(named) = find_named_snapshot(&message) else {
                break;
            };
            if name.as_deref().is_some_and(|name| name != named) {
                break;
            }
            name = Some(named.to_owned());
            commits.push(hex);
            at = commit.parent_ids().next().map(|id| id.detach().to_string());
        }
        let snapshot = name.and_then(|name| {
            if let Ok(id) = name.parse::<ObjectId>() {
                return self.repo.find_commit(id).ok().map(|_| name);
            }
            let reference = self.repo.try_find_reference(name.as_str()).ok().flatten()?;
            reference.target().try_id().map(|id| id.to_string())
        });
        Ok((commits, snapshot))
    }
}

/// The snapshot that the message of a rescue's commit names: a ref, or a commit where the ref's name is too long for a line. A long value
/// stands on a line of its own.
pub fn find_named_snapshot(message: &str) -> Option<&str> {
    let mut below = None;
    for line in message.lines().rev() {
        if let Some(value) = line.strip_prefix(TRAILER) {
            return [Some(value), below]
                .into_iter()
                .flatten()
                .map(str::trim)
                .find(|value| !value.is_empty());
        }
        below = line.starts_with(' ').then_some(line);
    }
    None
}

/// Whether the index has a whole folder in place of the path, as a sparse one does.
fn in_sparse_folder(index: &gix::index::File, path: &BStr) -> bool {
    index.is_sparse()
        && path
            .char_indices()
            .filter(|(_, _, c)| *c == '/')
            .any(|(_, end, _)| index.entry_index_by_path(path[..end].as_bstr()).is_ok())
}

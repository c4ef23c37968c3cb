//! Proves that the content of a snapshot still exists: committed, or in the work tree.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::{EntryKind, EntryMode};

use super::blobs::{BlobWriteMode, ObjectSink};
use super::diff::{self, PathDifference};
use super::disk::{FolderWalk, as_path, split_path};
use super::private::{IGNORED, WholeSnapshot};
use super::record::SnapshotRecord;
use super::spec_name::path_text;
use super::{Snapshot, nested, tree};
use crate::worktrees::is_registered;
use crate::{Error, Worktree};

/// Commits since the snapshot that are searched for a path at most, newest first.
const COMMITS: usize = 1000;

impl Worktree {
    /// The paths of `snapshot` that are lost: neither committed since nor in the work tree with the same bytes.
    ///
    /// Includes the private part. A commit that holds a converted form of a file (line endings, large file storage) is no proof by itself;
    /// the unchanged file in the work tree is. A deletion is lost only if the file is back in both.
    ///
    /// # Errors
    /// When the snapshot or HEAD cannot be read: then there is no proof.
    pub fn missing_from(&self, snapshot: &Snapshot) -> Result<Vec<String>, Error> {
        self.refresh()?;
        let repo = &self.repo;
        let doing = "read the snapshot that is to be proved";
        let id = ObjectId::from_hex(snapshot.commit.as_bytes())
            .map_err(|e| Error::read_error(doing, e))?;
        let commit = repo
            .find_commit(id)
            .map_err(|e| Error::read_error(doing, e))?;
        let record = SnapshotRecord::parse(&commit.message_raw_sloppy().to_str_lossy())
            .ok_or_else(|| Error::Read {
                doing: doing.into(),
                why: format!("{id} is not a snapshot of watchdog"),
            })?;
        let tree = commit
            .tree_id()
            .map_err(|e| Error::read_error(doing, e))?
            .detach();
        let before = match record.head {
            Some(head) => tree_of(repo, head)?,
            None => ObjectId::empty_tree(repo.object_hash()),
        };
        let root = self.root();
        let below = FolderWalk::open(root)
            .map_err(|e| Error::read_error(format!("open {}", root.display()), e))?;
        let whole = WholeSnapshot::join_parts(repo, &record, tree)?;
        if whole.incomplete {
            return Err(Error::Read {
                doing: doing.into(),
                why: "the commit that keeps its private files is gone".into(),
            });
        }
        let repo = &whole.repo;
        let mut search = ProofSearch {
            worktree: self,
            below,
            blobs: ObjectSink::dry(repo),
        };

        let mut missing: Vec<PathDifference> = Vec::new();
        for change in diff::diff_trees(repo, before, whole.tree)? {
            // An ignored file may come and go: it is no work, and stays in the snapshot.
            let ignored = whole
                .private
                .get(&change.path)
                .is_some_and(|why| why == IGNORED);
            if !ignored && !search.on_disk(&change) {
                missing.push(change);
            }
        }
        search.drop_committed(&mut missing, record.head)?;
        let mut lost: Vec<String> = missing
            .iter()
            .map(|c| path_text(c.path.as_bstr()))
            .collect();
        let mut registered = SiblingWorktrees::new(self);
        for (path, (_, id)) in nested_files(repo, whole.extras)? {
            if !registered.holds(path.as_bstr()) && !search.nested_is_safe(path.as_bstr(), id) {
                lost.push(path_text(path.as_bstr()));
            }
        }
        lost.sort();
        lost.dedup();
        Ok(lost)
    }
}

/// The tree of a commit.
pub(super) fn tree_of(repo: &gix::Repository, commit: ObjectId) -> Result<ObjectId, Error> {
    let tree_id = repo
        .find_commit(commit)
        .and_then(|c| c.tree_id().map(gix::Id::detach));
    tree_id.map_err(|e| Error::read_error(format!("read the tree of {commit}"), e))
}

/// The uncommitted files of nested repositories that a snapshot's tree of extras holds.
pub(super) fn nested_files(
    repo: &gix::Repository,
    extras: Option<ObjectId>,
) -> Result<BTreeMap<BString, (EntryKind, ObjectId)>, Error> {
    let Some(extras) = extras else {
        return Ok(BTreeMap::new());
    };
    let empty = ObjectId::empty_tree(repo.object_hash());
    let all = diff::diff_trees(repo, empty, extras)?;
    let nested = all.into_iter().filter_map(|c| {
        let path = c
            .path
            .strip_prefix(tree::NESTED.as_bytes())?
            .strip_prefix(b"/")?;
        c.after
            .map(|(mode, id)| (BString::from(path), (mode.kind(), id)))
    });
    Ok(nested.collect())
}

/// Tells which paths are in worktrees of the same repository, which are judged and rescued by themselves.
pub(super) struct SiblingWorktrees<'w> {
    worktree: &'w Worktree,
    folders: BTreeMap<BString, bool>,
}

impl<'w> SiblingWorktrees<'w> {
    pub(super) fn new(worktree: &'w Worktree) -> Self {
        SiblingWorktrees {
            worktree,
            folders: BTreeMap::new(),
        }
    }

    pub(super) fn holds(&mut self, path: &BStr) -> bool {
        let (root, common_dir) = (self.worktree.root(), self.worktree.common_dir());
        path.find_iter("/").any(|at| {
            let folder = BString::from(&path[..at]);
            *self.folders.entry(folder).or_insert_with_key(|folder| {
                is_registered(&root.join(as_path(folder.as_bstr())), common_dir)
            })
        })
    }
}

/// The entry of a path in a tree.
pub(crate) fn entry_at(
    repo: &gix::Repository,
    tree: ObjectId,
    path: &BStr,
) -> Result<Option<(EntryMode, ObjectId)>, Error> {
    if tree.is_empty_tree() {
        return Ok(None);
    }
    let tree_entry = repo
        .find_tree(tree)
        .and_then(|tree| tree.lookup_entry(path.split_str("/")));
    let entry = tree_entry
        .map_err(|e| Error::read_error(format!("look for {} in {tree}", path_text(path)), e))?;
    Ok(entry
        .map(|e| (e.mode(), e.object_id()))
        .filter(|(mode, _)| !mode.is_tree()))
}

struct ProofSearch<'a> {
    worktree: &'a Worktree,
    below: FolderWalk,
    blobs: ObjectSink<'a>,
}

/// Whether `in_tree` keeps the change. If only the mode changed, the mode must be the same.
fn keeps_change(change: &PathDifference, in_tree: Option<(EntryMode, ObjectId)>) -> bool {
    match (change.after, in_tree) {
        (None, tree_entry) => tree_entry.is_none(),
        (Some((mode, id)), Some((found_mode, found_id))) => {
            let only_mode = change.before.is_some_and(|(_, before)| before == id);
            found_id == id && (!only_mode || found_mode.kind() == mode.kind())
        }
        (Some(_), None) => false,
    }
}

impl ProofSearch<'_> {
    fn on_disk(&mut self, change: &PathDifference) -> bool {
        let path = change.path.as_bstr();
        if change.after.is_some_and(|(mode, _)| mode.is_commit()) {
            let folder = self.worktree.root().join(as_path(path));
            let head = nested::open_nested(&folder).and_then(|repo| nested::read_head(&repo));
            return keeps_change(change, head.map(|id| (EntryKind::Commit.into(), id)));
        }
        match self.blobs.take(&mut self.below, path, BlobWriteMode::Name) {
            Ok(taken) => keeps_change(change, taken.map(|t| (t.kind.into(), t.id))),
            Err(_) => false,
        }
    }

    /// Removes what HEAD, or a commit made since the snapshot, holds.
    fn drop_committed(
        &mut self,
        missing: &mut Vec<PathDifference>,
        parent: Option<ObjectId>,
    ) -> Result<(), Error> {
        let repo = &self.worktree.repo;
        if missing.is_empty() {
            return Ok(());
        }
        let Some(head) = self.worktree.head_id()? else {
            return Ok(());
        };
        let doing = "walk the commits since the snapshot";
        let walk = repo
            .rev_walk([head])
            .with_hidden(parent)
            .all()
            .map_err(|e| Error::read_error(doing, e))?;
        let mut commits = vec![head];
        for info in walk.take(COMMITS) {
            commits.push(info.map_err(|e| Error::read_error(doing, e))?.id);
        }
        for commit in commits {
            let tree = tree_of(repo, commit)?;
            let mut still_missing = Vec::new();
            for change in missing.drain(..) {
                if !keeps_change(&change, entry_at(repo, tree, change.path.as_bstr())?) {
                    still_missing.push(change);
                }
            }
            *missing = still_missing;
            if missing.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Whether a file of a nested repository is on disk as it was, or committed there.
    fn nested_is_safe(&mut self, path: &BStr, id: ObjectId) -> bool {
        if let Ok(Some(taken)) = self.blobs.take(&mut self.below, path, BlobWriteMode::Name)
            && taken.id == id
        {
            return true;
        }
        let mut folder = path;
        loop {
            folder = split_path(folder).0;
            if folder.is_empty() {
                return false;
            }
            if let Some(repo) = nested::open_nested(&self.worktree.root().join(as_path(folder))) {
                let below_folder = path[folder.len() + 1..].as_bstr();
                let tree = repo.head_tree_id_or_empty().map(gix::Id::detach);
                return tree.is_ok_and(|tree| {
                    entry_at(&repo, tree, below_folder)
                        .is_ok_and(|e| e.is_some_and(|(_, found)| found == id))
                });
            }
        }
    }
}

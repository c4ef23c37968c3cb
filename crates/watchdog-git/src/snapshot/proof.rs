//! Proves that the content of a snapshot still exists: committed, or in the work tree.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::{EntryKind, EntryMode};
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use jiff::Timestamp;

use super::blobs::{BlobWriteMode, ObjectSink};
use super::contents::read_record;
use super::diff::{self, PathDifference};
use super::disk::{FolderWalk, as_path, split_path};
use super::private::{IGNORED, WholeSnapshot};
use super::restore_disk::{DiskWriter, is_safe};
use super::spec_name::path_text;
use super::{Snapshot, nested, tree};
use crate::Worktree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use crate::file_state::is_absent;
use crate::path_text::unescape_path;
use crate::worktrees::is_registered;

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
        let missing = self.find_missing(&snapshot.commit, CommitsSearched::OfHead)?;
        let mut lost: Vec<String> = missing.iter().map(MissingPath::text).collect();
        lost.sort();
        lost.dedup();
        Ok(lost)
    }

    /// The files of the snapshot of a worktree at `root`, which may be gone, whose content is nowhere any more, each with whether it was in
    /// a submodule or another repository inside: no ref, HEAD or stash of the repository reaches it, neither that worktree nor its index has
    /// it, and its file is gone or as committed. A file that is uncommitted there in another form was edited, and is not lost.
    ///
    /// # Errors
    /// When the snapshot, refs or that worktree cannot be read.
    pub fn vanished_from(&self, root: &Path, snapshot: &str) -> Result<Vec<(String, bool)>, Error> {
        let info = self.snapshot_info(snapshot).map_err(|error| {
            Error::read_failure(
                format!("look for the snapshot {snapshot}"),
                error.to_string(),
            )
        })?;
        let opened = Worktree::open(root)
            .ok()
            .filter(|opened| opened.common_dir == self.common_dir);
        let is_there = opened.is_some();
        let mut there = opened.map_or_else(|| Worktree::open(self.root()), Ok)?;
        root.clone_into(&mut there.root);
        let mut missing = there.find_missing(&info.commit, CommitsSearched::OfRefs(info.at))?;
        missing.retain(|path| path.id.is_some());
        if is_there && !missing.is_empty() {
            let (_, changed) = there.changes_with_paths()?;
            let contents = there.read_contents(&changed)?;
            let is_edited = |path: &MissingPath| {
                let text = path.text();
                let is_changed = changed.binary_search(&text).is_ok();
                is_changed && !is_absent(&root.join(as_path(&path.path)))
            };
            missing.retain(|path| {
                !path.id.is_some_and(|id| contents.contains(&id)) && !is_edited(path)
            });
        }
        Ok(missing
            .iter()
            .map(|path| (path.text(), path.is_nested))
            .collect())
    }

    /// The contents of the index, and of the first of these files on disk: they may have been moved.
    fn read_contents(&self, changed: &[String]) -> Result<HashSet<ObjectId>, Error> {
        let index = self.index().context("read the index")?;
        let mut contents: HashSet<ObjectId> = index.entries().iter().map(|e| e.id).collect();
        let doing = || format!("open {}", self.root().display());
        let mut below = FolderWalk::open(self.root()).with_context(doing)?;
        let mut blobs = ObjectSink::dry(&self.repo);
        for path in changed.iter().take(COMMITS) {
            let path = unescape_path(path);
            let taken = blobs.take(&mut below, path.as_bstr(), BlobWriteMode::Name);
            contents.extend(taken.ok().flatten().map(|taken| taken.id));
        }
        Ok(contents)
    }

    /// Puts back what a program took out of the work tree after the snapshot, and no commit holds: files that are gone or as in HEAD,
    /// and deletions. What has another content now stays. Returns the paths, without those in `changed_before`.
    ///
    /// # Errors
    /// When the snapshot cannot be read or a file cannot be written.
    pub fn put_back(
        &self,
        snapshot: &Snapshot,
        changed_before: &BTreeSet<String>,
    ) -> Result<Vec<String>, Error> {
        let (whole, mut search, missing) =
            self.find_missing_changes(&snapshot.commit, CommitsSearched::OfHead)?;
        let root = self.root();
        let doing = || format!("put files back into {}", root.display());
        let below = FolderWalk::open(root).with_context(doing)?;
        let mut writer = DiskWriter::new(&whole.repo, below);
        let mut paths = Vec::new();
        for change in missing {
            let path = change.path.as_bstr();
            let was_taken = search.is_gone(path)
                || change.before.is_some()
                    && search.on_disk(&PathDifference {
                        after: change.before,
                        before: None,
                        ..change.clone()
                    });
            let is_link_to_commit = [change.before, change.after]
                .iter()
                .flatten()
                .any(|(mode, _)| mode.is_commit());
            if !was_taken
                || is_link_to_commit
                || !is_safe(path)
                || changed_before.contains(&path_text(path))
            {
                continue;
            }
            match change.after {
                None => writer.remove(path),
                Some((mode, id)) => writer.write_object(path, mode.kind(), id),
            }
            .with_context(doing)?;
            paths.push(path_text(path));
        }
        writer.make_durable().with_context(doing)?;
        Ok(paths)
    }

    /// The changes of a snapshot that this worktree and the searched commits lack, those of ignored files included.
    fn find_missing_changes(
        &self,
        commit: &str,
        searched: CommitsSearched,
    ) -> Result<(WholeSnapshot, ProofSearch<'_>, Vec<PathDifference>), Error> {
        self.refresh()?;
        let repo = &self.repo;
        let doing = "read the snapshot that is to be proved";
        let (record, tree) = read_record(repo, commit)?;
        let before = tree_of(repo, record.head)?;
        let root = self.root();
        let below = match FolderWalk::open(root) {
            Err(_) if is_absent(root) => None,
            opened => Some(opened.with_context(|| format!("open {}", root.display()))?),
        };
        let whole = WholeSnapshot::join_parts(repo, &record, tree)?;
        if whole.incomplete {
            return Err(Error::read_failure(
                doing,
                "the commit that keeps its private files is gone",
            ));
        }
        let mut search = ProofSearch {
            worktree: self,
            below,
            blobs: ObjectSink::dry(repo),
        };
        let mut missing = diff::diff_trees(&whole.repo, before, whole.tree)?;
        missing.retain(|change| !search.on_disk(change));
        search.drop_committed(&mut missing, record.head, searched)?;
        Ok((whole, search, missing))
    }

    /// The paths of a snapshot that this worktree and the searched commits lack.
    fn find_missing(
        &self,
        commit: &str,
        searched: CommitsSearched,
    ) -> Result<Vec<MissingPath>, Error> {
        let (whole, mut search, mut missing) = self.find_missing_changes(commit, searched)?;
        // An ignored file may come and go: it is no work, and stays in the snapshot.
        missing.retain(|change| (whole.private.get(&change.path)).is_none_or(|why| why != IGNORED));
        let mut missing: Vec<MissingPath> = missing.into_iter().map(MissingPath::new).collect();
        let mut registered = SiblingWorktrees::new(self);
        let lenient = searched != CommitsSearched::OfHead;
        for (path, (_, id)) in nested_files(&whole.repo, whole.extras)? {
            if !registered.holds(path.as_bstr())
                && !search.nested_is_safe(path.as_bstr(), id, lenient)
            {
                missing.push(MissingPath {
                    path,
                    id: Some(id),
                    is_nested: true,
                });
            }
        }
        Ok(missing)
    }
}

/// The commits in which missing content is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitsSearched {
    /// HEAD, and what was committed on it since the snapshot.
    OfHead,
    /// Each ref, HEAD and stash of the repository, and what they lead to that is younger than the snapshot.
    OfRefs(Timestamp),
}

/// A path whose content is missing.
struct MissingPath {
    path: BString,
    /// The content; `None` for a deletion and for a submodule's commit.
    id: Option<ObjectId>,
    /// Whether it is in a repository inside of the worktree.
    is_nested: bool,
}

impl MissingPath {
    fn new(change: PathDifference) -> Self {
        let content = change.after.filter(|(mode, _)| !mode.is_commit());
        MissingPath {
            path: change.path,
            id: content.map(|(_, id)| id),
            is_nested: false,
        }
    }

    fn text(&self) -> String {
        path_text(&self.path)
    }
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
            *self
                .folders
                .entry(folder)
                .or_insert_with_key(|folder| is_registered(&root.join(as_path(folder)), common_dir))
        })
    }
}

/// The entry of a path in a tree.
pub(super) fn entry_at(
    repo: &gix::Repository,
    tree: ObjectId,
    path: &[u8],
) -> Result<Option<(EntryMode, ObjectId)>, Error> {
    Ok(any_entry_at(repo, tree, path)?.filter(|(mode, _)| !mode.is_tree()))
}

/// The same, and a folder as well.
pub(super) fn any_entry_at(
    repo: &gix::Repository,
    tree: ObjectId,
    path: &[u8],
) -> Result<Option<(EntryMode, ObjectId)>, Error> {
    if tree.is_empty_tree() {
        return Ok(None);
    }
    let tree_entry = repo
        .find_tree(tree)
        .and_then(|tree| tree.lookup_entry(path.split_str("/")));
    let entry = tree_entry.with_context(|| format!("look for {} in {tree}", path_text(path)))?;
    Ok(entry.map(|e| (e.mode(), e.object_id())))
}

struct ProofSearch<'a> {
    worktree: &'a Worktree,
    /// `None` where its folder is gone.
    below: Option<FolderWalk>,
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
    fn is_gone(&mut self, path: &BStr) -> bool {
        let below = self.below.as_mut();
        below.is_some_and(|below| matches!(below.lstat(path), Ok(None)))
    }

    fn on_disk(&mut self, change: &PathDifference) -> bool {
        let path = change.path.as_bstr();
        if change.after.is_some_and(|(mode, _)| mode.is_commit()) {
            let folder = self.worktree.root().join(as_path(path));
            let head = nested::open_nested(&folder).and_then(|repo| nested::read_head(&repo));
            return keeps_change(change, head.map(|id| (EntryKind::Commit.into(), id)));
        }
        let Some(below) = &mut self.below else {
            return false;
        };
        match self.blobs.take(below, path, BlobWriteMode::Name) {
            Ok(taken) => keeps_change(change, taken.map(|t| (t.kind.into(), t.id))),
            Err(_) => false,
        }
    }

    /// Removes what the searched commits hold.
    fn drop_committed(
        &mut self,
        missing: &mut Vec<PathDifference>,
        parent: Option<ObjectId>,
        searched: CommitsSearched,
    ) -> Result<(), Error> {
        let repo = &self.worktree.repo;
        if missing.is_empty() {
            return Ok(());
        }
        let mut commits = Vec::new();
        let sorting = match searched {
            CommitsSearched::OfHead => {
                commits.extend(self.worktree.head_id()?);
                Sorting::default()
            }
            CommitsSearched::OfRefs(since) => {
                let tips = self.worktree.ref_tips()?;
                let ids = tips
                    .iter()
                    .filter_map(|(_, hex)| hex.parse::<ObjectId>().ok());
                let ids: BTreeSet<ObjectId> = ids.collect();
                commits.extend(ids.into_iter().filter(|id| repo.find_commit(*id).is_ok()));
                Sorting::ByCommitTimeCutoff {
                    order: CommitTimeOrder::NewestFirst,
                    seconds: since.as_second(),
                }
            }
        };
        let doing = "walk the commits since the snapshot";
        let walk = repo
            .rev_walk(commits.iter().copied())
            .sorting(sorting)
            .with_hidden(parent)
            .all()
            .context(doing)?;
        for info in walk.take(COMMITS) {
            commits.push(info.context(doing)?.id);
        }
        for commit in commits {
            let tree = tree_of(repo, commit)?;
            let mut still_missing = Vec::new();
            for change in missing.drain(..) {
                if !keeps_change(&change, entry_at(repo, tree, &change.path)?) {
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

    /// Whether a file of a nested repository is on disk as it was, or committed there; `edited` accepts another uncommitted form, too.
    fn nested_is_safe(&mut self, path: &BStr, id: ObjectId, edited: bool) -> bool {
        let below = self.below.as_mut();
        let taken =
            below.and_then(|below| self.blobs.take(below, path, BlobWriteMode::Name).ok()?);
        let on_disk = taken.map(|taken| taken.id);
        if on_disk == Some(id) {
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
                let committed = tree
                    .is_ok()
                    .then(|| entry_at(&repo, tree.ok()?, below_folder).ok()?);
                let committed = committed.flatten().map(|(_, committed)| committed);
                return committed == Some(id)
                    || edited && on_disk.is_some() && on_disk != committed;
            }
        }
    }
}

//! Restores into the work tree: reads everything first, then writes.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};

use super::blobs::{BlobWriteMode, ObjectSink};
use super::diff::{self, PathDifference};
use super::disk::{FolderWalk, PathKind, as_path, split_path};
use super::nested;
use super::private::WholeSnapshot;
use super::proof::{entry_at, nested_files};
use super::record::StoredSnapshot;
use super::restore_disk::{DiskWriter, is_safe};
use super::restore_index::restore_index;
use super::restore_result::{RestoreError, RestoreResult, RestoredTo};
use super::scan::TreeEdit;
use super::spec_name::path_text;
use super::take::{read_index, scan_changes};
use crate::Worktree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use crate::path_text::join_path;
use watchdog_facts::evidence::{LeftOut, LeftOutReason};

/// The current state of the work tree, for deciding which paths may be written.
struct CurrentWorkTree<'a> {
    index: gix::index::File,
    /// The changes of the snapshot, by path.
    wanted: BTreeMap<BString, &'a PathDifference>,
    below: FolderWalk,
    blobs: ObjectSink<'a>,
}

/// Restores `stored` into the work tree, without ignored files, or changes nothing and says why.
pub(super) fn in_place(
    worktree: &Worktree,
    stored: &StoredSnapshot,
    whole: &WholeSnapshot,
) -> Result<RestoreResult, RestoreError> {
    let repo = &whole.repo;
    let head_tree = worktree.head_tree()?;
    let start = tree_of(repo, stored.record.head)?;
    let (mut plan, mut left_out) = plan_restore(repo, start, whole.tree)?;
    let ignored: BTreeSet<&BString> = whole.ignored_paths().collect();
    plan.retain(|change| !ignored.contains(&change.path));
    if plan.is_empty() && whole.extras.is_none() && whole.index.is_none_or(|tree| tree == start) {
        return Ok(RestoreResult {
            to: RestoredTo::WorkTree { index: false },
            files: 0,
            left_out,
            note: whole.note(),
        });
    }
    // Without an index that can be read nobody can tell what is staged; one that is damaged has nothing to lose.
    let opened = repo
        .index_path()
        .symlink_metadata()
        .and_then(|_| std::fs::File::open(repo.index_path()));
    if let Err(error) = opened.map(drop)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(
            Error::read_error(format!("read {}", repo.index_path().display()), error).into(),
        );
    }
    let (index, _) = read_index(repo, head_tree)?;
    refuse_unclean(worktree, repo, &index, head_tree, &plan)?;
    refuse_moved(repo, head_tree, &plan)?;

    let root = worktree.root();
    let open = || FolderWalk::open(root).map_err(RestoreError::at_path(root.display().to_string()));
    let wanted = plan.iter().map(|c| (c.path.clone(), c)).collect();
    let mut present = CurrentWorkTree {
        index,
        wanted,
        below: open()?,
        blobs: ObjectSink::dry(repo),
    };
    let mut in_the_way = BTreeSet::new();
    let mut work = Vec::new();
    for change in &plan {
        let mut here = BTreeSet::new();
        let needs = present.needs(change, &mut here);
        in_the_way.extend(here);
        if needs {
            work.push(change);
        }
    }
    if !in_the_way.is_empty() {
        return Err(RestoreError::WouldOverwrite {
            paths: in_the_way.iter().map(|p| path_text(p)).collect(),
        });
    }

    let mut writer = DiskWriter::new(repo, open()?);
    let fault = |path: &BStr| RestoreError::at_path(path_text(path));
    for change in work.iter().filter(|c| c.after.is_none()) {
        writer
            .remove(change.path.as_bstr())
            .map_err(fault(change.path.as_bstr()))?;
    }
    for change in &work {
        if let Some((mode, id)) = change.after {
            writer
                .write_object(change.path.as_bstr(), mode.kind(), id)
                .map_err(fault(change.path.as_bstr()))?;
        }
    }
    let mut files = work.len() as u64;
    for (path, (kind, id)) in nested_files(repo, whole.extras)? {
        match present.restore_nested(worktree, path.as_bstr(), id) {
            NestedFileAction::There => {}
            NestedFileAction::Write => {
                writer
                    .write_object(path.as_bstr(), kind, id)
                    .map_err(fault(path.as_bstr()))?;
                files += 1;
            }
            NestedFileAction::Leave => left_out.push(LeftOut {
                path: path_text(&path),
                why: LeftOutReason::NestedRepository,
            }),
        }
    }
    writer
        .make_durable()
        .map_err(RestoreError::at_path("the restored files"))?;
    let (index, mut note) = restore_index(repo, stored, whole, head_tree)?;
    let head = repo.head_id().ok().map(gix::Id::detach);
    if note.is_none() && head != stored.record.head {
        let was = stored
            .record
            .head
            .map_or("an unborn branch".into(), |id| id.to_string());
        note = Some(format!(
            "the snapshot was taken at {was}, HEAD is elsewhere now: the index is left as it is"
        ));
    }
    let note = note.or_else(|| whole.note());
    Ok(RestoreResult {
        to: RestoredTo::WorkTree { index },
        files,
        left_out,
        note,
    })
}

/// The paths to write and remove, and those that cannot be restored.
fn plan_restore(
    repo: &gix::Repository,
    start: ObjectId,
    tree: ObjectId,
) -> Result<(Vec<PathDifference>, Vec<LeftOut>), Error> {
    let mut left_out = Vec::new();
    let mut plan = diff::diff_trees(repo, start, tree)?;
    plan.retain(|change| {
        let submodule = |side: Option<(gix::objs::tree::EntryMode, ObjectId)>| {
            side.is_some_and(|(mode, _)| mode.is_commit())
        };
        let why = if !is_safe(&change.path) {
            LeftOutReason::Excluded
        } else if submodule(change.after) || (change.after.is_none() && submodule(change.before)) {
            LeftOutReason::NestedRepository
        } else {
            return true;
        };
        left_out.push(LeftOut {
            path: path_text(&change.path),
            why,
        });
        false
    });
    Ok((plan, left_out))
}

/// Refuses where the index or a tracked file holds what no commit and not the snapshot either has.
fn refuse_unclean(
    worktree: &Worktree,
    repo: &gix::Repository,
    index: &gix::index::File,
    head_tree: ObjectId,
    plan: &[PathDifference],
) -> Result<(), RestoreError> {
    let mut blobs = ObjectSink::dry(repo);
    let mut unsaved: BTreeSet<BString> = BTreeSet::new();
    for entry in index
        .entries()
        .iter()
        .filter(|e| e.stage() != gix::index::entry::Stage::Unconflicted)
    {
        unsaved.insert(entry.path(index).to_owned());
    }
    let committed = repo
        .index_from_tree(&head_tree)
        .context("read the tree of HEAD")?;
    let staged = nested::list_staged(repo, index);
    unsaved.extend(staged);
    let gone = committed
        .entries()
        .iter()
        .map(|e| e.path(&committed))
        .filter(|path| !index.is_sparse() && index.entry_index_by_path(path).is_err());
    unsaved.extend(gone.map(ToOwned::to_owned));
    for (path, change) in scan_changes(worktree, repo, index, &mut blobs, &|_| None)?.changes {
        let as_wanted =
            plan.iter()
                .find(|c| c.path == path)
                .is_some_and(|c| match (change, c.after) {
                    (TreeEdit::Remove, None) => true,
                    (TreeEdit::Put(taken), Some((mode, id))) => {
                        taken.id == id && mode.kind() == taken.kind
                    }
                    _ => false,
                });
        // Untracked files are judged one by one, where they are in the way.
        if index.entry_index_by_path(path.as_bstr()).is_ok()
            && !as_wanted
            && !matches!(change, TreeEdit::Submodule(_))
        {
            unsaved.insert(path);
        }
    }
    match unsaved.is_empty() {
        true => Ok(()),
        false => Err(RestoreError::NotClean {
            paths: unsaved.iter().map(|p| path_text(p)).collect(),
        }),
    }
}

/// Refuses if HEAD has moved and changed a path of the snapshot.
fn refuse_moved(
    repo: &gix::Repository,
    head_tree: ObjectId,
    plan: &[PathDifference],
) -> Result<(), RestoreError> {
    let mut moved = Vec::new();
    for change in plan {
        let now = entry_at(repo, head_tree, &change.path)?;
        if now != change.before && now != change.after {
            moved.push(path_text(&change.path));
        }
    }
    if moved.is_empty() {
        Ok(())
    } else {
        Err(RestoreError::Moved { paths: moved })
    }
}

enum NestedFileAction {
    There,
    Write,
    Leave,
}

impl CurrentWorkTree<'_> {
    fn is_tracked(&self, path: &BStr) -> bool {
        self.index.entry_index_by_path(path).is_ok()
    }

    /// Whether the plan takes this path away, which it may: the path is tracked, and the work tree is clean.
    fn goes(&self, path: &BStr) -> bool {
        self.is_tracked(path) && self.wanted.get(path).is_some_and(|c| c.after.is_none())
    }

    /// Whether there is something to do for a path. Adds paths that must not be overwritten to
    /// `in_the_way`.
    fn needs(&mut self, change: &PathDifference, in_the_way: &mut BTreeSet<BString>) -> bool {
        let path = change.path.as_bstr();
        let Some((mode, id)) = change.after else {
            let there =
                matches!(self.below.lstat(path), Ok(Some(stat)) if stat.kind != PathKind::Folder);
            return there && self.is_tracked(path);
        };
        let mut parent = split_path(path).0;
        while !parent.is_empty() {
            match self.below.lstat(parent) {
                Ok(Some(stat)) if stat.kind != PathKind::Folder && !self.goes(parent) => {
                    let _ = in_the_way.insert(parent.to_owned());
                }
                _ => {}
            }
            parent = split_path(parent).0;
        }
        match self.below.lstat(path) {
            Ok(None) => true,
            Ok(Some(stat)) if stat.kind == PathKind::Folder => {
                self.folder_in_the_way(path.to_owned(), in_the_way);
                true
            }
            Ok(Some(stat)) if stat.kind != PathKind::Special => {
                match self.blobs.take(&mut self.below, path, BlobWriteMode::Name) {
                    Ok(Some(taken)) if taken.id == id && taken.kind == mode.kind() => false,
                    Ok(_) if self.is_tracked(path) => true,
                    Ok(Some(taken)) if taken.id == id => true,
                    _ => {
                        in_the_way.insert(path.to_owned());
                        false
                    }
                }
            }
            _ => {
                in_the_way.insert(path.to_owned());
                false
            }
        }
    }

    /// A folder where a file is wanted: everything in it must be known to go. Empty folders are no work.
    fn folder_in_the_way(&mut self, folder: BString, in_the_way: &mut BTreeSet<BString>) {
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = self.below.list(&folder) else {
                in_the_way.insert(folder);
                continue;
            };
            for entry in entries {
                let path = join_path(&folder, &entry.name);
                match entry.kind {
                    PathKind::Folder => folders.push(path),
                    _ if self.goes(path.as_bstr()) => {}
                    _ => drop(in_the_way.insert(path)),
                }
            }
        }
    }

    /// Restores an uncommitted file of a nested repository, if that overwrites nothing.
    fn restore_nested(
        &mut self,
        worktree: &Worktree,
        path: &BStr,
        id: ObjectId,
    ) -> NestedFileAction {
        let mut folder = split_path(path).0;
        let repo = loop {
            if folder.is_empty() {
                return NestedFileAction::Leave;
            }
            if let Some(repo) = nested::open_nested(&worktree.root().join(as_path(folder))) {
                break repo;
            }
            folder = split_path(folder).0;
        };
        let inner = path[folder.len() + 1..].as_bstr();
        let committed = repo
            .head_tree_id_or_empty()
            .ok()
            .and_then(|tree| entry_at(&repo, tree.detach(), inner).ok().flatten());
        if !is_safe(path) {
            return NestedFileAction::Leave;
        }
        match self.blobs.take(&mut self.below, path, BlobWriteMode::Name) {
            Ok(Some(taken)) if taken.id == id => NestedFileAction::There,
            Ok(Some(taken)) if committed.is_some_and(|(_, known)| known == taken.id) => {
                NestedFileAction::Write
            }
            Ok(None) if matches!(self.below.lstat(path), Ok(None)) => NestedFileAction::Write,
            _ => NestedFileAction::Leave,
        }
    }
}

//! Builds the trees of a snapshot: the exact index, and the index with the changes on disk.

use std::collections::BTreeMap;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage};
use gix::objs::tree::{Editor, Entry, EntryKind};
use gix::objs::{Blob, Tree};

use super::blobs::{CapturedFile, ObjectSink};
use super::scan::{TreeEdit, is_committable, kind_of};
use crate::error::{Error, ReadContext as _};

/// Folder of the stages of a conflict in the third parent: `conflicts/<stage>/<path>`.
pub(super) const CONFLICTS: &str = "conflicts";
/// Folder of inner repositories' uncommitted files in the third parent: `nested/<path>`.
pub(super) const NESTED: &str = "nested";
/// File in the third parent with the paths that were added without content: `<octal mode> <path>`,
/// each ended by NUL.
pub(super) const INTENT_TO_ADD: &str = "intent-to-add";

/// An entry of an index that can be part of a tree.
struct TreeLeaf<'a> {
    path: &'a BStr,
    kind: EntryKind,
    id: ObjectId,
}

/// The tree that a commit of the index would have.
///
/// A path in conflict has our version, or theirs if we have none.
pub(super) fn of_index(
    repo: &gix::Repository,
    index: &gix::index::File,
    blobs: &mut ObjectSink<'_>,
) -> Result<ObjectId, Error> {
    if index.entries().iter().all(is_committable)
        && let Some(cached) = index.tree().filter(|t| t.num_entries.is_some())
        && repo.has_object(cached.id)
    {
        return Ok(cached.id);
    }
    let mut leaves: Vec<TreeLeaf<'_>> = Vec::with_capacity(index.entries().len());
    for entry in index.entries() {
        let path = entry.path(index);
        if entry.flags.contains(Flags::INTENT_TO_ADD) || entry.stage() == Stage::Base {
            continue;
        }
        if entry.stage() == Stage::Theirs && leaves.last().is_some_and(|l| l.path == path) {
            continue;
        }
        let (path, kind) = match kind_of(entry.mode) {
            Some(kind) => (path, kind),
            None if entry.mode == Mode::DIR => {
                (path.trim_end_with(|c| c == '/').as_bstr(), EntryKind::Tree)
            }
            None => continue,
        };
        leaves.push(TreeLeaf {
            path,
            kind,
            id: entry.id,
        });
    }
    write_tree(&leaves, 0, blobs)
}

/// Writes the tree of `leaves`, which all share their first `skip` bytes.
fn write_tree(
    leaves: &[TreeLeaf<'_>],
    skip: usize,
    blobs: &mut ObjectSink<'_>,
) -> Result<ObjectId, Error> {
    let mut entries = Vec::new();
    let mut at = 0;
    while let Some(leaf) = leaves.get(at) {
        let below_skip = &leaf.path[skip..];
        match below_skip.find_byte(b'/') {
            None => {
                entries.push(Entry {
                    mode: leaf.kind.into(),
                    filename: below_skip.into(),
                    oid: leaf.id,
                });
                at += 1;
            }
            Some(end) => {
                let folder = &leaf.path[..=skip + end];
                let below = leaves[at..]
                    .iter()
                    .take_while(|l| l.path.starts_with(folder))
                    .count();
                let oid = write_tree(&leaves[at..at + below], folder.len(), blobs)?;
                entries.push(Entry {
                    mode: EntryKind::Tree.into(),
                    filename: below_skip[..end].into(),
                    oid,
                });
                at += below;
            }
        }
    }
    entries.sort();
    blobs.object(&Tree { entries })
}

/// The tree `base` with the changes on disk.
pub(super) fn edit_tree(
    repo: &gix::Repository,
    base: ObjectId,
    changes: &BTreeMap<BString, TreeEdit>,
    blobs: &mut ObjectSink<'_>,
) -> Result<ObjectId, Error> {
    if changes.is_empty() {
        return Ok(base);
    }
    let doing = "edit the snapshot's tree";
    let mut editor = open_tree_editor(repo, base)?;
    // Removals first: a file that became a folder must not take the folder's files with it.
    for (path, change) in changes {
        if *change == TreeEdit::Remove {
            editor
                .remove_if_leaf(path.split_str("/").map(ByteSlice::as_bstr))
                .context(doing)?;
        }
    }
    for (path, change) in changes {
        let (kind, id) = match change {
            TreeEdit::Put(taken) => (taken.kind, taken.id),
            TreeEdit::Submodule(head) => (EntryKind::Commit, *head),
            TreeEdit::Exactly(kind, id) => (*kind, *id),
            TreeEdit::Remove => continue,
        };
        editor
            .upsert(path.split_str("/").map(ByteSlice::as_bstr), kind, id)
            .context(doing)?;
    }
    editor.write(|tree| blobs.object(tree))
}

fn open_tree_editor(repo: &gix::Repository, base: ObjectId) -> Result<Editor<'_>, Error> {
    let read = || {
        let tree = repo.find_tree(base)?;
        Ok(tree.decode()?.into())
    };
    let root = match base.is_empty_tree() {
        true => Tree::default(),
        // A garbage collection moves it to a pack between two looks.
        false => read().or_else(|_| read()).map_err(|e: gix::Error| {
            Error::read_error("read the tree that a snapshot starts from", e)
        })?,
    };
    Ok(Editor::new(root, &repo.objects, repo.object_hash()))
}

/// The tree of everything that neither the index's tree nor the work tree's can hold; `None` where there is nothing.
pub(super) fn of_extras(
    repo: &gix::Repository,
    index: &gix::index::File,
    nested: &BTreeMap<BString, CapturedFile>,
    blobs: &mut ObjectSink<'_>,
) -> Result<Option<ObjectId>, Error> {
    let mut leaves: BTreeMap<BString, (EntryKind, ObjectId)> = BTreeMap::new();
    let mut intent = Vec::new();
    for entry in index.entries() {
        let path = entry.path(index);
        if entry.flags.contains(Flags::INTENT_TO_ADD) {
            intent.extend_from_slice(format!("{:o} ", entry.mode.bits()).as_bytes());
            intent.extend_from_slice(path);
            intent.push(0);
        }
        if let Some(kind) = kind_of(entry.mode).filter(|_| entry.stage() != Stage::Unconflicted) {
            leaves.insert(
                format!("{CONFLICTS}/{}/", entry.stage_raw())
                    .into_bytes()
                    .into_iter()
                    .chain(path.iter().copied())
                    .collect::<Vec<_>>()
                    .into(),
                (kind, entry.id),
            );
        }
    }
    for (path, taken) in nested {
        let mut full = BString::from(format!("{NESTED}/"));
        full.extend_from_slice(path);
        leaves.insert(full, (taken.kind, taken.id));
    }
    if !intent.is_empty() {
        let id = blobs.object(&Blob { data: intent })?;
        leaves.insert(INTENT_TO_ADD.into(), (EntryKind::Blob, id));
    }
    if leaves.is_empty() {
        return Ok(None);
    }
    let mut editor = open_tree_editor(repo, ObjectId::empty_tree(repo.object_hash()))?;
    for (path, (kind, id)) in leaves {
        editor
            .upsert(path.split_str("/").map(ByteSlice::as_bstr), kind, id)
            .context("build the tree of conflicts")?;
    }
    editor.write(|tree| blobs.object(tree)).map(Some)
}

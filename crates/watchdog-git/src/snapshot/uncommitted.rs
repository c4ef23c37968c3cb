//! Lists the content of a snapshot of this moment without writing an object: for previews of a rescue.

use std::collections::BTreeMap;
use std::io::Read;

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice};
use gix::index::entry::{Flags, Stage};
use gix::objs::tree::EntryKind;

use super::blobs::ObjectSink;
use super::contents::RepositoryBoundary;
use super::disk::{PathKind, as_path};
use super::proof::entry_at;
use super::scan::{TreeEdit, kind_of};
use super::spec_name::path_text;
use super::take::{read_index, scan_changes};
use super::{FileBeforeAfter, SnapshotPath, SnapshotPathKind, nested};
use crate::Worktree;
use crate::error::{Error, ReadContext as _};
use crate::hidden::is_hidden;
use crate::submodule::is_named;
use watchdog_facts::evidence::LeftOut;

/// The uncommitted files, as a snapshot of this moment would store them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncommittedFiles {
    /// In git's order; files of repositories inside the worktree last.
    pub paths: Vec<SnapshotPath>,
    /// The unreadable paths.
    pub left_out: Vec<LeftOut>,
}

/// The content of a path: its kind, its object and its size where that is known.
type PathContent = (EntryKind, ObjectId, Option<u64>);

impl Worktree {
    /// Lists the paths of a snapshot of this moment, as [`Worktree::snapshot_paths`] would. Writes nothing.
    ///
    /// # Errors
    /// When HEAD, the index or the work tree cannot be read.
    pub fn read_uncommitted(&self) -> Result<UncommittedFiles, Error> {
        self.refresh()?;
        let repo = nested::without_filters(&self.repo)?;
        let head_tree = self.head_tree()?;
        let (index, _) = read_index(&repo, head_tree)?;
        let mut blobs = ObjectSink::dry(&repo);
        let scanned = scan_changes(self, &repo, &index, &mut blobs, &|_| None)?;
        let committed = repo
            .index_from_tree(&head_tree)
            .context("read the tree of HEAD")?;
        let before = |path: &BStr| {
            committed
                .entry_by_path(path)
                .and_then(|entry| Some((kind_of(entry.mode)?, entry.id)))
        };
        // The entries of the index, changed by the files on disk.
        let mut now: BTreeMap<BString, Option<PathContent>> = BTreeMap::new();
        let settled = |e: &&gix::index::Entry| {
            e.stage() != Stage::Base && !e.flags.contains(Flags::INTENT_TO_ADD)
        };
        for entry in index.entries().iter().filter(settled) {
            let path = entry.path(&index);
            let Some(kind) = kind_of(entry.mode) else {
                continue;
            };
            if before(path) != Some((kind, entry.id)) {
                now.entry(path.to_owned())
                    .or_insert(Some((kind, entry.id, None)));
            }
        }
        if !index.is_sparse() {
            let gone = committed
                .entries()
                .iter()
                .map(|e| e.path(&committed))
                .filter(|path| index.entry_index_by_path(path).is_err());
            now.extend(gone.map(|path| (path.to_owned(), None)));
        }
        for (path, change) in &scanned.changes {
            let standing = match change {
                TreeEdit::Put(taken) => Some((taken.kind, taken.id, Some(taken.stat.size))),
                TreeEdit::Submodule(id) => Some((EntryKind::Commit, *id, Some(0))),
                TreeEdit::Exactly(kind, id) => Some((*kind, *id, None)),
                TreeEdit::Remove => None,
            };
            now.insert(path.clone(), standing);
        }
        let root = self.root();
        let below = self.open_folder_walk()?;
        let mut boundary = RepositoryBoundary::new(below);
        let mut paths = Vec::with_capacity(now.len());
        for (path, standing) in now {
            let name = path.as_bstr();
            if before(name) == standing.map(|(kind, id, _)| (kind, id)) {
                continue;
            }
            let bytes = match standing {
                Some((EntryKind::Commit, ..)) | None => 0,
                Some((_, _, Some(bytes))) => bytes,
                Some((_, id, None)) => repo.find_header(id).map_or(0, |header| header.size()),
            };
            let unnamed = matches!(standing, Some((EntryKind::Commit, id, _)) if !is_named(&root.join(as_path(name)), id).unwrap_or(false));
            let entry = index.entry_by_path(name);
            paths.push(SnapshotPath {
                text: path_text(name),
                kind: match standing {
                    None => SnapshotPathKind::Deleted,
                    Some((EntryKind::Commit, ..)) => SnapshotPathKind::Submodule,
                    Some(_) => SnapshotPathKind::File,
                },
                bytes,
                untracked: index.entry_index_by_path(name).is_err(),
                hidden: entry.is_some_and(is_hidden),
                secret: false,
                nested: unnamed || boundary.crosses(name),
                path: path.into(),
            });
        }
        paths.extend(scanned.nested.iter().map(|(path, taken)| SnapshotPath {
            text: path_text(path),
            kind: SnapshotPathKind::File,
            bytes: taken.stat.size,
            untracked: false,
            hidden: false,
            secret: false,
            nested: true,
            path: path.to_vec(),
        }));
        Ok(UncommittedFiles {
            paths,
            left_out: scanned.left_out,
        })
    }

    /// A path's content in HEAD and on disk, each up to `limit` bytes.
    ///
    /// # Errors
    /// When HEAD cannot be read. An unreadable file on disk is `None`.
    pub fn versions_on_disk(&self, path: &[u8], limit: u64) -> Result<FileBeforeAfter, Error> {
        let doing = "read a file of HEAD";
        let name: &BStr = path.as_bstr();
        let before = match entry_at(&self.repo, self.head_tree()?, name)?
            .filter(|(mode, _)| !mode.is_commit())
        {
            Some((_, id)) if self.repo.find_header(id).context(doing)?.size() <= limit => {
                Some(self.repo.find_blob(id).context(doing)?.take_data())
            }
            _ => None,
        };
        let mut below = self.open_folder_walk()?;
        let after = match below
            .lstat(name)
            .ok()
            .flatten()
            .filter(|stat| stat.size <= limit)
            .map(|stat| stat.kind)
        {
            Some(PathKind::Link) => below.read_link(name).ok(),
            Some(PathKind::File { .. }) => below.open_file(name).ok().and_then(|(file, _)| {
                let mut bytes = Vec::new();
                file.take(limit).read_to_end(&mut bytes).ok().map(|_| bytes)
            }),
            _ => None,
        };
        Ok(FileBeforeAfter { before, after })
    }
}

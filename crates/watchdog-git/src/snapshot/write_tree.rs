//! Writes a whole tree into a folder of its own, without a repository around it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::tree::EntryKind;

use super::blobs::ObjectSink;
use super::diff;
use super::disk::FolderWalk;
use super::proof::entry_at;
use super::restore_disk::{DiskWriter, is_safe};
use super::scan::TreeEdit;
use super::tree;
use crate::commit_text::tree_of;
use crate::error::{Error, ReadContext as _};
use crate::{HistoryPoint, KnownRefs, Worktree, escape_path, unescape_path};

/// How many recorded refs are searched for a file.
const MOST_TIPS: usize = 5_000;

fn parse_tree(hex: &str) -> Result<ObjectId, Error> {
    hex.parse::<ObjectId>()
        .with_context(|| format!("read tree {hex}"))
}

impl Worktree {
    fn edit_tree(
        &self,
        tree: ObjectId,
        changes: &BTreeMap<BString, TreeEdit>,
    ) -> Result<String, Error> {
        let edited = tree::edit_tree(&self.repo, tree, changes, &mut ObjectSink::new(&self.repo))?;
        Ok(edited.to_hex().to_string())
    }

    /// The tree of a commit, hexadecimal; the empty one where there is no commit yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn tree_at(&self, point: &HistoryPoint) -> Result<String, Error> {
        let read = |commit: &str| {
            let id = commit.parse::<ObjectId>();
            id.with_context(|| format!("read commit {commit}"))
        };
        let id = point.commit().map(read).transpose()?;
        Ok(tree_of(&self.repo, id)?.to_string())
    }

    /// A tree in which these paths, percent-escaped where not UTF-8, are as HEAD has them.
    ///
    /// # Errors
    /// If an object cannot be read or written.
    pub fn tree_without(&self, tree: &str, paths: &BTreeSet<String>) -> Result<String, Error> {
        self.replace_in_tree(tree, paths.iter(), &self.tree_at(&self.head()?)?)
    }

    /// A tree in which these paths, percent-escaped where not UTF-8, are as another tree has them.
    ///
    /// # Errors
    /// If an object cannot be read or written.
    pub fn replace_in_tree<'path>(
        &self,
        tree: &str,
        paths: impl Iterator<Item = &'path String>,
        source: &str,
    ) -> Result<String, Error> {
        let doing = || format!("read tree {source}");
        let source_tree = self
            .repo
            .find_tree(parse_tree(source)?)
            .with_context(doing)?;
        let mut changes = BTreeMap::new();
        for path in paths {
            let path = BString::from(unescape_path(path));
            let entry = source_tree
                .lookup_entry(path.split_str("/"))
                .with_context(doing)?;
            let change = entry.map_or(TreeEdit::Remove, |entry| {
                TreeEdit::Exactly(entry.mode().kind(), entry.object_id())
            });
            changes.insert(path, change);
        }
        self.edit_tree(parse_tree(tree)?, &changes)
    }

    /// A tree in which these files, percent-escaped where not UTF-8, are empty where they are.
    ///
    /// # Errors
    /// If an object cannot be read or written.
    pub fn empty_in_tree<'path>(
        &self,
        tree: &str,
        paths: impl Iterator<Item = &'path String>,
    ) -> Result<String, Error> {
        let doing = || format!("empty files of tree {tree}");
        let id = tree.parse::<ObjectId>().with_context(doing)?;
        let standing = self.repo.find_tree(id).with_context(doing)?;
        let empty = self.repo.write_blob(b"").with_context(doing)?.detach();
        let mut changes = BTreeMap::new();
        for path in paths {
            let path = BString::from(unescape_path(path));
            let entry = standing
                .lookup_entry(path.split_str("/"))
                .with_context(doing)?;
            if let Some(mode) = entry
                .map(|entry| entry.mode())
                .filter(|mode| mode.is_blob())
            {
                changes.insert(path, TreeEdit::Exactly(mode.kind(), empty));
            }
        }
        self.edit_tree(id, &changes)
    }

    /// A tree with this file, whose mode stays where it is there.
    ///
    /// # Errors
    /// If an object cannot be read or written.
    pub fn put_in_tree(&self, tree: &str, path: &str, bytes: &[u8]) -> Result<String, Error> {
        let doing = || format!("write {path} to tree {tree}");
        let id = tree.parse::<ObjectId>().with_context(doing)?;
        let path = BString::from(unescape_path(path));
        let blob = (self.repo.write_blob(bytes)).with_context(doing)?;
        let mode = entry_at(&self.repo, id, path.as_ref())?.map(|(mode, _)| mode.kind());
        let edit = TreeEdit::Exactly(mode.unwrap_or(EntryKind::Blob), blob.detach());
        let changes = BTreeMap::from([(path, edit)]);
        self.edit_tree(id, &changes)
    }

    /// The text of a file of a tree; `None` where it has no such file, or that is no text.
    ///
    /// # Errors
    /// If an object cannot be read.
    pub fn text_in_tree(&self, tree: &str, path: &str) -> Result<Option<String>, Error> {
        let doing = || format!("read {path} of tree {tree}");
        let id = tree.parse::<ObjectId>().with_context(doing)?;
        let path = BString::from(unescape_path(path));
        let entry = entry_at(&self.repo, id, path.as_ref())?;
        let Some((_, blob)) = entry.filter(|(mode, _)| mode.is_blob()) else {
            return Ok(None);
        };
        let blob = (self.repo.find_blob(blob)).with_context(doing)?;
        Ok(String::from_utf8(blob.data.clone()).ok())
    }

    /// The paths, percent-escaped where not UTF-8, at which two trees differ.
    ///
    /// # Errors
    /// If an object cannot be read.
    pub fn differing_paths(&self, before: &str, after: &str) -> Result<BTreeSet<String>, Error> {
        let differences = diff::diff_trees(&self.repo, parse_tree(before)?, parse_tree(after)?)?;
        Ok(differences
            .into_iter()
            .map(|difference| escape_path(&difference.path))
            .collect())
    }

    /// Whether recorded refs lead to commits that have each of these paths as a tree has it.
    ///
    /// # Errors
    /// If the record or an object cannot be read.
    pub fn stand_on_recorded(
        &self,
        refs: &KnownRefs,
        tree: &str,
        paths: &[String],
    ) -> Result<bool, Error> {
        let doing = || format!("look for files of tree {tree} on recorded refs");
        let entry_in = |id: ObjectId, path: &BString| entry_at(&self.repo, id, path);
        let tree = tree.parse::<ObjectId>().with_context(doing)?;
        let mut missing: Vec<BString> = (paths.iter())
            .map(|path| BString::from(unescape_path(path)))
            .collect();
        for tip in refs.objects()?.iter().take(MOST_TIPS) {
            if missing.is_empty() {
                break;
            }
            // A ref to nothing, or to no commit, places nothing.
            let Ok(tip_tree) = tree_of(&self.repo, *tip) else {
                continue;
            };
            let mut still_missing = Vec::new();
            for path in missing {
                if entry_in(tip_tree, &path)? != entry_in(tree, &path)? {
                    still_missing.push(path);
                }
            }
            missing = still_missing;
        }
        Ok(missing.is_empty())
    }

    /// Writes every file of a tree below an empty folder, byte for byte, without filters. Leaves out names that no work
    /// tree may hold.
    ///
    /// # Errors
    /// If an object cannot be read, or a file cannot be written; if all take more than `space` bytes, before any is.
    pub fn write_tree(&self, tree: &str, folder: &Path, space: u64) -> Result<(), Error> {
        let doing = |path: &str| format!("write {path} of tree {tree}");
        let id = parse_tree(tree)?;
        let below = FolderWalk::open(folder).with_context(|| doing("the files"))?;
        let mut writer = DiskWriter::new(&self.repo, below);
        let empty = ObjectId::empty_tree(self.repo.object_hash());
        let entries = diff::diff_trees(&self.repo, empty, id)?;
        let sizes = (entries.iter().filter_map(|entry| entry.after))
            .filter_map(|(_, id)| self.repo.find_header(id).ok());
        let bytes: u64 = sizes.map(|header| header.size()).sum();
        if bytes > space {
            let why = format!("its {bytes} bytes take more than half of the free space");
            return Err(Error::read_error(
                doing("the files"),
                std::io::Error::other(why),
            ));
        }
        for entry in entries {
            let Some((mode, id)) = entry.after.filter(|_| is_safe(&entry.path)) else {
                continue;
            };
            writer
                .write_object(entry.path.as_bstr(), mode.kind(), id)
                .with_context(|| doing(&entry.path.to_str_lossy()))?;
        }
        Ok(())
    }
}

//! Writes a whole tree into a folder of its own, without a repository around it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};

use super::blobs::ObjectSink;
use super::diff;
use super::disk::FolderWalk;
use super::proof::tree_of;
use super::restore_disk::{DiskWriter, is_safe};
use super::scan::TreeEdit;
use super::tree;
use crate::{Error, HistoryPoint, Worktree, unescape_path};

impl Worktree {
    /// The tree of a commit, hexadecimal; the empty one where there is no commit yet.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn tree_at(&self, point: &HistoryPoint) -> Result<String, Error> {
        let HistoryPoint::Commit(commit) = point else {
            return Ok(ObjectId::empty_tree(self.repo.object_hash())
                .to_hex()
                .to_string());
        };
        let id = ObjectId::from_hex(commit.as_bytes())
            .map_err(|e| Error::read_error(format!("read commit {commit}"), e))?;
        Ok(tree_of(&self.repo, id)?.to_hex().to_string())
    }

    /// A tree in which these paths, percent-escaped where not UTF-8, are as HEAD has them.
    ///
    /// # Errors
    /// If an object cannot be read or written.
    pub fn tree_without(&self, tree: &str, paths: &BTreeSet<String>) -> Result<String, Error> {
        let read = |hex: &str| {
            ObjectId::from_hex(hex.as_bytes())
                .map_err(|e| Error::read_error(format!("read tree {hex}"), e))
        };
        let head = self
            .repo
            .find_tree(read(&self.tree_at(&self.head()?)?)?)
            .map_err(|e| Error::read_error("read the tree of HEAD", e))?;
        let mut changes = BTreeMap::new();
        for path in paths {
            let path = BString::from(unescape_path(path));
            let entry = head
                .lookup_entry(path.split_str("/"))
                .map_err(|e| Error::read_error("read the tree of HEAD", e))?;
            let change = entry.map_or(TreeEdit::Remove, |entry| {
                TreeEdit::Exactly(entry.mode().kind(), entry.object_id())
            });
            changes.insert(path, change);
        }
        let edited = tree::edit_tree(
            &self.repo,
            read(tree)?,
            &changes,
            &mut ObjectSink::new(&self.repo),
        )?;
        Ok(edited.to_hex().to_string())
    }

    /// Writes every file of a tree below an empty folder, byte for byte, without filters. Leaves out names that no work
    /// tree may hold.
    ///
    /// # Errors
    /// If an object cannot be read, or a file cannot be written.
    pub fn write_tree(&self, tree: &str, folder: &Path) -> Result<(), Error> {
        let doing = |path: &str| format!("write {path} of tree {tree}");
        let id = ObjectId::from_hex(tree.as_bytes())
            .map_err(|e| Error::read_error(format!("read tree {tree}"), e))?;
        let below =
            FolderWalk::open(folder).map_err(|e| Error::read_error(doing("the files"), e))?;
        let mut writer = DiskWriter::new(&self.repo, below);
        for entry in diff::diff_trees(
            &self.repo,
            ObjectId::empty_tree(self.repo.object_hash()),
            id,
        )? {
            let Some((mode, id)) = entry.after.filter(|_| is_safe(entry.path.as_bstr())) else {
                continue;
            };
            writer
                .write_object(entry.path.as_bstr(), mode.kind(), id)
                .map_err(|e| Error::read_error(doing(&entry.path.to_str_lossy()), e))?;
        }
        Ok(())
    }
}

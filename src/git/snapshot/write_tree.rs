//! Writes a whole tree into a folder of its own, without a repository around it.

use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::diff;
use super::disk::Below;
use super::proof::tree_of;
use super::restore_disk::{Writer, is_safe};
use crate::git::{Error, Point, Worktree};

impl Worktree {
    /// The tree of a commit, hexadecimal; the empty one where there is no commit yet.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn tree_at(&self, point: &Point) -> Result<String, Error> {
        let Point::Commit(commit) = point else { return Ok(ObjectId::empty_tree(self.repo.object_hash()).to_hex().to_string()) };
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(|e| Error::read(format!("read commit {commit}"), e))?;
        Ok(tree_of(&self.repo, id)?.to_hex().to_string())
    }

    /// Writes every file of a tree below an empty folder, byte for byte: what filters would make of them is not made. Names that no work
    /// tree may hold are left out.
    ///
    /// # Errors
    /// Where an object cannot be read, or a file cannot be written.
    pub fn write_tree(&self, tree: &str, folder: &Path) -> Result<(), Error> {
        let doing = |path: &str| format!("write {path} of tree {tree}");
        let id = ObjectId::from_hex(tree.as_bytes()).map_err(|e| Error::read(format!("read tree {tree}"), e))?;
        let below = Below::open(folder).map_err(|e| Error::read(doing("the files"), e))?;
        let mut writer = Writer::new(&self.repo, below);
        for entry in diff::changes(&self.repo, ObjectId::empty_tree(self.repo.object_hash()), id)? {
            let Some((mode, id)) = entry.after.filter(|_| is_safe(entry.path.as_bstr())) else { continue };
            writer.put(entry.path.as_bstr(), mode.kind(), id).map_err(|e| Error::read(doing(&entry.path.to_str_lossy()), e))?;
        }
        Ok(())
    }
}

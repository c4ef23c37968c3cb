//! Lists the names of local branches without opening a file for each: a repository with thousands of worktrees has as many loose refs.

use std::fs;
use std::path::Path;

use gix::bstr::ByteSlice;

use super::error::Error;
use super::open::Worktree;

/// Where branches are.
const BRANCHES: &str = "refs/heads";

impl Worktree {
    /// The full names of what is stored as a branch, in any order, some perhaps twice. A file there whose content is no ref is named, too.
    ///
    /// # Errors
    /// [`Error::Read`] where the packed refs cannot be read.
    pub(super) fn branch_names(&self) -> Result<Vec<String>, Error> {
        let doing = || format!("list the branches of {}", self.common_dir().display());
        let mut names = Vec::new();
        if self.served.is_some() {
            let refs = self.repo.references().map_err(|e| Error::read(doing(), e))?;
            let branches = refs.local_branches().map_err(|e| Error::read(doing(), e))?;
            names.extend(branches.flatten().map(|branch| branch.name().as_bstr().to_str_lossy().into_owned()));
            return Ok(names);
        }
        // Loose ones first: git removes a loose ref after it wrote the packed one.
        add_loose(&self.common_dir().join(BRANCHES), BRANCHES, &mut names);
        if let Some(packed) = self.repo.refs.cached_packed_buffer().map_err(|e| Error::read(doing(), e))? {
            let branches = packed.iter_prefixed(format!("{BRANCHES}/").into()).map_err(|e| Error::read(doing(), e))?;
            for branch in branches {
                names.push(branch.map_err(|e| Error::read(doing(), e))?.name.as_bstr().to_str_lossy().into_owned());
            }
        }
        Ok(names)
    }
}

fn add_loose(folder: &Path, name: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let name = format!("{name}/{}", file_name.as_encoded_bytes().to_str_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => add_loose(&entry.path(), &name, names),
            // The lock of a ref is none; git allows no branch of such a name.
            Ok(_) if file_name.as_encoded_bytes().ends_with(b".lock") => {}
            _ => names.push(name),
        }
    }
}

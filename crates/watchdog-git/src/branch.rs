//! The branch that HEAD is on, and the name of the work after it.

use gix::bstr::ByteSlice;

use super::open::Worktree;

impl Worktree {
    /// The short name of the branch that HEAD is on, also where it has no commit yet; `None` when detached.
    pub fn branch(&self) -> Option<String> {
        self.refresh().ok()?;
        // The name alone: where the branch is does not matter here.
        let head = self.repo.refs.try_find("HEAD").ok()??;
        let name = head.target.try_name()?;
        Some(name.shorten().to_str_lossy().into_owned())
    }

    /// The default name of the work: the branch, or `detached`.
    pub fn default_spec(&self) -> String {
        self.branch().unwrap_or_else(|| "detached".to_string())
    }
}

//! Looks up whether HEAD has a path, to verify a claim that it does.

use super::error::{Error, ReadContext as _};
use super::open::Worktree;

impl Worktree {
    /// Whether the tree of HEAD has this path; an unborn HEAD has none.
    ///
    /// # Errors
    /// [`Error::Read`] where HEAD or a tree cannot be read.
    pub fn head_has(&self, path: &str) -> Result<bool, Error> {
        let doing = || format!("look for '{path}' in HEAD");
        let tree = self.repo.head_tree_id_or_empty().with_context(doing)?;
        if tree.detach() == gix::ObjectId::empty_tree(self.repo.object_hash()) {
            return Ok(false);
        }
        let tree = self.repo.find_tree(tree.detach()).with_context(doing)?;
        Ok(tree
            .lookup_entry(path.split('/'))
            .with_context(doing)?
            .is_some())
    }
}

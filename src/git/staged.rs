//! The index against HEAD's tree.

use gix::ObjectId;
use gix::diff::index::ChangeRef;
use gix::status::tree_index::TrackRenames;

use super::changes::Found;
use super::open::{Error, Worktree};

/// Adds what is staged: a rename once, under its new name.
pub(super) fn find(worktree: &Worktree, index: &gix::index::State, head: Option<ObjectId>, found: &mut Found) -> Result<(), Error> {
    let doing = || format!("compare the index of {} with HEAD", worktree.root().display());
    let tree = match head {
        Some(head) => {
            let commit = worktree.repo.find_commit(head).map_err(|e| Error::read(format!("read commit {head}"), e))?;
            commit.tree_id().map_err(|e| Error::read(format!("read commit {head}"), e))?.detach()
        }
        None => ObjectId::empty_tree(worktree.repo.object_hash()),
    };
    // git records in the index which tree it was last equal to. Where that is HEAD's, nothing is
    // staged, and no tree object needs to be read.
    if index.tree().is_some_and(|cached| cached.num_entries.is_some() && cached.id == tree) {
        return Ok(());
    }
    let renames = TrackRenames::Given(gix::diff::Rewrites::default());
    worktree
        .repo
        .tree_index_status(&tree, index, None, renames, |change, _, _| {
            let (location, id) = match &change {
                ChangeRef::Addition { location, id, .. }
                | ChangeRef::Deletion { location, id, .. }
                | ChangeRef::Modification { location, id, .. }
                | ChangeRef::Rewrite { location, id, .. } => (location, id),
            };
            found.staged.push((location.clone().into_owned(), id.clone().into_owned()));
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .map_err(|e| Error::read(doing(), e))?;
    Ok(())
}

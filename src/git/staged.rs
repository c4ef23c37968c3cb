//! The index against HEAD's tree.

use gix::ObjectId;
use gix::diff::index::ChangeRef;
use gix::index::State;
use gix::status::tree_index::TrackRenames;
use gix::worktree::stack::state::attributes::Source;

use super::changes::Found;
use super::open::{Error, Worktree};

/// Adds what is staged: a rename once, under its new name. `cached` is the tree that git noted in the
/// index as its last equal.
pub(super) fn find(
    worktree: &Worktree,
    index: &State,
    cached: Option<ObjectId>,
    head: Option<ObjectId>,
    found: &mut Found,
) -> Result<(), Error> {
    let doing = || format!("compare the index of {} with HEAD", worktree.root().display());
    let tree = match head {
        Some(head) => {
            let commit = worktree.repo.find_commit(head).map_err(|e| Error::read(format!("read commit {head}"), e))?;
            commit.tree_id().map_err(|e| Error::read(format!("read commit {head}"), e))?.detach()
        }
        None => ObjectId::empty_tree(worktree.repo.object_hash()),
    };
    // Where that tree is HEAD's nothing is staged, and no tree object needs to be read.
    if cached == Some(tree) {
        return Ok(());
    }
    let similar = gix::diff::Rewrites::default();
    compare(worktree, index, tree, similar, found)
        // A partial clone may lack the contents that tell similar files; equal ones show without.
        .or_else(|_| compare(worktree, index, tree, gix::diff::Rewrites { percentage: None, ..similar }, found))
        .map_err(|e| Error::read(doing(), e))
}

/// The tree that an index is known to be equal to, if git noted one and nothing was staged since.
pub(super) fn cached_tree(index: &State) -> Option<ObjectId> {
    index.tree().filter(|cached| cached.num_entries.is_some()).map(|cached| cached.id)
}

fn compare(worktree: &Worktree, index: &State, tree: ObjectId, renames: gix::diff::Rewrites, found: &mut Found) -> gix::Result<()> {
    found.staged.clear();
    // Without patterns of our own gix would look no further than the folder that this process stands in.
    let nothing = State::new(worktree.repo.object_hash());
    let mut everywhere = worktree.repo.pathspec(false, None::<&str>, false, &nothing, Source::IdMapping)?;
    worktree.repo.tree_index_status(&tree, index, Some(&mut everywhere), TrackRenames::Given(renames), |change, _, _| {
        let (location, id) = match &change {
            ChangeRef::Addition { location, id, .. }
            | ChangeRef::Deletion { location, id, .. }
            | ChangeRef::Modification { location, id, .. }
            | ChangeRef::Rewrite { location, id, .. } => (location, id),
        };
        found.staged.push((location.clone().into_owned(), id.clone().into_owned()));
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    Ok(())
}

//! Compares the index with HEAD's tree.

use gix::ObjectId;
use gix::diff::index::ChangeRef;
use gix::index::State;
use gix::status::tree_index::TrackRenames;
use gix::worktree::stack::state::attributes::Source;

use super::commit_text::tree_of;
use super::comparison_parts::WorkTreeStatus;
use super::error::{Error, ReadContext as _};
use super::open::Worktree;

/// Adds what is staged: a rename once, under its new name. `cached` is the tree that git noted in the
/// index as its last equal.
pub(super) fn add_staged_changes(
    worktree: &Worktree,
    index: &State,
    cached: Option<ObjectId>,
    head: Option<ObjectId>,
    status: &mut WorkTreeStatus,
) -> Result<(), Error> {
    let doing = || {
        format!(
            "compare the index of {} with HEAD",
            worktree.root().display()
        )
    };
    let tree = tree_of(&worktree.repo, head)?;
    // If that tree is HEAD's, the index has no change, and no tree object needs to be read.
    if cached == Some(tree) {
        return Ok(());
    }
    let similar = gix::diff::Rewrites::default();
    compare_with_tree(worktree, index, tree, TrackRenames::Given(similar), status)
        // A partial clone may lack the contents that similar files need; equal ones need none.
        .or_else(|_| {
            compare_with_tree(
                worktree,
                index,
                tree,
                TrackRenames::Given(gix::diff::Rewrites {
                    percentage: None,
                    ..similar
                }),
                status,
            )
        })
        .with_context(doing)
}

/// As [`find`], against any tree, with a rename as a change of each of the two paths.
pub(super) fn find_each(
    worktree: &Worktree,
    index: &State,
    tree: ObjectId,
    status: &mut WorkTreeStatus,
) -> Result<(), Error> {
    let doing = || {
        format!(
            "compare the index of {} with a tree",
            worktree.root().display()
        )
    };
    compare_with_tree(worktree, index, tree, TrackRenames::Disabled, status).with_context(doing)
}

/// The tree that an index is known to be equal to, if git noted one and nothing was staged since.
pub(super) fn cached_tree(index: &State) -> Option<ObjectId> {
    index
        .tree()
        .filter(|cached| cached.num_entries.is_some())
        .map(|cached| cached.id)
}

fn compare_with_tree(
    worktree: &Worktree,
    index: &State,
    tree: ObjectId,
    renames: TrackRenames,
    status: &mut WorkTreeStatus,
) -> gix::Result<()> {
    status.staged.clear();
    // Without patterns of our own gix would search only the current folder of this process.
    let nothing = State::new(worktree.repo.object_hash());
    let mut everywhere =
        worktree
            .repo
            .pathspec(false, None::<&str>, false, &nothing, Source::IdMapping)?;
    worktree.repo.tree_index_status(
        &tree,
        index,
        Some(&mut everywhere),
        renames,
        |change, _, _| {
            let (location, id) = match &change {
                ChangeRef::Addition { location, id, .. }
                | ChangeRef::Deletion { location, id, .. }
                | ChangeRef::Modification { location, id, .. }
                | ChangeRef::Rewrite { location, id, .. } => (location, id),
            };
            status
                .staged
                .push((location.clone().into_owned(), id.clone().into_owned()));
            Ok(std::ops::ControlFlow::Continue(()))
        },
    )?;
    Ok(())
}

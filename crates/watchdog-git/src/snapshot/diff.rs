//! Compares two trees, path by path.

use gix::ObjectId;
use gix::bstr::BString;
use gix::objs::tree::EntryMode;

use crate::error::{Error, ReadContext as _};
use crate::tree_change::ChangedFile;

/// A path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathDifference {
    pub path: BString,
    /// The entry in the first tree.
    pub before: Option<(EntryMode, ObjectId)>,
    /// The entry in the second tree.
    pub after: Option<(EntryMode, ObjectId)>,
    /// Size of the second tree's blob; 0 for other objects.
    pub bytes: u64,
}

/// Every file, link or submodule that differs, in the order of the trees.
pub(crate) fn diff_trees(
    repo: &gix::Repository,
    before: ObjectId,
    after: ObjectId,
) -> Result<Vec<PathDifference>, Error> {
    changes_of_sizes(repo, before, after, &|_| None)
}

/// The same; `size_of` gives the sizes of blobs that are not in the database yet.
pub(super) fn changes_of_sizes(
    repo: &gix::Repository,
    before: ObjectId,
    after: ObjectId,
    size_of: &dyn Fn(&gix::oid) -> Option<u64>,
) -> Result<Vec<PathDifference>, Error> {
    let doing = "compare a snapshot's tree";
    let tree = |id: ObjectId| match id.is_empty_tree() {
        true => Ok(repo.empty_tree()),
        false => repo.find_tree(id).context(doing),
    };
    let (old, new) = (tree(before)?, tree(after)?);
    let mut recorder = gix::diff::tree::Recorder::default();
    fn iter_tree<'a>(tree: &'a gix::Tree<'_>) -> gix::objs::TreeRefIter<'a> {
        gix::objs::TreeRefIter::from_bytes(&tree.data, tree.id.kind())
    }
    gix::diff::tree(
        iter_tree(&old),
        iter_tree(&new),
        gix::diff::tree::State::default(),
        &repo.objects,
        &mut recorder,
    )
    .context(doing)?;
    let mut differences = Vec::new();
    for change in recorder.records {
        let ChangedFile {
            path,
            old: before,
            new: after,
        } = change.into();
        if before.is_none() && after.is_none() {
            continue;
        }
        let bytes = match after {
            Some((mode, id)) if !mode.is_commit() => match size_of(&id) {
                Some(size) => size,
                None => repo.find_header(id).map(|h| h.size()).context(doing)?,
            },
            _ => 0,
        };
        differences.push(PathDifference {
            path,
            before,
            after,
            bytes,
        });
    }
    Ok(differences)
}

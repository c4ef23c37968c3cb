//! Decides whether the commits made here changed anything in the end.
//!
//! Without imported or rescued commits that is simple: a file of HEAD's tree differs from the baseline's. With them that difference may
//! be theirs alone. Then some file that the commits made here changed must differ in HEAD from what it would be without them: from each
//! newest imported commit, and from the baseline unless those came after it. A merge changes only the files in which it has lines that
//! none of its parents has.

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::BString;

use super::error::Error;
use super::open::Worktree;
use super::origin::CommitOrigins;
use super::tree_change::{self, ChangedFile, FileEntry};
use super::walk::{CommitHistory, HistoryIndex};

/// The net effect of the commits made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetEffect {
    /// They changed something.
    Change,
    /// They cancel each other out, or join histories without adding to them.
    Nothing,
    /// Not one of them changes a file.
    Empty,
}

/// The commits of a range by where they come from.
pub(super) struct CommitsByOrigin<'p> {
    /// All of them, newest first.
    pub new: &'p [HistoryIndex],
    /// Those that count.
    pub made: &'p HashSet<HistoryIndex>,
    /// Those that a rescue made.
    pub rescued: &'p HashSet<HistoryIndex>,
    /// The evidence about the others.
    pub origins: &'p CommitOrigins,
}

/// The effect of the commits made here. With nothing made here, whether the trees differ.
pub(super) fn of(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    baseline: Option<ObjectId>,
    head: ObjectId,
    parts: &CommitsByOrigin<'_>,
) -> Result<NetEffect, Error> {
    let head = history.node(head);
    let head_tree = history.tree(head)?;
    let empty_tree = ObjectId::empty_tree(head_tree.kind());
    let baseline = baseline.map(|id| history.node(id));
    let start_tree = baseline.map_or(Ok(empty_tree), |node| history.tree(node))?;
    let differs = tree_change::any(worktree, start_tree, head_tree)?;
    if parts.made.is_empty() {
        return Ok(if differs { NetEffect::Change } else { NetEffect::Nothing });
    }
    let alone = parts.origins.imported.is_empty() && parts.rescued.is_empty();
    let changed = if alone { differs } else { changes_a_file_of_head(worktree, history, baseline, (start_tree, head_tree), parts)? };
    if changed {
        return Ok(NetEffect::Change);
    }
    for &node in parts.made {
        let tree = history.tree(node)?;
        let before = match history.parents(node).first().copied() {
            Some(parent) => history.tree(parent)?,
            None => empty_tree,
        };
        if before != tree {
            return Ok(NetEffect::Nothing);
        }
    }
    Ok(NetEffect::Empty)
}

/// Those of the imported commits that no other imported commit has for a parent.
pub(super) fn newest(history: &CommitHistory<'_>, imported: &HashSet<HistoryIndex>) -> Vec<HistoryIndex> {
    let inner: HashSet<HistoryIndex> = imported.iter().flat_map(|node| history.parents(*node)).copied().collect();
    imported.iter().filter(|node| !inner.contains(node)).copied().collect()
}

fn changes_a_file_of_head(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    baseline: Option<HistoryIndex>,
    (start_tree, head_tree): (ObjectId, ObjectId),
    parts: &CommitsByOrigin<'_>,
) -> Result<bool, Error> {
    let all: HashSet<HistoryIndex> = parts.new.iter().copied().collect();
    let (mut without, mut after_baseline) = (Vec::new(), true);
    for node in newest(history, &parts.origins.imported) {
        without.push(history.tree(node)?);
        let below = history.descend(&[node], &all);
        after_baseline &= below.iter().any(|node| history.parents(*node).iter().any(|parent| Some(*parent) == baseline));
    }
    if without.is_empty() || !after_baseline {
        without.push(start_tree);
    }
    let mut seen: HashSet<BString> = HashSet::new();
    for &node in parts.new.iter().filter(|node| parts.made.contains(node)) {
        for path in changed_by(worktree, history, node)? {
            if seen.contains(&path) {
                continue;
            }
            let now = tree_change::file(worktree, head_tree, path.as_ref())?;
            let mut differs = true;
            for tree in &without {
                differs &= tree_change::file(worktree, *tree, path.as_ref())? != now;
            }
            if differs {
                tree_change::verify(worktree, now)?;
                return Ok(true);
            }
            seen.insert(path);
        }
    }
    Ok(false)
}

/// The files that a commit itself changed.
fn changed_by(worktree: &Worktree, history: &mut CommitHistory<'_>, node: HistoryIndex) -> Result<Vec<BString>, Error> {
    let tree = history.tree(node)?;
    let mut parents = Vec::new();
    for parent in history.parents(node).to_vec() {
        parents.push(history.tree(parent)?);
    }
    let (&first, others) = match parents.split_first() {
        Some(split) => split,
        None => (&ObjectId::empty_tree(tree.kind()), &[][..]),
    };
    let mut own = Vec::new();
    for ChangedFile { path, old, new } in tree_change::between(worktree, first, tree)? {
        let mut before: Vec<Option<FileEntry>> = vec![old];
        for other in others {
            before.push(tree_change::file(worktree, *other, path.as_ref())?);
        }
        if others.is_empty() || !before.contains(&new) && tree_change::has_own_lines(worktree, &before, new)? {
            own.push(path);
        }
    }
    Ok(own)
}

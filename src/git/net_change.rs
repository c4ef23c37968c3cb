//! Whether the commits made here changed anything in the end.
//!
//! Without imported commits that is simple: HEAD's tree differs from the baseline's. With imported ones
//! that difference may be theirs alone, so more must hold:
//! - HEAD's tree differs from the tree of each newest imported commit: what was made here did not merely
//!   arrive at a state that exists elsewhere, and was not undone after a merge.
//! - Some unbroken run of commits made here ends in another tree than it began with. Merges that git made
//!   by itself are no part of a run; a merge that somebody had to finish is a run of its own.

use std::collections::HashSet;

use gix::ObjectId;

use super::open::Error;
use super::origin::Origins;
use super::walk::{History, Node};

/// What the commits made here add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// They changed something.
    Change,
    /// They cancel each other out, or join histories without adding to them.
    Nothing,
    /// Not one of them changes a file.
    Empty,
}

/// The effect of `made`, a part of the range `new`. With nothing made here, whether the trees differ.
pub(super) fn of(
    history: &mut History<'_>,
    baseline: Option<ObjectId>,
    head: ObjectId,
    new: &[Node],
    made: &HashSet<Node>,
    origins: &Origins,
    rescued: &HashSet<Node>,
) -> Result<Effect, Error> {
    let head = history.node(head);
    let head_tree = history.tree(head)?;
    let empty_tree = ObjectId::empty_tree(head_tree.kind());
    let start_tree = match baseline {
        Some(id) => {
            let node = history.node(id);
            history.tree(node)?
        }
        None => empty_tree,
    };
    let differs = head_tree != start_tree;
    if made.is_empty() {
        return Ok(if differs { Effect::Change } else { Effect::Nothing });
    }
    if differs && origins.imported.is_empty() && rescued.is_empty() {
        return Ok(Effect::Change);
    }
    if !differs {
        return Ok(if any_changes_a_file(history, made, empty_tree)? { Effect::Nothing } else { Effect::Empty });
    }
    for node in newest(history, &origins.imported) {
        if history.tree(node)? == head_tree {
            return Ok(Effect::Nothing);
        }
    }
    if some_run_changes(history, new, made, origins, empty_tree)? {
        return Ok(Effect::Change);
    }
    Ok(if any_changes_a_file(history, made, empty_tree)? { Effect::Nothing } else { Effect::Empty })
}

/// Those of the imported commits that no other imported commit has for a parent.
pub(super) fn newest(history: &History<'_>, imported: &HashSet<Node>) -> Vec<Node> {
    let inner: HashSet<Node> = imported.iter().flat_map(|node| history.parents(*node)).copied().collect();
    imported.iter().filter(|node| !inner.contains(node)).copied().collect()
}

fn some_run_changes(
    history: &mut History<'_>,
    new: &[Node],
    made: &HashSet<Node>,
    origins: &Origins,
    empty_tree: ObjectId,
) -> Result<bool, Error> {
    let plain = |history: &History<'_>, node: Node| made.contains(&node) && history.parents(node).len() < 2;
    let mut inner = HashSet::new();
    for &node in new {
        if !made.contains(&node) {
            continue;
        }
        let parents = history.parents(node).to_vec();
        if parents.len() > 1 {
            let tree = history.tree(node)?;
            let mut same = origins.automatic_merges.contains(&node);
            for parent in parents {
                same |= history.tree(parent)? == tree;
            }
            if !same {
                return Ok(true);
            }
            continue;
        }
        if inner.contains(&node) {
            continue;
        }
        // The newest of a run, as a rule: follow it down to where it began.
        let mut start = parents.first().copied();
        while let Some(parent) = start.filter(|parent| plain(history, *parent)) {
            inner.insert(parent);
            start = history.parents(parent).first().copied();
        }
        let before = match start {
            Some(start) => history.tree(start)?,
            None => empty_tree,
        };
        if history.tree(node)? != before {
            return Ok(true);
        }
    }
    Ok(false)
}

fn any_changes_a_file(history: &mut History<'_>, made: &HashSet<Node>, empty_tree: ObjectId) -> Result<bool, Error> {
    for &node in made {
        let before = match history.parents(node).first().copied() {
            Some(parent) => history.tree(parent)?,
            None => empty_tree,
        };
        if history.tree(node)? != before {
            return Ok(true);
        }
    }
    Ok(false)
}

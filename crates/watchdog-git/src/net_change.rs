//! Decides whether the commits made here changed anything in the end.
//!
//! Without imported or rescued commits that is simple: a file of HEAD's tree differs from the baseline's. With them that difference may
//! be theirs alone. Then some file that the commits made here changed must differ in HEAD from what it would be without them: from each
//! newest imported commit, and from the baseline unless those came after it. A merge changes only the files in which it has lines that
//! none of its parents has.
//!
//! Droppings are no change. A change whose new content was all there before is brought and not made.

use std::collections::HashSet;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice as _};

use super::brought::{BroughtSearch, ContentOrigin};
use super::error::Error;
use super::open::Worktree;
use super::origin::CommitOrigins;
use super::origin_evidence::OriginEvidence;
use super::path_text::escape_path;
use super::tree_change::{self, ChangedFile, FileEntry};
use super::walk::{CommitHistory, HistoryIndex};
use watchdog_facts::evidence::{Degradation, WarningCode};
use watchdog_facts::shell_line::{WorktreeCommands, shell_word};

/// The net effect of the commits made here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NetEffect {
    /// They changed something.
    Change,
    /// They changed something, and all their new content was there before: each path with its source then.
    Brought(Vec<(String, String)>),
    /// They changed only what programs leave behind by themselves, such as this file.
    Droppings(String),
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
pub(super) fn compute_change(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    baseline: Option<ObjectId>,
    head: ObjectId,
    parts: &CommitsByOrigin<'_>,
    evidence: &OriginEvidence,
    degraded: &mut Vec<Degradation>,
) -> Result<NetEffect, Error> {
    let baseline_id = baseline;
    let head = history.node(head);
    let head_tree = history.tree(head)?;
    let empty_tree = ObjectId::empty_tree(head_tree.kind());
    let baseline = baseline.map(|id| history.node(id));
    let start_tree = baseline.map_or(Ok(empty_tree), |node| history.tree(node))?;
    if parts.made.is_empty() {
        let differs = tree_change::has_changed_file(worktree, start_tree, head_tree)?;
        return Ok(if differs {
            NetEffect::Change
        } else {
            NetEffect::Nothing
        });
    }
    let alone = parts.origins.imported.is_empty() && parts.rescued.is_empty();
    let changed = match alone {
        true => tree_change::list_changed_files(&worktree.repo, start_tree, head_tree)?
            .into_iter()
            .filter(|file| file.old.or(file.new).is_some())
            .collect(),
        false => own_changes(worktree, history, baseline, (start_tree, head_tree), parts)?,
    };
    let mut search = BroughtSearch::new(worktree, evidence, baseline_id, start_tree);
    let mut links = Vec::new();
    for file in &changed {
        if search.is_dropping_link(file)? {
            links.push(shell_word(&file.path.to_str_lossy()));
        }
    }
    if !links.is_empty() {
        let git = WorktreeCommands::at(worktree.root());
        let detail = format!(
            "links in place of ignored folders, or out of the worktree, are committed; take them out with: {}",
            git.git(&format!(
                "--literal-pathspecs rm --cached -- {}",
                links.join(" ")
            ))
        );
        degraded.push(Degradation::new(WarningCode::LinkCommitted, detail));
    }
    if let Some(effect) = judge_content(worktree, &changed, &mut search)? {
        return Ok(effect);
    }
    for &node in parts.made {
        let tree = history.tree(node)?;
        if history.parent_tree(node)? != tree {
            return Ok(NetEffect::Nothing);
        }
    }
    Ok(NetEffect::Empty)
}

/// Those of the imported commits that no other imported commit has for a parent.
pub(super) fn find_newest_commits(
    history: &CommitHistory<'_>,
    imported: &HashSet<HistoryIndex>,
) -> Vec<HistoryIndex> {
    let inner: HashSet<HistoryIndex> = imported
        .iter()
        .flat_map(|node| history.parents(*node))
        .copied()
        .collect();
    imported
        .iter()
        .filter(|node| !inner.contains(node))
        .copied()
        .collect()
}

/// The effect of these files; `None` where there are none.
fn judge_content(
    worktree: &Worktree,
    changed: &[ChangedFile],
    search: &mut BroughtSearch<'_>,
) -> Result<Option<NetEffect>, Error> {
    let moved: HashSet<ObjectId> = changed
        .iter()
        .filter_map(|file| file.old.map(|(_, id)| id))
        .collect();
    let (mut brought, mut dropping, mut unchanged) = (Vec::new(), None, false);
    for file in changed {
        match search.find_origin(file, &moved)? {
            ContentOrigin::Made => {
                tree_change::verify_file(worktree, file.new)?;
                return Ok(Some(NetEffect::Change));
            }
            ContentOrigin::Brought(source) => {
                brought.push((escape_path(file.path.as_ref()), source))
            }
            ContentOrigin::Dropping => {
                dropping = dropping.or_else(|| Some(escape_path(file.path.as_ref())))
            }
            ContentOrigin::Unchanged => {
                tree_change::verify_file(worktree, file.new)?;
                unchanged = true;
            }
        }
    }
    Ok(match (brought.is_empty(), unchanged, dropping) {
        (false, _, _) => Some(NetEffect::Brought(brought)),
        (true, true, _) => Some(NetEffect::Change),
        (true, false, dropping) => dropping.map(NetEffect::Droppings),
    })
}

/// The files of HEAD that the commits made here changed, and that differ from what they would be without them.
fn own_changes(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    baseline: Option<HistoryIndex>,
    (start_tree, head_tree): (ObjectId, ObjectId),
    parts: &CommitsByOrigin<'_>,
) -> Result<Vec<ChangedFile>, Error> {
    let all: HashSet<HistoryIndex> = parts.new.iter().copied().collect();
    let (mut without, mut after_baseline) = (Vec::new(), true);
    for node in find_newest_commits(history, &parts.origins.imported) {
        without.push(history.tree(node)?);
        let below = history.descend(&[node], &all);
        after_baseline &= below.iter().any(|node| {
            history
                .parents(*node)
                .iter()
                .any(|parent| Some(*parent) == baseline)
        });
    }
    if without.is_empty() || !after_baseline {
        without.push(start_tree);
    }
    let (mut seen, mut changed) = (HashSet::new(), Vec::new());
    for &node in parts.new.iter().filter(|node| parts.made.contains(node)) {
        for path in changed_by(worktree, history, node)? {
            if !seen.insert(path.clone()) {
                continue;
            }
            let new = tree_change::find_file(worktree, head_tree, path.as_ref())?;
            let mut sides = Vec::new();
            for tree in &without {
                sides.push(tree_change::find_file(worktree, *tree, path.as_ref())?);
            }
            if !sides.contains(&new) {
                changed.push(ChangedFile {
                    path,
                    old: sides[0],
                    new,
                });
            }
        }
    }
    Ok(changed)
}

/// The files that a commit itself changed.
fn changed_by(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    node: HistoryIndex,
) -> Result<Vec<BString>, Error> {
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
    for ChangedFile { path, old, new } in
        tree_change::list_changed_files(&worktree.repo, first, tree)?
    {
        let mut before: Vec<Option<FileEntry>> = vec![old];
        for side in others {
            before.push(tree_change::find_file(worktree, *side, path.as_ref())?);
        }
        if others.is_empty()
            || !before.contains(&new) && tree_change::has_own_lines(worktree, &before, new)?
        {
            own.push(path);
        }
    }
    Ok(own)
}

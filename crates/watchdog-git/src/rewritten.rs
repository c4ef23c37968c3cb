//! Finds after a rewritten history which commits are really new, and which only a new form of commits before the baseline.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;

use super::error::Error;
use super::open::Worktree;
use super::patch::{PatchId, PatchIds};
use super::rescued::CommitAuthorship;
use super::walk::{CommitHistory, HistoryIndex};
use watchdog_facts::evidence::{Degradation, WarningCode};

/// How many commits of each side are compared at most.
const MAX_COMMITS: usize = 2000;

/// How many bytes of files are read for each side at most.
const MAX_BYTES: u64 = 64 << 20;

/// Those of `made` whose patch the baseline's side does not have, and a `history_rewritten` in `degraded`. A commit by the same author, of the
/// same author date and subject is the same one, however its patch changed in a rebase, unless it was amended: it has the same parents, or HEAD's
/// reflog shows it being `amended`.
///
/// If a side is too large to compare, no commit is proved to be new: none of its commits count, and
/// `degraded` says `rewrite_too_large`.
pub(super) fn made_anew(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    new: &[HistoryIndex],
    made: HashSet<HistoryIndex>,
    (baseline, head): (ObjectId, ObjectId),
    (boundary, amended): (&[HistoryIndex], &HashSet<HistoryIndex>),
    degraded: &mut Vec<Degradation>,
) -> Result<HashSet<HistoryIndex>, Error> {
    let common = match boundary.first() {
        Some(node) => format!(
            "it goes back to their common commit {}",
            history.id(*node).to_hex_with_len(12)
        ),
        None => "the two have no commit in common".to_string(),
    };
    degraded.push(Degradation::new(
        WarningCode::HistoryRewritten,
        format!(
            "HEAD no longer contains the baseline {}; {common}",
            baseline.to_hex_with_len(12)
        ),
    ));
    if made.is_empty() {
        return Ok(made);
    }
    let empty_tree = ObjectId::empty_tree(baseline.kind());
    // A walk of its own: the paint of the first one belongs to the other direction.
    let mut baseline_history = CommitHistory::new(worktree)?;
    let left_behind = baseline_history.range(head, baseline)?.commits;
    let (theirs, all_theirs) = compute_patches(worktree, &mut baseline_history, &left_behind)?;
    let parents = |history: &CommitHistory<'_>, node| -> Vec<ObjectId> {
        (history
            .parents(node)
            .iter()
            .map(|parent| history.id(*parent)))
        .collect()
    };
    let mut authored = HashMap::new();
    for &node in left_behind.iter().take(MAX_COMMITS) {
        let name = CommitAuthorship::read_commit(worktree, baseline_history.id(node))?.authored;
        authored.insert(name, parents(&baseline_history, node));
    }
    let mut had: HashSet<PatchId> = theirs.into_iter().map(|(_, patch)| patch).collect();
    // No change at all is not work.
    had.extend(PatchIds::new(&worktree.repo, 0).name(empty_tree, empty_tree)?);
    let candidates: Vec<HistoryIndex> = new
        .iter()
        .filter(|node| made.contains(node))
        .copied()
        .collect();
    let (ours, all_ours) = compute_patches(worktree, history, &candidates)?;
    if !all_theirs || !all_ours {
        let detail = format!(
            "a side has more than {MAX_COMMITS} commits or {} MiB of changed files; what could not be compared does not count as made here",
            MAX_BYTES >> 20
        );
        degraded.push(Degradation::new(WarningCode::RewriteTooLarge, detail));
    }
    if !all_theirs {
        return Ok(HashSet::new());
    }
    let mut anew = HashSet::new();
    for (node, patch) in ours {
        if had.contains(&patch) {
            continue;
        }
        let name = CommitAuthorship::read_commit(worktree, history.id(node))?.authored;
        let former = authored.get(&name);
        let is_amended = || former.is_some_and(|former| *former == parents(history, node));
        if former.is_none() || amended.contains(&node) || is_amended() {
            anew.insert(node);
        }
    }
    Ok(anew)
}

/// The patches of these commits against their first parents, and whether all could be read.
fn compute_patches(
    worktree: &Worktree,
    history: &mut CommitHistory<'_>,
    commits: &[HistoryIndex],
) -> Result<(Vec<(HistoryIndex, PatchId)>, bool), Error> {
    let mut patches = PatchIds::new(&worktree.repo, MAX_BYTES);
    let mut named = Vec::new();
    for &node in commits.iter().take(MAX_COMMITS) {
        let before = history.parent_tree(node)?;
        let after = history.tree(node)?;
        match patches.name(before, after)? {
            Some(patch) => named.push((node, patch)),
            None => return Ok((named, false)),
        }
    }
    Ok((named, commits.len() <= MAX_COMMITS))
}

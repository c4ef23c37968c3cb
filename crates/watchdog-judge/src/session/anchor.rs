//! Keeps the anchor: the criteria that govern a worktree and spec from session to session, and all that may move it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use watchdog_core::config::parse_bytes;
use watchdog_facts::evidence::UnreadableFact;
use watchdog_git::{HistoryPoint, Worktree};
use watchdog_store::anchor::{self, CriteriaAnchor, RefsAtSessionEnd};
use watchdog_store::{LocalStore, RecordType, StoreError};

/// More refs of remotes than this are not recorded, and then a fetch moves no anchor.
const MOST_REFS: usize = 2_000;

/// Guarded files that differ from a commit, each with the id of its content or `None` where it is absent.
pub type DifferingFiles = BTreeMap<String, Option<String>>;

/// The parts of an anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorParts {
    /// The text of the governing file, if there is one.
    pub file: Option<String>,
    /// The commit that guards compare with.
    pub commit: HistoryPoint,
    /// The files that differed from it already.
    pub differing: DifferingFiles,
}

/// The commit of an anchor.
pub fn point_of(anchor: &CriteriaAnchor) -> HistoryPoint {
    anchor.commit.clone().into()
}

/// Gives the spec an anchor when a session begins: its own, else the newest of the worktree, else the present criteria.
/// An anchor without a file takes the one that is given.
pub fn set_session_anchor(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
    now: Timestamp,
    criteria: &AnchorParts,
) -> Result<(), UnreadableFact> {
    let id = worktree.worktree_id();
    match anchor::find_effective_anchor(store, &id, Some(spec))? {
        Some(current_anchor) => {
            let file = current_anchor
                .file
                .clone()
                .or_else(|| criteria.file.clone());
            let begun = CriteriaAnchor {
                file,
                tests_from: tests_from(&current_anchor, criteria),
                end: None,
                ..current_anchor
            };
            if CriteriaAnchor::read_row(store, &id, spec)?.as_ref() != Some(&begun) {
                begun.write_row(store, &id, spec)?;
            }
        }
        None => replace_anchor(store, worktree, spec, now, criteria)?,
    }
    Ok(())
}

/// The commit that the tests of the next session are compared with: the present one, where the last session left nothing that was not
/// accepted, because all commits since are a person's.
fn tests_from(current_anchor: &CriteriaAnchor, criteria: &AnchorParts) -> Option<String> {
    let is_accepted = current_anchor.end.as_ref().is_some_and(|end| end.accepted);
    if is_accepted {
        criteria.commit.to_commit()
    } else {
        current_anchor.tests_from.clone()
    }
}

/// A person accepts the criteria as they are now.
pub fn replace_anchor(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
    now: Timestamp,
    criteria: &AnchorParts,
) -> Result<(), UnreadableFact> {
    let commit = criteria.commit.to_commit();
    keep_commit(worktree, spec, commit.as_deref());
    let anchor = CriteriaAnchor {
        file: criteria.file.clone(),
        commit,
        tests_from: None,
        differing: criteria.differing.clone(),
        at: now,
        end: None,
    };
    anchor.write_row(store, &worktree.worktree_id(), spec)?;
    Ok(())
}

/// Moves the anchor's commit after a `complete` by its own criteria: later work is compared with the present HEAD. The file stays the same;
/// where there was none, the one that governed is kept.
pub fn advance_after_complete(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
    now: Timestamp,
    criteria: AnchorParts,
) -> Result<(), UnreadableFact> {
    let recorded = anchor::find_effective_anchor(store, &worktree.worktree_id(), Some(spec))?;
    let Some(current_anchor) = recorded else {
        return Ok(());
    };
    let file = current_anchor.file.clone().or(criteria.file);
    if current_anchor.commit == criteria.commit.to_commit()
        && current_anchor.end.as_ref().is_none_or(|end| end.accepted)
        && current_anchor.tests_from.is_none()
        && current_anchor.file == file
        && current_anchor.differing == criteria.differing
    {
        return Ok(());
    }
    // A power cut must not take away the first pin of a file.
    let is_commit_alone = current_anchor.file == file;
    let moved = CriteriaAnchor {
        file,
        commit: criteria.commit.to_commit(),
        tests_from: None,
        differing: criteria.differing,
        at: now,
        end: current_anchor.end.map(|end| RefsAtSessionEnd {
            head: criteria.commit.to_commit(),
            accepted: true,
            ..end
        }),
    };
    keep_commit(worktree, spec, moved.commit.as_deref());
    let id = worktree.worktree_id();
    if is_commit_alone {
        anchor::move_commit(store, &id, spec, &moved)?;
    } else {
        moved.write_row(store, &id, spec)?;
    }
    Ok(())
}

/// Keeps the anchor's commit from garbage collection. Without the ref the anchor still holds as long as the commit is there.
fn keep_commit(worktree: &Worktree, spec: &str, commit: Option<&str>) {
    if let Some(commit) = commit {
        let _ = worktree.keep_anchor(spec, commit);
    }
}

/// Marks the end of a session: later movements of HEAD are not its own.
pub fn record_session_end(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
) -> Result<(), UnreadableFact> {
    let remotes = worktree.remote_tips(MOST_REFS)?;
    let head = worktree.head()?.to_commit();
    let end = remotes.map(|remotes| RefsAtSessionEnd {
        head,
        remotes,
        accepted: false,
    });
    Ok(update_anchor(
        store,
        &worktree.worktree_id(),
        spec,
        |anchor| anchor.end.clone_from(&end),
    )?)
}

/// Between two sessions, moves the anchor with HEAD to commits that a fast-forward or a rebase brought from a remote.
/// `file` is the name of the governing file: if the anchor's commit had it, the anchor takes its new content.
pub fn follow_remote_moves(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: Option<&str>,
    file: &str,
    now: Timestamp,
) -> Result<(), UnreadableFact> {
    let id = worktree.worktree_id();
    let Some((own, found)) = with_spec(store, &id, spec)? else {
        return Ok(());
    };
    let Some(end) = &found.end else { return Ok(()) };
    let head_then = HistoryPoint::from(end.head.clone());
    let Some(to) = worktree.fetched_since(&point_of(&found), &head_then, &end.remotes)? else {
        return Ok(());
    };
    let HistoryPoint::Commit(commit) = &to else {
        return Ok(());
    };
    let committed = |commit: &str| worktree.blob_at(commit, file);
    let was = found.commit.as_deref().map_or(Ok(None), committed)?;
    let file = if was.as_deref() == found.file.as_ref().map(String::as_bytes) {
        match committed(commit)? {
            // A file that does not parse would govern permanently and judge nothing.
            Some(bytes) if parse_bytes(&bytes, file.as_ref()).is_err() => found.file.clone(),
            bytes => bytes.and_then(|bytes| String::from_utf8(bytes).ok()),
        }
    } else {
        found.file.clone()
    };
    keep_commit(worktree, &own, Some(commit));
    let moved = CriteriaAnchor {
        file,
        commit: Some(commit.clone()),
        tests_from: None,
        differing: found.differing.clone(),
        at: now,
        end: found.end.clone(),
    };
    Ok(moved.write_row(store, &id, &own)?)
}

/// A person trusted or revoked a governing file: every anchor of a worktree has `file` from now on.
pub fn move_file(
    store: &dyn LocalStore,
    worktree_id: &str,
    file: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    for (spec, found) in CriteriaAnchor::list_rows_of(store, worktree_id)? {
        if found.file.as_deref() != file {
            CriteriaAnchor {
                file: file.map(str::to_owned),
                at: now,
                ..found
            }
            .write_row(store, worktree_id, &spec)?;
        }
    }
    Ok(())
}

fn with_spec(
    store: &dyn LocalStore,
    id: &str,
    spec: Option<&str>,
) -> Result<Option<(String, CriteriaAnchor)>, StoreError> {
    if let Some(spec) = spec
        && let Some(record) = CriteriaAnchor::read_row(store, id, spec)?
    {
        return Ok(Some((spec.to_owned(), record)));
    }
    Ok(CriteriaAnchor::list_rows_of(store, id)?
        .into_iter()
        .max_by_key(|(_, anchor)| anchor.at))
}

fn update_anchor(
    store: &dyn LocalStore,
    id: &str,
    spec: &str,
    change: impl Fn(&mut CriteriaAnchor),
) -> Result<(), StoreError> {
    let Some(mut anchor_row) = CriteriaAnchor::read_row(store, id, spec)? else {
        return Ok(());
    };
    change(&mut anchor_row);
    anchor_row.write_row(store, id, spec)
}

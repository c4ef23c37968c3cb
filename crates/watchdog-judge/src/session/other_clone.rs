//! Another clone at the place of the one that is recorded: recognises it, and drops the records of the one that is gone.
//!
//! A session can remove or forge the id of its clone. Therefore the id alone gives no credit: without the commits of the records it leads to
//! an error, and where a session may have removed them, only a person begins anew.

use std::path::{Path, PathBuf};

use watchdog_facts::evidence::{Degradation, FaultKind, UnreadableFact, WarningCode};
use watchdog_facts::shell_line::{WorktreeCommands, shell_path};
use watchdog_git::{HistoryPoint, Worktree, why_broken};
use watchdog_store::{
    LocalStore, RecordType,
    anchor::CriteriaAnchor,
    baseline::{self, BaselineRecord},
    left_rows,
    session::SessionRecord,
    uncommitted::UncommittedRecord,
};

use super::inside::{find_enclosing_session, record_lives};

/// The caller that begins anew in another clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnewBy {
    /// A person, by a command that sessions may not call.
    Person,
    /// A command that scripts call as well.
    Command,
}

/// Whether another clone is at this place than the one that the records of the worktree are about: its id is missing or another, and the
/// commit of a recorded baseline or anchor is not in it.
///
/// # Errors
/// Fails if the records, the id or HEAD cannot be read.
pub fn is_another_clone(
    store: &dyn LocalStore,
    worktree: &Worktree,
) -> Result<bool, UnreadableFact> {
    let worktree_id = worktree.worktree_id();
    let baselines = BaselineRecord::list_rows_of(store, &worktree_id)?;
    let latest = baselines
        .iter()
        .map(|(_, baseline)| baseline)
        .max_by_key(|baseline| baseline.at);
    let present_id = worktree.clone_id()?;
    if present_id.is_some() && present_id == latest.and_then(|latest| latest.clone_id.clone()) {
        return Ok(false);
    }
    let anchors = CriteriaAnchor::list_rows_of(store, &worktree_id)?;
    let commits = baselines
        .iter()
        .filter_map(|(_, baseline)| baseline.commit.as_deref());
    for commit in commits.chain(
        anchors
            .iter()
            .filter_map(|(_, anchor)| anchor.commit.as_deref()),
    ) {
        if worktree.lacks_commit(commit)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says that the repository was replaced, or may be: a clone that lost its id looks the same. Names the recorded one, the present one, and
/// the last bundle.
pub fn describe_other_clone(store: &dyn LocalStore, worktree: &Worktree) -> String {
    // The `.git` of a linked worktree can lead to another place by now.
    let worktree_id = worktree.worktree_id();
    // One that was opened before knows objects of the repository that is gone.
    let opened = Worktree::open(worktree.root()).ok();
    let worktree = opened.as_ref().unwrap_or(worktree);
    let latest = baseline::read_latest_baseline(store, &worktree_id)
        .ok()
        .flatten();
    let commit = latest
        .as_ref()
        .and_then(|(_, baseline)| baseline.commit.clone());
    let lacks_commit = (commit.as_deref()).is_none_or(|commit| !worktree.has_commit(commit));
    let doubt = match worktree.clone_id() {
        Ok(None) if !lacks_commit => {
            ", or watchdog/id was removed from the git directory of this one"
        }
        _ => "",
    };
    let present = match worktree.head() {
        Ok(HistoryPoint::Commit(head)) => shorten(&head),
        Ok(HistoryPoint::Unborn) => "no commit".to_owned(),
        Err(_) => "an unreadable HEAD".to_owned(),
    };
    let recorded = commit.as_deref().map_or("no commit".to_owned(), shorten);
    let bundle = latest.and_then(|(spec, _)| find_bundle(store, &worktree_id, &spec));
    let bundle = bundle.unwrap_or_default();
    match worktree.git_dir().exists() {
        true => format!(
            "the repository was replaced: another clone is at this place{doubt} (the baseline is at {recorded}, HEAD here at {present}{bundle})"
        ),
        false => format!("the repository was removed (the baseline is at {recorded}{bundle})"),
    }
}

fn shorten(commit: &str) -> String {
    commit.get(..12).unwrap_or(commit).to_owned()
}

/// Says that the repository was removed in which the latest baseline of this folder, or of one around it, was recorded, or that this folder
/// is another worktree by now, with the id `present`; `None` where none was.
pub fn describe_removed_repository(
    store: &dyn LocalStore,
    folder: &Path,
    present: Option<&str>,
) -> Option<String> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let baselines = BaselineRecord::list_rows(store).ok()?;
    let read_records = (baselines.into_iter())
        .filter_map(|(worktree_id, spec, baseline)| Some((worktree_id, spec, baseline.ok()?)));
    // A damaged one is still there.
    let is_gone = |root: &Path| !root.join(".git/objects").exists() && why_broken(root).is_some();
    let (worktree_id, spec, baseline) = read_records
        .filter(|(id, _, baseline)| match present {
            Some(present) => folder == baseline.worktree && id != present,
            None => folder.starts_with(&baseline.worktree) && is_gone(&baseline.worktree),
        })
        .max_by_key(|(_, _, baseline)| (baseline.worktree.components().count(), baseline.at))?;
    let commit = baseline
        .commit
        .as_deref()
        .map_or("no commit".to_owned(), shorten);
    let bundle = find_bundle(store, &worktree_id, &spec).unwrap_or_default();
    Some(format!(
        "the repository in {} was removed or moved since the baseline of '{spec}' at {commit} was recorded{bundle}",
        baseline.worktree.display()
    ))
}

/// The words that bring back the last bundle of the repository that a baseline was recorded in.
pub fn find_bundle(store: &dyn LocalStore, worktree_id: &str, spec: &str) -> Option<String> {
    let work = UncommittedRecord::read_row(store, worktree_id, spec)
        .ok()??
        .work;
    let path = PathBuf::from(work.bundle?);
    let (shallow, bundle) = (path.with_extension("shallow"), shell_path(&path));
    let command = match (path.exists(), shallow.exists()) {
        (false, _) => return None,
        (true, false) => format!("git clone {bundle} DIR"),
        (true, true) => format!(
            "git init DIR && cp {} DIR/.git/shallow && git -C DIR fetch -u {bundle} '+refs/*:refs/*'",
            shell_path(&shallow)
        ),
    };
    Some(format!("; its last bundle: {command}"))
}

/// Says which commit the clone lost that the latest baseline names; `None` where it is there, or where another clone is here.
///
/// # Errors
/// Fails if the records or HEAD cannot be read.
pub fn describe_lost_baseline(
    store: &dyn LocalStore,
    worktree: &Worktree,
) -> Result<Option<String>, UnreadableFact> {
    let Some((spec, baseline)) = baseline::read_latest_baseline(store, &worktree.worktree_id())?
    else {
        return Ok(None);
    };
    let Some(commit) = baseline.commit.filter(|_| baseline.clone_id.is_some()) else {
        return Ok(None);
    };
    let is_lost = is_same_clone(store, worktree, &spec)? && worktree.lacks_commit(&commit)?;
    Ok(is_lost.then(|| format!("this repository lost the commit {commit}, the recorded baseline of '{spec}': see `git fsck`")))
}

/// Whether the worktree is in the clone in which the baseline of a spec was recorded. A baseline without an id proves no other clone.
///
/// # Errors
/// Fails if the records or the id cannot be read.
pub fn is_same_clone(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
) -> Result<bool, UnreadableFact> {
    let recorded_id = BaselineRecord::read_row(store, &worktree.worktree_id(), spec)?
        .and_then(|baseline| baseline.clone_id);
    Ok(recorded_id.is_none() || (recorded_id == worktree.clone_id()? && worktree.has_its_folder()))
}

/// Refuses to judge another clone by the records of the one that was at this place.
///
/// # Errors
/// Fails if that is so, or cannot be read.
pub fn refuse_other_clone(
    store: &dyn LocalStore,
    worktree: &Worktree,
    commands: &WorktreeCommands,
) -> Result<(), UnreadableFact> {
    if is_another_clone(store, worktree)? {
        return Err(anew_by_person(
            &format!(
                "{}: its baseline is not recorded",
                describe_other_clone(store, worktree)
            ),
            commands,
        ));
    }
    Ok(())
}

/// Refuses to continue a spec whose last session began in another clone.
///
/// # Errors
/// Fails if that is so, or cannot be read.
pub fn refuse_replaced_clone(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
    commands: &WorktreeCommands,
) -> Result<(), UnreadableFact> {
    match is_same_clone(store, worktree, spec)? {
        true => Ok(()),
        false => Err(anew_by_person(
            &format!(
                "{}, since the last session began",
                describe_other_clone(store, worktree)
            ),
            commands,
        )),
    }
}

fn anew_by_person(why: &str, commands: &WorktreeCommands) -> UnreadableFact {
    let hint = format!(
        "read what is there, then record a baseline in it with: {}",
        commands.watchdog("snapshot")
    );
    UnreadableFact {
        kind: FaultKind::NoBaseline,
        why: why.to_owned(),
        hint: Some(hint),
    }
}

/// Drops the records of a clone that is gone from this place, and returns a warning that says so; `None` where the clone is the recorded
/// one and has its baseline. Trust in the content of files stays.
///
/// # Errors
/// Fails if a session is recorded as alive here, if a session may have put the other clone there
/// and a command begins, or if records cannot be read or removed.
pub fn begin_anew(
    store: &dyn LocalStore,
    worktree: &Worktree,
    by: AnewBy,
    commands: &WorktreeCommands,
) -> Result<Option<Degradation>, UnreadableFact> {
    if !is_another_clone(store, worktree)? {
        let lost = describe_lost_baseline(store, worktree)?;
        return Ok(lost.map(|detail| {
            Degradation::new(
                WarningCode::BaselineLost,
                format!("{detail}; a new one is recorded"),
            )
        }));
    }
    let other_clone = describe_other_clone(store, worktree);
    let worktree_id = worktree.worktree_id();
    let lost = |why: String| Err(UnreadableFact::new(FaultKind::Git, why));
    for (id, spec, record) in SessionRecord::list_rows(store)? {
        let Ok(record) = record else { continue };
        if id == worktree_id && record_lives(&record) {
            return lost(format!("{other_clone} while the session of '{spec}' runs"));
        }
    }
    if let Some(spec) = find_enclosing_session(store)? {
        return lost(format!(
            "{other_clone}, and the session of '{spec}' may not begin anew in it"
        ));
    }
    if by == AnewBy::Command
        && let Some(spec) = session_without_seen_end(store, &worktree_id)?
    {
        let why = format!("{other_clone}, and the session of '{spec}' was not seen to end before");
        return Err(anew_by_person(&why, commands));
    }
    left_rows::remove_rows(store, &left_rows::rows_of_worktree(store, &worktree_id)?)?;
    let detail = format!(
        "{other_clone}: the recorded baseline and criteria are dropped, and work begins anew"
    );
    Ok(Some(Degradation::new(WarningCode::AnotherClone, detail)))
}

/// The spec of a session since the baseline whose end was not seen in its own clone, or that left processes behind.
fn session_without_seen_end(
    store: &dyn LocalStore,
    worktree_id: &str,
) -> Result<Option<String>, UnreadableFact> {
    for (id, spec, record) in SessionRecord::list_rows(store)? {
        if id != worktree_id {
            continue;
        }
        let Ok(record) = record else {
            return Ok(Some(spec));
        };
        let is_since_baseline = BaselineRecord::read_row(store, worktree_id, &spec)?
            .is_some_and(|baseline| baseline.at <= record.started_at);
        let has_seen_end = CriteriaAnchor::read_row(store, worktree_id, &spec)?
            .is_some_and(|anchor| anchor.end.is_some());
        if is_since_baseline && (!has_seen_end || !record.survivors.is_empty()) {
            return Ok(Some(spec));
        }
    }
    Ok(None)
}

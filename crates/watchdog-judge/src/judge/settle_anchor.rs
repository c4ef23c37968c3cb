//! Makes and moves the anchor of a worktree and spec: at the beginning and the end of sessions, between them, and on a complete verdict.

use std::path::Path;

use jiff::Timestamp;

use crate::session::anchor::{self, AnchorParts};
use crate::session::{RecordedBaseline, SharedInside, is_same_clone};
use watchdog_core::decision::machine::ConfigTrust;
use watchdog_facts::evidence::{Degradation, UnreadableFact, WarningCode};
use watchdog_facts::verdict::{Status, Verdict};
use watchdog_git::{HistoryPoint, Worktree, worktrees_of};
use watchdog_process::still_runs;
use watchdog_store::session::{self, SessionRecord};
use watchdog_store::{LocalStore, RecordType, anchor as records};

use super::command_env::CommandEnv;
use super::configuration::{EffectiveConfig, FILE, MAX_BYTES, config_without_anchor};
use super::criteria_files;
use super::judgement_input::JudgementInput;
use super::open_worktree::OpenWorktree;
use crate::clock::now;
use watchdog_system::read_regular_file;

/// Called before criteria are read. Commits that were fetched since the last session ended may have changed them, and then the
/// anchor follows. While a process of that session still runs, it stays.
pub fn between_sessions(
    open: &OpenWorktree,
    spec: Option<&str>,
    at: Timestamp,
) -> Result<(), UnreadableFact> {
    let store = open.store.as_ref();
    let has_survivors = |session: SessionRecord| {
        let seen = session.ended_at.unwrap_or(session.started_at);
        session
            .survivors
            .iter()
            .any(|(pid, _)| still_runs(*pid, seen))
    };
    if session::read_latest_session(store, &open.worktree_id)?
        .is_some_and(|(_, session)| has_survivors(session))
    {
        return Ok(());
    }
    anchor::follow_remote_moves(store, &open.worktree, spec, FILE, at)
}

/// Called when a session begins: from now on its spec has an anchor, which is returned with the configuration.
pub fn session_begins(
    open: &OpenWorktree,
    recorded: &RecordedBaseline,
    effective: EffectiveConfig,
) -> Result<EffectiveConfig, UnreadableFact> {
    let mut criteria = AnchorParts {
        file: effective.file.clone(),
        commit: recorded.point.clone(),
        differing: Default::default(),
    };
    match effective.anchor {
        // Only a person's word adds a file to an anchor that has none.
        Some(_) if effective.trust != ConfigTrust::Settled => criteria.file = None,
        Some(_) => {}
        None => {
            criteria.differing = criteria_files::find_differing_files(
                &open.worktree,
                &effective.settings,
                &recorded.point,
            )?
        }
    }
    anchor::set_session_anchor(
        open.store.as_ref(),
        &open.worktree,
        &recorded.spec,
        recorded.at,
        &criteria,
    )?;
    let anchor =
        records::CriteriaAnchor::read_row(open.store.as_ref(), &open.worktree_id, &recorded.spec)?;
    Ok(EffectiveConfig {
        anchor,
        ..effective
    })
}

/// Called when a session has ended. If that cannot be recorded, the anchor only stays where it is.
pub fn session_ended(
    store: &dyn LocalStore,
    worktree: &Worktree,
    spec: &str,
) -> Option<Degradation> {
    // In another clone than it began in, its end says nothing of what came before.
    let ended = is_same_clone(store, worktree, spec).and_then(|is_same| {
        if is_same {
            anchor::record_session_end(store, worktree, spec)
        } else {
            Ok(())
        }
    });
    let error = ended.err()?;
    Some(Degradation::new(
        WarningCode::StoreUnwritable,
        format!(
            "the end of the session could not be recorded: {}",
            error.why
        ),
    ))
}

/// Called after a complete verdict by the anchor's own criteria: the next work is compared with HEAD as it is now.
pub fn after_verdict(
    input: &JudgementInput,
    store: &dyn LocalStore,
    verdict: &Verdict,
    inside: &SharedInside,
) -> Result<(), UnreadableFact> {
    if verdict.status() != Status::Complete
        || !input.by_own_criteria
        || input.trust != ConfigTrust::Settled
    {
        return Ok(());
    }
    // A session must not end its own judgement.
    if inside.is_inside(store)? {
        return Ok(());
    }
    let Some(commits) = &verdict.commits else {
        return Ok(());
    };
    let commit = HistoryPoint::from(commits.head.clone());
    let worktree = input.worktree();
    // Later changes were not judged.
    if worktree.head()? != commit {
        return Ok(());
    }
    let differing = criteria_files::find_differing_files(&worktree, &input.settings, &commit)?;
    let criteria = AnchorParts {
        file: input.governing_file.clone(),
        commit,
        differing,
    };
    anchor::advance_after_complete(store, &worktree, &input.spec, now(), criteria)
}

/// Called when a person accepts the criteria as they are in the worktree now, with its commits and its uncommitted files.
///
/// # Errors
/// Fails if the worktree's file cannot be read, does not parse, or cannot be recorded.
pub fn accept_criteria(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    recorded: &RecordedBaseline,
) -> Result<(), UnreadableFact> {
    let config = config_without_anchor(command_env, &open.worktree)?;
    let differing =
        criteria_files::find_differing_files(&open.worktree, &config.settings, &recorded.point)?;
    let criteria = AnchorParts {
        file: config.file,
        commit: recorded.point.clone(),
        differing,
    };
    anchor::replace_anchor(
        open.store.as_ref(),
        &open.worktree,
        &recorded.spec,
        recorded.at,
        &criteria,
    )
}

/// Called when a person trusted a file in force with these bytes: anchors follow in every worktree of the repository that holds them, and
/// in this one. Passing `None` revokes trust; then the anchors of this worktree take its file as it
/// is, even if it is gone.
///
/// # Errors
/// Fails if an anchor cannot be read or written.
pub fn criteria_trusted(
    store: &dyn LocalStore,
    worktree: &Worktree,
    trusted: Option<&[u8]>,
) -> Result<(), UnreadableFact> {
    let at = now();
    let own = worktree.worktree_id();
    let there = |root: &Path| read_regular_file(&root.join(FILE), MAX_BYTES).ok();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let Some(trusted) = trusted else {
        let file = there(worktree.root()).map(|bytes| text(&bytes));
        return Ok(anchor::move_file(store, &own, file.as_deref(), at)?);
    };
    anchor::move_file(store, &own, Some(&text(trusted)), at)?;
    for sibling in worktrees_of(worktree.common_dir()) {
        if sibling.worktree_id() != own && there(&sibling.root).as_deref() == Some(trusted) {
            anchor::move_file(store, &sibling.worktree_id(), Some(&text(trusted)), at)?;
        }
    }
    Ok(())
}

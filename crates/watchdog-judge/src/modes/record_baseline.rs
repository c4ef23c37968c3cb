//! Records HEAD as the baseline of a spec, with everything that a later judgement needs to know of this moment.

use std::sync::Arc;

use super::run::first_failure::{cheap_checks, record_outcomes};
use crate::rescue::{BEFORE_SESSION, take_snapshot};
use crate::session::{
    AnewBy, RecordedBaseline, UncommittedRule, begin_anew, record_head_baseline,
    spec_of_new_session,
};
use watchdog_core::config::settings::{RescueMode, RescueSettings};
use watchdog_facts::evidence::UnreadableFact;
use watchdog_process::CancelFlag;
use watchdog_store::journal::kind;

use crate::clock::now;
use crate::judge::before_session::keep_beside;
use crate::judge::command_env::CommandEnv;
use crate::judge::configuration::load_effective;
use crate::judge::judgement_input::{JudgementInput, Overrides};
use crate::judge::open_worktree::OpenWorktree;
use crate::judge::refusal::Refusal;
use crate::judge::settle_anchor::{accept_criteria, between_sessions, session_begins};
use crate::judge::snapshots::describe_gaps;
use crate::wire::judgement_events::baseline_data;

/// The options of a baseline.
#[derive(Debug, Clone, Default)]
pub struct BaselineOptions {
    /// The name of the work; by default that of the recorded baseline, or the branch.
    pub spec: Option<String>,
    /// Files that are uncommitted now are the spec's work.
    pub adopt: bool,
    /// Accepts the present criteria and guarded files, including a session's changes.
    pub accept_criteria: bool,
}

/// Records the baseline. Returns also why the configuration could not be read, if so; the judgement will report that again.
///
/// # Errors
/// Fails if the worktree could not be read, or the record could not be written.
pub fn record_baseline(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    options: &BaselineOptions,
) -> Result<(RecordedBaseline, Option<UnreadableFact>), Refusal> {
    let at = now();
    let anew = begin_anew(
        open.store.as_ref(),
        &open.worktree,
        AnewBy::Person,
        &open.commands,
    )?;
    let spec = spec_of_new_session(open.store.as_ref(), &open.worktree, options.spec.as_deref())?;
    between_sessions(open, Some(&spec), at)?;
    let head = open.worktree.head()?;
    let effective = load_effective(command_env, open, Some(&spec), Some(&head));
    let uncommitted = if options.adopt {
        UncommittedRule::Adopt
    } else {
        UncommittedRule::Inherit
    };
    let mut recorded = record_head_baseline(
        open.store.as_ref(),
        &open.worktree,
        Some(&spec),
        uncommitted,
        at,
    )?;
    recorded.notes.extend(anew);
    let mut unread = None;
    if options.accept_criteria {
        accept_criteria(command_env, open, &recorded)?;
    } else {
        match effective {
            Ok(effective) => {
                let has_checks = !effective.settings.checks.is_empty();
                let effective = session_begins(open, &recorded, effective)?;
                keep_beside(command_env, open, &mut recorded, &effective.settings.rescue);
                keep_ignored(command_env, open, &recorded, &effective.settings.rescue);
                if has_checks {
                    // Without the record a later pass is no more than `committed`.
                    let _ = record_cheap_outcomes(command_env, &recorded);
                }
            }
            Err(unreadable) => unread = Some(unreadable),
        }
    }
    command_env.note_conversations(open, &recorded, open.root())?;
    open.note_event(
        recorded.at,
        Some(&recorded.spec),
        kind::BASELINE,
        baseline_data(&recorded.point),
    )?;
    Ok((recorded, unread))
}

/// Takes the snapshot before the session where ignored files are to be kept. `run`, `loop` and hooks take it in any case.
fn keep_ignored(
    command_env: &CommandEnv,
    open: &OpenWorktree,
    recorded: &RecordedBaseline,
    settings: &RescueSettings,
) {
    if settings.keep_ignored.is_empty() || settings.mode == RescueMode::Off {
        return;
    }
    let request = (recorded.spec.as_str(), recorded.at, BEFORE_SESSION);
    match take_snapshot(&open.worktree, request, settings) {
        Ok(taken) => {
            let gaps = taken.as_ref().and_then(describe_gaps);
            gaps.iter().for_each(|gaps| command_env.tell(gaps));
        }
        Err(error) => command_env.tell(&format!("cannot keep ignored files: {error}")),
    }
}

/// Judges the checks of files and git alone, which records how each ends before the work.
fn record_cheap_outcomes(
    command_env: &CommandEnv,
    recorded: &RecordedBaseline,
) -> Result<(), UnreadableFact> {
    let open = OpenWorktree::open(command_env)?;
    let effective = load_effective(
        command_env,
        &open,
        Some(&recorded.spec),
        Some(&recorded.point),
    )?;
    let store = Arc::clone(&open.store);
    let input = JudgementInput::new(
        open,
        recorded.clone(),
        true,
        effective,
        Overrides::default(),
    );
    let checks = cheap_checks(&input, store.as_ref());
    record_outcomes(&input, &store, checks, &CancelFlag::new());
    Ok(())
}

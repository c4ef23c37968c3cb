//! Commits by mode, then counts the commits and proves that nothing was lost.

use watchdog_core::config::settings::RescueMode;
use watchdog_facts::evidence::RescueOutcome;
use watchdog_git::{Error, Worktree};

use super::grouping::PlanSource;
use super::request::RescueRequest;
use super::{index_mending, own_commits, retry, user_command};

/// Turns the work that `request.snapshot` holds into commits on the current branch, as far as mode and state allow.
///
/// An obstacle to any commit (a conflict, an operation in progress, a detached HEAD) comes back in
/// [`RescueOutcome::failed`], and leaves index and work tree unchanged. If the branch is protected, or a hook or a
/// signature refuses, the commits go to the branch that [`RescueOutcome::fallback_branch`] names. `ask` is the source of plans for
/// [`RescueMode::Plan`].
///
/// # Errors
/// When git's data cannot be read, so that neither the commits nor the proof are known.
pub fn rescue_snapshot(
    worktree: &Worktree,
    request: &RescueRequest<'_>,
    ask: Option<PlanSource<'_>>,
) -> Result<RescueOutcome, Error> {
    let before = worktree.commit_state()?;
    let mut outcome = RescueOutcome {
        left_out: request.snapshot.left_out.clone(),
        ..RescueOutcome::default()
    };
    let mut committed = own_commits::CommittedWork::default();
    match request.settings.mode {
        RescueMode::Off | RescueMode::Snapshot => {}
        RescueMode::Command => {
            if retry::index_is_free(worktree, request, &mut outcome) {
                user_command::run_user_command(worktree, request, &mut outcome);
            }
        }
        RescueMode::Plan | RescueMode::Single => {
            let mut attempts = 0;
            outcome
                .warnings
                .extend(index_mending::mend_earlier(worktree, request)?);
            retry::commit_with_retry(
                worktree,
                request,
                &mut outcome,
                |request, state, outcome| {
                    attempts += 1;
                    // The rest after an interference is not worth a second plan.
                    let ask = ask.filter(|_| attempts == 1);
                    committed.add(own_commits::make_commits(
                        worktree, request, ask, state, outcome,
                    )?);
                    Ok(())
                },
            )?;
            if let Some(why) = index_mending::mend_index(worktree, request, &committed.made)? {
                outcome.failed = Some(
                    outcome
                        .failed
                        .map_or_else(|| why.clone(), |first| format!("{first}\n{why}")),
                );
            }
        }
    }
    let head = worktree.head_commit()?;
    let is_command = request.settings.mode == RescueMode::Command;
    if !is_command && worktree.branch() != before.branch {
        outcome.commits = committed.made.len() as u64;
        outcome.made = committed.made.clone();
    } else if head != before.head {
        let gained = worktree.commits_gained(before.head.as_deref())?;
        outcome.commits = gained.len() as u64;
        outcome.made = if is_command {
            gained
        } else {
            committed.made.clone()
        };
    }
    if is_command && outcome.commits == 0 && outcome.failed.is_none() && outcome.warnings.is_empty()
    {
        outcome.failed = Some(match head == before.head {
            true => "the rescue command ended well, but made no commit".into(),
            false => "the rescue command moved HEAD without a new commit".into(),
        });
    }
    let lost = worktree.missing_from(request.snapshot)?;
    outcome.lost = own_commits::accounted_for(worktree, request, &committed, lost, &mut outcome)?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::super::scratch_work::ScratchWork;
    use super::*;
    use watchdog_facts::evidence::{LeftOut, LeftOutReason};

    #[test]
    fn snapshot_gaps_are_reported_in_any_mode() {
        for mode in [RescueMode::Off, RescueMode::Single] {
            let mut work = ScratchWork::new();
            work.settings.mode = mode;
            work.write("tracked", "two\n");
            let mut snapshot = work.snapshot();
            snapshot.left_out = vec![LeftOut {
                path: "socket".into(),
                why: LeftOutReason::Unreadable,
            }];
            let outcome = rescue_snapshot(&work.open(), &work.request(&snapshot), None).unwrap();
            assert_eq!(
                (outcome.left_out, outcome.failed),
                (snapshot.left_out.clone(), None),
                "{mode:?}"
            );
        }
    }
}

//! Judges under an open breaker: the breaker stops starting and asking, and never reading. If the
//! work has not moved since the last judgement, the verdict is that the breaker is open, with the
//! facts that were read.

use watchdog_core::config::settings::RescueMode;
use watchdog_core::decision::breaker::{BreakerState, BreakerView};
use watchdog_core::decision::machine::{MachineAction, MachineEvent};
use watchdog_facts::evidence::{Changes, WarningCode};
use watchdog_facts::verdict::{Reason, Verdict};
use watchdog_process::CancelFlag;
use watchdog_store::{RecordType, StoreError, progress};

use super::executor::ActionExecutor;
use crate::clock::now;

impl ActionExecutor {
    /// Whether the state is that of the last judgement under the open breaker. Work that a typed command may rescue is judged again: the
    /// earlier look may have been a sweep's, which commits nothing without a known end.
    pub(super) fn is_as_judged(&self) -> bool {
        if self.may_rescue_now() {
            return false;
        }
        // A record that cannot be read costs one more judgement.
        let judged = progress::CheckProgress::read_row(
            self.store.as_ref(),
            &self.input.worktree_id,
            &self.input.spec,
        )
        .ok()
        .flatten()
        .and_then(|row| row.judged_state);
        judged.is_some() && judged == self.state(&(None, None))
    }

    /// Whether a typed command finds work of the session that it may commit.
    fn may_rescue_now(&self) -> bool {
        let (overrides, mode) = (&self.input.overrides, self.input.settings.rescue.mode);
        let commits = !overrides.once
            && !overrides.no_rescue
            && !matches!(mode, RescueMode::Snapshot | RescueMode::Off);
        let read = || {
            self.perform(
                &MachineAction::ReadChanges,
                &(None, None),
                &CancelFlag::default(),
            )
        };
        commits && matches!(read(), MachineEvent::Changes(Ok(changes)) if changes.work_left())
    }

    /// Records the state that was judged, as long as the breaker is open. Work that could not be rescued yet is judged again.
    pub(super) fn record_judged_state(
        &self,
        breaker: &BreakerView,
        verdict: &Verdict,
    ) -> Result<(), StoreError> {
        let is_held = verdict.reason == Reason::SessionActive
            || verdict
                .degraded
                .iter()
                .any(|note| note.code == WarningCode::RescueHeldBack);
        if breaker.state != BreakerState::Open || is_held {
            return Ok(());
        }
        let (state, baseline) = (self.state(&(None, None)), self.input.baseline_commit());
        let (worktree, spec) = (&self.input.worktree_id, &self.input.spec);
        progress::update_progress(
            self.store.as_ref(),
            worktree,
            spec,
            baseline.as_deref(),
            now(),
            |progress| progress.judged_state.clone_from(&state),
        )
    }

    /// The verdict that the breaker is open, with the commits and the changes.
    pub(super) fn read_beside(&self, refusal: Verdict) -> Verdict {
        let cancel = CancelFlag::default();
        let read = |action| self.perform(&action, &(None, None), &cancel);
        let commits = match read(MachineAction::ReadCommits) {
            MachineEvent::Commits(Ok(commits)) => commits,
            MachineEvent::Commits(Err(unreadable)) => {
                return Verdict::unreadable(unreadable.with_commands(&self.input.commands));
            }
            _ => return refusal,
        };
        match read(MachineAction::ReadChanges) {
            MachineEvent::Changes(Ok(changes)) => Verdict {
                commits: Some(commits),
                changes: Some(changes),
                ..refusal
            },
            MachineEvent::Changes(Err(unreadable)) => {
                Verdict::unreadable(unreadable.with_commands(&self.input.commands))
            }
            _ => refusal,
        }
    }
}

/// Says that the breaker is open where the judgement found nothing new; keeps every other verdict.
pub(super) fn name_open_breaker(refusal: Option<&Verdict>, verdict: Verdict) -> Verdict {
    let nothing_new = verdict.rescue_commits == 0
        && verdict
            .commits
            .as_ref()
            .is_some_and(|commits| commits.new_commits == 0)
        && !verdict.changes.as_ref().is_some_and(Changes::work_left);
    match refusal {
        Some(refusal) if verdict.reason == Reason::Unfinished && nothing_new => Verdict {
            reason: refusal.reason,
            message: refusal.message.clone(),
            retry_at: refusal.retry_at,
            not_a_strike_because: refusal.not_a_strike_because,
            feedback: None,
            ..verdict
        },
        _ => verdict,
    }
}

#[cfg(test)]
mod tests {
    use watchdog_facts::evidence::Commits;

    use super::*;

    #[test]
    fn open_breaker_is_named_only_without_anything_new() {
        let refusal = Verdict::new(Reason::BreakerOpen, "open");
        let commits = |new_commits| {
            Some(Commits {
                new_commits,
                ..Commits::default()
            })
        };
        let bare = Verdict {
            commits: commits(0),
            changes: Some(Changes::default()),
            ..Verdict::new(Reason::Unfinished, "m")
        };
        for (verdict, expected) in [
            (bare.clone(), Reason::BreakerOpen),
            (
                Verdict {
                    commits: commits(1),
                    ..bare.clone()
                },
                Reason::Unfinished,
            ),
            (
                Verdict {
                    rescue_commits: 1,
                    ..bare.clone()
                },
                Reason::Unfinished,
            ),
            (
                Verdict {
                    changes: Some(Changes {
                        work: 1,
                        ..Changes::default()
                    }),
                    ..bare.clone()
                },
                Reason::Unfinished,
            ),
            (
                Verdict {
                    reason: Reason::ChecksUnmet,
                    ..bare.clone()
                },
                Reason::ChecksUnmet,
            ),
        ] {
            assert_eq!(
                name_open_breaker(Some(&refusal), verdict.clone()).reason,
                expected,
                "{verdict:?}"
            );
            assert_eq!(name_open_breaker(None, verdict.clone()), verdict);
        }
    }
}

//! Uncommitted work: read, secured in a snapshot before anything else runs, and rescued.

use crate::config::settings::RescueMode;
use watchdog_facts::evidence::{
    Changes, Commits, HeldRescue, ReadFact, RescueOutcome, WarningCode,
};

use crate::decision::judgement_rule::JudgementRule;

use super::facts::MachineAction;
use super::stage::{AfterSnapshot, CommitsPurpose, MachineStage, RescueReason};
use super::step::CheckMachine;

impl CheckMachine {
    /// Reads the changes and secures them in a snapshot, then continues with `then`.
    pub(super) fn secure(&mut self, then: AfterSnapshot) -> MachineAction {
        if self.secured {
            return self.after_securing(then);
        }
        self.stage = MachineStage::Changes(then);
        MachineAction::ReadChanges
    }

    fn dirty(&self) -> bool {
        self.changes.as_ref().is_some_and(Changes::any)
    }

    /// Whether some of the session's own work is uncommitted.
    pub(super) fn work_left(&self) -> bool {
        self.changes.as_ref().is_some_and(Changes::work_left)
    }

    pub(super) fn on_changes(
        &mut self,
        then: AfterSnapshot,
        fact: ReadFact<Changes>,
    ) -> MachineAction {
        self.changes = None;
        match fact {
            Ok(changes) => {
                (self.inherited, self.since_end) = (changes.inherited, changes.since_end);
                // A rescue does not replace it, so every verdict reports it.
                let overwritten = changes
                    .degraded
                    .iter()
                    .find(|note| note.code == WarningCode::InheritedOverwritten)
                    .cloned();
                if let Some(note) = overwritten {
                    self.note(note.code, note.detail);
                }
                self.dropping_links.clone_from(&changes.dropping_links);
                self.changes = Some(changes);
            }
            // A person asked for an end: the fact is missing, not the verdict.
            Err(unreadable) if then == AfterSnapshot::Interrupted => {
                self.note(WarningCode::ChangesUnreadable, unreadable.why)
            }
            Err(unreadable) => return self.conclude_unreadable(unreadable),
        }
        if self.dirty() && self.setup.rescue_mode != RescueMode::Off {
            self.by(JudgementRule::SnapshotFirst);
            self.stage = MachineStage::Snapshot(then);
            return MachineAction::TakeSnapshot;
        }
        self.after_securing(then)
    }

    pub(super) fn on_snapshot(
        &mut self,
        then: AfterSnapshot,
        fact: ReadFact<Option<String>>,
    ) -> MachineAction {
        match fact {
            Ok(Some(name)) => self.snapshot = Some(name),
            // The changes may still be work that a snapshot cannot hold, so they stay as they were read.
            Ok(None) => {}
            Err(unreadable) => match then {
                // No program runs after these; the changes are known and stay where they are.
                AfterSnapshot::ChecksUnmet
                | AfterSnapshot::HalfDone
                | AfterSnapshot::RateLimited
                | AfterSnapshot::Unrunnable
                | AfterSnapshot::LeftWork
                | AfterSnapshot::Alive
                | AfterSnapshot::Interrupted => {
                    // An older snapshot does not hold everything that is there now.
                    self.snapshot = None;
                    self.note(WarningCode::SnapshotFailed, unreadable.why);
                }
                // No wait begins beside work that is in no snapshot.
                AfterSnapshot::Survivors => {
                    self.snapshot = None;
                    self.note(WarningCode::SnapshotFailed, unreadable.why);
                    return self.conclude_survivors();
                }
                // No program that could disturb the work runs before a snapshot.
                AfterSnapshot::Commits(_) if !self.work_left() => {
                    self.snapshot = None;
                    self.note(WarningCode::SnapshotFailed, unreadable.why);
                }
                AfterSnapshot::JudgeChecks(_)
                | AfterSnapshot::Ask
                | AfterSnapshot::Refused
                | AfterSnapshot::Commits(_)
                | AfterSnapshot::NoProbe
                | AfterSnapshot::Unasked
                | AfterSnapshot::Rescue(_) => {
                    return self.conclude_unreadable(unreadable);
                }
            },
        }
        self.after_securing(then)
    }

    fn after_securing(&mut self, then: AfterSnapshot) -> MachineAction {
        self.secured = true;
        match then {
            AfterSnapshot::JudgeChecks(purpose) => self.judge_checks(purpose),
            // The uncommitted rest is gone since the disputed answer: the commits decide.
            AfterSnapshot::Ask if !self.has_checks() && self.has_commits() && !self.work_left() => {
                self.conclude_new_commits()
            }
            AfterSnapshot::Ask => self.ask(),
            AfterSnapshot::Commits(purpose) => self.commits_and_leftovers(purpose),
            AfterSnapshot::ChecksUnmet => self.conclude_checks_unmet(),
            AfterSnapshot::HalfDone => self.conclude_half_done(),
            AfterSnapshot::NoProbe => self.conclude_no_probe(),
            AfterSnapshot::Unasked => self.conclude_unasked(),
            AfterSnapshot::RateLimited => self.conclude_session_limit(),
            AfterSnapshot::Unrunnable => self.conclude_session_unrunnable(),
            AfterSnapshot::LeftWork => self.conclude_left_work(),
            AfterSnapshot::Refused if self.left_nothing() => self.conclude_refused(),
            AfterSnapshot::Refused if self.rounds_left() == 0 && !self.setup.no_probe => {
                self.secure(AfterSnapshot::Rescue(RescueReason::Last))
            }
            AfterSnapshot::Refused => self.ask_unless_over(),
            AfterSnapshot::Survivors => self.wait_for_survivors(),
            AfterSnapshot::Alive => self.conclude_session_active(),
            AfterSnapshot::Interrupted => self.conclude_interrupted(),
            AfterSnapshot::Rescue(why) if self.work_left() && self.may_rescue(why) => {
                self.stage = MachineStage::Rescue(why);
                MachineAction::Rescue
            }
            AfterSnapshot::Rescue(why) => self.without_rescue(why),
        }
    }

    fn may_rescue(&self, why: RescueReason) -> bool {
        // A commit in the middle of a rebase or a merge would be part of it.
        let half_done = self.commits.as_ref().is_some_and(Commits::half_done);
        self.rescue_commits_allowed()
            && !half_done
            && (why != RescueReason::Last || self.setup.completion.final_rescue_attempt)
    }

    /// Whether the user lets a rescue make commits at all.
    pub(super) fn rescue_commits_allowed(&self) -> bool {
        !self.setup.no_rescue
            && match self.setup.rescue_mode {
                RescueMode::Plan | RescueMode::Single | RescueMode::Command => true,
                RescueMode::Snapshot | RescueMode::Off => false,
            }
    }

    /// A rescue was called for, and there was nothing to rescue or it is not allowed.
    fn without_rescue(&mut self, why: RescueReason) -> MachineAction {
        match (why, self.work_left()) {
            (RescueReason::Claim, _) if self.checks_unmet() => self.conclude_checks_unmet(),
            (RescueReason::Claim, false) if self.has_commits() => self.conclude_new_commits(),
            (RescueReason::Claim, false) => self.conclude_nothing_to_do(),
            // Asking again cannot commit anything where rescue may not.
            (RescueReason::Claim, true) => self.conclude_not_committed(),
            (RescueReason::AgentStopped, _) => self.conclude_agent_stopped(),
            (RescueReason::Unmet, _) => self.conclude_checks_unmet(),
            (RescueReason::NotDone, _) => self.conclude_not_done(),
            (RescueReason::Unasked, _) => self.conclude_unasked(),
            (RescueReason::OverLimit, _) => self.conclude_over_limit(),
            (RescueReason::Last, _) => self.out_of_probes(),
            (RescueReason::SessionCutoff, false) => self.conclude_session_cut(),
            (RescueReason::SessionCutoff, true) => self.conclude_cut_short(),
            (RescueReason::ChecksPassed, _) => self.conclude_checks_passed(),
        }
    }

    pub(super) fn on_rescue(
        &mut self,
        why: RescueReason,
        fact: ReadFact<RescueOutcome>,
    ) -> MachineAction {
        let outcome = match fact {
            Ok(outcome) => outcome,
            Err(unreadable) => RescueOutcome {
                failed: Some(unreadable.why),
                ..RescueOutcome::default()
            },
        };
        if let Some(rescue) = outcome.held_back {
            return self.rescue_held_back(why, rescue);
        }
        let committed = self.has_commits();
        self.committed_before_rescue.get_or_insert(committed);
        self.rescue_commits += outcome.commits;
        self.left_out = outcome.left_out;
        for warning in outcome.warnings {
            self.note(warning.code, warning.detail);
        }
        self.rescue_failed = outcome.failed;
        if outcome.fallback_branch.is_some() {
            self.rescue_branch = outcome.fallback_branch;
        }
        if !outcome.lost.is_empty() {
            return self.conclude_lost(&outcome.lost);
        }
        if self.rescue_branch.is_some() && outcome.commits == 0 {
            // Asking or trying again would meet the same refusal.
            return self.conclude_on_fallback_branch();
        }
        if let Some(failed) = self.rescue_failed.clone().filter(|_| outcome.commits > 0) {
            self.note(WarningCode::RescueFailed, failed);
        }
        if outcome.commits > 0 {
            self.read_commits(CommitsPurpose::Rescued(why))
        } else {
            self.rescue_decided_nothing(why)
        }
    }

    /// Rule 11 of the contract keeps a rescue from committing: the work stays in its snapshot, and nothing else changes.
    fn rescue_held_back(&mut self, why: RescueReason, rescue: HeldRescue) -> MachineAction {
        self.by(JudgementRule::NothingBeneathLife);
        self.note(WarningCode::RescueHeldBack, rescue.why.clone());
        match why {
            RescueReason::Claim if !self.checks_unmet() => self.conclude_held_back(&rescue),
            why => self.without_rescue(why),
        }
    }

    /// A rescue ran, and made no commits.
    fn rescue_decided_nothing(&mut self, why: RescueReason) -> MachineAction {
        let failed = self.rescue_failed.clone();
        match why {
            RescueReason::ChecksPassed | RescueReason::SessionCutoff | RescueReason::Claim
                if failed.is_some() =>
            {
                self.conclude_not_committed()
            }
            RescueReason::ChecksPassed => self.conclude_checks_passed(),
            RescueReason::SessionCutoff => self.conclude_cut_short(),
            RescueReason::Claim if self.left_out_on_purpose() && self.checks_unmet() => {
                self.conclude_checks_unmet()
            }
            RescueReason::Claim if self.left_out_on_purpose() && self.has_commits() => {
                self.conclude_new_commits()
            }
            RescueReason::Claim if self.left_out_on_purpose() => self.conclude_nothing_to_do(),
            RescueReason::Claim => self.conclude_not_committed(),
            RescueReason::AgentStopped => self.conclude_agent_stopped(),
            // The work stays where the next session continues it.
            RescueReason::Unmet | RescueReason::NotDone | RescueReason::Unasked => {
                if let Some(failed) = failed {
                    self.note(WarningCode::RescueFailed, failed);
                }
                match why {
                    RescueReason::Unmet => self.conclude_checks_unmet(),
                    RescueReason::Unasked => self.conclude_unasked(),
                    _ => self.conclude_not_done(),
                }
            }
            RescueReason::OverLimit => self.conclude_over_limit(),
            RescueReason::Last => self.out_of_probes(),
        }
    }

    /// Whether all that is uncommitted was left out for good: asking again would not change what must not be committed.
    fn left_out_on_purpose(&self) -> bool {
        self.rescue_failed.is_none()
            && self.rescue_commits == 0
            && !self.left_out.is_empty()
            && self
                .left_out
                .iter()
                .all(|skipped| skipped.why.is_on_purpose())
    }
}

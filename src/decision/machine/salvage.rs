//! Uncommitted work: looked at, secured in a snapshot before anything else runs, and rescued.

use crate::config::settings::RescueMode;
use crate::decision::evidence::{Changes, Fact, RescueOutcome};

use super::facts::{Action, Pause};
use super::stage::{Look, RescueFor, Stage, Then};
use super::step::Machine;

impl Machine {
    /// Reads the changes and secures them in a snapshot, then goes on with `then`.
    pub(super) fn secure(&mut self, then: Then) -> Action {
        self.stage = Stage::Changes(then);
        Action::ReadChanges
    }

    pub(super) fn dirty(&self) -> bool {
        self.changes.as_ref().is_some_and(Changes::any)
    }

    pub(super) fn on_changes(&mut self, then: Then, fact: Fact<Changes>) -> Action {
        self.changes = None;
        match fact {
            Ok(changes) => self.changes = Some(changes),
            // A person asked for an end: the fact is missing, not the verdict.
            Err(unreadable) if then == Then::Interrupted => self.note("changes_unreadable", unreadable.why),
            Err(unreadable) => return self.conclude_unreadable(unreadable),
        }
        if self.dirty() && self.setup.rescue_mode != RescueMode::Off {
            self.stage = Stage::Snapshot(then);
            return Action::TakeSnapshot;
        }
        self.after_securing(then)
    }

    pub(super) fn on_snapshot(&mut self, then: Then, fact: Fact<Option<String>>) -> Action {
        match fact {
            Ok(Some(name)) => self.snapshot = Some(name),
            // What changed may still be work that a snapshot cannot hold, so the changes stand as they were read.
            Ok(None) => {}
            Err(unreadable) => match then {
                // Nothing runs after these; the changes are known and stay where they are.
                Then::NewCommits | Then::ChecksUnmet | Then::RateLimited | Then::Unrunnable | Then::LeftWork | Then::Interrupted => {
                    // An older snapshot does not hold everything that is there now.
                    self.snapshot = None;
                    self.note("snapshot_failed", unreadable.why);
                }
                // Nothing that could disturb the work runs while it is in no snapshot.
                Then::JudgeChecks(_) | Then::Ask | Then::NoProbe | Then::Rescue(_) => return self.conclude_unreadable(unreadable),
            },
        }
        self.after_securing(then)
    }

    fn after_securing(&mut self, then: Then) -> Action {
        match then {
            Then::JudgeChecks(look) => self.judge_checks(look),
            Then::Ask => self.ask(),
            Then::NewCommits => self.conclude_new_commits(),
            Then::ChecksUnmet => self.conclude_checks_unmet(),
            Then::NoProbe => self.conclude_no_probe(),
            Then::RateLimited => self.conclude_session_limit(),
            Then::Unrunnable => self.conclude_session_unrunnable(),
            Then::LeftWork => self.conclude_left_work(),
            Then::Interrupted => self.conclude_interrupted(),
            Then::Rescue(why) if self.dirty() && self.may_rescue(why) => {
                self.stage = Stage::Rescue(why);
                Action::Rescue
            }
            Then::Rescue(why) => self.without_rescue(why),
        }
    }

    fn may_rescue(&self, why: RescueFor) -> bool {
        self.rescue_commits_allowed() && (why != RescueFor::Last || self.setup.completion.final_rescue_attempt)
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
    fn without_rescue(&mut self, why: RescueFor) -> Action {
        match (why, self.dirty()) {
            (RescueFor::Claim, _) if self.checks_unmet() => self.conclude_checks_unmet(),
            (RescueFor::Claim, false) => self.conclude_nothing_to_do(),
            // Asking again cannot commit anything where rescue may not.
            (RescueFor::Claim, true) => self.conclude_not_committed(),
            (RescueFor::AgentStopped, _) => self.conclude_agent_stopped(),
            (RescueFor::OverLimit, _) => self.conclude_over_limit(),
            (RescueFor::Last, _) => self.out_of_probes(),
            (RescueFor::SessionTimeout, false) => self.conclude_session_timeout(),
            (RescueFor::SessionTimeout, true) => self.conclude_cut_short(),
            (RescueFor::ChecksPassed, _) => self.conclude_checks_passed(),
        }
    }

    pub(super) fn on_rescue(&mut self, why: RescueFor, fact: Fact<RescueOutcome>) -> Action {
        let outcome = match fact {
            Ok(outcome) => outcome,
            Err(unreadable) => RescueOutcome { failed: Some(unreadable.why), ..RescueOutcome::default() },
        };
        self.rescue_commits += outcome.commits;
        self.left_out = outcome.left_out;
        for warning in outcome.warnings {
            self.note(warning.code, warning.detail);
        }
        self.rescue_failed = outcome.failed;
        if outcome.elsewhere.is_some() {
            self.rescue_branch = outcome.elsewhere;
        }
        if !outcome.lost.is_empty() {
            return self.conclude_lost(&outcome.lost);
        }
        if self.rescue_branch.is_some() && outcome.commits == 0 {
            // Asking or trying again would meet the same refusal.
            return self.conclude_elsewhere();
        }
        if outcome.commits > 0 {
            if let Some(failed) = self.rescue_failed.clone() {
                self.note("rescue_failed", failed);
            }
            return self.read_commits(Look::Rescued(why));
        }
        self.rescue_decided_nothing(why)
    }

    /// A rescue ran, and made no commits that complete anything.
    pub(super) fn rescue_decided_nothing(&mut self, why: RescueFor) -> Action {
        match why {
            RescueFor::ChecksPassed | RescueFor::SessionTimeout if self.rescue_failed.is_some() => self.conclude_not_committed(),
            RescueFor::ChecksPassed => self.conclude_checks_passed(),
            RescueFor::SessionTimeout => self.conclude_cut_short(),
            RescueFor::Claim if self.left_out_on_purpose() && self.checks_unmet() => self.conclude_checks_unmet(),
            RescueFor::Claim if self.left_out_on_purpose() => self.conclude_nothing_to_do(),
            RescueFor::Claim => self.try_again(),
            RescueFor::AgentStopped => self.conclude_agent_stopped(),
            RescueFor::OverLimit => self.conclude_over_limit(),
            RescueFor::Last => self.out_of_probes(),
        }
    }

    /// Whether all that is uncommitted was left out for good: asking again would not change what must not be committed.
    /// A file that is too large or unreadable may be the very work, so that is for the next round, and then for a person.
    fn left_out_on_purpose(&self) -> bool {
        self.rescue_failed.is_none()
            && self.rescue_commits == 0
            && !self.left_out.is_empty()
            && self.left_out.iter().all(|left| matches!(left.why, "secret" | "excluded"))
    }

    /// The agent says complete, and its work could not be committed: the next round tries again.
    fn try_again(&mut self) -> Action {
        if self.rounds_left() == 0 {
            return self.read_commits(Look::Last);
        }
        if self.setup.once {
            return self.conclude_not_committed();
        }
        self.pause(Pause::Interval(self.setup.completion.probe_interval))
    }
}

//! What a rule looks at: the setup, what happened so far, and what the machine does next.

use crate::config::settings::RescueMode;
use crate::decision::machine::{ConfigTrust, JudgementScope, MachineAction, MachineSetup};
use crate::decision::session_life::SessionLife;
use watchdog_facts::evidence::CheckOutcome;
use watchdog_facts::verdict::{Status, Verdict};

use super::event_ledger::EventLedger;

/// The events so far, and the machine's next action.
pub(super) struct Situation<'a> {
    pub(super) setup: &'a MachineSetup,
    pub(super) ledger: &'a EventLedger,
    pub(super) next: &'a MachineAction,
}

impl Situation<'_> {
    /// The verdict, where this is the end.
    pub(super) fn verdict(&self) -> Option<&Verdict> {
        match self.next {
            MachineAction::Conclude(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// Holds for a verdict, and for anything that is none.
    pub(super) fn ends(&self, holds: impl Fn(&Verdict) -> bool) -> bool {
        self.verdict().is_none_or(holds)
    }

    pub(super) fn completes(&self) -> bool {
        self.verdict()
            .is_some_and(|verdict| verdict.status() == Status::Complete)
    }

    pub(super) fn asks(&self) -> bool {
        matches!(self.next, MachineAction::Ask { .. })
    }

    pub(super) fn only_criteria(&self) -> bool {
        matches!(self.setup.scope, JudgementScope::Criteria { .. })
    }

    pub(super) fn has_checks(&self) -> bool {
        self.setup.has_checks && self.setup.trust == ConfigTrust::Settled
    }

    pub(super) fn unmet(&self) -> bool {
        self.ledger.judged_as(CheckOutcome::Unmet)
    }

    /// Whether the user lets a rescue make commits.
    pub(super) fn may_commit(&self) -> bool {
        !self.setup.no_rescue
            && !matches!(
                self.setup.rescue_mode,
                RescueMode::Snapshot | RescueMode::Off
            )
    }

    /// Whether a session that watchdog did not just run may live.
    pub(super) fn may_live(&self) -> bool {
        self.setup.session.is_none() && self.setup.life != SessionLife::Absent
    }

    pub(super) fn half_done(&self) -> bool {
        self.ledger.commits.is_some_and(|commits| commits.half_done)
    }

    pub(super) fn rounds_used(&self) -> u32 {
        self.setup.earlier.rounds_used + self.ledger.asked
    }

    pub(super) fn rounds_left(&self) -> u32 {
        self.setup
            .completion
            .max_probes
            .saturating_sub(self.rounds_used())
    }
}

//! Changes a verdict if the files that define completion changed since the anchor.
//!
//! They are read last: after the rescue, so that no work waits for it, and after the checks, whose programs could change them.

use watchdog_facts::evidence::{CriteriaChanged, ReadFact, UnreadableFact, WarningCode};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

use crate::decision::judgement_rule::JudgementRule;

use super::facts::{CriteriaFilesRole, MachineAction};
use super::stage::MachineStage;
use super::step::CheckMachine;

impl CheckMachine {
    /// Looks at the files before a verdict that judges the work is given.
    pub(super) fn conclude(&mut self, verdict: Verdict) -> MachineAction {
        let judges = matches!(
            verdict.status(),
            Status::Complete | Status::Incomplete | Status::Review
        );
        if self.setup.criteria_files == CriteriaFilesRole::None || !judges {
            return self.close(verdict);
        }
        self.stage = MachineStage::Criteria;
        self.held_back = Some(Box::new(verdict));
        MachineAction::ReadCriteria
    }

    /// The same, with words for the next session.
    pub(super) fn conclude_advising(
        &mut self,
        reason: Reason,
        message: impl Into<String>,
        feedback: Option<String>,
    ) -> MachineAction {
        self.conclude(Verdict {
            feedback,
            ..Verdict::new(reason, message)
        })
    }

    pub(super) fn on_criteria(&mut self, fact: ReadFact<CriteriaChanged>) -> MachineAction {
        let mut verdict = *self
            .held_back
            .take()
            .expect("a verdict is held back while the files are looked at");
        let mut changed = fact.unwrap_or_else(|unreadable| CriteriaChanged {
            files_unread: Some(unreadable),
            ..CriteriaChanged::default()
        });
        if let Some(why) = changed.gates_unknown.take() {
            self.note(WarningCode::CriteriaUnknown, why);
        }
        if !changed.gates_off.is_empty() {
            for gate in &changed.gates_off {
                self.note(WarningCode::GatesOff, gate.detail.clone());
            }
            if changed.relies_on_gates {
                verdict.evidence = verdict.evidence.min(Evidence::Claimed);
            }
            self.gates_off = std::mem::take(&mut changed.gates_off);
        }
        if let Some(unreadable) = changed.files_unread.take() {
            return self.criteria_unknown(verdict, unreadable);
        }
        if !changed.named.is_empty() {
            let detail = format!(
                "the criteria name files that changed since the anchor: {}",
                changed.named.join(", ")
            );
            self.note(WarningCode::CriteriaChanged, detail);
        }
        if changed.guarded_total == 0 {
            return self.close(verdict);
        }
        let guarded = changed.guarded_words();
        self.note(
            WarningCode::CriteriaChanged,
            format!("guarded files changed since the anchor: {guarded}"),
        );
        // A person's guards come before the tests.
        if verdict.status() != Status::Complete && verdict.reason != Reason::TestsWeakened {
            return self.close(verdict);
        }
        self.by(JudgementRule::GuardedFilesChanged);
        let message = format!(
            "{}, but guarded files changed since the anchor: {guarded}; a person must look at them",
            verdict.message
        );
        self.close(Verdict::new(Reason::CriteriaChanged, message))
    }

    /// With guarded files, a verdict is complete only if they are known to be unchanged.
    fn criteria_unknown(&mut self, verdict: Verdict, unreadable: UnreadableFact) -> MachineAction {
        let why = format!(
            "whether the criteria changed cannot be told: {}",
            unreadable.why
        );
        if self.setup.criteria_files == CriteriaFilesRole::Guarded
            && verdict.status() == Status::Complete
        {
            self.by(JudgementRule::UnknownIsNoZero);
            let placed = UnreadableFact { why, ..unreadable }.with_commands(&self.setup.commands);
            return self.close(Verdict::unreadable(placed));
        }
        self.note(WarningCode::CriteriaUnknown, why);
        self.close(verdict)
    }
}

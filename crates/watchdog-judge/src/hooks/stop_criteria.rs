//! Has the decision machine judge the criteria of a stop, by the rules of `check`: HEAD decides about no stop. Pure; the caller reads
//! the facts that the machine requests.

use watchdog_core::config::settings::OnNoCriteria;
use watchdog_core::decision::machine::{
    CheckMachine, ChecksResult, ConfigTrust, DriveOutcome, JudgementScope, MachineAction,
    MachineDriver, MachineEvent, MachineSetup, drive_machine,
};
use watchdog_facts::evidence::{CheckResult, CriteriaChanged, ReadFact};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

use super::hold::StopFacts;

/// The inputs of the verdict, for the text of an answer.
struct VerdictInputs {
    trust: ConfigTrust,
    on_no_criteria: OnNoCriteria,
    required: Evidence,
    evidence: Evidence,
    feedback: String,
    changed: ReadFact<CriteriaChanged>,
}

/// Answers the machine's requests for criteria alone, and records the inputs of its verdict.
struct CriteriaDriver<J, C> {
    judge: J,
    changed: C,
    grounds: VerdictInputs,
}

impl<J: FnMut() -> ChecksResult, C: FnMut() -> ReadFact<CriteriaChanged>> MachineDriver
    for CriteriaDriver<J, C>
{
    fn perform(&mut self, action: &MachineAction, _machine: &CheckMachine) -> Option<MachineEvent> {
        match action {
            MachineAction::JudgeChecks => {
                let judged = (self.judge)();
                (self.grounds.evidence, self.grounds.feedback) =
                    (judged.evidence, judged.feedback.clone());
                Some(MachineEvent::Checks(judged))
            }
            MachineAction::ReadCriteria => {
                self.grounds.changed = (self.changed)();
                Some(MachineEvent::Criteria(self.grounds.changed.clone()))
            }
            _ => None,
        }
    }
}

/// Judges the criteria, and returns how each ended. The caller takes a snapshot before programs of checks run.
pub fn judge_criteria(
    setup: MachineSetup,
    judge: impl FnMut() -> ChecksResult,
    changed: impl FnMut() -> ReadFact<CriteriaChanged>,
) -> (StopFacts, Vec<CheckResult>) {
    let grounds = VerdictInputs {
        trust: setup.trust.clone(),
        on_no_criteria: setup.on_no_criteria,
        required: setup.require_evidence,
        evidence: Evidence::None,
        feedback: String::new(),
        changed: Ok(CriteriaChanged::default()),
    };
    let mut machine = CheckMachine::new(MachineSetup {
        scope: JudgementScope::Criteria {
            baseline_known: false,
        },
        checks_run_programs: false,
        ..setup
    });
    let mut driver = CriteriaDriver {
        judge,
        changed,
        grounds,
    };
    match drive_machine(&mut machine, MachineEvent::Start, &mut driver) {
        DriveOutcome::Ended(verdict) => (stop_facts(&verdict, driver.grounds), verdict.checks),
        // For criteria alone the machine requests nothing else. If it does, the agent is released.
        DriveOutcome::Held(action) => (
            StopFacts::Failed {
                why: format!("nobody can answer {action:?} in a hook"),
            },
            Vec::new(),
        ),
    }
}

/// The meaning of the machine's verdict for a stop.
fn stop_facts(verdict: &Verdict, grounds: VerdictInputs) -> StopFacts {
    let VerdictInputs {
        trust,
        on_no_criteria,
        required,
        evidence,
        feedback,
        changed,
    } = grounds;
    match (verdict.reason, trust, changed) {
        (Reason::Untrusted, ConfigTrust::Untrusted { allow_with }, _) => {
            StopFacts::Untrusted { allow_with }
        }
        (Reason::ChecksPassed, _, _) => StopFacts::Passed,
        (Reason::ChecksUnmet, _, _) => StopFacts::Unmet { feedback },
        (Reason::Disputed, _, _) => StopFacts::TooWeak { evidence, required },
        (Reason::CriteriaChanged, _, Ok(changed)) => StopFacts::CriteriaChanged {
            guarded: changed.guarded_words(),
        },
        // There the machine leaves the decision to a person, and only notes changed guarded files. A stop without a judgement gets that
        // note.
        (Reason::NoCriteria, _, Ok(changed)) if changed.guarded_total > 0 => {
            StopFacts::CriteriaChanged {
                guarded: changed.guarded_words(),
            }
        }
        (Reason::NoCriteria, _, Ok(_)) if on_no_criteria == OnNoCriteria::Review => {
            StopFacts::NoCriteria
        }
        (Reason::NoCriteria, _, Ok(_)) => StopFacts::Nothing,
        (reason, _, Err(unreadable))
            if reason == Reason::NoCriteria || verdict.status() == Status::Error =>
        {
            StopFacts::Failed {
                why: format!(
                    "whether guarded files changed cannot be told: {}",
                    unreadable.why
                ),
            }
        }
        (reason, _, _) => StopFacts::Undecided { reason, feedback },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use watchdog_core::config::settings::ConfigSettings;
    use watchdog_core::decision::machine::CriteriaFilesRole;
    use watchdog_facts::evidence::{CheckOutcome, FaultKind, UnreadableFact};

    fn unreadable() -> ReadFact<CriteriaChanged> {
        Err(UnreadableFact {
            kind: FaultKind::Git,
            why: "no baseline".into(),
            hint: None,
        })
    }

    fn guarded() -> ReadFact<CriteriaChanged> {
        Ok(CriteriaChanged {
            guarded: vec!["tests/a.rs".into()],
            guarded_total: 1,
            ..CriteriaChanged::default()
        })
    }

    /// The result for a stop with such guarded files; without an outcome, no criteria are configured.
    fn facts(
        outcome: Option<CheckOutcome>,
        on_no_criteria: OnNoCriteria,
        changed: ReadFact<CriteriaChanged>,
    ) -> StopFacts {
        let setup = MachineSetup {
            has_checks: outcome.is_some(),
            criteria_files: CriteriaFilesRole::Guarded,
            on_no_criteria,
            ..MachineSetup::from_settings(&ConfigSettings::default())
        };
        let judge = || ChecksResult {
            outcome: outcome.expect("only what is configured is judged"),
            evidence: Evidence::Verified,
            feedback: "f".into(),
            results: Vec::new(),
            all_passed_before: false,
            notes: Vec::new(),
        };
        judge_criteria(setup, judge, || changed.clone()).0
    }

    #[test]
    fn machine_verdict_on_criteria_decides_the_stop() {
        let as_they_were = || Ok(CriteriaChanged::default());
        let undecided = |reason| StopFacts::Undecided {
            reason,
            feedback: "f".into(),
        };
        let unmet = || StopFacts::Unmet {
            feedback: "f".into(),
        };
        let changed = || StopFacts::CriteriaChanged {
            guarded: "tests/a.rs".into(),
        };
        let unknown = || StopFacts::Failed {
            why: "whether guarded files changed cannot be told: no baseline".into(),
        };
        for (outcome, when_same, when_changed, when_unknown) in [
            (CheckOutcome::Pass, StopFacts::Passed, changed(), unknown()),
            (CheckOutcome::Unmet, unmet(), unmet(), unmet()),
            (
                CheckOutcome::Waiting,
                undecided(Reason::BackgroundWork),
                undecided(Reason::BackgroundWork),
                undecided(Reason::BackgroundWork),
            ),
            (
                CheckOutcome::Unrunnable,
                undecided(Reason::VerifyUnrunnable),
                undecided(Reason::VerifyUnrunnable),
                undecided(Reason::VerifyUnrunnable),
            ),
            (
                CheckOutcome::Failed,
                undecided(Reason::VerifyFailed),
                undecided(Reason::VerifyFailed),
                undecided(Reason::VerifyFailed),
            ),
            (
                CheckOutcome::TimedOut,
                undecided(Reason::VerifyTimeout),
                undecided(Reason::VerifyTimeout),
                undecided(Reason::VerifyTimeout),
            ),
        ] {
            for on_no_criteria in [OnNoCriteria::Git, OnNoCriteria::Review] {
                assert_eq!(
                    facts(Some(outcome), on_no_criteria, as_they_were()),
                    when_same
                );
                assert_eq!(
                    facts(Some(outcome), on_no_criteria, guarded()),
                    when_changed
                );
                assert_eq!(
                    facts(Some(outcome), on_no_criteria, unreadable()),
                    when_unknown
                );
            }
        }
    }

    #[test]
    fn missing_criteria_hold_no_agent_and_report_guards() {
        let changed = StopFacts::CriteriaChanged {
            guarded: "tests/a.rs".into(),
        };
        for (on_no_criteria, otherwise) in [
            (OnNoCriteria::Git, StopFacts::Nothing),
            (OnNoCriteria::Review, StopFacts::NoCriteria),
        ] {
            assert_eq!(
                facts(None, on_no_criteria, Ok(CriteriaChanged::default())),
                otherwise
            );
            assert_eq!(facts(None, on_no_criteria, guarded()), changed);
            assert!(matches!(
                facts(None, on_no_criteria, unreadable()),
                StopFacts::Failed { .. }
            ));
        }
    }

    #[test]
    fn untrusted_file_is_not_judged() {
        let trust = ConfigTrust::Untrusted {
            allow_with: "watchdog trust".into(),
        };
        let setup = MachineSetup {
            has_checks: true,
            trust,
            ..MachineSetup::from_settings(&ConfigSettings::default())
        };
        let (found, _) = judge_criteria(
            setup,
            || unreachable!("its checks do not run"),
            || unreachable!("nothing is guarded"),
        );
        assert_eq!(
            found,
            StopFacts::Untrusted {
                allow_with: "watchdog trust".into()
            }
        );
    }
}

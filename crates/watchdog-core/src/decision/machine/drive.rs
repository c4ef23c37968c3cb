//! Drives a machine from action to action until its verdict. A [`MachineDriver`] performs the actions, and decides whether to wait for
//! pauses, and which actions to hold back.

use watchdog_facts::verdict::Verdict;

use super::{CheckMachine, MachineAction, MachineEvent};

/// Performs the actions of a machine.
pub trait MachineDriver {
    /// Whether the user asked to stop. Not called again after `true`.
    fn is_interrupted(&mut self) -> bool {
        false
    }

    /// Whether the machine still gets this event before the interruption.
    fn counts_before_interrupt(&self, _event: &MachineEvent) -> bool {
        true
    }

    /// Has the machine take its next step.
    fn step(&mut self, machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
        machine.step(event)
    }

    /// Performs one action, a pause included, and returns its result; `None` holds the action back, and ends the drive.
    fn perform(&mut self, action: &MachineAction, machine: &CheckMachine) -> Option<MachineEvent>;
}

/// How far a machine came.
#[derive(Debug, PartialEq)]
pub enum DriveOutcome {
    /// To its verdict.
    Ended(Box<Verdict>),
    /// At an action that the driver holds back.
    Held(MachineAction),
}

/// Drives a machine on from an event.
pub fn drive_machine(
    machine: &mut CheckMachine,
    mut event: MachineEvent,
    driver: &mut impl MachineDriver,
) -> DriveOutcome {
    let mut interrupted = false;
    loop {
        if !interrupted && driver.is_interrupted() {
            interrupted = true;
            // Passes the last result on first: a finished rescue must not be forgotten.
            if driver.counts_before_interrupt(&event) {
                let _ = driver.step(machine, event);
            }
            event = MachineEvent::Interrupt;
        }
        let action = driver.step(machine, event);
        if let MachineAction::Conclude(verdict) = action {
            return DriveOutcome::Ended(verdict);
        }
        event = match driver.perform(&action, machine) {
            Some(event) => event,
            None => return DriveOutcome::Held(action),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::ConfigSettings;
    use crate::decision::machine::MachineSetup;
    use watchdog_facts::evidence::{Commits, FaultKind, ReadFact, UnreadableFact};
    use watchdog_facts::verdict::Reason;

    /// Reads nothing, is interrupted before the given look, and holds the given look back.
    #[derive(Default)]
    struct ScriptedDriver {
        interrupted_at: Option<usize>,
        held_at: Option<usize>,
        learns: bool,
        steps: Vec<MachineEvent>,
        looks: usize,
    }

    impl MachineDriver for ScriptedDriver {
        fn is_interrupted(&mut self) -> bool {
            assert!(
                !self.steps.contains(&MachineEvent::Interrupt),
                "it is not asked again"
            );
            self.interrupted_at == Some(self.looks)
        }

        fn counts_before_interrupt(&self, _event: &MachineEvent) -> bool {
            self.learns
        }

        fn step(&mut self, machine: &mut CheckMachine, event: MachineEvent) -> MachineAction {
            self.steps.push(event.clone());
            machine.step(event)
        }

        fn perform(
            &mut self,
            action: &MachineAction,
            _machine: &CheckMachine,
        ) -> Option<MachineEvent> {
            assert_eq!(
                *action,
                MachineAction::ReadCommits,
                "it is asked first, and again after an interruption"
            );
            self.looks += 1;
            (self.held_at != Some(self.looks)).then(unreadable)
        }
    }

    fn unreadable() -> MachineEvent {
        MachineEvent::Commits(Err(UnreadableFact {
            kind: FaultKind::Git,
            why: "no objects".into(),
            hint: None,
        }))
    }

    fn driven(mut driver: ScriptedDriver) -> (DriveOutcome, Vec<MachineEvent>) {
        let mut machine =
            CheckMachine::new(MachineSetup::from_settings(&ConfigSettings::default()));
        let outcome = drive_machine(&mut machine, MachineEvent::Start, &mut driver);
        (outcome, driver.steps)
    }

    #[test]
    fn drive_runs_to_verdict_or_held_action() {
        let (outcome, steps) = driven(ScriptedDriver::default());
        assert!(
            matches!(outcome, DriveOutcome::Ended(verdict) if verdict.reason == Reason::GitError)
        );
        assert_eq!(steps, [MachineEvent::Start, unreadable()]);
        let (outcome, steps) = driven(ScriptedDriver {
            held_at: Some(1),
            ..ScriptedDriver::default()
        });
        assert_eq!(
            (outcome, steps),
            (
                DriveOutcome::Held(MachineAction::ReadCommits),
                vec![MachineEvent::Start]
            )
        );
    }

    /// Performs the looks at commits alone, and says nothing of signals.
    struct CommitReader(ReadFact<Commits>);

    impl MachineDriver for CommitReader {
        fn perform(
            &mut self,
            action: &MachineAction,
            _machine: &CheckMachine,
        ) -> Option<MachineEvent> {
            (*action == MachineAction::ReadCommits).then(|| MachineEvent::Commits(self.0.clone()))
        }
    }

    /// Is interrupted once it has looked at the commits.
    struct InterruptedReader {
        reader: CommitReader,
        looked: bool,
    }

    impl MachineDriver for InterruptedReader {
        fn is_interrupted(&mut self) -> bool {
            self.looked
        }

        fn perform(
            &mut self,
            action: &MachineAction,
            machine: &CheckMachine,
        ) -> Option<MachineEvent> {
            self.looked = true;
            self.reader.perform(action, machine)
        }
    }

    #[test]
    fn drive_is_uninterrupted_and_keeps_last_result() {
        let commits = Commits {
            new_commits: 1,
            made_here: 1,
            net_change: true,
            ..Commits::default()
        };
        let mut machine =
            CheckMachine::new(MachineSetup::from_settings(&ConfigSettings::default()));
        let ended = drive_machine(
            &mut machine,
            MachineEvent::Start,
            &mut CommitReader(Ok(commits.clone())),
        );
        assert!(
            matches!(&ended, DriveOutcome::Ended(verdict) if verdict.reason == Reason::NewCommits),
            "{ended:?}"
        );
        let mut machine =
            CheckMachine::new(MachineSetup::from_settings(&ConfigSettings::default()));
        let mut interrupted = InterruptedReader {
            reader: CommitReader(Ok(commits)),
            looked: false,
        };
        let ended = drive_machine(&mut machine, MachineEvent::Start, &mut interrupted);
        let ends_in_commits =
            matches!(&ended, DriveOutcome::Ended(verdict) if verdict.reason == Reason::NewCommits);
        assert!(
            ends_in_commits,
            "the commits that it found are not forgotten: {ended:?}"
        );
    }

    #[test]
    fn interrupt_is_sent_once_after_earlier_events() {
        for (learns, told) in [
            (true, vec![MachineEvent::Start, MachineEvent::Interrupt]),
            (false, vec![MachineEvent::Interrupt]),
        ] {
            let (outcome, steps) = driven(ScriptedDriver {
                interrupted_at: Some(0),
                held_at: Some(1),
                learns,
                ..ScriptedDriver::default()
            });
            assert_eq!(outcome, DriveOutcome::Held(MachineAction::ReadCommits));
            assert_eq!(steps, told);
        }
    }
}

//! No rule is vacuous: for each one actions and verdicts that are made up, after events to which the machine itself answers otherwise. The
//! rule must reject what is made up, and hold for what the machine does.

use crate::decision::machine::{CheckMachine, MachineAction, MachineEvent, MachineSetup};
use watchdog_facts::evidence::{Changes, CheckOutcome, Commits};
use watchdog_facts::verdict::{Evidence, Reason, Verdict};

use super::event_ledger::EventLedger;
use super::event_space::{EventSpace, judged, quiet, work};
use super::forged_rows::ROWS;
use super::rules::RULES;
use super::setup_space::{CALLS, setup_of};
use super::situation::Situation;

/// What is made up after these events.
pub(super) struct ForgedRow {
    pub(super) rule: &'static str,
    pub(super) setup: fn() -> MachineSetup,
    pub(super) events: fn() -> Vec<MachineEvent>,
    pub(super) forged: fn(MachineAction) -> MachineAction,
}

/// The setup of this call with one round, and what else is set.
pub(super) fn call(name: &str, set: impl FnOnce(&mut MachineSetup)) -> MachineSetup {
    let part = CALLS
        .iter()
        .find(|part| part.0 == name)
        .expect("a call of the list");
    let mut setup = setup_of(1, &[part]);
    set(&mut setup);
    setup
}

pub(super) fn check() -> MachineSetup {
    call("check", |_| {})
}

pub(super) fn with_checks() -> MachineSetup {
    call("check", |setup| setup.has_checks = true)
}

/// Straight to the last look.
pub(super) fn no_rounds() -> MachineSetup {
    call("check", |setup| setup.completion.max_probes = 0)
}

pub(super) fn commits(commits: Commits) -> MachineEvent {
    MachineEvent::Commits(Ok(commits))
}

pub(super) fn clean() -> MachineEvent {
    MachineEvent::Changes(Ok(Changes::default()))
}

pub(super) fn dirty() -> MachineEvent {
    MachineEvent::Changes(Ok(work()))
}

pub(super) fn unmet() -> MachineEvent {
    MachineEvent::Checks(judged(
        CheckOutcome::Unmet,
        Evidence::None,
        false,
        "tests fail",
    ))
}

/// A verdict of this reason, made up.
pub(super) fn concludes(reason: Reason, evidence: Evidence) -> MachineAction {
    MachineAction::Conclude(Box::new(Verdict {
        evidence,
        ..Verdict::new(reason, "made up")
    }))
}

pub(super) fn asks(number: u32) -> MachineAction {
    MachineAction::Ask {
        number,
        contradiction: None,
    }
}

/// The machine's verdict with something else in it.
pub(super) fn but(action: MachineAction, change: impl FnOnce(&mut Verdict)) -> MachineAction {
    let MachineAction::Conclude(mut verdict) = action else {
        panic!("not an end: {action:?}")
    };
    change(&mut verdict);
    MachineAction::Conclude(verdict)
}

/// Plays the events of a row, each of which must answer what the machine asks for.
fn played(
    row: &ForgedRow,
    setup: &MachineSetup,
    space: &EventSpace,
) -> (EventLedger, MachineAction) {
    let mut machine = CheckMachine::new(setup.clone());
    let mut action = machine.step(MachineEvent::Start);
    let mut ledger = EventLedger::new(setup);
    for event in (row.events)() {
        let answers = space.answers(&action).contains(&event) || event == MachineEvent::Interrupt;
        assert!(
            answers,
            "{}: {event:?} does not answer {action:?}",
            row.rule
        );
        action = machine.step(event.clone());
        ledger = ledger.after(setup, &event);
    }
    (ledger, action)
}

#[test]
fn each_rule_rejects_its_forged_counterexample() {
    let space = EventSpace::whole();
    let mut faults = Vec::new();
    for row in ROWS {
        let rule = RULES
            .iter()
            .find(|rule| rule.name == row.rule)
            .unwrap_or_else(|| panic!("no rule is named {}", row.rule));
        let setup = (row.setup)();
        let (ledger, action) = played(row, &setup, &space);
        let judge = |next: &MachineAction| {
            (rule.holds)(&Situation {
                setup: &setup,
                ledger: &ledger,
                next,
            })
        };
        if !judge(&action) {
            faults.push(format!(
                "{} does not hold for the machine's own {action:?}",
                row.rule
            ));
        }
        let forged = (row.forged)(action);
        if judge(&forged) {
            faults.push(format!("{} lets {forged:?} pass", row.rule));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_rule_has_something_made_up_against_it() {
    let missing: Vec<&str> = RULES
        .iter()
        .map(|rule| rule.name)
        .filter(|name| !ROWS.iter().any(|row| row.rule == *name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn reason_without_evidence_is_never_earned() {
    let setup = check();
    let ledger = EventLedger::new(&setup).after(&setup, &commits(quiet()));
    let earned = RULES
        .iter()
        .find(|rule| rule.name == "tree: each reason is earned")
        .expect("it is in the table");
    for &reason in Reason::ALL {
        let next = concludes(reason, Evidence::None);
        assert!(
            !(earned.holds)(&Situation {
                setup: &setup,
                ledger: &ledger,
                next: &next
            }),
            "{reason:?}"
        );
    }
}

//! Ends, signals and strays, whatever the facts are. The rules of each verdict are proved by [`super::exhaustive`].

use std::collections::HashMap;

use proptest::prelude::*;

use crate::config::settings::RescueMode;
use crate::decision::machine::{CheckMachine, MachineAction, MachineEvent, MachineSetup};
use watchdog_facts::verdict::{Reason, Verdict};

use super::facts::{Facts, facts, setup, stray};
use super::world::word;

/// Every action with the event that answered it, and what it came to.
struct Trace {
    steps: Vec<(MachineAction, MachineEvent)>,
    verdict: Verdict,
}

impl Trace {
    fn actions(&self) -> Vec<&'static str> {
        self.steps.iter().map(|(action, _)| word(action)).collect()
    }
}

/// More steps than any check can need: each round looks, judges, secures, asks, looks, judges, secures, rescues,
/// looks, judges and waits at most once; as many looks may pass before what the session left running has ended. The files of the
/// criteria are looked at once.
fn most_steps(setup: &MachineSetup) -> usize {
    20 * (2 * setup.completion.max_probes as usize + 2)
}

/// Runs a check; `interrupt_at` is the number of the step that a signal answers.
fn run(setup: &MachineSetup, facts: &Facts, interrupt_at: Option<usize>) -> Trace {
    let mut machine = CheckMachine::new(setup.clone());
    let mut asked: HashMap<&'static str, usize> = HashMap::new();
    let mut steps = Vec::new();
    let mut action = machine.step(MachineEvent::Start);
    loop {
        if let MachineAction::Conclude(verdict) = &action {
            return Trace {
                steps,
                verdict: verdict.as_ref().clone(),
            };
        }
        assert!(steps.len() < most_steps(setup), "it does not end");
        let nth = asked.entry(word(&action)).or_default();
        let event = match interrupt_at == Some(steps.len()) {
            true => MachineEvent::Interrupt,
            false => facts.answer(&action, *nth).expect("it did not conclude"),
        };
        *nth += 1;
        let next = machine.step(event.clone());
        steps.push((action, event));
        action = next;
    }
}

/// The same for other tests: each action with its event, and the verdict.
pub(super) fn played(
    setup: &MachineSetup,
    facts: &Facts,
    interrupt_at: Option<usize>,
) -> (Vec<(MachineAction, MachineEvent)>, Verdict) {
    let Trace { steps, verdict } = run(setup, facts, interrupt_at);
    (steps, verdict)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signal_ends_any_check_within_four_actions(setup in setup(), facts in facts(), at in any::<prop::sample::Index>()) {
        let whole = run(&setup, &facts, None);
        prop_assume!(!whole.steps.is_empty());
        let at = at.index(whole.steps.len());
        let trace = run(&setup, &facts, Some(at));
        let after = trace.actions().split_off(at + 1);
        prop_assert!(after.len() < 4, "{:?}, then the end", after);
        prop_assert_eq!(trace.verdict.reason, Reason::Interrupted);
        prop_assert!(!trace.verdict.strike);
        let disturbing = |name: &&str| ["ask", "rescue", "checks", "wait"].contains(name);
        prop_assert!(!after.iter().any(disturbing), "{:?}", after);
        let dirty = trace.steps[at..].iter().any(|(_, event)| matches!(event, MachineEvent::Changes(Ok(changes)) if changes.any()));
        prop_assert_eq!(after.contains(&"snapshot"), dirty && setup.rescue_mode != RescueMode::Off);
    }

    #[test]
    fn events_that_nobody_asked_for_change_nothing(
        setup in setup(),
        facts in facts(),
        strays in proptest::collection::vec((any::<prop::sample::Index>(), stray()), 1..6),
    ) {
        let whole = run(&setup, &facts, None);
        let mut machine = CheckMachine::new(setup.clone());
        let mut action = machine.step(MachineEvent::Start);
        for (at, (expected, event)) in whole.steps.iter().enumerate() {
            prop_assert_eq!(&action, expected);
            for (_, stray) in strays.iter().filter(|(when, _)| when.index(whole.steps.len()) == at) {
                if std::mem::discriminant(stray) != std::mem::discriminant(event) {
                    prop_assert_eq!(&machine.step(stray.clone()), expected);
                }
            }
            action = machine.step(event.clone());
        }
        let end = MachineAction::Conclude(Box::new(whole.verdict));
        prop_assert_eq!(&action, &end);
        for event in strays.into_iter().map(|(_, stray)| stray).chain([MachineEvent::Interrupt]) {
            prop_assert_eq!(&machine.step(event), &end, "the end is said again, whatever comes");
        }
    }

    #[test]
    fn second_signal_does_not_restart_the_ending(setup in setup(), facts in facts(), at in any::<prop::sample::Index>()) {
        let whole = run(&setup, &facts, None);
        prop_assume!(!whole.steps.is_empty());
        let at = at.index(whole.steps.len());
        let mut machine = CheckMachine::new(setup);
        let _ = machine.step(MachineEvent::Start);
        for (_, event) in &whole.steps[..at] {
            let _ = machine.step(event.clone());
        }
        let mut action = machine.step(MachineEvent::Interrupt);
        for nth in 0..4 {
            prop_assert_eq!(&machine.step(MachineEvent::Interrupt), &action);
            match facts.answer(&action, nth) {
                Some(event) => action = machine.step(event),
                None => return Ok(()),
            }
        }
        prop_assert!(matches!(action, MachineAction::Conclude(_)));
    }
}

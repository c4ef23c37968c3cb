//! What holds whatever the facts are.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::config::settings::RescueMode;
use crate::decision::machine::{
    CheckMachine, ConfigTrust, CriteriaFilesRole, MachineAction, MachineEvent, MachineSetup,
};
use watchdog_facts::evidence::{
    CheckOutcome, Commits, ProbeOutcome, ReplyStatus, SessionEnd, WarningCode,
};
use watchdog_facts::verdict::{Evidence, Reason, Status, Verdict};

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

    fn count(&self, name: &str) -> u32 {
        self.actions()
            .iter()
            .filter(|&&action| action == name)
            .count() as u32
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

fn completes(event: &MachineEvent) -> bool {
    matches!(event, MachineEvent::Commits(Ok(commits)) if commits.completes())
}

fn last_commits(trace: &Trace) -> Option<&Commits> {
    trace
        .steps
        .iter()
        .rev()
        .find_map(|(_, event)| match event {
            MachineEvent::Commits(fact) => Some(fact.as_ref().ok()),
            _ => None,
        })?
}

/// Rule 4 of the contract, word for word.
fn genuine_timeout(setup: &MachineSetup, facts: &Facts, trace: &Trace) -> bool {
    let alive = trace.steps.iter().any(|(_, event)| match event {
        MachineEvent::Probe(record) => match &record.outcome {
            ProbeOutcome::Reply(reply) => {
                matches!(reply.status, ReplyStatus::Waiting | ReplyStatus::Working)
            }
            _ => false,
        },
        _ => false,
    });
    let activity = [
        facts.activity.worktree,
        facts.activity.processes,
        facts.activity.transcript,
    ];
    trace.verdict.reason == Reason::MaxProbes
        && setup.earlier.rounds_used + trace.count("ask") >= setup.completion.max_probes
        && (alive || setup.earlier.alive > 0)
        && last_commits(trace).is_some_and(|commits| commits.new_commits == 0)
        && trace.verdict.rescue_commits == 0
        && activity.iter().any(Option::is_some)
        && !activity.contains(&Some(true))
}

/// The other half of rule 4: a session that watchdog ran, and that left everything as it was.
fn came_to_nothing(setup: &MachineSetup, trace: &Trace) -> bool {
    let claims = |event: &MachineEvent| match event {
        MachineEvent::Probe(record) => {
            matches!(&record.outcome, ProbeOutcome::Reply(reply) if reply.status == ReplyStatus::Complete)
        }
        _ => false,
    };
    setup.session.as_ref().is_some_and(|end| {
        matches!(
            end,
            SessionEnd::Ended { .. }
                | SessionEnd::CutShort { .. }
                | SessionEnd::TimedOut { .. }
                | SessionEnd::Idle { .. }
        )
    }) && last_commits(trace).is_some_and(|commits| commits.new_commits == 0)
        && trace.verdict.rescue_commits == 0
        && trace
            .verdict
            .changes
            .as_ref()
            .is_some_and(|changes| !changes.work_left())
        && !trace.steps.iter().any(|(_, event)| claims(event))
        && still_holding(setup, trace).is_empty()
}

/// What the session left running, as it was last looked at.
fn still_holding(setup: &MachineSetup, trace: &Trace) -> Vec<String> {
    let looked = trace.steps.iter().rev().find_map(|(_, event)| match event {
        MachineEvent::Survivors(found) => Some(found.holding.clone()),
        _ => None,
    });
    looked.unwrap_or_else(|| setup.survivors.clone())
}

fn verdict_is_sound(
    setup: &MachineSetup,
    facts: &Facts,
    trace: &Trace,
) -> Result<(), TestCaseError> {
    let verdict = &trace.verdict;
    let may_ask = setup
        .completion
        .max_probes
        .saturating_sub(setup.earlier.rounds_used);
    let asked = trace.count("ask");
    prop_assert!(asked <= may_ask, "asked {} of {}", asked, may_ask);
    prop_assert!(!(setup.no_probe || setup.unasked.is_some()) || asked == 0);
    prop_assert!(
        asked == 0 || setup.survivors.is_empty() || trace.count("survivors") > 0,
        "asked while its work runs"
    );
    prop_assert!(!setup.once || (asked <= 2 && trace.count("wait") == 0));
    prop_assert_eq!(verdict.probes_used, setup.earlier.rounds_used + asked);
    prop_assert_eq!(verdict.probes.len(), asked as usize);

    let genuine = genuine_timeout(setup, facts, trace);
    prop_assert!(!genuine || verdict.strike);
    prop_assert!(!verdict.strike || genuine || came_to_nothing(setup, trace));
    prop_assert_eq!(verdict.strike, verdict.not_a_strike_because.is_none());
    let told = verdict
        .feedback
        .as_ref()
        .is_some_and(|text| !text.trim().is_empty());
    prop_assert!(verdict.status() != Status::Incomplete || told);
    prop_assert!(!verdict.message.trim().is_empty() && !verdict.message.contains('\n'));

    let last_rescue = trace.steps.iter().rev().find_map(|(_, event)| match event {
        MachineEvent::Rescue(Ok(outcome)) => Some(outcome),
        _ => None,
    });
    if last_rescue
        .is_some_and(|outcome| outcome.fallback_branch.is_some() || !outcome.lost.is_empty())
    {
        let unread = verdict.status() == Status::Error;
        prop_assert!(
            unread
                || matches!(
                    verdict.reason,
                    Reason::RescueIncomplete | Reason::Interrupted
                ),
            "{:?}",
            verdict.reason
        );
    }

    if verdict.status() != Status::Complete {
        prop_assert_eq!(verdict.evidence, Evidence::None);
        return Ok(());
    }
    prop_assert!(verdict.evidence >= setup.require_evidence && setup.trust == ConfigTrust::Settled);
    let guarded = setup.criteria_files == CriteriaFilesRole::Guarded;
    prop_assert!(
        !guarded
            || facts
                .criteria
                .as_ref()
                .is_ok_and(|changed| changed.guarded_total == 0)
    );
    let commits = last_commits(trace).expect("complete rests on commits that were read");
    match verdict.reason {
        Reason::NewCommits => prop_assert!(trace.steps.iter().any(|(_, event)| completes(event))),
        Reason::Rescued => prop_assert!(verdict.rescue_commits > 0 && claimed_complete(trace)),
        Reason::NothingToDo => prop_assert!(
            !commits.completes()
                && verdict
                    .changes
                    .as_ref()
                    .is_some_and(|changes| !changes.any())
        ),
        Reason::ChecksPassed => prop_assert_eq!(last_outcome(trace), Some(CheckOutcome::Pass)),
        other => prop_assert!(false, "{:?} is not complete", other),
    }
    Ok(())
}

/// Whether the last answer says that everything is done.
fn claimed_complete(trace: &Trace) -> bool {
    let last = trace.verdict.probes.last().map(|record| &record.outcome);
    matches!(last, Some(ProbeOutcome::Reply(reply)) if reply.status == ReplyStatus::Complete)
}

fn last_outcome(trace: &Trace) -> Option<CheckOutcome> {
    trace.steps.iter().rev().find_map(|(_, event)| match event {
        MachineEvent::Checks(judged) => Some(judged.outcome),
        _ => None,
    })
}

/// What holds between one action and the next.
fn order_is_sound(setup: &MachineSetup, trace: &Trace) -> Result<(), TestCaseError> {
    let end = MachineAction::Conclude(Box::new(trace.verdict.clone()));
    let may_rescue =
        !setup.no_rescue && !matches!(setup.rescue_mode, RescueMode::Snapshot | RescueMode::Off);
    // Known to be uncommitted, and in no snapshot since it was seen.
    let mut unsecured = false;
    let mut committed = false;
    for (at, (action, event)) in trace.steps.iter().enumerate() {
        let next = trace.steps.get(at + 1).map_or(&end, |(next, _)| next);
        match action {
            MachineAction::Ask { .. } => {
                prop_assert!(
                    (setup.has_checks || setup.read_leftovers || !committed) && !unsecured,
                    "step {}",
                    at
                )
            }
            MachineAction::Rescue => prop_assert!(!unsecured && may_rescue, "step {}", at),
            MachineAction::JudgeChecks => {
                prop_assert!(
                    !(unsecured && setup.checks_run_programs)
                        && setup.has_checks
                        && setup.trust == ConfigTrust::Settled,
                    "step {}",
                    at
                );
            }
            MachineAction::TakeSnapshot => prop_assert!(setup.rescue_mode != RescueMode::Off),
            _ => {}
        }
        match event {
            MachineEvent::Commits(Err(_)) | MachineEvent::Changes(Err(_)) => {
                prop_assert!(
                    matches!(next, MachineAction::Conclude(verdict) if verdict.status() == Status::Error),
                    "step {}",
                    at
                );
            }
            MachineEvent::Snapshot(Err(_)) => match next {
                MachineAction::Conclude(verdict) if verdict.status() == Status::Error => {}
                MachineAction::Conclude(verdict) => {
                    let reason = verdict.reason;
                    let settled = completes_before(trace, at)
                        || matches!(
                            reason,
                            Reason::RateLimited | Reason::AgentUnrunnable | Reason::BackgroundWork
                        );
                    prop_assert!(
                        settled
                            && !verdict.strike
                            && verdict
                                .degraded
                                .iter()
                                .any(|note| note.code == WarningCode::SnapshotFailed),
                        "{:?}",
                        reason
                    );
                }
                MachineAction::ReadCriteria => {
                    prop_assert!(completes_before(trace, at), "step {}", at)
                }
                other => prop_assert!(false, "after a snapshot that failed: {:?}", other),
            },
            _ => {}
        }
        match event {
            MachineEvent::Commits(_) => committed |= completes(event),
            MachineEvent::Changes(Ok(changes)) => {
                unsecured = changes.any() && setup.rescue_mode != RescueMode::Off
            }
            MachineEvent::Snapshot(_) => unsecured = false,
            _ => {}
        }
    }
    Ok(())
}

fn completes_before(trace: &Trace, at: usize) -> bool {
    trace.steps[..at].iter().any(|(_, event)| {
        completes(event)
            || matches!(event, MachineEvent::Rescue(Ok(outcome)) if outcome.commits > 0)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_check_ends_with_a_sound_verdict(setup in setup(), facts in facts()) {
        let trace = run(&setup, &facts, None);
        verdict_is_sound(&setup, &facts, &trace)?;
        order_is_sound(&setup, &trace)?;
    }

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

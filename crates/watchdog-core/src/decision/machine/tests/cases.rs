//! The cases that the smart completion check was designed from, under their own ids, in the contract's words.
//!
//! Where the contract and the cases differ, the contract wins:
//! - `commits_created` is `new_commits`, `probe_error` has the status `error`, and the agent's word alone has the
//!   strength `claimed`;
//! - a rescue that failed, as opposed to one that had no program to run, ends as `rescue_incomplete` instead of
//!   a timeout;
//! - a claim that stays uncommitted is a timeout but no strike: nobody said `waiting` or `working`;
//! - where no probe is wanted, the verdict is `incomplete`, not a timeout.

use watchdog_facts::evidence::{CheckOutcome, ProbeOutcome};
use watchdog_facts::verdict::Evidence;

use crate::config::settings::OnNoCriteria;
use crate::decision::judgement_rule::JudgementRule;
use crate::decision::machine::{ConfigTrust, MachineSetup};

use super::world::*;

#[test]
fn the_cases_of_the_design_hold() {
    Ending("complete/nothing_to_do claimed probes=1")
        .concludes([("tr-complete-clean", World::clean().says(complete()))]);
    Ending("review/rescue_incomplete probes=1 rescues=1 snapshots=2").concludes([
        (
            "tr-complete-dirty-no-rescue",
            World::dirty().says(complete()).rescue(CommitsNothing),
        ),
        (
            "tr-complete-dirty-rescue-fails",
            World::dirty().says(complete()).rescue(Fails),
        ),
        (
            "rs-discarding-is-not-rescue",
            World::dirty().says(complete()).rescue(Loses),
        ),
    ]);
    Ending("timeout/max_probes STRIKE probes=3 waits=3").concludes([
        ("tr-working-forever-clean", World::clean().says(working())),
        ("tr-waiting-forever", World::clean().says(waiting())),
    ]);
    Ending("timeout/max_probes STRIKE probes=3 waits=3 snapshots=4").concludes([(
        "tr-final-rescue-off",
        World::dirty().says(working()).no_final_rescue(),
    )]);
    Ending("error/probe_error probes=2 waits=1").concludes([
        ("tr-probe-all-errors", World::clean().says(garbage())),
        (
            "tr-unknown-status",
            World::clean().replies([ProbeOutcome::Unreadable {
                why: "the status is not one of the three".into(),
            }]),
        ),
    ]);
    Ending("timeout/max_probes").concludes([(
        "tr-max-probes-0",
        World::clean().says(complete()).asks_at_most(0),
    )]);
    Ending("complete/new_commits committed").concludes([(
        "tr-max-probes-0-commits",
        World::committed().asks_at_most(0),
    )]);
    Ending("incomplete/unfinished")
        .concludes([("tr-no-probe-configured", World::clean().no_probe())]);
    Ending("error/probe_error probes=1").concludes([(
        "tr-every-call-bounded",
        World::clean()
            .replies([ProbeOutcome::TimedOut])
            .asks_at_most(1),
    )]);
    Ending("stopped/agent_stopped probes=1")
        .concludes([("rs-clean-tree", World::clean().says(gives_up()))]);
    Ending("incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=4")
        .concludes([("br-rescue-before-abort", World::dirty().says(working()))]);
}

#[test]
fn checks_passing_before_work_are_no_evidence() {
    let before = || World::clean().checks(PassedBefore);
    Ending("complete/nothing_to_do claimed probes=1 checks=1").concludes([(
        "nothing was done: the agent's word decides",
        before().says(complete()),
    )]);
    Ending("timeout/max_probes STRIKE probes=3 waits=3 checks=3").concludes([(
        "it says that it works: nothing is complete",
        before().says(working()),
    )]);
    Ending("incomplete/unfinished checks=1").concludes([("nobody is asked", before().no_probe())]);
    Ending("complete/checks_passed committed checks=1").concludes([(
        "commits decide, and nothing judged them",
        World::committed().checks(PassedBefore),
    )]);
}

#[test]
fn explanation_names_rule_accepting_or_rejecting_pass() {
    let rules = |world: World| world.run().rules;
    let before = rules(World::clean().checks(PassedBefore).no_probe());
    assert!(before.contains(&JudgementRule::PassedBefore), "{before:?}");
    let pass = rules(World::clean().checks(Always(CheckOutcome::Pass)));
    assert!(
        pass.contains(&JudgementRule::ChecksDecide) && !pass.contains(&JudgementRule::PassedBefore),
        "{pass:?}"
    );
    let failed = rules(World::clean().checks(Always(CheckOutcome::TimedOut)));
    assert!(
        failed.contains(&JudgementRule::NoPassWithoutResult),
        "{failed:?}"
    );
}

#[test]
fn explanation_names_rule_for_waiting_or_ending() {
    let applied = |over: bool| {
        let rules = World::clean()
            .says(working())
            .set(|setup| setup.session_over = over)
            .run()
            .rules;
        [JudgementRule::NotDoneAfterEnd, JudgementRule::PauseAndRetry]
            .map(|rule| rules.contains(&rule))
    };
    assert_eq!(applied(true), [true, false], "the session is over");
    assert_eq!(applied(false), [false, true], "the session may go on");
}

#[test]
fn explanation_names_rule_by_which_configuration_refuses() {
    let refusals = [
        JudgementRule::UntrustedFile,
        JudgementRule::NoCriteriaConfigured,
        JudgementRule::EvidenceTooWeak,
    ];
    let refused_by = |change: fn(&mut MachineSetup)| {
        let rules = World::committed().set(change).run().rules;
        refusals
            .into_iter()
            .filter(|rule| rules.contains(rule))
            .collect::<Vec<_>>()
    };
    assert_eq!(refused_by(|_| ()), []);
    let untrusted = refused_by(|setup| {
        setup.trust = ConfigTrust::Untrusted {
            allow_with: "watchdog trust".into(),
        }
    });
    assert_eq!(untrusted, [JudgementRule::UntrustedFile]);
    assert_eq!(
        refused_by(|setup| setup.on_no_criteria = OnNoCriteria::Review),
        [JudgementRule::NoCriteriaConfigured]
    );
    assert_eq!(
        refused_by(|setup| setup.require_evidence = Evidence::Verified),
        [JudgementRule::EvidenceTooWeak]
    );
}

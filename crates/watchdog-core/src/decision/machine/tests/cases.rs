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
    check_table([
        (
            "tr-complete-clean",
            World::clean().replies([complete()]),
            "complete/nothing_to_do claimed probes=1",
        ),
        (
            "tr-complete-dirty-no-rescue",
            World::dirty()
                .replies([complete()])
                .rescue(Salvage::CommitsNothing),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "tr-complete-dirty-rescue-fails",
            World::dirty().replies([complete()]).rescue(Salvage::Fails),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "tr-working-forever-clean",
            World::clean().replies([working()]),
            "timeout/max_probes STRIKE probes=3 waits=3",
        ),
        (
            "tr-waiting-forever",
            World::clean().replies([waiting()]),
            "timeout/max_probes STRIKE probes=3 waits=3",
        ),
        (
            "tr-final-rescue-off",
            World::dirty()
                .replies([working()])
                .set(|setup| setup.completion.final_rescue_attempt = false),
            "timeout/max_probes STRIKE probes=3 waits=3 snapshots=4",
        ),
        (
            "tr-probe-all-errors",
            World::clean().replies([garbage()]),
            "error/probe_error probes=2 waits=1",
        ),
        (
            "tr-unknown-status",
            World::clean().replies([ProbeOutcome::Unreadable {
                why: "the status is not one of the three".into(),
            }]),
            "error/probe_error probes=2 waits=1",
        ),
        (
            "tr-max-probes-0",
            World::clean()
                .replies([complete()])
                .set(|setup| setup.completion.max_probes = 0),
            "timeout/max_probes",
        ),
        (
            "tr-max-probes-0-commits",
            World::committed().set(|setup| setup.completion.max_probes = 0),
            "complete/new_commits committed",
        ),
        (
            "tr-no-probe-configured",
            World::clean().set(|setup| setup.no_probe = true),
            "incomplete/unfinished",
        ),
        (
            "tr-every-call-bounded",
            World::clean()
                .replies([ProbeOutcome::TimedOut])
                .set(|setup| setup.completion.max_probes = 1),
            "error/probe_error probes=1",
        ),
        (
            "rs-clean-tree",
            World::clean().replies([gives_up()]),
            "stopped/agent_stopped probes=1",
        ),
        (
            "rs-discarding-is-not-rescue",
            World::dirty().replies([complete()]).rescue(Salvage::Loses),
            "review/rescue_incomplete probes=1 rescues=1 snapshots=2",
        ),
        (
            "br-rescue-before-abort",
            World::dirty().replies([working()]),
            "incomplete/unfinished probes=3 rescues=1 waits=3 snapshots=4",
        ),
    ]);
}

#[test]
fn checks_passing_before_work_are_no_evidence() {
    let before = || World::clean().checks(Criteria::PassedBefore);
    check_table([
        (
            "nothing was done: the agent's word decides",
            before().replies([complete()]),
            "complete/nothing_to_do claimed probes=1 checks=1",
        ),
        (
            "it says that it works: nothing is complete",
            before().replies([working()]),
            "timeout/max_probes STRIKE probes=3 waits=3 checks=3",
        ),
        (
            "nobody is asked",
            before().set(|setup| setup.no_probe = true),
            "incomplete/unfinished checks=1",
        ),
        (
            "commits decide, and nothing judged them",
            World::committed().checks(Criteria::PassedBefore),
            "complete/checks_passed committed checks=1",
        ),
    ]);
}

#[test]
fn explanation_names_rule_accepting_or_rejecting_pass() {
    let rules = |world: World| world.run().rules;
    let before = rules(
        World::clean()
            .checks(Criteria::PassedBefore)
            .set(|setup| setup.no_probe = true),
    );
    assert!(before.contains(&JudgementRule::PassedBefore), "{before:?}");
    let pass = rules(World::clean().checks(Criteria::Always(CheckOutcome::Pass)));
    assert!(
        pass.contains(&JudgementRule::ChecksDecide) && !pass.contains(&JudgementRule::PassedBefore),
        "{pass:?}"
    );
    let failed = rules(World::clean().checks(Criteria::Always(CheckOutcome::TimedOut)));
    assert!(
        failed.contains(&JudgementRule::NoPassWithoutResult),
        "{failed:?}"
    );
}

#[test]
fn explanation_names_rule_for_waiting_or_ending() {
    let applied = |over: bool| {
        let rules = World::clean()
            .replies([working()])
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

//! Configured criteria, trust, the strength that is asked for, facts that cannot be read, and signals.

use crate::config::settings::{OnNoCriteria, RescueMode};
use crate::decision::judgement_rule::JudgementRule;
use crate::decision::machine::{ConfigTrust, CriteriaFilesRole, JudgementScope, MachineSetup};
use watchdog_facts::evidence::CheckOutcome::{self, Failed, Pass, TimedOut, Unmet, Unrunnable};
use watchdog_facts::evidence::{CriteriaChanged, FaultKind, UnreadableFact, WarningCode};
use watchdog_facts::gate_hooks::{GateOff, GateOffKind};
use watchdog_facts::verdict::{Evidence, Reason};

use super::world::*;

#[test]
fn configured_checks_decide_with_commits_and_without() {
    let passes = |world: World| world.checks(Always(Pass));
    let unmet = |world: World| world.checks(Always(Unmet));
    Ending("complete/checks_passed verified checks=1").concludes([
        ("pass, commit", passes(World::committed())),
        ("pass, nothing", passes(World::clean())),
    ]);
    Ending("complete/checks_passed verified rescues=1 snapshots=1 checks=1").concludes([
        ("pass, dirty", passes(World::dirty())),
        (
            "pass, rescue makes nothing",
            passes(World::dirty()).rescue(CommitsNothing),
        ),
    ]);
    Ending("complete/checks_passed verified snapshots=1 checks=1").concludes([(
        "pass, dirty, --no-rescue",
        passes(World::dirty()).no_rescue(),
    )]);
    Ending("review/rescue_incomplete rescues=1 snapshots=1 checks=1").concludes([
        (
            "pass, elsewhere",
            passes(World::dirty()).rescue(Elsewhere(1)),
        ),
        ("pass, rescue fails", passes(World::dirty()).rescue(Fails)),
    ]);
    Ending("complete/checks_passed verified rescues=1 snapshots=2 checks=1").concludes([(
        "work is secured before a program runs, and again before the rescue",
        World::dirty().checks_with_programs(Always(Pass)),
    )]);
    Ending("incomplete/checks_unmet checks=1")
        .concludes([("unmet, commit", unmet(World::committed()))]);
    Ending("incomplete/checks_unmet snapshots=1 checks=1").concludes([(
        "unmet, commit and leftovers, run",
        unmet(World::committed().after(Edit)).reads_leftovers(),
    )]);
    Ending("incomplete/checks_unmet probes=1 checks=1")
        .concludes([("unmet, claim", unmet(World::clean()).says(complete()))]);
    Ending("incomplete/checks_unmet probes=3 waits=3 checks=3")
        .concludes([("unmet, working", unmet(World::clean()).says(working()))]);
    Ending("incomplete/checks_unmet probes=2 waits=1 checks=2")
        .concludes([("unmet, no answer", unmet(World::clean()).says(garbage()))]);
    Ending("incomplete/unfinished checks=1")
        .concludes([("unmet, --no-probe", unmet(World::clean()).no_probe())]);
    Ending("incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2").concludes([(
        "unmet, claim, dirty",
        unmet(World::dirty()).says(complete()),
    )]);
    Ending("incomplete/checks_unmet probes=1 snapshots=2 checks=1").concludes([(
        "unmet, claim, dirty, --no-rescue",
        unmet(World::dirty()).says(complete()).no_rescue(),
    )]);
    Ending("stopped/agent_stopped probes=1 checks=1")
        .concludes([("unmet, gives up", unmet(World::clean()).says(gives_up()))]);
}

#[test]
fn checks_are_judged_again_when_head_moves() {
    Ending("complete/checks_passed verified probes=1 checks=2").concludes([(
        "a commit while the agent answers meets it",
        World::clean()
            .checks(NeedCommits)
            .says(working())
            .during(Probe(1), Commit),
    )]);
    Ending("incomplete/checks_unmet probes=1 checks=2").concludes([
        (
            "a commit while the agent answers does not meet it",
            World::clean()
                .checks(Always(Unmet))
                .says(complete())
                .during(Probe(1), Commit),
        ),
        (
            "a pull while the agent answers",
            World::clean()
                .checks(NeedCommits)
                .says(complete())
                .during(Probe(1), Pull),
        ),
    ]);
    Ending("incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2").concludes([
("the rescue meets it", World::dirty()
                .checks(NeedCommits)
                .says(complete())),
("the rescue meets it, and leaves a secret: no second rescue", World::dirty()
                .checks(NeedCommits)
                .says(complete())
                .rescue(CommitsAPart)),
("the rescue does not meet it, nor change anything in the end: the claim is answered at once", World::dirty()
                .checks(Always(Unmet))
                .says(complete())
                .rescue(CommitsWithoutNetChange)),
]);
    Ending("complete/checks_passed verified probes=1 rescues=1 snapshots=2 checks=2").concludes([
        (
            "the rescue meets it, and what it leaves is not rescued again",
            World::dirty()
                .checks(NeedRescue)
                .says(complete())
                .rescue(CommitsAPart),
        ),
    ]);
    Ending("complete/checks_passed verified probes=3 waits=3 checks=4").concludes([(
        "a commit in the last wait meets it",
        World::clean()
            .checks(NeedCommits)
            .says(working())
            .during(Wait(3), Commit),
    )]);
    Ending("incomplete/checks_unmet probes=3 rescues=1 waits=3 snapshots=4 checks=3").concludes([
        (
            "the final rescue meets it",
            World::dirty().checks(NeedClean).says(working()),
        ),
    ]);
    Ending("complete/checks_passed verified probes=1 waits=1 snapshots=1 checks=2").concludes([(
        "a wait meets it",
        World::dirty()
            .checks(NeedClean)
            .says(working())
            .during(Wait(1), Discard),
    )]);
}

#[test]
fn undecided_check_is_never_a_pass() {
    let outcome = |outcome: CheckOutcome| {
        World::committed()
            .after(Edit)
            .checks_with_programs(Always(outcome))
    };
    Ending("waiting/background_work snapshots=1 checks=1")
        .concludes([("waiting", outcome(CheckOutcome::Waiting))]);
    Ending("failed/verify_unrunnable snapshots=1 checks=1")
        .concludes([("unrunnable", outcome(Unrunnable))]);
    Ending("review/verify_failed snapshots=1 checks=1").concludes([("failed", outcome(Failed))]);
    Ending("review/verify_timeout snapshots=1 checks=1")
        .concludes([("timed out", outcome(TimedOut))]);
}

#[test]
fn completion_by_untrusted_file_is_review() {
    let untrusted = |world: World| {
        world.set(|setup| {
            setup.trust = ConfigTrust::Untrusted {
                allow_with: "watchdog trust".into(),
            }
        })
    };
    Ending("review/untrusted").concludes([
        ("commit", untrusted(World::committed())),
        (
            "its checks are not judged",
            untrusted(World::committed().checks_with_programs(Always(Pass))),
        ),
    ]);
    Ending("review/untrusted probes=1 rescues=1 snapshots=2")
        .concludes([("rescue", untrusted(World::dirty().says(complete())))]);
    Ending("review/untrusted probes=1")
        .concludes([("claim", untrusted(World::clean().says(complete())))]);
    Ending("waiting/rate_limited probes=1").concludes([(
        "what is not complete stays so",
        untrusted(World::clean().says(usage_limit())),
    )]);
    let verdict = untrusted(World::committed()).run().verdict;
    assert!(
        verdict.message.contains("then type: watchdog trust"),
        "{}",
        verdict.message
    );
}

#[test]
fn configuration_can_demand_more_than_a_claim() {
    let review = |world: World| world.set(|setup| setup.on_no_criteria = OnNoCriteria::Review);
    let verified = |world: World| world.set(|setup| setup.require_evidence = Evidence::Verified);
    Ending("review/no_criteria").concludes([("no criteria, commit", review(World::committed()))]);
    Ending("review/no_criteria probes=1").concludes([(
        "no criteria, claim",
        review(World::clean().says(complete())),
    )]);
    Ending("review/no_criteria probes=1 rescues=1 snapshots=2").concludes([(
        "no criteria, rescue",
        review(World::dirty().says(complete())),
    )]);
    Ending("complete/checks_passed verified checks=1")
        .concludes([("criteria", review(World::clean().checks(Always(Pass))))]);
    Ending("review/disputed probes=1")
        .concludes([("verified, claim", verified(World::clean().says(complete())))]);
    Ending("review/disputed").concludes([("verified, commit", verified(World::committed()))]);
    let tested = || verified(World::committed().checks(Always(Pass)));
    Ending("complete/checks_passed verified checks=1").concludes([
        ("verified, tests", tested()),
        (
            "verified, go test",
            World {
                finding: "uncounted by a known runner",
                ..tested()
            },
        ),
    ]);
    Ending("review/disputed checks=1").concludes([(
        "verified, no count",
        World {
            finding: "uncounted",
            ..tested()
        },
    )]);
    Ending("review/disputed probes=1 rescues=1 snapshots=2").concludes([(
        "verified, rescue",
        verified(World::dirty().says(complete())),
    )]);
}

#[test]
fn unreadable_fact_is_an_error() {
    let claims = || World::dirty().says(complete());
    Ending("error/git_error").concludes([
        ("first commits", claims().unreadable(Kind::Commits, 1)),
        ("first changes", claims().unreadable(Kind::Changes, 1)),
        (
            "what a commit left uncommitted",
            World::committed()
                .reads_leftovers()
                .unreadable(Kind::Changes, 1),
        ),
    ]);
    Ending("error/git_error snapshots=1").concludes([
        (
            "first snapshot: nobody is asked",
            claims().unreadable(Kind::Snapshot, 1),
        ),
        (
            "snapshot before a check's program",
            World::dirty()
                .checks_with_programs(Always(Pass))
                .unreadable(Kind::Snapshot, 1),
        ),
    ]);
    Ending("error/git_error probes=1 snapshots=1").concludes([
        (
            "commits after the answer",
            claims().unreadable(Kind::Commits, 2),
        ),
        (
            "changes after the answer",
            claims().unreadable(Kind::Changes, 2),
        ),
    ]);
    Ending("error/git_error probes=1 snapshots=2").concludes([(
        "snapshot before the rescue",
        claims().unreadable(Kind::Snapshot, 2),
    )]);
    Ending("error/git_error probes=1 rescues=1 snapshots=2").concludes([(
        "commits after the rescue",
        claims().unreadable(Kind::Commits, 3),
    )]);
    Ending("error/git_error probes=3 waits=3").concludes([
        (
            "last commits",
            World::clean().says(working()).unreadable(Kind::Commits, 7),
        ),
        (
            "last changes",
            World::clean().says(working()).unreadable(Kind::Changes, 4),
        ),
    ]);
    Ending("complete/new_commits committed snapshots=1").concludes([(
        "a snapshot of what is not the session's, beside its commits",
        World {
            inherited: 1,
            ..World::committed()
        }
        .reads_leftovers()
        .unreadable(Kind::Snapshot, 1),
    )]);
    assert_eq!(
        claims().unreadable(Kind::Commits, 2).run().verdict.commits,
        None
    );
    let unsaved = World::committed()
        .after(Edit)
        .reads_leftovers()
        .unreadable(Kind::Snapshot, 1)
        .run()
        .verdict;
    assert_eq!(
        unsaved.reason,
        Reason::GitError,
        "what is left may be disturbed by a question"
    );
    let older = World::dirty()
        .says(working())
        .reads_leftovers()
        .unreadable(Kind::Snapshot, 2);
    let older = older
        .during(Wait(1), Commit)
        .during(Wait(1), Edit)
        .run()
        .verdict;
    assert_eq!(
        (older.reason, older.snapshot),
        (Reason::GitError, Some("refs/watchdog/rescue/1".into())),
        "nobody is asked about unkept work"
    );
}

#[test]
fn signal_at_any_point_saves_work_and_ends() {
    let worlds = || {
        [
            World::dirty().says(working()).rescue(CommitsNothing),
            World::dirty().says(complete()).rescue(Fails),
            World::dirty()
                .checks_with_programs(NeedCommits)
                .replies([garbage(), complete()])
                .rescue(Fails),
            World::clean().replies([contradiction(), working()]),
        ]
    };
    for world in worlds() {
        let actions = world.clone().run().actions;
        for at in 1..actions.len() {
            let dirty = world.uncommitted > 0;
            let run = World {
                interrupt_at: Some(at),
                ..world.clone()
            }
            .run();
            assert_eq!(
                run.verdict.reason,
                Reason::Interrupted,
                "at {at} of {actions:?}"
            );
            let expected: &[&str] = if dirty {
                &["commits", "changes", "snapshot", "conclude"]
            } else {
                &["commits", "changes", "conclude"]
            };
            assert_eq!(&run.actions[at..], expected, "at {at} of {actions:?}");
            assert_eq!(run.verdict.snapshot.is_some(), dirty);
        }
    }
}

#[test]
fn signal_ends_judgement_with_unreadable_git() {
    let interrupted = World {
        interrupt_at: Some(3),
        ..World::dirty().says(working())
    };
    let verdict = interrupted
        .clone()
        .unreadable(Kind::Commits, 2)
        .unreadable(Kind::Changes, 2)
        .run()
        .verdict;
    assert_eq!(
        (verdict.reason, &verdict.commits, &verdict.changes),
        (Reason::Interrupted, &None, &None)
    );
    assert_eq!(
        verdict.message,
        "interrupted; the commits could not be read"
    );
    let codes: Vec<&str> = verdict
        .degraded
        .iter()
        .map(|note| note.code.as_str())
        .collect();
    assert_eq!(codes, ["commits_unreadable", "changes_unreadable"]);
    let off = interrupted
        .set(|setup| setup.rescue_mode = RescueMode::Off)
        .run();
    assert_eq!(
        (off.verdict.reason, off.count("snapshot")),
        (Reason::Interrupted, 0)
    );
}

#[test]
fn criteria_alone_are_judged_without_asking_or_committing() {
    let alone = |world: World, known| {
        world.set(|setup| {
            setup.scope = JudgementScope::Criteria {
                baseline_known: known,
            }
        })
    };
    let untrusted = || ConfigTrust::Untrusted {
        allow_with: "watchdog trust".into(),
    };
    for known in [true, false] {
        Ending("complete/checks_passed verified checks=1").concludes([(
            "pass, dirty",
            alone(World::dirty().checks(Always(Pass)), known),
        )]);
        Ending("incomplete/checks_unmet checks=1").concludes([(
            "unmet",
            alone(World::clean().checks(Always(Unmet)).says(complete()), known),
        )]);
        Ending("failed/verify_unrunnable checks=1").concludes([(
            "unrunnable",
            alone(World::clean().checks(Always(Unrunnable)), known),
        )]);
        Ending("complete/checks_passed verified snapshots=1 checks=1").concludes([(
            "work is secured before a program runs",
            alone(World::dirty().checks_with_programs(Always(Pass)), known),
        )]);
    }
    Ending("complete/new_commits committed")
        .concludes([("no checks, commit", alone(World::committed(), true))]);
    Ending("incomplete/unfinished").concludes([(
        "no checks, nothing",
        alone(World::dirty().says(complete()), true),
    )]);
    Ending("review/no_criteria")
        .concludes([("no checks, no baseline", alone(World::committed(), false))]);
    Ending("review/untrusted").concludes([(
        "not trusted, no baseline",
        alone(World::committed().checks(Always(Pass)), false)
            .set(|setup| setup.trust = untrusted()),
    )]);
}

/// The files of the criteria as they are guarded or named, and what changed of them.
fn watched(world: World, files: CriteriaFilesRole, guarded: &[&str], named: &[&str]) -> World {
    let owned = |paths: &[&str]| {
        paths
            .iter()
            .map(|&path| path.to_owned())
            .collect::<Vec<_>>()
    };
    let changed = CriteriaChanged {
        guarded: owned(guarded),
        guarded_total: guarded.len(),
        named: owned(named),
        ..CriteriaChanged::default()
    };
    World { changed, ..world }.set(|setup| setup.criteria_files = files)
}

#[test]
fn changed_guarded_files_prevent_complete_yet_allow_rescue() {
    let changed = |world| watched(world, CriteriaFilesRole::Guarded, &["tests/login.rs"], &[]);
    let same = |world| watched(world, CriteriaFilesRole::Guarded, &[], &["check.sh"]);
    let passes = || World::dirty().checks(Always(Pass));
    let rate_limited = || World::clean().says(usage_limit());
    Ending("review/criteria_changed").concludes([("commit", changed(World::committed()))]);
    Ending("review/criteria_changed rescues=1 snapshots=1 checks=1")
        .concludes([("checks, rescue", changed(passes()))]);
    Ending("review/criteria_changed probes=1")
        .concludes([("claim", changed(World::clean().says(complete())))]);
    Ending("review/criteria_changed probes=1 rescues=1 snapshots=2")
        .concludes([("claim, rescue", changed(World::dirty().says(complete())))]);
    Ending("incomplete/checks_unmet checks=1").concludes([(
        "unmet stays unmet",
        changed(World::committed().checks(Always(Unmet))),
    )]);
    Ending("error/git_error").concludes([(
        "an error stays an error",
        changed(World::committed().unreadable(Kind::Commits, 1)),
    )]);
    Ending("waiting/rate_limited probes=1").concludes([(
        "nobody asks where nothing is judged",
        changed(rate_limited()),
    )]);
    Ending("complete/new_commits committed")
        .concludes([("commit, unchanged", same(World::committed()))]);
    Ending("complete/checks_passed verified rescues=1 snapshots=1 checks=1")
        .concludes([("checks, unchanged", same(passes()))]);
    // Files that cannot be read hide no gate that is off.
    let off = GateOff {
        gate: "pre-commit".into(),
        how: GateOffKind::Removed,
        detail: "it is gone".into(),
    };
    let half = CriteriaChanged {
        gates_off: vec![off],
        relies_on_gates: true,
        files_unread: Some(UnreadableFact::new(FaultKind::Git, "unread")),
        ..CriteriaChanged::default()
    };
    let world = same(World::committed());
    let run = World {
        changed: half,
        ..world
    }
    .set(|setup| setup.criteria_files = CriteriaFilesRole::Named)
    .run();
    assert_eq!(run.verdict.evidence, Evidence::Claimed);
    assert_eq!(run.verdict.gates_off.len(), 1);
    let run = changed(World::committed()).run();
    assert_eq!(run.actions, ["commits", "criteria", "conclude"]);
    let message = "1 commit made since the baseline; no checks are configured, so nothing judged what they do, but guarded files changed since the anchor: tests/login.rs; a person must look at them";
    assert_eq!(run.verdict.message, message);
    let note = |run: &Run| {
        run.verdict
            .degraded
            .iter()
            .map(|note| (note.code.as_str(), note.detail.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        note(&run),
        [(
            "criteria_changed",
            "guarded files changed since the anchor: tests/login.rs".to_string()
        )]
    );
    let named = note(&same(World::committed()).run());
    assert_eq!(
        named,
        [(
            "criteria_changed",
            "the criteria name files that changed since the anchor: check.sh".to_string()
        )]
    );
    assert_eq!(changed(rate_limited()).run().count("criteria"), 0);
    let many: Vec<String> = (0..8).map(|n| format!("t{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let run = watched(World::committed(), CriteriaFilesRole::Guarded, &many, &[]).run();
    assert!(
        run.verdict
            .message
            .contains("t0, t1, t2, t3, t4 and 3 more;"),
        "{}",
        run.verdict.message
    );
}

#[test]
fn whether_guarded_files_changed_must_be_known() {
    let unknown =
        |world: World, files| watched(world, files, &[], &[]).unreadable(Kind::Criteria, 1);
    let unmet = || World::committed().checks(Always(Unmet));
    Ending("error/git_error").concludes([(
        "guarded",
        unknown(World::committed(), CriteriaFilesRole::Guarded),
    )]);
    Ending("incomplete/checks_unmet checks=1").concludes([(
        "guarded, unmet",
        unknown(unmet(), CriteriaFilesRole::Guarded),
    )]);
    Ending("complete/new_commits committed").concludes([(
        "named",
        unknown(World::committed(), CriteriaFilesRole::Named),
    )]);
    let verdict = unknown(World::committed(), CriteriaFilesRole::Guarded)
        .run()
        .verdict;
    assert_eq!(
        verdict.message,
        "whether the criteria changed cannot be told: cannot read the Criteria; look"
    );
    let verdict = unknown(World::committed(), CriteriaFilesRole::Named)
        .run()
        .verdict;
    assert_eq!(verdict.degraded[0].code, WarningCode::CriteriaUnknown);
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
    let pass = rules(World::clean().checks(Always(Pass)));
    assert!(
        pass.contains(&JudgementRule::ChecksDecide) && !pass.contains(&JudgementRule::PassedBefore),
        "{pass:?}"
    );
    let failed = rules(World::clean().checks(Always(TimedOut)));
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

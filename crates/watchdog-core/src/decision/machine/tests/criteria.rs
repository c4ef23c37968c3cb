//! Configured criteria, trust, the strength that is asked for, facts that cannot be read, and signals.

use crate::config::settings::{OnNoCriteria, RescueMode};
use crate::decision::machine::{ConfigTrust, CriteriaFilesRole, JudgementScope};
use watchdog_facts::evidence::CheckOutcome::{self, Failed, Pass, TimedOut, Unmet, Unrunnable};
use watchdog_facts::evidence::{CriteriaChanged, WarningCode};
use watchdog_facts::verdict::{Evidence, Reason};

use super::world::*;

#[test]
fn configured_checks_decide_with_commits_and_without() {
    let passes = |world: World| world.checks(Criteria::Always(Pass));
    let unmet = |world: World| world.checks(Criteria::Always(Unmet));
    check_table([
        (
            "pass, commit",
            passes(World::committed()),
            "complete/checks_passed verified checks=1",
        ),
        (
            "pass, nothing",
            passes(World::clean()),
            "complete/checks_passed verified checks=1",
        ),
        (
            "pass, dirty",
            passes(World::dirty()),
            "complete/checks_passed verified rescues=1 snapshots=1 checks=1",
        ),
        (
            "pass, dirty, --no-rescue",
            passes(World::dirty()).set(|setup| setup.no_rescue = true),
            "complete/checks_passed verified snapshots=1 checks=1",
        ),
        (
            "pass, elsewhere",
            passes(World::dirty()).rescue(Salvage::Elsewhere(1)),
            "review/rescue_incomplete rescues=1 snapshots=1 checks=1",
        ),
        (
            "pass, rescue fails",
            passes(World::dirty()).rescue(Salvage::Fails),
            "review/rescue_incomplete rescues=1 snapshots=1 checks=1",
        ),
        (
            "pass, rescue makes nothing",
            passes(World::dirty()).rescue(Salvage::CommitsNothing),
            "complete/checks_passed verified rescues=1 snapshots=1 checks=1",
        ),
        (
            "work is secured before a program runs, and again before the rescue",
            World::dirty().checks_with_programs(Criteria::Always(Pass)),
            "complete/checks_passed verified rescues=1 snapshots=2 checks=1",
        ),
        (
            "unmet, commit",
            unmet(World::committed()),
            "incomplete/checks_unmet checks=1",
        ),
        (
            "unmet, commit and leftovers, run",
            unmet(World::committed().after(Effect::Edit)).set(|setup| setup.read_leftovers = true),
            "incomplete/checks_unmet snapshots=1 checks=1",
        ),
        (
            "unmet, claim",
            unmet(World::clean()).replies([complete()]),
            "incomplete/checks_unmet probes=1 checks=1",
        ),
        (
            "unmet, working",
            unmet(World::clean()).replies([working()]),
            "incomplete/checks_unmet probes=3 waits=3 checks=3",
        ),
        (
            "unmet, no answer",
            unmet(World::clean()).replies([garbage()]),
            "incomplete/checks_unmet probes=2 waits=1 checks=2",
        ),
        (
            "unmet, --no-probe",
            unmet(World::clean()).set(|setup| setup.no_probe = true),
            "incomplete/unfinished checks=1",
        ),
        (
            "unmet, claim, dirty",
            unmet(World::dirty()).replies([complete()]),
            "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2",
        ),
        (
            "unmet, claim, dirty, --no-rescue",
            unmet(World::dirty())
                .replies([complete()])
                .set(|setup| setup.no_rescue = true),
            "incomplete/checks_unmet probes=1 snapshots=2 checks=1",
        ),
        (
            "unmet, gives up",
            unmet(World::clean()).replies([gives_up()]),
            "stopped/agent_stopped probes=1 checks=1",
        ),
    ]);
}

#[test]
fn checks_are_judged_again_when_head_moves() {
    check_table([
        (
            "a commit while the agent answers meets it",
            World::clean()
                .checks(Criteria::NeedCommits)
                .replies([working()])
                .during(During::Probe(1), Effect::Commit),
            "complete/checks_passed verified probes=1 checks=2",
        ),
        (
            "a commit while the agent answers does not meet it",
            World::clean()
                .checks(Criteria::Always(Unmet))
                .replies([complete()])
                .during(During::Probe(1), Effect::Commit),
            "incomplete/checks_unmet probes=1 checks=2",
        ),
        (
            "a pull while the agent answers",
            World::clean()
                .checks(Criteria::NeedCommits)
                .replies([complete()])
                .during(During::Probe(1), Effect::Pull),
            "incomplete/checks_unmet probes=1 checks=2",
        ),
        (
            "the rescue meets it",
            World::dirty()
                .checks(Criteria::NeedCommits)
                .replies([complete()]),
            "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2",
        ),
        (
            "the rescue meets it, and leaves a secret: no second rescue",
            World::dirty()
                .checks(Criteria::NeedCommits)
                .replies([complete()])
                .rescue(Salvage::CommitsAPart),
            "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2",
        ),
        (
            "the rescue does not meet it, nor change anything in the end: the claim is answered at once",
            World::dirty()
                .checks(Criteria::Always(Unmet))
                .replies([complete()])
                .rescue(Salvage::CommitsWithoutNetChange),
            "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2",
        ),
        (
            "the rescue meets it, and what it leaves is not rescued again",
            World::dirty()
                .checks(Criteria::NeedRescue)
                .replies([complete()])
                .rescue(Salvage::CommitsAPart),
            "complete/checks_passed verified probes=1 rescues=1 snapshots=2 checks=2",
        ),
        (
            "a commit in the last wait meets it",
            World::clean()
                .checks(Criteria::NeedCommits)
                .replies([working()])
                .during(During::Wait(3), Effect::Commit),
            "complete/checks_passed verified probes=3 waits=3 checks=4",
        ),
        (
            "the final rescue meets it",
            World::dirty()
                .checks(Criteria::NeedClean)
                .replies([working()]),
            "incomplete/checks_unmet probes=3 rescues=1 waits=3 snapshots=4 checks=3",
        ),
        (
            "a wait meets it",
            World::dirty()
                .checks(Criteria::NeedClean)
                .replies([working()])
                .during(During::Wait(1), Effect::Discard),
            "complete/checks_passed verified probes=1 waits=1 snapshots=1 checks=2",
        ),
    ]);
}

#[test]
fn undecided_check_is_never_a_pass() {
    let outcome = |outcome: CheckOutcome| {
        World::committed()
            .after(Effect::Edit)
            .checks_with_programs(Criteria::Always(outcome))
    };
    check_table([
        (
            "waiting",
            outcome(CheckOutcome::Waiting),
            "waiting/background_work snapshots=1 checks=1",
        ),
        (
            "unrunnable",
            outcome(Unrunnable),
            "failed/verify_unrunnable snapshots=1 checks=1",
        ),
        (
            "failed",
            outcome(Failed),
            "review/verify_failed snapshots=1 checks=1",
        ),
        (
            "timed out",
            outcome(TimedOut),
            "review/verify_timeout snapshots=1 checks=1",
        ),
    ]);
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
    check_table([
        ("commit", untrusted(World::committed()), "review/untrusted"),
        (
            "rescue",
            untrusted(World::dirty().replies([complete()])),
            "review/untrusted probes=1 rescues=1 snapshots=2",
        ),
        (
            "claim",
            untrusted(World::clean().replies([complete()])),
            "review/untrusted probes=1",
        ),
        (
            "its checks are not judged",
            untrusted(World::committed().checks_with_programs(Criteria::Always(Pass))),
            "review/untrusted",
        ),
        (
            "what is not complete stays so",
            untrusted(World::clean().replies([usage_limit()])),
            "waiting/rate_limited probes=1",
        ),
    ]);
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
    check_table([
        (
            "no criteria, commit",
            review(World::committed()),
            "review/no_criteria",
        ),
        (
            "no criteria, claim",
            review(World::clean().replies([complete()])),
            "review/no_criteria probes=1",
        ),
        (
            "no criteria, rescue",
            review(World::dirty().replies([complete()])),
            "review/no_criteria probes=1 rescues=1 snapshots=2",
        ),
        (
            "criteria",
            review(World::clean().checks(Criteria::Always(Pass))),
            "complete/checks_passed verified checks=1",
        ),
        (
            "verified, claim",
            verified(World::clean().replies([complete()])),
            "review/disputed probes=1",
        ),
        (
            "verified, commit",
            verified(World::committed()),
            "review/disputed",
        ),
        (
            "verified, rescue",
            verified(World::dirty().replies([complete()])),
            "review/disputed probes=1 rescues=1 snapshots=2",
        ),
    ]);
}

#[test]
fn unreadable_fact_is_an_error() {
    let claims = || World::dirty().replies([complete()]);
    check_table([
        (
            "first commits",
            claims().unreadable(Kind::Commits, 1),
            "error/git_error",
        ),
        (
            "first changes",
            claims().unreadable(Kind::Changes, 1),
            "error/git_error",
        ),
        (
            "first snapshot: nobody is asked",
            claims().unreadable(Kind::Snapshot, 1),
            "error/git_error snapshots=1",
        ),
        (
            "commits after the answer",
            claims().unreadable(Kind::Commits, 2),
            "error/git_error probes=1 snapshots=1",
        ),
        (
            "changes after the answer",
            claims().unreadable(Kind::Changes, 2),
            "error/git_error probes=1 snapshots=1",
        ),
        (
            "snapshot before the rescue",
            claims().unreadable(Kind::Snapshot, 2),
            "error/git_error probes=1 snapshots=2",
        ),
        (
            "commits after the rescue",
            claims().unreadable(Kind::Commits, 3),
            "error/git_error probes=1 rescues=1 snapshots=2",
        ),
        (
            "last commits",
            World::clean()
                .replies([working()])
                .unreadable(Kind::Commits, 7),
            "error/git_error probes=3 waits=3",
        ),
        (
            "last changes",
            World::clean()
                .replies([working()])
                .unreadable(Kind::Changes, 4),
            "error/git_error probes=3 waits=3",
        ),
        (
            "snapshot before a check's program",
            World::dirty()
                .checks_with_programs(Criteria::Always(Pass))
                .unreadable(Kind::Snapshot, 1),
            "error/git_error snapshots=1",
        ),
        (
            "what a commit left uncommitted",
            World::committed()
                .set(|setup| setup.read_leftovers = true)
                .unreadable(Kind::Changes, 1),
            "error/git_error",
        ),
        (
            "a snapshot of what is not the session's, beside its commits",
            World {
                inherited: 1,
                ..World::committed()
            }
            .set(|setup| setup.read_leftovers = true)
            .unreadable(Kind::Snapshot, 1),
            "complete/new_commits committed snapshots=1",
        ),
    ]);
    assert_eq!(
        claims().unreadable(Kind::Commits, 2).run().verdict.commits,
        None
    );
    let unsaved = World::committed()
        .after(Effect::Edit)
        .set(|setup| setup.read_leftovers = true)
        .unreadable(Kind::Snapshot, 1)
        .run()
        .verdict;
    assert_eq!(
        unsaved.reason,
        Reason::GitError,
        "what is left may be disturbed by a question"
    );
    let older = World::dirty()
        .replies([working()])
        .set(|setup| setup.read_leftovers = true)
        .unreadable(Kind::Snapshot, 2);
    let older = older
        .during(During::Wait(1), Effect::Commit)
        .during(During::Wait(1), Effect::Edit)
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
            World::dirty()
                .replies([working()])
                .rescue(Salvage::CommitsNothing),
            World::dirty().replies([complete()]).rescue(Salvage::Fails),
            World::dirty()
                .checks_with_programs(Criteria::NeedCommits)
                .replies([garbage(), complete()])
                .rescue(Salvage::Fails),
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
        ..World::dirty().replies([working()])
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
        check_table([
            (
                "pass, dirty",
                alone(World::dirty().checks(Criteria::Always(Pass)), known),
                "complete/checks_passed verified checks=1",
            ),
            (
                "unmet",
                alone(
                    World::clean()
                        .checks(Criteria::Always(Unmet))
                        .replies([complete()]),
                    known,
                ),
                "incomplete/checks_unmet checks=1",
            ),
            (
                "unrunnable",
                alone(World::clean().checks(Criteria::Always(Unrunnable)), known),
                "failed/verify_unrunnable checks=1",
            ),
            (
                "work is secured before a program runs",
                alone(
                    World::dirty().checks_with_programs(Criteria::Always(Pass)),
                    known,
                ),
                "complete/checks_passed verified snapshots=1 checks=1",
            ),
        ]);
    }
    check_table([
        (
            "no checks, commit",
            alone(World::committed(), true),
            "complete/new_commits committed",
        ),
        (
            "no checks, nothing",
            alone(World::dirty().replies([complete()]), true),
            "incomplete/unfinished",
        ),
        (
            "no checks, no baseline",
            alone(World::committed(), false),
            "review/no_criteria",
        ),
        (
            "not trusted, no baseline",
            alone(World::committed().checks(Criteria::Always(Pass)), false)
                .set(|setup| setup.trust = untrusted()),
            "review/untrusted",
        ),
    ]);
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
    };
    World { changed, ..world }.set(|setup| setup.criteria_files = files)
}

#[test]
fn changed_guarded_files_prevent_complete_yet_allow_rescue() {
    let changed = |world| watched(world, CriteriaFilesRole::Guarded, &["tests/login.rs"], &[]);
    let same = |world| watched(world, CriteriaFilesRole::Guarded, &[], &["check.sh"]);
    let passes = || World::dirty().checks(Criteria::Always(Pass));
    let rate_limited = || World::clean().replies([usage_limit()]);
    check_table([
        (
            "commit",
            changed(World::committed()),
            "review/criteria_changed",
        ),
        (
            "checks, rescue",
            changed(passes()),
            "review/criteria_changed rescues=1 snapshots=1 checks=1",
        ),
        (
            "claim",
            changed(World::clean().replies([complete()])),
            "review/criteria_changed probes=1",
        ),
        (
            "claim, rescue",
            changed(World::dirty().replies([complete()])),
            "review/criteria_changed probes=1 rescues=1 snapshots=2",
        ),
        (
            "unmet stays unmet",
            changed(World::committed().checks(Criteria::Always(Unmet))),
            "incomplete/checks_unmet checks=1",
        ),
        (
            "an error stays an error",
            changed(World::committed().unreadable(Kind::Commits, 1)),
            "error/git_error",
        ),
        (
            "nobody asks where nothing is judged",
            changed(rate_limited()),
            "waiting/rate_limited probes=1",
        ),
        (
            "commit, unchanged",
            same(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "checks, unchanged",
            same(passes()),
            "complete/checks_passed verified rescues=1 snapshots=1 checks=1",
        ),
    ]);
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
    let unmet = || World::committed().checks(Criteria::Always(Unmet));
    check_table([
        (
            "guarded",
            unknown(World::committed(), CriteriaFilesRole::Guarded),
            "error/git_error",
        ),
        (
            "guarded, unmet",
            unknown(unmet(), CriteriaFilesRole::Guarded),
            "incomplete/checks_unmet checks=1",
        ),
        (
            "named",
            unknown(World::committed(), CriteriaFilesRole::Named),
            "complete/new_commits committed",
        ),
    ]);
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

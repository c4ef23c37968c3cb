//! `--once`: one round per call, counted over several calls with the same baseline.

use crate::decision::machine::EarlierRounds;
use crate::decision::rounds;
use watchdog_facts::evidence::{Changes, CheckOutcome, Commits};
use watchdog_facts::verdict::{Reason, Verdict};

use super::world::*;

/// Makes one call after another, each with what the earlier ones left behind.
fn calls(worlds: impl IntoIterator<Item = World>) -> (Vec<String>, EarlierRounds) {
    let mut earlier = EarlierRounds::default();
    let mut said = Vec::new();
    for world in worlds {
        let run = world.set(|setup| {
            setup.once = true;
            setup.earlier = earlier;
        });
        let run = run.run();
        assert_eq!(run.count("wait"), 0, "--once does not wait");
        earlier = rounds::update_rounds(earlier, &run.verdict);
        said.push(run.summary());
    }
    (said, earlier)
}

/// The rounds, the answers and the living agents of earlier calls, and their row of claims without work.
fn earlier_rounds(
    rounds_used: u32,
    answered: u32,
    alive: u32,
    nothing_to_do_streak: u32,
) -> EarlierRounds {
    EarlierRounds {
        rounds_used,
        answered,
        alive,
        nothing_to_do_streak,
        ..EarlierRounds::default()
    }
}

fn clean(reply: watchdog_facts::evidence::ProbeOutcome) -> World {
    World::clean().says(reply)
}

fn dirty(reply: watchdog_facts::evidence::ProbeOutcome) -> World {
    World::dirty().says(reply)
}

#[test]
fn living_agent_is_a_verdict_and_uses_round() {
    let (said, earlier) = calls([clean(working()), clean(waiting())]);
    assert_eq!(
        said,
        [
            "incomplete/working probes=1",
            "waiting/background_work probes=1"
        ]
    );
    assert_eq!(earlier, earlier_rounds(2, 2, 2, 0));
}

#[test]
fn last_round_includes_the_last_look() {
    let spent = |last: World| calls([clean(working()), clean(working()), last]);
    let working_once = "incomplete/working probes=1";
    let (said, earlier) = spent(clean(working()));
    assert_eq!(
        said,
        [
            working_once,
            working_once,
            "timeout/max_probes STRIKE probes=1"
        ]
    );
    assert_eq!(
        earlier,
        EarlierRounds::default(),
        "the question is answered, and the next call begins anew"
    );
    assert_eq!(
        spent(dirty(working())).0[2],
        "incomplete/unfinished probes=1 rescues=1 snapshots=2"
    );
    assert_eq!(
        spent(clean(working()).during(Probe(1), Commit)).0[2],
        "complete/new_commits committed probes=1"
    );
}

#[test]
fn questions_are_numbered_over_all_calls() {
    let earlier = earlier_rounds(2, 1, 1, 0);
    let run = clean(working()).set(|setup| setup.earlier = earlier).run();
    assert_eq!(
        run.questions,
        [(3, None)],
        "a call that waits goes on with the rounds as well"
    );
    assert_eq!(
        (
            run.verdict.probes_used,
            run.verdict.probes_left,
            run.verdict.probes.len()
        ),
        (3, 0, 1)
    );
}

#[test]
fn a_commit_between_two_calls_begins_anew() {
    let (said, earlier) = calls([clean(working()), World::committed()]);
    assert_eq!(said[1], "complete/new_commits committed");
    assert_eq!(earlier, EarlierRounds::default());
}

#[test]
fn commit_during_probe_counts_in_same_call() {
    let (said, _) = calls([clean(working()).during(Probe(1), Commit)]);
    assert_eq!(said, ["complete/new_commits committed probes=1"]);
}

#[test]
fn unanswered_round_counts_and_last_one_ends() {
    let (said, earlier) = calls([clean(garbage()), clean(garbage())]);
    assert_eq!(
        said,
        ["error/probe_error probes=1", "error/probe_error probes=1"]
    );
    assert_eq!(earlier, earlier_rounds(2, 0, 0, 0));
    let (said, earlier) = calls([clean(garbage()), clean(garbage()), clean(garbage())]);
    assert_eq!(said[2], "error/probe_error probes=1");
    assert_eq!(
        earlier,
        EarlierRounds::default(),
        "an agent that is out of order is asked again later, not never"
    );
    let (said, _) = calls([clean(working()), clean(garbage()), clean(garbage())]);
    assert_eq!(said[2], "timeout/max_probes STRIKE probes=1");
    let (said, _) = calls([dirty(garbage()), dirty(garbage()), dirty(garbage())]);
    assert_eq!(said[2], "error/probe_error probes=1 rescues=1 snapshots=2");
}

#[test]
fn claim_is_settled_in_its_own_call() {
    let (said, earlier) = calls([clean(working()), clean(complete())]);
    assert_eq!(said[1], "complete/nothing_to_do claimed probes=1");
    assert_eq!(earlier, earlier_rounds(0, 0, 0, 1));
    let (said, _) = calls([dirty(complete())]);
    assert_eq!(
        said,
        ["complete/rescued claimed probes=1 rescues=1 snapshots=2"]
    );
    let (said, _) = calls([dirty(complete()).rescue(Fails)]);
    assert_eq!(
        said,
        ["review/rescue_incomplete probes=1 rescues=1 snapshots=2"]
    );
    let (said, _) = calls([dirty(complete()).rescue(CommitsNothing)]);
    assert_eq!(
        said,
        ["review/rescue_incomplete probes=1 rescues=1 snapshots=2"]
    );
    let (said, _) = calls([clean(gives_up())]);
    assert_eq!(said, ["stopped/agent_stopped probes=1"]);
}

#[test]
fn contradiction_is_probed_in_the_same_call() {
    let (said, earlier) = calls([clean(contradiction())]);
    assert_eq!(said, ["review/disputed probes=2"]);
    assert_eq!(earlier, EarlierRounds::default());
    let (said, earlier) = calls([World::clean().replies([contradiction(), working()])]);
    assert_eq!(said, ["incomplete/working probes=2"]);
    assert_eq!(earlier, earlier_rounds(2, 2, 1, 0));
}

#[test]
fn limit_signal_or_fault_keeps_round_count() {
    let single_round = earlier_rounds(1, 1, 1, 0);
    let interrupted = World {
        interrupt_at: Some(3),
        ..clean(working())
    };
    for (between, said_of_it) in [
        (clean(usage_limit()), "waiting/rate_limited probes=1"),
        (interrupted, "stopped/interrupted probes=1"),
        (
            clean(working()).unreadable(Kind::Commits, 1),
            "error/git_error",
        ),
    ] {
        let (said, earlier) = calls([clean(working()), between]);
        assert_eq!((said[1].as_str(), earlier), (said_of_it, single_round));
    }
}

#[test]
fn third_consecutive_nothing_to_do_is_review() {
    let claim = || clean(complete());
    let nothing = "complete/nothing_to_do claimed probes=1";
    let repeated = "review/repeated_nothing_to_do probes=1";
    assert_eq!(
        calls([claim(), claim(), claim(), claim()]).0,
        [nothing, nothing, repeated, repeated]
    );
    let (said, _) = calls([claim(), claim(), World::committed(), claim()]);
    assert_eq!(said[3], nothing, "a commit breaks the row");
    let (said, _) = calls([
        claim(),
        clean(working()),
        claim(),
        clean(usage_limit()),
        claim(),
    ]);
    assert_eq!(said[4], repeated, "a call that did not decide does not");
}

#[test]
fn rescue_commits_of_cut_session_reset_rounds() {
    let earlier = earlier_rounds(2, 2, 1, 1);
    let cut_short = Verdict::new(Reason::Unfinished, "cut short");
    assert_eq!(rounds::update_rounds(earlier, &cut_short), earlier);
    assert_eq!(
        rounds::update_rounds(
            earlier,
            &Verdict {
                rescue_commits: 1,
                ..cut_short
            }
        ),
        EarlierRounds::default()
    );
}

#[test]
fn each_reason_continues_keeps_or_resets_rounds() {
    use watchdog_facts::verdict::Reason::*;
    let earlier = earlier_rounds(2, 2, 1, 1);
    let open: &[Reason] = &[
        Unfinished,
        Working,
        BackgroundWork,
        SessionActive,
        RateLimited,
        Locked,
        Dependencies,
        BreakerOpen,
        BudgetExhausted,
        DeadlineExceeded,
        Interrupted,
        NoBaseline,
        GitError,
        NotARepository,
        ConfigError,
        StoreError,
        SnapshotFailed,
        OperationInProgress,
    ];
    for &reason in Reason::ALL {
        let after =
            rounds::update_rounds(earlier, &Verdict::new(reason, "without a probe of its own"));
        let expected = match reason {
            NothingToDo | RepeatedNothingToDo => earlier_rounds(0, 0, 0, 2),
            reason if open.contains(&reason) => earlier,
            _ => EarlierRounds::default(),
        };
        assert_eq!(after, expected, "{reason:?}");
    }
    let rounds_left = Verdict {
        probes_left: 1,
        ..Verdict::new(ProbeError, "out of order")
    };
    assert_eq!(rounds::update_rounds(earlier, &rounds_left), earlier);
}

#[test]
fn fruitless_streak_lasts_under_same_checks_until_progress() {
    let unmet = |name: &str| {
        let setup = World::clean()
            .checks(Always(CheckOutcome::Unmet))
            .no_probe();
        let mut verdict = setup.run().verdict;
        verdict.reason = Reason::ChecksUnmet;
        verdict
            .checks
            .iter_mut()
            .for_each(|check| check.name = name.into());
        verdict
    };
    let first = Verdict {
        strike: true,
        ..unmet("tests")
    };
    let earlier = EarlierRounds {
        fruitless: 2,
        unmet: rounds::unmet_checks(&first.checks),
        ..EarlierRounds::default()
    };
    let row = |verdict: &Verdict| {
        let after = rounds::update_rounds(earlier, verdict);
        (after.fruitless, after.unmet)
    };
    assert_eq!(row(&first), (3, earlier.unmet));
    let other = Verdict {
        strike: true,
        ..unmet("lint")
    };
    assert_eq!(
        row(&other),
        (1, rounds::unmet_checks(&other.checks)),
        "other checks are unmet"
    );
    assert_eq!(
        row(&unmet("tests")),
        (2, earlier.unmet),
        "a session that was no strike is not counted"
    );
    assert_eq!(
        row(&Verdict::new(Reason::RateLimited, "m")),
        (2, earlier.unmet),
        "nor is one that met a limit"
    );
    let commits = |new_commits| {
        Some(Commits {
            new_commits,
            ..Commits::default()
        })
    };
    let changes = |work| {
        Some(Changes {
            work,
            ..Changes::default()
        })
    };
    assert_eq!(
        row(&Verdict {
            commits: commits(0),
            changes: changes(0),
            ..Verdict::new(Reason::Working, "m")
        }),
        (2, earlier.unmet)
    );
    for progress in [
        Verdict {
            rescue_commits: 1,
            ..unmet("tests")
        },
        Verdict {
            commits: commits(1),
            ..unmet("tests")
        },
        Verdict {
            changes: changes(1),
            ..unmet("tests")
        },
        Verdict::new(Reason::ChecksPassed, "m"),
        Verdict::new(Reason::MaxIterations, "a person looked at it"),
    ] {
        assert_eq!(row(&progress), (0, 0), "{progress:?}");
    }
}

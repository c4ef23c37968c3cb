//! What `run` knows of the session comes before any question.

use std::time::Duration;

use crate::decision::machine::{EarlierRounds, UnaskedCause};
use crate::decision::rounds;
use watchdog_facts::evidence::StopReason;
use watchdog_facts::evidence::{CheckOutcome, Degradation, ProcessExit, SessionEnd, WarningCode};
use watchdog_facts::verdict::Reason;

use super::world::*;

fn cut_short(world: World) -> World {
    world.session(SessionEnd::TimedOut {
        after: Duration::from_secs(60),
    })
}

fn limited(world: World) -> World {
    world.session(SessionEnd::RateLimited {
        why: "limit reached".into(),
        retry_at: Some(reset()),
    })
}

#[test]
fn cut_session_is_rescued_without_a_probe() {
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    check_table([
        (
            "commit",
            cut_short(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "commit and leftovers",
            cut_short(World::committed().after(Effect::Edit)),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "dirty",
            cut_short(World::dirty()),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "nothing",
            cut_short(World::clean()),
            "timeout/session_timeout STRIKE",
        ),
        (
            "only a pull",
            cut_short(World::clean().after(Effect::Pull)),
            "timeout/session_timeout",
        ),
        (
            "rescue fails",
            cut_short(World::dirty()).rescue(Salvage::Fails),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "elsewhere",
            cut_short(World::dirty()).rescue(Salvage::Elsewhere(0)),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "rescue loses",
            cut_short(World::dirty()).rescue(Salvage::Loses),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "rescue makes nothing",
            cut_short(World::dirty()).rescue(Salvage::CommitsNothing),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "--no-rescue",
            cut_short(World::dirty()).set(|setup| setup.no_rescue = true),
            "incomplete/unfinished snapshots=1",
        ),
        (
            "no final rescue does not forbid this one",
            cut_short(World::dirty()).set(|setup| setup.completion.final_rescue_attempt = false),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "no probes, dirty",
            cut_short(World::dirty()).set(|setup| setup.completion.max_probes = 0),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "no probes, nothing",
            cut_short(World::clean()).set(|setup| setup.completion.max_probes = 0),
            "timeout/session_timeout STRIKE",
        ),
        (
            "--no-probe, nothing",
            cut_short(World::clean()).set(|setup| setup.no_probe = true),
            "timeout/session_timeout STRIKE",
        ),
        (
            "checks pass",
            cut_short(World::clean().checks(Criteria::Always(CheckOutcome::Pass))),
            "complete/checks_passed verified checks=1",
        ),
        (
            "checks unmet, commit",
            cut_short(World::committed().checks(unmet)),
            "incomplete/checks_unmet checks=1",
        ),
        (
            "checks unmet, dirty",
            cut_short(World::dirty().checks(unmet)),
            "incomplete/unfinished rescues=1 snapshots=1 checks=1",
        ),
        (
            "checks unmet, nothing",
            cut_short(World::clean().checks(unmet)),
            "timeout/session_timeout STRIKE checks=1",
        ),
    ]);
    let verdict = cut_short(World::dirty()).run().verdict;
    assert_eq!((verdict.rescue_commits, verdict.strike), (1, false));
    assert_eq!(
        verdict.message,
        "the session was ended by its timeout; 1 commit made by rescue"
    );
    let nothing = cut_short(World::clean()).run().verdict;
    assert_eq!(
        (nothing.strike, nothing.not_a_strike_because),
        (true, None),
        "the session came to nothing"
    );
    let pulled = cut_short(World::clean().after(Effect::Pull)).run().verdict;
    assert_eq!(
        (pulled.strike, pulled.not_a_strike_because),
        (false, Some("activity_of_the_session"))
    );
    let silent = World::clean()
        .session(SessionEnd::Idle {
            after: Duration::from_secs(90),
        })
        .run()
        .verdict;
    assert_eq!(
        (silent.reason, silent.message.as_str()),
        (
            Reason::SessionIdle,
            "the session fell silent and was ended after 90 s of silence, with no commit and no change"
        )
    );
}

#[test]
fn history_rewrite_or_overwritten_work_is_no_strike() {
    let history = |code: WarningCode| {
        let mut world = cut_short(World::clean());
        world.commits.degraded = vec![noted_as(code)];
        world
    };
    let changes = |code: WarningCode| World {
        changes_note: Some(code),
        ..cut_short(World::clean())
    };
    check_table([
        (
            "its baseline is no ancestor any more",
            history(WarningCode::HistoryRewritten),
            "timeout/session_timeout",
        ),
        (
            "work of before is overwritten",
            changes(WarningCode::InheritedOverwritten),
            "timeout/session_timeout",
        ),
        (
            "another weakness of the history",
            history(WarningCode::NoReflog),
            "timeout/session_timeout STRIKE",
        ),
        (
            "another weakness of the changes",
            changes(WarningCode::UnreadablePath),
            "timeout/session_timeout STRIKE",
        ),
    ]);
}

fn without_room(world: World) -> World {
    world.session(SessionEnd::CutShort {
        exit: ProcessExit::Code(1),
        why: "the service had no room for the session: 529".into(),
    })
}

#[test]
fn session_ended_by_limit_is_rescued_without_probe() {
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    let over = |world: World| world.set(|setup| setup.session_over = true);
    let runs = |world: World| {
        without_room(world).set(|setup| setup.survivors = vec!["cargo (process 7)".into()])
    };
    check_table([
        (
            "nothing",
            without_room(World::clean()),
            "incomplete/unfinished",
        ),
        (
            "nothing, and it is known to be over",
            over(without_room(World::clean())),
            "incomplete/unfinished",
        ),
        (
            "only a pull",
            without_room(World::clean().after(Effect::Pull)),
            "incomplete/unfinished",
        ),
        (
            "commit",
            without_room(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "commit and leftovers",
            without_room(World::committed().after(Effect::Edit)),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "dirty",
            without_room(World::dirty()),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "rescue fails",
            without_room(World::dirty()).rescue(Salvage::Fails),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "rescue makes nothing",
            without_room(World::dirty()).rescue(Salvage::CommitsNothing),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "--no-rescue",
            without_room(World::dirty()).set(|setup| setup.no_rescue = true),
            "incomplete/unfinished snapshots=1",
        ),
        (
            "no probes",
            without_room(World::clean()).set(|setup| setup.completion.max_probes = 0),
            "incomplete/unfinished",
        ),
        (
            "no probes, dirty",
            without_room(World::dirty()).set(|setup| setup.completion.max_probes = 0),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "--no-probe, as loop has it",
            without_room(World::dirty()).set(|setup| setup.no_probe = true),
            "incomplete/unfinished snapshots=1",
        ),
        (
            "checks pass",
            without_room(World::clean().checks(Criteria::Always(CheckOutcome::Pass))),
            "complete/checks_passed verified checks=1",
        ),
        (
            "checks passed before",
            without_room(World::clean().checks(Criteria::PassedBefore)),
            "incomplete/unfinished checks=1",
        ),
        (
            "checks unmet, nothing",
            without_room(World::clean().checks(unmet)),
            "incomplete/checks_unmet checks=1",
        ),
        (
            "checks unmet, dirty",
            without_room(World::dirty().checks(unmet)),
            "incomplete/checks_unmet rescues=1 snapshots=1 checks=1",
        ),
        (
            "checks unmet, commit",
            without_room(World::committed().checks(unmet)),
            "incomplete/checks_unmet checks=1",
        ),
        (
            "a process of it runs",
            runs(World::clean()),
            "waiting/background_work waits=2",
        ),
        (
            "a process of it ends",
            World {
                survivors_end: 1,
                ..runs(World::dirty())
            },
            "incomplete/unfinished rescues=1 waits=1 snapshots=2",
        ),
    ]);
    let verdict = without_room(World::clean()).run().verdict;
    let what = "the session was cut short: the service had no room for the session: 529";
    assert_eq!(
        verdict.message,
        format!("{what}; it left no commit and no change")
    );
    assert!(
        verdict
            .feedback
            .is_some_and(|feedback| feedback.contains("529"))
    );
    assert_eq!(
        without_room(World::dirty()).run().verdict.message,
        format!("{what}; 1 commit made by rescue")
    );
    let unasked = without_room(World::clean())
        .set(|setup| setup.no_probe = true)
        .run()
        .verdict;
    assert!(unasked.message.contains(what), "{}", unasked.message);
}

#[test]
fn usage_limited_session_is_probed_only_after_reset() {
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    check_table([
        ("nothing", limited(World::clean()), "waiting/rate_limited"),
        (
            "dirty",
            limited(World::dirty()),
            "waiting/rate_limited snapshots=1",
        ),
        (
            "dirty, snapshot fails",
            limited(World::dirty()).unreadable(Kind::Snapshot, 1),
            "waiting/rate_limited snapshots=1",
        ),
        (
            "commit",
            limited(World::committed()),
            "waiting/rate_limited",
        ),
        (
            "no probes",
            limited(World::dirty()).set(|setup| setup.completion.max_probes = 0),
            "waiting/rate_limited snapshots=1",
        ),
        (
            "--no-probe",
            limited(World::clean()).set(|setup| setup.no_probe = true),
            "waiting/rate_limited",
        ),
        (
            "checks unmet, nothing",
            limited(World::clean().checks(unmet)),
            "waiting/rate_limited",
        ),
        (
            "checks unmet, commit and leftovers",
            limited(World::committed().after(Effect::Edit).checks(unmet)),
            "waiting/rate_limited snapshots=1",
        ),
    ]);
    for world in [
        World::clean(),
        World::dirty(),
        World::committed(),
        World::committed().checks(unmet),
    ] {
        assert_eq!(limited(world).run().verdict.retry_at, Some(reset()));
    }
}

#[test]
fn spent_budget_is_never_success_and_keeps_work() {
    let over = |world: World| {
        let stop = StopReason {
            reason: Reason::BudgetExhausted,
            why: "the budget of 5 turns is spent: 5 were taken".into(),
        };
        world
            .session(SessionEnd::OverLimit { stop })
            .set(|setup| setup.read_leftovers = true)
    };
    check_table([
        ("nothing", over(World::clean()), "stopped/budget_exhausted"),
        (
            "commit",
            over(World::committed()),
            "stopped/budget_exhausted",
        ),
        (
            "commit and leftovers",
            over(World::committed().after(Effect::Edit)),
            "stopped/budget_exhausted rescues=1 snapshots=1",
        ),
        (
            "dirty",
            over(World::dirty()),
            "stopped/budget_exhausted rescues=1 snapshots=1",
        ),
        (
            "--no-rescue",
            over(World::dirty()).set(|setup| setup.no_rescue = true),
            "stopped/budget_exhausted snapshots=1",
        ),
        (
            "rescue fails",
            over(World::dirty()).rescue(Salvage::Fails),
            "stopped/budget_exhausted rescues=1 snapshots=1",
        ),
        (
            "rescue loses",
            over(World::dirty()).rescue(Salvage::Loses),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "elsewhere",
            over(World::dirty()).rescue(Salvage::Elsewhere(0)),
            "review/rescue_incomplete rescues=1 snapshots=1",
        ),
        (
            "checks pass",
            over(World::committed().checks(Criteria::Always(CheckOutcome::Pass))),
            "stopped/budget_exhausted",
        ),
        (
            "no probes",
            over(World::clean()).set(|setup| setup.completion.max_probes = 0),
            "stopped/budget_exhausted",
        ),
    ]);
    let verdict = over(World::committed().after(Effect::Commit).after(Effect::Edit))
        .run()
        .verdict;
    assert_eq!(
        verdict.message,
        "the budget of 5 turns is spent: 5 were taken; 2 commits made since the baseline; 1 commit made by rescue"
    );
    assert_eq!(
        over(World::clean()).run().verdict.message,
        "the budget of 5 turns is spent: 5 were taken",
        "no commit, no word of any"
    );
}

#[test]
fn work_outliving_its_session_waits_without_probe() {
    let left = |world: World| {
        world.session(SessionEnd::LeftWork {
            exit: ProcessExit::Code(0),
            what: "cargo test".into(),
        })
    };
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    check_table([
        ("nothing", left(World::clean()), "waiting/background_work"),
        (
            "dirty",
            left(World::dirty()),
            "waiting/background_work snapshots=1",
        ),
        (
            "dirty, snapshot fails",
            left(World::dirty()).unreadable(Kind::Snapshot, 1),
            "waiting/background_work snapshots=1",
        ),
        (
            "commit",
            left(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "checks unmet",
            left(World::clean().checks(unmet)),
            "waiting/background_work checks=1",
        ),
        (
            "no probes",
            left(World::clean()).set(|setup| setup.completion.max_probes = 0),
            "waiting/background_work",
        ),
    ]);
    assert!(
        left(World::clean())
            .run()
            .verdict
            .message
            .contains("cargo test")
    );
    assert_eq!(
        left(World::clean().checks(unmet))
            .run()
            .verdict
            .feedback
            .as_deref(),
        Some("tests fail"),
        "what is missing is known"
    );
}

#[test]
fn running_session_process_prevents_probes() {
    let runs = |world: World| {
        world
            .session(SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            })
            .set(|setup| setup.survivors = vec!["cargo (process 7)".into()])
    };
    let ends = |world: World, nth: usize| World {
        survivors_end: nth,
        ..runs(world)
    };
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    check_table([
        (
            "it runs on",
            runs(World::clean()),
            "waiting/background_work waits=2",
        ),
        (
            "it runs on, dirty",
            runs(World::dirty()),
            "waiting/background_work waits=2 snapshots=3",
        ),
        (
            "dirty, snapshot fails",
            runs(World::dirty()).unreadable(Kind::Snapshot, 1),
            "waiting/background_work snapshots=1",
        ),
        (
            "one look",
            runs(World::clean()).set(|setup| setup.once = true),
            "waiting/background_work",
        ),
        (
            "it commits",
            runs(World::clean()).during(During::Wait(1), Effect::Commit),
            "complete/new_commits committed waits=1",
        ),
        (
            "it ends, and all is done",
            ends(World::clean(), 2).replies([complete()]),
            "complete/nothing_to_do claimed probes=1 waits=2",
        ),
        (
            "it ends, and more is wanted",
            ends(World::clean(), 1).replies([working()]),
            "incomplete/unfinished STRIKE probes=1 waits=1",
        ),
        (
            "it ends, and checks are unmet",
            ends(World::clean().checks(unmet), 1),
            "incomplete/checks_unmet STRIKE waits=1 checks=2",
        ),
        (
            "no agent",
            runs(World::clean()).set(|setup| setup.unasked = Some(UnaskedCause::NoAgent)),
            "waiting/background_work waits=2",
        ),
        (
            "no probes",
            runs(World::clean()).set(|setup| setup.no_probe = true),
            "incomplete/unfinished",
        ),
    ]);
    let verdict = runs(World::clean()).run().verdict;
    assert_eq!(
        verdict.message,
        "work that the session began still runs: cargo (process 7); the agent is asked when it has ended"
    );
}

#[test]
fn self_ended_session_is_probed_like_a_check() {
    let ended = |world: World| {
        world.session(SessionEnd::Ended {
            exit: ProcessExit::Code(1),
        })
    };
    check_table([
        (
            "commit",
            ended(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "claim",
            ended(World::clean().replies([complete()])),
            "complete/nothing_to_do claimed probes=1",
        ),
        (
            "dirty claim",
            ended(World::dirty().replies([complete()])),
            "complete/rescued claimed probes=1 rescues=1 snapshots=2",
        ),
        (
            "working",
            ended(World::clean().replies([working()])),
            "timeout/max_probes STRIKE probes=3 waits=3",
        ),
    ]);
}

#[test]
fn checks_broken_by_pull_during_probe_are_unmet() {
    let over = |reply| {
        let world = World::dirty()
            .session(SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            })
            .checks(Criteria::PassedBeforePull);
        world
            .set(|setup| setup.session_over = true)
            .replies([reply])
            .during(During::Probe(1), Effect::Pull)
    };
    let unmet = "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2";
    check_table([
        ("working", over(working()), unmet),
        ("waiting", over(waiting()), unmet),
        (
            "waiting, --once",
            over(waiting()).set(|setup| setup.once = true),
            unmet,
        ),
        (
            "a contradiction: nobody is asked again",
            over(contradiction()),
            unmet,
        ),
        ("no answer", over(garbage()), unmet),
        (
            "no answer, --once",
            over(garbage()).set(|setup| setup.once = true),
            unmet,
        ),
        ("usage limit", over(usage_limit()), unmet),
        (
            "it gives up, which ends a loop",
            over(gives_up()),
            "stopped/agent_stopped probes=1 rescues=1 snapshots=2 checks=2",
        ),
        (
            "a claim is judged with what was rescued",
            over(complete()),
            "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=3",
        ),
    ]);
    let verdict = over(working()).run().verdict;
    assert_eq!(
        (verdict.feedback.as_deref(), verdict.rescue_commits),
        (Some("tests fail"), 1)
    );
    assert_eq!(over(usage_limit()).run().verdict.retry_at, Some(reset()));
}

#[test]
fn third_consecutive_unchanged_session_is_review() {
    let ended = |before: EarlierRounds| {
        let world = World::clean()
            .session(SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            })
            .checks(Criteria::Always(CheckOutcome::Unmet));
        let run = world
            .set(|setup| {
                (setup.session_over, setup.no_progress_limit, setup.earlier) =
                    (true, Some(3), before)
            })
            .run();
        (rounds::update_rounds(before, &run.verdict), run)
    };
    let (earlier, first) = ended(EarlierRounds::default());
    assert_eq!(first.summary(), "incomplete/checks_unmet STRIKE checks=1");
    let (earlier, _) = ended(earlier);
    let (_, third) = ended(earlier);
    assert_eq!(third.summary(), "review/max_iterations STRIKE checks=1");
    assert_eq!(
        third.verdict.message,
        "3 sessions in a row left the work as it was, and a check is not met: tests fail"
    );
    let note = third
        .verdict
        .degraded
        .iter()
        .find(|note| note.code == WarningCode::NoProgress)
        .expect("it is said");
    assert_eq!(note.detail, "3 sessions in a row left the work as it was");
}

fn noted(world: World, code: WarningCode) -> World {
    let detail = "the agent was refused tools; allow them with --approval-mode yolo".to_string();
    world.set(|setup| setup.notes = vec![Degradation { code, detail }])
}

#[test]
fn refused_session_without_work_is_review_without_probe() {
    let ended = |world: World| {
        noted(
            world.session(SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            }),
            WarningCode::ToolsRefused,
        )
    };
    let cut = |world: World| noted(without_room(world), WarningCode::ToolsRefused);
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    check_table([
        (
            "nothing, though its agent would claim it",
            ended(World::clean().replies([complete()])),
            "review/max_iterations",
        ),
        (
            "nothing, without its last event",
            cut(World::clean()),
            "review/max_iterations",
        ),
        (
            "nothing, and checks are not met",
            ended(World::clean().checks(unmet)),
            "review/max_iterations checks=1",
        ),
        (
            "--no-probe",
            ended(World::clean()).set(|setup| setup.no_probe = true),
            "review/max_iterations",
        ),
        (
            "no probes",
            ended(World::clean()).set(|setup| setup.completion.max_probes = 0),
            "review/max_iterations",
        ),
        (
            "no probes, dirty",
            ended(World::dirty()).set(|setup| setup.completion.max_probes = 0),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
        (
            "commit",
            ended(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "checks pass",
            ended(World::clean().checks(Criteria::Always(CheckOutcome::Pass))),
            "complete/checks_passed verified checks=1",
        ),
        (
            "work is left",
            ended(World::dirty().replies([complete()])),
            "complete/rescued claimed probes=1 rescues=1 snapshots=2",
        ),
    ]);
    let verdict = ended(World::clean()).run().verdict;
    assert_eq!(
        (verdict.strike, verdict.message.as_str()),
        (
            false,
            "the session could do nothing: it left no commit and no change"
        )
    );
    assert!(
        verdict
            .feedback
            .is_some_and(|feedback| feedback.contains("--approval-mode yolo"))
    );
    let runs = cut(World::clean())
        .set(|setup| setup.survivors = vec!["cargo (process 7)".into()])
        .run()
        .verdict;
    assert_eq!(runs.reason, Reason::BackgroundWork, "it still works");
}

#[test]
fn unreported_session_end_is_no_success() {
    let stopped = |world: World| noted(without_room(world), WarningCode::EndUnconfirmed);
    check_table([
        (
            "nothing",
            stopped(World::clean().replies([complete()])),
            "incomplete/unfinished STRIKE",
        ),
        (
            "commit",
            stopped(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "dirty",
            stopped(World::dirty()),
            "incomplete/unfinished rescues=1 snapshots=1",
        ),
    ]);
}

#[test]
fn session_failing_to_start_is_a_failure() {
    let spent = |world: World| {
        world.session(SessionEnd::Unrunnable {
            why: "its credit is spent: Credit balance is too low".into(),
        })
    };
    let verdict = spent(World::dirty()).run().verdict;
    assert_eq!(verdict.reason, Reason::AgentUnrunnable);
    assert!(
        verdict.message.contains("Credit balance is too low")
            && verdict.snapshot.is_some()
            && verdict.probes.is_empty(),
        "{verdict:?}"
    );
    check_table([
        (
            "its commits decide",
            spent(World::committed()),
            "complete/new_commits committed",
        ),
        (
            "its commits do not meet the checks, and no session can go on",
            spent(World::committed().checks(Criteria::Always(CheckOutcome::Unmet))),
            "failed/agent_unrunnable checks=1",
        ),
    ]);
    let verdict = World::dirty()
        .session(SessionEnd::NotStarted {
            why: "no such program: agent".into(),
            shortage: false,
        })
        .run()
        .verdict;
    assert_eq!(verdict.reason, Reason::AgentUnrunnable);
    assert_eq!(
        verdict.message,
        "the agent cannot be run: no such program: agent"
    );
    let short = SessionEnd::NotStarted {
        why: "no further process may be had; end some".into(),
        shortage: true,
    };
    let verdict = World::dirty().session(short).run().verdict;
    assert_eq!(
        (verdict.reason, verdict.strike),
        (Reason::StoreError, false),
        "trying again may help"
    );
    assert!(
        verdict
            .message
            .contains("no further process may be had; end some"),
        "{verdict:?}"
    );
}

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
    let unmet = Always(CheckOutcome::Unmet);
    Ending("complete/new_commits committed").concludes([("commit", cut_short(World::committed()))]);
    Ending("incomplete/unfinished rescues=1 snapshots=1").concludes([
        (
            "commit and leftovers",
            cut_short(World::committed().after(Edit)),
        ),
        ("dirty", cut_short(World::dirty())),
        (
            "rescue makes nothing",
            cut_short(World::dirty()).rescue(CommitsNothing),
        ),
        (
            "no final rescue does not forbid this one",
            cut_short(World::dirty()).no_final_rescue(),
        ),
        (
            "no probes, dirty",
            cut_short(World::dirty()).asks_at_most(0),
        ),
    ]);
    Ending("timeout/session_timeout STRIKE").concludes([
        ("nothing", cut_short(World::clean())),
        (
            "no probes, nothing",
            cut_short(World::clean()).asks_at_most(0),
        ),
        ("--no-probe, nothing", cut_short(World::clean()).no_probe()),
    ]);
    Ending("timeout/session_timeout")
        .concludes([("only a pull", cut_short(World::clean().after(Pull)))]);
    Ending("review/rescue_incomplete rescues=1 snapshots=1").concludes([
        ("rescue fails", cut_short(World::dirty()).rescue(Fails)),
        ("elsewhere", cut_short(World::dirty()).rescue(Elsewhere(0))),
        ("rescue loses", cut_short(World::dirty()).rescue(Loses)),
    ]);
    Ending("incomplete/unfinished snapshots=1")
        .concludes([("--no-rescue", cut_short(World::dirty()).no_rescue())]);
    Ending("complete/checks_passed verified checks=1").concludes([(
        "checks pass",
        cut_short(World::clean().checks(Always(CheckOutcome::Pass))),
    )]);
    Ending("incomplete/checks_unmet checks=1").concludes([(
        "checks unmet, commit",
        cut_short(World::committed().checks(unmet)),
    )]);
    Ending("incomplete/unfinished rescues=1 snapshots=1 checks=1").concludes([(
        "checks unmet, dirty",
        cut_short(World::dirty().checks(unmet)),
    )]);
    Ending("timeout/session_timeout STRIKE checks=1").concludes([(
        "checks unmet, nothing",
        cut_short(World::clean().checks(unmet)),
    )]);
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
    let pulled = cut_short(World::clean().after(Pull)).run().verdict;
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
    Ending("timeout/session_timeout").concludes([
        (
            "its baseline is no ancestor any more",
            history(WarningCode::HistoryRewritten),
        ),
        (
            "work of before is overwritten",
            changes(WarningCode::InheritedOverwritten),
        ),
    ]);
    Ending("timeout/session_timeout STRIKE").concludes([
        (
            "another weakness of the history",
            history(WarningCode::NoReflog),
        ),
        (
            "another weakness of the changes",
            changes(WarningCode::UnreadablePath),
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
    let unmet = Always(CheckOutcome::Unmet);
    let over = |world: World| world.session_over();
    let runs = |world: World| {
        without_room(world).set(|setup| setup.survivors = vec!["cargo (process 7)".into()])
    };
    Ending("incomplete/unfinished").concludes([
        ("nothing", without_room(World::clean())),
        (
            "nothing, and it is known to be over",
            over(without_room(World::clean())),
        ),
        ("only a pull", without_room(World::clean().after(Pull))),
        ("no probes", without_room(World::clean()).asks_at_most(0)),
    ]);
    Ending("complete/new_commits committed")
        .concludes([("commit", without_room(World::committed()))]);
    Ending("incomplete/unfinished rescues=1 snapshots=1").concludes([
        (
            "commit and leftovers",
            without_room(World::committed().after(Edit)),
        ),
        ("dirty", without_room(World::dirty())),
        (
            "rescue makes nothing",
            without_room(World::dirty()).rescue(CommitsNothing),
        ),
        (
            "no probes, dirty",
            without_room(World::dirty()).asks_at_most(0),
        ),
    ]);
    Ending("review/rescue_incomplete rescues=1 snapshots=1")
        .concludes([("rescue fails", without_room(World::dirty()).rescue(Fails))]);
    Ending("incomplete/unfinished snapshots=1").concludes([
        ("--no-rescue", without_room(World::dirty()).no_rescue()),
        (
            "--no-probe, as loop has it",
            without_room(World::dirty()).no_probe(),
        ),
    ]);
    Ending("complete/checks_passed verified checks=1").concludes([(
        "checks pass",
        without_room(World::clean().checks(Always(CheckOutcome::Pass))),
    )]);
    Ending("incomplete/unfinished checks=1").concludes([(
        "checks passed before",
        without_room(World::clean().checks(PassedBefore)),
    )]);
    Ending("incomplete/checks_unmet checks=1").concludes([
        (
            "checks unmet, nothing",
            without_room(World::clean().checks(unmet)),
        ),
        (
            "checks unmet, commit",
            without_room(World::committed().checks(unmet)),
        ),
    ]);
    Ending("incomplete/checks_unmet rescues=1 snapshots=1 checks=1").concludes([(
        "checks unmet, dirty",
        without_room(World::dirty().checks(unmet)),
    )]);
    Ending("waiting/background_work waits=2")
        .concludes([("a process of it runs", runs(World::clean()))]);
    Ending("incomplete/unfinished rescues=1 waits=1 snapshots=2").concludes([(
        "a process of it ends",
        World {
            survivors_end: 1,
            ..runs(World::dirty())
        },
    )]);
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
    let unasked = without_room(World::clean()).no_probe().run().verdict;
    assert!(unasked.message.contains(what), "{}", unasked.message);
}

#[test]
fn usage_limited_session_is_probed_only_after_reset() {
    let unmet = Always(CheckOutcome::Unmet);
    Ending("waiting/rate_limited").concludes([
        ("nothing", limited(World::clean())),
        ("commit", limited(World::committed())),
        ("--no-probe", limited(World::clean()).no_probe()),
        (
            "checks unmet, nothing",
            limited(World::clean().checks(unmet)),
        ),
    ]);
    Ending("waiting/rate_limited snapshots=1").concludes([
        ("dirty", limited(World::dirty())),
        (
            "dirty, snapshot fails",
            limited(World::dirty()).unreadable(Kind::Snapshot, 1),
        ),
        ("no probes", limited(World::dirty()).asks_at_most(0)),
        (
            "checks unmet, commit and leftovers",
            limited(World::committed().after(Edit).checks(unmet)),
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
            .reads_leftovers()
    };
    Ending("stopped/budget_exhausted").concludes([
        ("nothing", over(World::clean())),
        ("commit", over(World::committed())),
        (
            "checks pass",
            over(World::committed().checks(Always(CheckOutcome::Pass))),
        ),
        ("no probes", over(World::clean()).asks_at_most(0)),
    ]);
    Ending("stopped/budget_exhausted rescues=1 snapshots=1").concludes([
        ("commit and leftovers", over(World::committed().after(Edit))),
        ("dirty", over(World::dirty())),
        ("rescue fails", over(World::dirty()).rescue(Fails)),
    ]);
    Ending("stopped/budget_exhausted snapshots=1")
        .concludes([("--no-rescue", over(World::dirty()).no_rescue())]);
    Ending("review/rescue_incomplete rescues=1 snapshots=1").concludes([
        ("rescue loses", over(World::dirty()).rescue(Loses)),
        ("elsewhere", over(World::dirty()).rescue(Elsewhere(0))),
    ]);
    let verdict = over(World::committed().after(Commit).after(Edit))
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
    let unmet = Always(CheckOutcome::Unmet);
    Ending("waiting/background_work").concludes([
        ("nothing", left(World::clean())),
        ("no probes", left(World::clean()).asks_at_most(0)),
    ]);
    Ending("waiting/background_work snapshots=1").concludes([
        ("dirty", left(World::dirty())),
        (
            "dirty, snapshot fails",
            left(World::dirty()).unreadable(Kind::Snapshot, 1),
        ),
    ]);
    Ending("complete/new_commits committed").concludes([("commit", left(World::committed()))]);
    Ending("waiting/background_work checks=1")
        .concludes([("checks unmet", left(World::clean().checks(unmet)))]);
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
    let unmet = Always(CheckOutcome::Unmet);
    Ending("waiting/background_work waits=2").concludes([
        ("it runs on", runs(World::clean())),
        (
            "no agent",
            runs(World::clean()).set(|setup| setup.unasked = Some(UnaskedCause::NoAgent)),
        ),
    ]);
    Ending("waiting/background_work waits=2 snapshots=3")
        .concludes([("it runs on, dirty", runs(World::dirty()))]);
    Ending("waiting/background_work snapshots=1").concludes([(
        "dirty, snapshot fails",
        runs(World::dirty()).unreadable(Kind::Snapshot, 1),
    )]);
    Ending("waiting/background_work").concludes([("one look", runs(World::clean()).looks_once())]);
    Ending("complete/new_commits committed waits=1")
        .concludes([("it commits", runs(World::clean()).during(Wait(1), Commit))]);
    Ending("complete/nothing_to_do claimed probes=1 waits=2").concludes([(
        "it ends, and all is done",
        ends(World::clean(), 2).says(complete()),
    )]);
    Ending("incomplete/unfinished STRIKE probes=1 waits=1").concludes([(
        "it ends, and more is wanted",
        ends(World::clean(), 1).says(working()),
    )]);
    Ending("incomplete/checks_unmet STRIKE waits=1 checks=2").concludes([(
        "it ends, and checks are unmet",
        ends(World::clean().checks(unmet), 1),
    )]);
    Ending("incomplete/unfinished").concludes([("no probes", runs(World::clean()).no_probe())]);
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
    Ending("complete/new_commits committed").concludes([("commit", ended(World::committed()))]);
    Ending("complete/nothing_to_do claimed probes=1")
        .concludes([("claim", ended(World::clean().says(complete())))]);
    Ending("complete/rescued claimed probes=1 rescues=1 snapshots=2")
        .concludes([("dirty claim", ended(World::dirty().says(complete())))]);
    Ending("timeout/max_probes STRIKE probes=3 waits=3")
        .concludes([("working", ended(World::clean().says(working())))]);
}

#[test]
fn checks_broken_by_pull_during_probe_are_unmet() {
    let over = |reply| {
        let world = World::dirty()
            .session(SessionEnd::Ended {
                exit: ProcessExit::Code(0),
            })
            .checks(PassedBeforePull);
        world.session_over().says(reply).during(Probe(1), Pull)
    };
    let unmet = "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=2";
    Ending(unmet).concludes([
        ("working", over(working())),
        ("waiting", over(waiting())),
        ("waiting, --once", over(waiting()).looks_once()),
        (
            "a contradiction: nobody is asked again",
            over(contradiction()),
        ),
        ("no answer", over(garbage())),
        ("no answer, --once", over(garbage()).looks_once()),
        ("usage limit", over(usage_limit())),
    ]);
    Ending("stopped/agent_stopped probes=1 rescues=1 snapshots=2 checks=2")
        .concludes([("it gives up, which ends a loop", over(gives_up()))]);
    Ending("incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=3")
        .concludes([("a claim is judged with what was rescued", over(complete()))]);
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
            .checks(Always(CheckOutcome::Unmet));
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
    let unmet = Always(CheckOutcome::Unmet);
    Ending("review/max_iterations").concludes([
        (
            "nothing, though its agent would claim it",
            ended(World::clean().says(complete())),
        ),
        ("nothing, without its last event", cut(World::clean())),
        ("--no-probe", ended(World::clean()).no_probe()),
        ("no probes", ended(World::clean()).asks_at_most(0)),
    ]);
    Ending("review/max_iterations checks=1").concludes([(
        "nothing, and checks are not met",
        ended(World::clean().checks(unmet)),
    )]);
    Ending("incomplete/unfinished rescues=1 snapshots=1")
        .concludes([("no probes, dirty", ended(World::dirty()).asks_at_most(0))]);
    Ending("complete/new_commits committed").concludes([("commit", ended(World::committed()))]);
    Ending("complete/checks_passed verified checks=1").concludes([(
        "checks pass",
        ended(World::clean().checks(Always(CheckOutcome::Pass))),
    )]);
    Ending("complete/rescued claimed probes=1 rescues=1 snapshots=2")
        .concludes([("work is left", ended(World::dirty().says(complete())))]);
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
    Ending("incomplete/unfinished STRIKE")
        .concludes([("nothing", stopped(World::clean().says(complete())))]);
    Ending("complete/new_commits committed").concludes([("commit", stopped(World::committed()))]);
    Ending("incomplete/unfinished rescues=1 snapshots=1")
        .concludes([("dirty", stopped(World::dirty()))]);
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
    Ending("complete/new_commits committed")
        .concludes([("its commits decide", spent(World::committed()))]);
    Ending("failed/agent_unrunnable checks=1").concludes([(
        "its commits do not meet the checks, and no session can go on",
        spent(World::committed().checks(Always(CheckOutcome::Unmet))),
    )]);
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

//! A session that may still live: who is not asked, and what is not committed (rule 11 of the contract).

use crate::decision::machine::EarlierRounds;
use crate::decision::rounds;
use crate::decision::session_life::SessionLife;
use watchdog_facts::evidence::{CheckOutcome, ProcessExit, SessionEnd, WarningCode};

use super::world::*;

fn words() -> String {
    "claude (process 7) runs".into()
}

fn busy(world: World) -> World {
    world.set(|setup| setup.life = SessionLife::Busy { words: words() })
}

fn idle(world: World) -> World {
    world.set(|setup| {
        setup.life = SessionLife::Idle {
            words: "claude (process 7) is idle since 14:02".into(),
        }
    })
}

fn moved(world: World) -> World {
    world.set(|setup| setup.life = SessionLife::Moved { words: words() })
}

#[test]
fn a_busy_session_is_not_judged() {
    let passes = Criteria::Always(CheckOutcome::Pass);
    check_table([
        ("dirty", busy(World::dirty()), "waiting/session_active"),
        (
            "committed",
            busy(World::committed()),
            "waiting/session_active",
        ),
        (
            "checks",
            busy(World::dirty().checks(passes)),
            "waiting/session_active",
        ),
        (
            "--once",
            busy(World::dirty().set(|setup| setup.once = true)),
            "waiting/session_active",
        ),
        (
            "a session that watchdog ran has ended",
            busy(World::committed()).session(ended()),
            "complete/new_commits committed",
        ),
    ]);
    assert_eq!(busy(World::dirty()).run().verdict.message, words());
}

fn ended() -> SessionEnd {
    SessionEnd::Ended {
        exit: ProcessExit::Code(0),
    }
}

#[test]
fn an_idle_session_is_judged_and_not_asked() {
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    for (name, alive) in [("idle", idle as fn(World) -> World), ("moved", moved)] {
        check_table([
            (
                name,
                alive(World::committed()),
                "complete/new_commits committed",
            ),
            (
                name,
                alive(World::dirty()),
                "waiting/session_active snapshots=1",
            ),
            (name, alive(World::clean()), "waiting/session_active"),
            (
                name,
                alive(World::dirty().set(|setup| setup.completion.max_probes = 0)),
                "waiting/session_active snapshots=1",
            ),
            (
                name,
                alive(World::dirty().set(|setup| setup.no_probe = true)),
                "waiting/session_active snapshots=1",
            ),
            (
                name,
                alive(World::dirty().checks(unmet)),
                "waiting/session_active snapshots=1 checks=1",
            ),
            (
                name,
                alive(World::committed().checks(unmet)),
                "incomplete/checks_unmet checks=1",
            ),
            (
                name,
                alive(
                    World::dirty()
                        .checks(Criteria::Always(CheckOutcome::Pass))
                        .rescue(Salvage::HeldBack),
                ),
                "complete/checks_passed verified rescues=1 snapshots=1 checks=1",
            ),
        ]);
    }
    let verdict = idle(World::dirty()).run().verdict;
    assert!(
        verdict.message.starts_with(
            "claude (process 7) is idle since 14:02, 2 files not committed; everything is kept"
        ),
        "{verdict:?}"
    );
    let earlier = EarlierRounds {
        rounds_used: 2,
        answered: 2,
        alive: 2,
        ..EarlierRounds::default()
    };
    assert_eq!(
        rounds::update_rounds(earlier, &moved(World::dirty()).run().verdict),
        earlier,
        "a look that saw something move spends no round"
    );
    let asked = World::dirty()
        .replies([working()])
        .set(|setup| setup.once = true)
        .run()
        .verdict;
    assert_eq!(rounds::update_rounds(earlier, &asked).rounds_used, 3);
    assert_eq!(rounds::after_movement(earlier, &asked), earlier);
    let complete = World::clean().replies([complete()]).run().verdict;
    assert_eq!(
        rounds::after_movement(earlier, &complete),
        rounds::update_rounds(earlier, &complete)
    );
}

#[test]
fn withheld_rescue_leaves_the_work() {
    let unmet = Criteria::Always(CheckOutcome::Unmet);
    let hold_back = |world: World| world.rescue(Salvage::HeldBack);
    check_table([
        (
            "beside complete",
            hold_back(World::dirty().replies([complete()])),
            "waiting/session_active probes=1 rescues=1 snapshots=2",
        ),
        (
            "beside complete and unmet checks",
            hold_back(World::dirty().checks(unmet).replies([complete()])),
            "incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=1",
        ),
        (
            "after the last round",
            hold_back(World::dirty().replies([working()])),
            "timeout/max_probes STRIKE probes=3 rescues=1 waits=3 snapshots=4",
        ),
        (
            "after a session that stopped",
            hold_back(World::dirty().replies([gives_up()])),
            "stopped/agent_stopped probes=1 rescues=1 snapshots=2",
        ),
        (
            "checks that pass",
            hold_back(World::dirty().checks(Criteria::Always(CheckOutcome::Pass))),
            "complete/checks_passed verified rescues=1 snapshots=1 checks=1",
        ),
    ]);
    let verdict = hold_back(World::dirty().replies([complete()]))
        .run()
        .verdict;
    assert_eq!(verdict.retry_at, Some(reset()));
    assert!(
        verdict
            .degraded
            .iter()
            .any(|note| note.code == WarningCode::RescueHeldBack),
        "{verdict:?}"
    );
    assert!(
        verdict
            .message
            .contains("2 files not committed yet: claude works"),
        "{}",
        verdict.message
    );
}

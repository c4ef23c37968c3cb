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
    let passes = Always(CheckOutcome::Pass);
    Ending("waiting/session_active").concludes([
        ("dirty", busy(World::dirty())),
        ("committed", busy(World::committed())),
        ("checks", busy(World::dirty().checks(passes))),
        ("--once", busy(World::dirty().looks_once())),
    ]);
    Ending("complete/new_commits committed").concludes([(
        "a session that watchdog ran has ended",
        busy(World::committed()).session(ended()),
    )]);
    assert_eq!(busy(World::dirty()).run().verdict.message, words());
}

fn ended() -> SessionEnd {
    SessionEnd::Ended {
        exit: ProcessExit::Code(0),
    }
}

#[test]
fn an_idle_session_is_judged_and_not_asked() {
    let unmet = Always(CheckOutcome::Unmet);
    for (name, alive) in [("idle", idle as fn(World) -> World), ("moved", moved)] {
        Ending("complete/new_commits committed").concludes([(name, alive(World::committed()))]);
        Ending("waiting/session_active snapshots=1").concludes([
            (name, alive(World::dirty())),
            (name, alive(World::dirty().asks_at_most(0))),
            (name, alive(World::dirty().no_probe())),
        ]);
        Ending("waiting/session_active").concludes([(name, alive(World::clean()))]);
        Ending("waiting/session_active snapshots=1 checks=1")
            .concludes([(name, alive(World::dirty().checks(unmet)))]);
        Ending("incomplete/checks_unmet checks=1")
            .concludes([(name, alive(World::committed().checks(unmet)))]);
        Ending("complete/checks_passed verified rescues=1 snapshots=1 checks=1").concludes([(
            name,
            alive(
                World::dirty()
                    .checks(Always(CheckOutcome::Pass))
                    .rescue(HeldBack),
            ),
        )]);
    }
    let verdict = idle(World::dirty()).run().verdict;
    assert!(
        verdict.message.starts_with(
            "claude (process 7) is idle since 14:02, 0 commits, 2 files not committed; everything is kept"
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
    let asked = World::dirty().says(working()).looks_once().run().verdict;
    assert_eq!(rounds::update_rounds(earlier, &asked).rounds_used, 3);
    assert_eq!(rounds::after_movement(earlier, &asked), earlier);
    let complete = World::clean().says(complete()).run().verdict;
    assert_eq!(
        rounds::after_movement(earlier, &complete),
        rounds::update_rounds(earlier, &complete)
    );
}

#[test]
fn withheld_rescue_leaves_the_work() {
    let unmet = Always(CheckOutcome::Unmet);
    let hold_back = |world: World| world.rescue(HeldBack);
    Ending("waiting/session_active probes=1 rescues=1 snapshots=2").concludes([(
        "beside complete",
        hold_back(World::dirty().says(complete())),
    )]);
    Ending("incomplete/checks_unmet probes=1 rescues=1 snapshots=2 checks=1").concludes([(
        "beside complete and unmet checks",
        hold_back(World::dirty().checks(unmet).says(complete())),
    )]);
    Ending("timeout/max_probes STRIKE probes=3 rescues=1 waits=3 snapshots=4").concludes([(
        "after the last round",
        hold_back(World::dirty().says(working())),
    )]);
    Ending("stopped/agent_stopped probes=1 rescues=1 snapshots=2").concludes([(
        "after a session that stopped",
        hold_back(World::dirty().says(gives_up())),
    )]);
    Ending("complete/checks_passed verified rescues=1 snapshots=1 checks=1").concludes([(
        "checks that pass",
        hold_back(World::dirty().checks(Always(CheckOutcome::Pass))),
    )]);
    let verdict = hold_back(World::dirty().says(complete())).run().verdict;
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

//! What a session leaves running in its very last moment: found and ended in every round. `LEFT_ROUNDS=200` is the long form.

use std::path::Path;
use std::time::{Duration, SystemTime};

use watchdog_process::{
    CancelFlag, MirrorTarget, SessionLaunch, SessionOutcome, SessionProcess, SessionTerms,
    SparedPrograms, StdinSource,
};

use crate::process_scene::Scene;

fn rounds() -> u32 {
    std::env::var("LEFT_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20)
}

fn run(scene: &Scene, script: &str, end_survivors: bool) -> SessionOutcome {
    run_with(scene, script, end_survivors, SparedPrograms::default())
}

fn run_with(
    scene: &Scene,
    script: &str,
    end_survivors: bool,
    spared: SparedPrograms,
) -> SessionOutcome {
    let mut spec = SessionLaunch::new(["sh", "-c", script], scene.path("."));
    spec.env.insert(
        "SCENE".into(),
        Some(scene.path("").components().as_path().into()),
    );
    (spec.mirror, spec.stdin, spec.spared) = (MirrorTarget::Off, StdinSource::Null, spared);
    let terms = SessionTerms {
        grace: Duration::from_secs(2),
        child_wait: Duration::ZERO,
        end_survivors,
        ..SessionTerms::default()
    };
    SessionProcess::start(&spec)
        .expect("it starts")
        .wait(&terms, &CancelFlag::new())
}

/// Forks twice, leads a session of its own, and is the last thing that the script does.
const LAST: [&str; 3] = [
    "(setsid sh -c '(exec sleep 1000 >/dev/null 2>&1 </dev/null) &' &)",
    "(setsid env -i sh -c '(exec sleep 1000 >/dev/null 2>&1 </dev/null) &' &) >/dev/null 2>&1",
    "setsid -f sleep 1000 >/dev/null 2>&1 </dev/null",
];

#[test]
fn last_started_daemon_is_always_named() {
    for round in 0..rounds() {
        for script in LAST {
            let scene = Scene::new();
            let outcome = run(&scene, script, false);
            assert!(
                !outcome.survivors.is_empty(),
                "round {round} of {script}: {:?} runs",
                scene.left()
            );
            let ended = run(&scene, script, true);
            assert_eq!(ended.survivors, [], "round {round} of {script}");
            scene.clear();
            crate::process_scene::until("the ones without a mark are gone", || {
                outcome
                    .survivors
                    .iter()
                    .for_each(|survivor| crate::process_scene::kill(survivor.pid));
                watchdog_process::reap_orphans();
                outcome
                    .survivors
                    .iter()
                    .all(|survivor| !crate::process_scene::alive(survivor.pid))
            });
        }
    }
}

#[test]
fn helpers_are_no_survivors_and_are_spared() {
    let older = tempfile::tempdir().expect("a folder can be made");
    let sleep = ["/bin/sleep", "/usr/bin/sleep"]
        .into_iter()
        .find(|file| Path::new(file).exists());
    std::fs::copy(
        sleep.expect("sleep is here"),
        older.path().join("gpg-agent"),
    )
    .expect("it is copied");
    let older_agent = older.path().join("gpg-agent").display().to_string();
    let older_script = older.path().join("biome").display().to_string();
    std::fs::write(&older_script, "sleep 1000 & echo >up-too; wait").expect("it can be written");
    // The clock of files counts seconds.
    let since = SystemTime::now() + Duration::from_secs(2);
    crate::process_scene::until("it is older", || SystemTime::now() > since);
    let script = |left: &str| {
        format!("for name in gpg-agent worker; do cp \"$(command -v sleep)\" $name; done; {left}")
    };
    let spared = || SparedPrograms::with_known(&["my-*".into()]);
    // The worker is a child of a helper.
    let both = format!(
        "cp \"$(command -v sh)\" my-server; ({older_agent} 1000 & setsid ./my-server -c './worker 1000 & echo >up; wait' & setsid sh {older_script} lsp-proxy &) >/dev/null 2>&1 </dev/null; \
         while [ ! -e up ] || [ ! -e up-too ]; do sleep 0.01; done"
    );
    let scene = Scene::new();
    let outcome = run_with(&scene, &script(&both), true, spared());
    assert_eq!(
        (outcome.survivors, outcome.ended_survivors),
        (vec![], vec![])
    );
    assert_eq!(scene.left().len(), 5, "{:?}", scene.left());
    scene.clear();
    let scene = Scene::new();
    // One whose file or link came with the session, and one that borrows a name, are work.
    let beside = script(&format!(
        "({older_agent} 1000 & until grep -q gpg-agent /proc/$!/comm; do sleep 0.01; done; ./gpg-agent 1000 & bash -c 'exec -a ssh-agent sleep 1000' & ./worker 1000 & ln -s {older_script} tsserver; sh ./tsserver &) >/dev/null 2>&1 </dev/null; \
         while [ ! -e up-too ]; do sleep 0.01; done"
    ));
    let outcome = run_with(&scene, &beside, true, spared());
    assert_eq!(
        outcome.ended_survivors.len(),
        5,
        "{:?}",
        outcome.ended_survivors
    );
    assert_eq!((outcome.survivors, scene.left().len()), (vec![], 1));
    scene.clear();
    let scene = Scene::new();
    let outcome = run(&scene, &script(&both), true);
    assert_eq!(
        (outcome.ended_survivors.len(), scene.left().len()),
        (5, 0),
        "no helper"
    );
}

/// Each generation lives for some two milliseconds, begins the next and ends: a program each, as a shell's function may call itself a thousand
/// times only, which a busy machine outlives. A file stops it, should nobody else.
const CHAIN: &str = "echo 'sleep 0.002; [ -e stop ] || sh one &' >one; (setsid sh one >/dev/null 2>&1 </dev/null &)";

#[test]
fn chain_of_short_processes_is_named_and_ended() {
    for round in 0..rounds() {
        let scene = Scene::new();
        let outcome = run(&scene, CHAIN, false);
        std::fs::write(scene.path("stop"), "").expect("a file can be written");
        crate::process_scene::until("the chain has ended", || scene.left().is_empty());
        assert!(!outcome.survivors.is_empty(), "round {round}");

        let scene = Scene::new();
        let outcome = run(&scene, CHAIN, true);
        let left = scene.left();
        std::fs::write(scene.path("stop"), "").expect("a file can be written");
        assert_eq!((outcome.survivors, left), (vec![], vec![]), "round {round}");
    }
}

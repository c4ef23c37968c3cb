//! The test: points that are drawn from all scenes and families by a seed, spread over the processors.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::calls::{CallFault, FAMILIES, Injection};
use super::ground::InjectionGround;
use super::point::{CallCounts, PointOutcome, count_calls, play, play_read};
use super::scene::{READS, SCENES, Scene};
use crate::support::CommandOutput;
use crate::support::random_tree::Dice;
use crate::torture::{Tally, number};

const THIS: &str = "injection::points::failed_syscalls_lose_no_data_and_are_told";

/// Draws until a point is reached, at most so often.
const DRAWS: usize = 20;

/// The scenes to play: all, or the one that `WATCHDOG_INJECT_SCENE` names.
fn scenes() -> Vec<Scene> {
    let wanted = std::env::var("WATCHDOG_INJECT_SCENE").ok();
    let chosen: Vec<Scene> = SCENES
        .iter()
        .copied()
        .filter(|scene| wanted.as_deref().is_none_or(|name| name == scene.name()))
        .collect();
    assert!(
        !chosen.is_empty(),
        "WATCHDOG_INJECT_SCENE={wanted:?} is none of {:?}",
        SCENES.iter().map(|scene| scene.name()).collect::<Vec<_>>()
    );
    chosen
}

/// The calls and the output of each scene that nothing disturbs, once for all workers.
#[derive(Default)]
struct UndisturbedScenes(Mutex<BTreeMap<Scene, Arc<(CallCounts, CommandOutput)>>>);

impl UndisturbedScenes {
    fn play(&self, ground: &mut InjectionGround, scene: Scene) -> Arc<(CallCounts, CommandOutput)> {
        let scenes = || self.0.lock().expect("no worker panicked with it");
        if let Some(played) = scenes().get(&scene) {
            return Arc::clone(played);
        }
        let played = Arc::new(count_calls(ground, scene));
        scenes().insert(scene, Arc::clone(&played));
        played
    }
}

/// What all workers share.
struct Points {
    scenes: Vec<Scene>,
    undisturbed: UndisturbedScenes,
    next: AtomicU64,
    tally: Mutex<Tally>,
    broken: Mutex<Vec<String>>,
}

#[test]
fn failed_syscalls_lose_no_data_and_are_told() {
    let (first, points) = (
        number("WATCHDOG_INJECT_SEED", 1),
        number("WATCHDOG_INJECT_POINTS", 104),
    );
    let shared = Points {
        scenes: scenes(),
        undisturbed: UndisturbedScenes::default(),
        next: AtomicU64::new(0),
        tally: Mutex::default(),
        broken: Mutex::default(),
    };
    // Some points wait for a lock, or for what never answers.
    let workers = 2 * std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| shared.work(first, points));
        }
    });
    let broken = shared
        .broken
        .into_inner()
        .expect("no worker panicked with it");
    println!(
        "{points} points from seed {first}\n{}",
        shared
            .tally
            .into_inner()
            .expect("no worker panicked with it")
    );
    assert!(
        broken.is_empty(),
        "{} points are broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

#[test]
fn unsaved_predecessor_work_prevents_a_session() {
    let mut ground = InjectionGround::new();
    let family = FAMILIES
        .iter()
        .find(|family| family.name == "read")
        .expect("it is one of them");
    let mut held_back = 0;
    // The reads of the first snapshot are among them, whatever was read before.
    for at in (46..=70).step_by(4) {
        let injection = Injection {
            family,
            fault: CallFault::Error("EIO"),
            at,
            lasting: true,
        };
        match play(&mut ground, Scene::Run, injection, None) {
            PointOutcome::Held { end } => held_back += usize::from(end == "exit 16"),
            PointOutcome::NotReached => {}
            PointOutcome::Broken(what) => panic!("read {at}: {what}"),
        }
    }
    assert!(held_back > 0, "no read of a snapshot was hit");
}

/// Commands that only read, with one failing call each.
#[test]
fn reads_that_fail_are_not_silent() {
    let (first, points) = (
        number("WATCHDOG_INJECT_SEED", 1),
        number("WATCHDOG_INJECT_READS", 68),
    );
    let (next, broken) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let undisturbed = UndisturbedScenes::default();
    std::thread::scope(|scope| {
        for _ in 0..2 * std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let mut ground = InjectionGround::new();
                loop {
                    let point = next.fetch_add(1, Ordering::Relaxed);
                    if point >= points {
                        return;
                    }
                    let scene = Scene::Read(READS[point as usize % READS.len()]);
                    let well = undisturbed.play(&mut ground, scene);
                    let fault = play_read(&mut ground, &well, scene, &mut Dice::new(first + point));
                    broken
                        .lock()
                        .expect("no worker panicked with it")
                        .extend(fault.map(|what| format!("seed {}: {what}", first + point)));
                }
            });
        }
    });
    let broken = broken.into_inner().expect("no worker panicked with it");
    assert!(
        broken.is_empty(),
        "{} points are broken:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

/// gix takes a folder of refs that it cannot stat for one that is not there.
#[test]
fn refs_without_stat_are_not_missing() {
    let mut ground = InjectionGround::new();
    let family = FAMILIES
        .iter()
        .find(|family| family.name == "stat")
        .expect("it is one of them");
    let scene = Scene::Read("rescue list");
    let (counts, well) = count_calls(&mut ground, scene);
    let stats = counts["stat"];
    for at in stats / 2..=stats {
        // A fault that lasts meets the same reads from each call before them.
        for lasting in [false, true].into_iter().take(1 + usize::from(at % 4 == 0)) {
            let injection = Injection {
                family,
                fault: CallFault::Error("EACCES"),
                at,
                lasting,
            };
            if let PointOutcome::Broken(what) = play(&mut ground, scene, injection, Some(&well)) {
                panic!("stat {at} of {stats}, lasting {lasting}: {what}");
            }
        }
    }
}

#[test]
fn interrupt_ends_a_watch_with_failing_reads() {
    let mut ground = InjectionGround::new();
    let family = FAMILIES
        .iter()
        .find(|family| family.name == "read")
        .expect("it is one of them");
    let mut reached = 0;
    for at in [20, 45, 70] {
        let injection = Injection {
            family,
            fault: CallFault::Error("EIO"),
            at,
            lasting: true,
        };
        match play(&mut ground, Scene::Watch, injection, None) {
            PointOutcome::Held { .. } => reached += 1,
            PointOutcome::NotReached => {}
            PointOutcome::Broken(what) => panic!("read {at}: {what}"),
        }
    }
    assert!(reached > 0, "no read of a watch was hit");
}

impl Points {
    fn work(&self, first: u64, points: u64) {
        let mut ground = InjectionGround::new();
        loop {
            let point = self.next.fetch_add(1, Ordering::Relaxed);
            if point >= points {
                return;
            }
            let seed = first + point;
            if catch_unwind(AssertUnwindSafe(|| self.draw_and_play(&mut ground, seed))).is_err() {
                self.broken
                    .lock()
                    .expect("no worker panicked with it")
                    .push(format!("seed {seed} panicked, see above"));
                ground = InjectionGround::new();
            }
        }
    }

    fn draw_and_play(&self, ground: &mut InjectionGround, seed: u64) {
        let mut dice = Dice::new(seed);
        dice.roll(2);
        // In turn, so that each scene has its share.
        let scene = self.scenes[seed as usize % self.scenes.len()];
        for _ in 0..DRAWS {
            let family = dice.pick(FAMILIES);
            let undisturbed = self.undisturbed.play(ground, scene);
            let (counts, well) = &*undisturbed;
            let Some(most) = counts.get(family.name).copied() else {
                continue;
            };
            let injection = Injection::random(&mut dice, family, most);
            let word = format!("{} at {} {}", injection.word(), family.name, injection.at);
            match play(ground, scene, injection, Some(well)) {
                PointOutcome::NotReached => continue,
                PointOutcome::Held { end } => self.count(scene, &injection, &end),
                PointOutcome::Broken(what) => {
                    self.count(scene, &injection, "BROKEN");
                    let again = format!(
                        "WATCHDOG_INJECT_SEED={seed} WATCHDOG_INJECT_POINTS=1 cargo test --test it {THIS} -- --nocapture"
                    );
                    let said = format!("{}: {word}: {what}\n  again: {again}\n", scene.name());
                    println!("{said}");
                    self.broken
                        .lock()
                        .expect("no worker panicked with it")
                        .push(said);
                }
            }
            return;
        }
        self.tally
            .lock()
            .expect("no worker panicked with it")
            .one("not reached", scene.name());
    }

    fn count(&self, scene: Scene, injection: &Injection, end: &str) {
        let mut tally = self.tally.lock().expect("no worker panicked with it");
        tally.one("points", "played");
        tally.one("command", format!("{}, {end}", scene.name()));
        tally.one("call", injection.family.name);
        tally.one("fault", injection.word());
        tally.one("end", end);
    }
}

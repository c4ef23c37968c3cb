//! The test: so many rounds, one after the other, as each of them keeps every processor busy.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::round::{RoundSize, play};
use crate::torture::{Tally, number};

const THIS: &str = "fleet_proof::rounds::every_task_is_done_once_despite_failures";

#[test]
fn every_task_is_done_once_despite_failures() {
    let (first, rounds) = (
        number("WATCHDOG_FLEET_SEED", 1),
        number("WATCHDOG_FLEET_ROUNDS", 1),
    );
    let size = RoundSize {
        machines: number("WATCHDOG_FLEET_MACHINES", 8) as usize,
        tasks: number("WATCHDOG_FLEET_TASKS", 80) as usize,
        patience: Duration::from_secs(number("WATCHDOG_FLEET_PATIENCE", 300)),
        with_standby: number("WATCHDOG_FLEET_STANDBY", 0) > 0,
    };
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for seed in first..first + rounds {
        if catch_unwind(AssertUnwindSafe(|| play(seed, size, &mut tally))).is_err() {
            failed.push(seed);
        }
    }
    println!("{rounds} rounds from seed {first}, {size:?}\n{tally}");
    let repeat = |seed: &u64| {
        format!("  WATCHDOG_FLEET_SEED={seed} cargo test --test it {THIS} -- --nocapture\n")
    };
    assert!(
        failed.is_empty(),
        "{} rounds failed; each alone:\n{}",
        failed.len(),
        failed.iter().map(repeat).collect::<String>()
    );
}

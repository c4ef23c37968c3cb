//! The test: so many rounds, spread over the processors, in a mount namespace that takes everything with it.

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::number;
use super::round::play;
use super::tally::Tally;

const THIS: &str = "torture::rounds::every_byte_is_recoverable_after_any_failure";
/// Set in the process that plays.
const PLAYS: &str = "WATCHDOG_TORTURE_PLAYS";

#[test]
fn every_byte_is_recoverable_after_any_failure() {
    assert!(
        rustix::process::geteuid().is_root(),
        "small disks and read-only folders are mounts: run this as root"
    );
    if std::env::var_os(PLAYS).is_none() {
        in_a_namespace();
        return;
    }
    let (first, rounds) = (
        number("WATCHDOG_TORTURE_SEED", 1),
        number("WATCHDOG_TORTURE_ROUNDS", 24),
    );
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicU64::new(0);
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| scope.spawn(|| work(first, rounds, &next)))
            .collect();
        for worker in workers {
            let (counts, faults) = worker.join().unwrap();
            tally.join(counts);
            failed.extend(faults);
        }
    });
    failed.sort_unstable();
    println!("{rounds} rounds from seed {first}\n{tally}");
    let repeat = |seed: &u64| {
        format!(
            "  WATCHDOG_TORTURE_SEED={seed} WATCHDOG_TORTURE_ROUNDS=1 cargo test --test it {THIS} -- --nocapture\n"
        )
    };
    assert!(
        failed.is_empty(),
        "{} rounds failed; each alone:\n{}",
        failed.len(),
        failed.iter().map(repeat).collect::<String>()
    );
    assert_eq!(tally.count("files", "lost"), 0);
}

/// Plays rounds until there are none left; returns the counts and the seeds that failed.
fn work(first: u64, rounds: u64, next: &AtomicU64) -> (Tally, Vec<u64>) {
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    loop {
        let round = next.fetch_add(1, Ordering::Relaxed);
        if round >= rounds {
            return (tally, failed);
        }
        let seed = first + round;
        let mut counts = Tally::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| play(seed, &mut counts)));
        tally.join(counts);
        if outcome.is_err() {
            println!("FAILED: seed {seed}");
            failed.push(seed);
        }
        if (round + 1).is_multiple_of(100) {
            println!("{} rounds played", round + 1);
        }
    }
}

/// Runs this test in a process with mounts of its own, so that not even a kill leaves one behind.
fn in_a_namespace() {
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(this)
        .args(["--exact", THIS, "--nocapture"])
        .env(PLAYS, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("unshare (util-linux) is needed for mounts that go away: {e}"));
    let mut passed = false;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        passed |= line.contains("1 passed");
        println!("{line}");
    }
    let status = child.wait().unwrap();
    assert!(
        status.success() && passed,
        "rounds failed, see above ({status})"
    );
}

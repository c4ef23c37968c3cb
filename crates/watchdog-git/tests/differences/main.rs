//! What is read of a repository, beside what git itself says of it: reflogs, refs and the status of files, drawn by a seed, many cases in one
//! repository, so that one git answers for all of them.
//!
//! `WATCHDOG_GIT_CASES` and `WATCHDOG_GIT_SEED` draw others; `scripts/nightly fuzz` plays a hundred thousand of each.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs by themselves"
)]

mod drawn;
mod reflogs;
mod refs;
mod repository;
mod status;

/// How many cases one repository has.
const BATCH: usize = 200;

/// Plays so many cases as are wanted, in batches, each with numbers of its own.
#[track_caller]
fn play(name: &str, usual: usize, batch: impl Fn(&mut drawn::DrawnNumbers)) {
    let wanted = drawn::number("WATCHDOG_GIT_CASES")
        .map_or(usual, |cases| usize::try_from(cases).expect("a count fits"));
    let first = drawn::number("WATCHDOG_GIT_SEED").unwrap_or(1);
    let batches = wanted.div_ceil(BATCH);
    for seed in (first..).take(batches) {
        eprintln!("WATCHDOG_GIT_SEED={seed} WATCHDOG_GIT_CASES={BATCH}");
        batch(&mut drawn::DrawnNumbers::new(seed));
    }
    println!("beside git:\n  {}  {name}", batches * BATCH);
}

#[test]
fn reflogs_are_read_as_git_reads_them() {
    play("reflogs", 2 * BATCH, reflogs::batch);
}

#[test]
fn refs_are_read_as_git_reads_them() {
    play("refs", 2 * BATCH, refs::batch);
}

#[test]
fn the_status_of_files_is_that_of_git() {
    play("files", 2 * BATCH, status::batch);
}

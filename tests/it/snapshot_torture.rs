//! Random trees of random changes: snapshot, wipe, restore, and every byte must be back.

use crate::support::random_tree::{self, Dice, NAMES};
use crate::support::scratch_repo::{Files, ScratchRepo};
use watchdog_core::config::settings::{ConfigSettings, RescueMode, RescueSettings};
use watchdog_git::{RestoreTarget, SnapshotCandidate};

/// Changes one random thing in the work tree, or the index, or both.
fn change(repo: &ScratchRepo, dice: &mut Dice) {
    random_tree::change(repo.root(), dice, NAMES, &|args| {
        drop(repo.try_git_in(repo.root(), args))
    });
}

/// A repository with random commits and random uncommitted changes.
fn random_repo(dice: &mut Dice) -> ScratchRepo {
    let repo = if dice.roll(6) == 0 {
        ScratchRepo::unborn()
    } else {
        ScratchRepo::new()
    };
    for _ in 0..dice.roll(15) {
        change(&repo, dice);
    }
    if dice.roll(6) > 0 {
        repo.git(["add", "-A"]);
        repo.try_git_in(repo.root(), ["commit", "-qm", "base"]);
    }
    for _ in 0..=dice.roll(25) {
        change(&repo, dice);
    }
    repo
}

fn round(seed: u64) {
    let mut dice = Dice::new(seed);
    let repo = random_repo(&mut dice);
    let (before, private): (Files, _) = (repo.files(), repo.private_state());
    let staged = |repo: &ScratchRepo| repo.git(["ls-files", "--stage", "-z"]);
    let index = staged(&repo);
    // In every other round a third of the names, and what is large, is kept apart.
    let rule = |candidate: &SnapshotCandidate<'_>| {
        let name = candidate.path.rsplit('/').next().unwrap_or_default();
        (seed.is_multiple_of(2)
            && (["a", "c.txt", "-x", "sub"].contains(&name) || candidate.bytes > 10_000))
            .then_some("secret")
    };
    let Some(snapshot) = repo.snapshot_apart(&rule) else {
        assert_eq!(
            repo.git(["status", "--porcelain"]),
            "",
            "seed {seed}: nothing was kept of a tree that is not clean"
        );
        return;
    };
    assert_eq!(repo.private_state(), private, "seed {seed}");
    assert_eq!(snapshot.left_out, [], "seed {seed}");
    let worktree = repo.open();
    assert_eq!(
        worktree.missing_from(&snapshot).unwrap(),
        Vec::<String>::new(),
        "seed {seed}"
    );

    if snapshot.parent.is_some() {
        repo.git(["reset", "-q", "--hard"]);
    } else {
        repo.try_git_in(repo.root(), ["rm", "-rqf", "--cached", "."]);
    }
    repo.git(["clean", "-qffdx"]);
    if dice.roll(4) == 0 {
        repo.git(["gc", "-q", "--prune=now"]);
    }
    worktree
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    assert_eq!(repo.files(), before, "seed {seed}");
    assert_eq!(staged(&repo), index, "seed {seed}: the index");
    assert_eq!(
        worktree.missing_from(&snapshot).unwrap(),
        Vec::<String>::new(),
        "seed {seed}"
    );
    // The restored state is the state that was kept: the same snapshot holds it.
    assert!(
        repo.snapshot_apart(&rule).expect("it is not clean").reused,
        "seed {seed}: the restored state differs"
    );
    repo.git(["fsck", "--strict"]);
}

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .ok()
            .and_then(|n| n.parse().ok())
            .unwrap_or(default)
    };
    let first = number("WATCHDOG_TORTURE_SEED", 1);
    first..first + number("WATCHDOG_TORTURE_ROUNDS", 40)
}

#[test]
fn every_byte_of_a_random_tree_comes_back() {
    seeds().for_each(round);
}

#[test]
fn random_tree_becomes_one_identical_commit() {
    for seed in seeds() {
        let repo = random_repo(&mut Dice::new(seed ^ 0xD134_2543));
        let Some(snapshot) = repo.try_snapshot() else {
            continue;
        };
        let before = repo.files();
        let settings = RescueSettings {
            mode: RescueMode::Single,
            ..ConfigSettings::default().rescue
        };
        let outcome = repo.rescue(&snapshot, &settings);
        assert_eq!(repo.files(), before, "seed {seed}");
        assert_eq!(
            (&outcome.failed, &outcome.lost),
            (&None, &vec![]),
            "seed {seed}"
        );
        let staged_only = snapshot.files == 0;
        assert_eq!(outcome.commits, u64::from(!staged_only), "seed {seed}");
        if !staged_only {
            assert_eq!(
                repo.git(["rev-parse", "HEAD^{tree}"]),
                snapshot.tree,
                "seed {seed}"
            );
            // What is staged but not in the work tree is left staged, and nothing else is left.
            assert!(
                repo.try_snapshot().is_none_or(|left| left.files == 0),
                "seed {seed}"
            );
        }
    }
}

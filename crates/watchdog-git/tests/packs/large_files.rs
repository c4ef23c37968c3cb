//! Files that no reader of whole objects can hold: their sizes are those at which 32 bits end.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use watchdog_git::{RestoreTarget, Worktree};

use crate::repository::{ScratchRepo, noise};

#[test]
fn file_above_4_gib_comes_back() {
    let repo = ScratchRepo::new(&[]);
    let size = (1 << 32) + 12_345;
    let file = File::create(repo.root.join("large")).expect("the folder is ours");
    let written = [0, 1 << 31, size - 100].map(|at| (at, noise(100, at)));
    for (at, bytes) in &written {
        file.write_all_at(bytes, *at).expect("the disk has room");
    }
    let snapshot = repo.snapshot();
    let target = repo.root.with_file_name("restored");
    let worktree = Worktree::open(&repo.root).expect("it is a repository");
    worktree
        .restore(&snapshot.name, RestoreTarget::Directory(target.clone()))
        .expect("the snapshot is whole");
    let restored = File::open(target.join("large")).expect("it is restored");
    let about = restored.metadata().expect("it is open");
    assert_eq!(about.len(), size);
    // The rest is zeros because it is holes: each of these pieces fills a block or two.
    assert!(
        about.blocks() * 512 <= 3 * 2 * (128 << 10),
        "{} blocks",
        about.blocks()
    );
    for (at, bytes) in written {
        let mut there = vec![0; 100];
        restored
            .read_exact_at(&mut there, at)
            .expect("it is as long");
        assert_eq!(there, bytes, "at {at}");
    }
}

#[test]
fn large_file_comes_back_from_any_form() {
    let repo = ScratchRepo::new(&[]);
    let stored = noise(9 << 20, 5);
    repo.write("large", &stored);
    let loose = repo.snapshot();
    assert_eq!(repo.packs("pack").len(), 0);
    assert_eq!(repo.restored(&loose), repo.files());
    // git makes a difference of the older one.
    repo.write("large", &[stored.as_slice(), b"more"].concat());
    let older = (loose, repo.restored(&repo.snapshot()));
    repo.git(&["repack", "-q", "-a", "-d", "-f"]);
    repo.git(&["prune-packed"]);
    assert_eq!(repo.loose(), 0);
    let newer = repo.snapshot();
    assert_eq!(repo.restored(&newer), older.1);
    assert_eq!(repo.restored(&older.0)[Path::new("large")], stored);
    repo.write("large", &stored);
    // Objects of a repository that this one borrows from.
    repo.git(&["clone", "-q", "--shared", ".", "../borrower"]);
    repo.git(&[
        "-C",
        "../borrower",
        "fetch",
        "-q",
        "origin",
        "refs/watchdog/*:refs/watchdog/*",
    ]);
    let borrower =
        Worktree::open(&repo.root.with_file_name("borrower")).expect("it is a repository");
    let target = repo.root.with_file_name("restored");
    borrower
        .restore(&older.0.name, RestoreTarget::Directory(target.clone()))
        .expect("the other repository has it");
    assert_eq!(
        fs::read(target.join("large")).expect("it is restored"),
        stored
    );
}

#[test]
fn damaged_large_file_is_not_restored() {
    let repo = ScratchRepo::new(&[]);
    repo.write("large", &noise(40 << 20, 6));
    let snapshot = repo.snapshot();
    let [pack] = repo.packs("pack").try_into().expect("one pack");
    let mut permissions = fs::metadata(&pack).expect("it is there").permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "a scratch file")]
    permissions.set_readonly(false);
    fs::set_permissions(&pack, permissions).expect("it is ours");
    let file = File::options().write(true).open(&pack).expect("it is ours");
    file.write_all_at(b"other bytes", 20 << 20)
        .expect("it is ours");
    let target = RestoreTarget::Directory(repo.root.with_file_name("restored"));
    let error = Worktree::open(&repo.root)
        .expect("it is a repository")
        .restore(&snapshot.name, target)
        .expect_err("it is damaged");
    assert!(error.to_string().contains("large"), "{error}");
    assert!(!repo.root.with_file_name("restored").join("large").exists());
}

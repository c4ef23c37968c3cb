//! Packs of snapshots beside a git that repacks, prunes and collects garbage at the same moment.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::repository::ScratchRepo;

/// Takes snapshots of many files, each beside a git that begins at another moment of it.
fn beside(command: &[&str]) {
    let repo = ScratchRepo::new(&[]);
    let mut taken = Vec::new();
    for round in 0..12 {
        repo.write_many(150, round);
        let files = repo.files();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(round * 10) {
                    std::thread::yield_now();
                }
                // It may find a snapshot's temporary file gone that it had listed.
                repo.try_git(command);
            });
            taken.push((repo.snapshot(), files));
        });
    }
    repo.git(&["fsck", "--full", "--strict", "--no-dangling"]);
    for (snapshot, files) in taken {
        assert_eq!(repo.restored(&snapshot), files);
    }
    assert_eq!((repo.packs("keep").len(), repo.packs("tmp").len()), (0, 0));
}

#[test]
fn repack_dropping_unreachable_objects_keeps_snapshots() {
    beside(&["repack", "-q", "-a", "-d"]);
}

#[test]
fn a_garbage_collection_without_mercy_takes_no_snapshot() {
    beside(&["gc", "-q", "--prune=now"]);
}

#[test]
fn few_new_files_survive_removal_of_object_folders() {
    let repo = ScratchRepo::new(&[]);
    let objects = repo.root.join(".git/objects");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for folder in 0..256 {
                    // One that has an object stays.
                    fs::remove_dir(objects.join(format!("{folder:02x}"))).ok();
                }
            }
        });
        for round in 0..40 {
            repo.write_many(5, round);
            let snapshot = catch_unwind(AssertUnwindSafe(|| repo.snapshot()));
            if let Err(panic) = snapshot {
                over.store(true, Ordering::Relaxed);
                resume_unwind(panic);
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    repo.git(&["fsck", "--full", "--strict", "--no-dangling"]);
}

#[test]
fn only_own_leftovers_of_killed_snapshot_are_removed() {
    let repo = ScratchRepo::new(&[]);
    let folder = repo.root.join(".git/objects/pack");
    let write = |name: &str, content: &str| {
        fs::write(folder.join(name), content).expect("the repository is ours")
    };
    let name = |digit: char, part: &str| format!("pack-{}.{part}", digit.to_string().repeat(40));
    // A pack without an index, kept by nobody that lives.
    write(&name('1', "pack"), "half a pack");
    write(&name('1', "keep"), "watchdog snapshot 1\n");
    write("tmp_pack_watchdog_1_0", "half a pack");
    // Others' own.
    write(&name('2', "keep"), "fetch-pack 7 on host\n");
    write(&name('3', "keep"), "");
    write(&name('4', "pack"), "of another git, about to get its index");
    write("tmp_pack_Ab12Cd", "of another git");
    // Held by a snapshot that runs.
    write(&name('5', "keep"), "watchdog snapshot 1\n");
    write("tmp_idx_watchdog_2_0", "");
    let held: Vec<File> = [name('5', "keep"), "tmp_idx_watchdog_2_0".into()]
        .iter()
        .map(|name| File::open(folder.join(name)).expect("it was written"))
        .inspect(|file| file.try_lock().expect("nobody else has it"))
        .collect();
    repo.write("new", b"one file");
    repo.snapshot();
    let mut left: Vec<String> = fs::read_dir(&folder)
        .expect("it is there")
        .map(|e| {
            e.expect("it can be listed")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    left.sort();
    let mut expected = [
        name('2', "keep"),
        name('3', "keep"),
        name('4', "pack"),
        name('5', "keep"),
        "tmp_idx_watchdog_2_0".into(),
        "tmp_pack_Ab12Cd".into(),
    ];
    expected.sort();
    assert_eq!(left, expected);
    drop(held);
}

#[test]
fn without_a_folder_of_packs_objects_are_loose() {
    let repo = ScratchRepo::new(&[]);
    fs::remove_dir(repo.root.join(".git/objects/pack")).expect("it is empty");
    repo.write_many(150, 1);
    let snapshot = repo.snapshot();
    repo.git(&["fsck", "--full", "--strict"]);
    assert_eq!(repo.restored(&snapshot), repo.files());
}

//! What is in the pack of a snapshot, and what is not.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use watchdog_git::{RestoreTarget, Worktree};

use crate::repository::{ScratchRepo, noise};

#[test]
fn many_new_files_become_a_valid_pack() {
    for format in ["sha1", "sha256"] {
        let repo = ScratchRepo::new(&["--object-format", format]);
        let before = repo.loose();
        repo.write_many(300, 1);
        let snapshot = repo.snapshot();
        assert_eq!(
            (
                repo.packs("pack").len(),
                repo.packs("idx").len(),
                repo.loose()
            ),
            (1, 1, before),
            "{format}"
        );
        assert_eq!(
            (repo.packs("keep").len(), repo.packs("tmp").len()),
            (0, 0),
            "nothing else stays"
        );
        for file in [repo.packs("pack"), repo.packs("idx")].concat() {
            assert_eq!(
                file.metadata().expect("it is there").permissions().mode() & 0o777,
                0o444,
                "{}",
                file.display()
            );
        }
        repo.assert_sound();
        assert_eq!(repo.restored(&snapshot), repo.files());
        repo.git(&["verify-pack", repo.packs("idx")[0].to_str().expect("UTF-8")]);
        assert!(
            repo.snapshot().reused && repo.packs("pack").len() == 1,
            "the same state is not kept twice"
        );
    }
}

#[test]
fn few_new_files_stay_loose() {
    let repo = ScratchRepo::new(&[]);
    repo.write_many(80, 1);
    let snapshot = repo.snapshot();
    assert_eq!((repo.packs("pack").len(), repo.packs("tmp").len()), (0, 0));
    repo.assert_sound();
    assert_eq!(repo.restored(&snapshot), repo.files());
}

#[test]
fn hundred_files_make_no_pack_beside_many() {
    let repo = ScratchRepo::new(&[]);
    // Each checkpoint ends a pack.
    let blobs = (0..50).map(|n| format!("blob\ndata {}\n{n}\ncheckpoint\n", n.to_string().len()));
    let stream = repo.root.with_file_name("stream");
    std::fs::write(&stream, blobs.collect::<String>()).expect("the folder is ours");
    let import = "git -c fastimport.unpackLimit=0 fast-import --quiet <../stream";
    repo.git(&["-c", &format!("alias.import=!{import}"), "import"]);
    let packs = repo.packs("pack").len();
    assert!(packs >= 50, "{packs}");
    repo.write_many(150, 1);
    let snapshot = repo.snapshot();
    assert_eq!(repo.packs("pack").len(), packs);
    assert_eq!(repo.restored(&snapshot), repo.files());
    repo.write_many(2100, 2);
    let snapshot = repo.snapshot();
    assert_eq!(repo.packs("pack").len(), packs + 1);
    repo.assert_sound();
    assert_eq!(repo.restored(&snapshot), repo.files());
}

#[test]
fn what_the_database_has_is_not_written_again() {
    let repo = ScratchRepo::new(&[]);
    repo.write_many(300, 1);
    let first = repo.snapshot();
    // One object of 300 is new, and the way of folders to it.
    repo.write("many/0/0", b"changed");
    let second = repo.snapshot();
    assert_eq!(repo.packs("pack").len(), 1);
    let new = repo.git(&[
        "rev-list",
        "--objects",
        &second.commit,
        &format!("^{}", first.commit),
    ]);
    let loose = repo.loose();
    assert!(loose < 15, "{loose} loose objects for one file\n{new}");
    repo.assert_sound();
    assert_eq!(repo.restored(&second), repo.files());

    // As packed by git, and in the database that this one borrows from.
    repo.git(&["repack", "-q", "-a", "-d"]);
    let borrower = ScratchRepo::new(&[]);
    let alternates = borrower.root.join(".git/objects/info/alternates");
    std::fs::write(
        alternates,
        format!("{}\n", repo.root.join(".git/objects").display()),
    )
    .expect("the repository is ours");
    borrower.write_many(300, 1);
    borrower.write("many/0/0", b"changed");
    let borrowed = borrower.snapshot();
    assert_eq!(
        borrower.packs("pack").len(),
        0,
        "the few new trees are loose"
    );
    assert_eq!(borrower.restored(&borrowed), borrower.files());
}

/// What is below these folders of a repository, with its mode.
fn modes_below(git_dir: &Path, names: &[&str]) -> Vec<(PathBuf, u32)> {
    let mut pending: Vec<PathBuf> = names
        .iter()
        .map(|name| git_dir.join(name))
        .filter(|path| path.exists())
        .collect();
    let mut modes = Vec::new();
    while let Some(path) = pending.pop() {
        let about = path.metadata().expect("it is there");
        if about.is_dir() {
            pending.extend(
                path.read_dir()
                    .expect("it can be listed")
                    .map(|entry| entry.expect("it can be listed").path()),
            );
        }
        modes.push((path, about.permissions().mode() & 0o7777));
    }
    modes
}

#[test]
fn shared_repository_gets_modes_of_git() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // The mode of a folder, of a file, and of an object.
    for (shared, folder, file, fixed) in [
        ("group", 0o2775, 0o664, 0o444),
        ("all", 0o2775, 0o664, 0o444),
        ("0640", 0o2750, 0o640, 0o440),
        ("umask", 0o755, 0o644, 0o444),
    ] {
        let repo = ScratchRepo::new(&[&format!("--shared={shared}")]);
        repo.git(&["config", "core.logAllRefUpdates", "always"]);
        repo.write("new", b"few files are loose objects");
        let few = repo.snapshot();
        repo.write_many(150, 1);
        repo.snapshot();
        let worktree = Worktree::open(&repo.root).expect("it is a repository");
        let head = repo.git(&["rev-parse", "HEAD"]);
        worktree
            .keep_baseline("auth", &head)
            .expect("it can be written");
        worktree
            .keep_judged(
                "auth",
                &head,
                "2026-01-02T03:04:05Z".parse().expect("a time"),
            )
            .expect("it can be written");
        worktree
            .write_empty_commit(
                "a mark",
                &[],
                "2026-01-02T03:04:05Z".parse().expect("a time"),
            )
            .expect("it can be written");
        worktree
            .restore(&few.name, RestoreTarget::Branch("again/deep/branch".into()))
            .expect("it is whole");
        repo.git(&["pack-refs", "--all", "--no-prune"]);
        worktree
            .restore(&few.name, RestoreTarget::Branch("again/other".into()))
            .expect("it is whole");
        let modes = modes_below(
            &repo.root.join(".git"),
            &["objects", "refs", "logs", "packed-refs", "index"],
        );
        assert!(modes.len() > 50, "{}", modes.len());
        for (path, has) in modes {
            let expected = match path.is_dir() {
                true => folder,
                false if path.components().any(|part| part.as_os_str() == "objects") => fixed,
                false => file,
            };
            assert_eq!(has, expected, "{shared}: {} has {has:o}", path.display());
        }
    }
}

#[test]
fn large_files_are_streamed_and_stored_if_incompressible() {
    let repo = ScratchRepo::new(&[]);
    let (random, text) = (
        noise(40 << 20, 7),
        b"the same again and again\n".repeat(2 << 20),
    );
    repo.write("random", &random);
    repo.write("text", &text);
    let snapshot = repo.snapshot();
    repo.assert_sound();
    for name in ["random", "text"] {
        let kept = repo.git(&["rev-parse", &format!("{}:{name}", snapshot.commit)]);
        assert_eq!(kept, repo.git(&["hash-object", "--no-filters", name]));
    }
    let packed: u64 = repo
        .packs("pack")
        .iter()
        .map(|pack| pack.metadata().expect("it is there").len())
        .sum();
    assert!(packed > 40 << 20 && packed < 42 << 20, "{packed} bytes");
    assert_eq!(repo.restored(&snapshot), repo.files());
}

#[test]
fn merely_touched_large_file_is_not_rewritten() {
    let repo = ScratchRepo::new(&[]);
    let random = noise(33 << 20, 3);
    repo.write("random", &random);
    let first = repo.snapshot();
    assert_eq!(repo.packs("pack").len(), 1);
    // As young as no pack, and nothing new in it.
    repo.write("random", &random);
    repo.write("again", &random);
    repo.write("note", b"small\n");
    let second = repo.snapshot();
    assert_ne!(first.commit, second.commit);
    let packed: u64 = repo
        .packs("pack")
        .iter()
        .map(|pack| pack.metadata().expect("it is there").len())
        .sum();
    assert!(packed < 34 << 20, "{packed} bytes");
    assert_eq!(repo.packs("tmp"), Vec::<std::path::PathBuf>::new());
    repo.assert_sound();
    assert_eq!(repo.restored(&second), repo.files());
}

#[test]
fn large_file_changing_while_read_makes_no_object() {
    let repo = ScratchRepo::new(&[]);
    repo.write_many(120, 1);
    repo.write("busy", &noise(33 << 20, 1));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                // Shorter, longer, and other bytes of the same length.
                repo.write(
                    "busy",
                    &noise((33 << 20) + (round as usize % 3) * 4096 - 4096, round),
                );
            }
        });
        for _ in 0..3 {
            // One that never rests may be left out, or end the snapshot with the reason.
            repo.try_snapshot().ok();
        }
        stop.store(true, Ordering::Relaxed);
    });
    repo.assert_sound();
    let snapshot = repo.snapshot();
    repo.assert_sound();
    assert_eq!(repo.restored(&snapshot), repo.files());
}

/// Content of every kind: empty, small, large, repeated, random, the same twice.
fn any_content() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![4 => 0usize..200, 2 => 200usize..20_000, 1 => 60_000usize..300_000];
    (size, any::<u64>(), 0u8..4).prop_map(|(size, seed, kind)| match kind {
        0 => noise(size, seed),
        1 => b"line of text\n"
            .iter()
            .copied()
            .cycle()
            .take(size)
            .collect(),
        2 => vec![0; size],
        _ => [noise(size / 2, seed), vec![b'x'; size - size / 2]].concat(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn git_reads_every_object_of_any_pack(contents in proptest::collection::vec(any_content(), 100..220), sha256: bool) {
        let repo = ScratchRepo::new(&["--object-format", if sha256 { "sha256" } else { "sha1" }]);
        for (n, content) in contents.iter().enumerate() {
            repo.write(&format!("f{}/{n}", n % 5), content);
        }
        let snapshot = repo.snapshot();
        repo.assert_sound();
        prop_assert_eq!(repo.restored(&snapshot), repo.files());
        // git restores the same.
        repo.git(&["worktree", "add", "-q", "--detach", "../by-git", &snapshot.commit]);
        for (path, content) in repo.files() {
            prop_assert_eq!(std::fs::read(repo.root.join("../by-git").join(path)).expect("git wrote it"), content);
        }
    }
}

//! Snapshots where the repository, its neighbours or the file system work against them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use watchdog_git::{RestoreTarget, SnapshotRequest, Worktree};

use crate::support::fill_line;
use crate::support::scratch_repo::{ScratchRepo, files, in_own_process, instant};

fn show(repo: &ScratchRepo, object: &str) -> String {
    repo.git(["cat-file", "blob", object])
}

fn paths(repo: &ScratchRepo, commit: &str) -> Vec<String> {
    repo.git(["ls-tree", "-r", "--name-only", commit])
        .lines()
        .map(ToOwned::to_owned)
        .collect()
}

/// A repository in `folder` with one commit of the file `own`.
fn other_repository(repo: &ScratchRepo, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    repo.git_in(folder, ["init", "-q", "-b", "main"]);
    std::fs::write(folder.join("own"), "own\n").unwrap();
    repo.git_in(folder, ["add", "-A"]);
    repo.git_in(folder, ["commit", "-qm", "own"]);
}

/// Commits another repository as the submodule `sub`.
fn add_submodule(repo: &ScratchRepo) {
    let library = repo.beside("library");
    other_repository(repo, &library);
    repo.git(fill_line(
        "submodule --quiet add {} sub",
        &[library.to_str().unwrap()],
    ));
    repo.git(["commit", "-qm", "sub"]);
}

#[test]
fn nothing_that_the_repository_names_is_run() {
    let repo = ScratchRepo::new();
    let marker = repo.beside("marker");
    let touch = format!("sh -c 'echo x >> {}; cat'", marker.display());
    add_submodule(&repo);
    for folder in [repo.root().to_owned(), repo.path("sub")] {
        for (key, value) in [
            ("filter.evil.clean", &touch),
            ("filter.evil.smudge", &touch),
            ("filter.evil.process", &touch),
            ("core.fsmonitor", &touch),
        ] {
            repo.git_in(&folder, ["config", key, value]);
        }
        std::fs::write(folder.join(".gitattributes"), "* filter=evil\n").unwrap();
    }
    repo.git(["config", "core.hooksPath", "hooks"]);
    for hook in [
        "post-index-change",
        "reference-transaction",
        "post-commit",
        "pre-commit",
    ] {
        repo.write(
            format!("hooks/{hook}"),
            format!("#!/bin/sh\n{touch} </dev/null\n"),
        );
        repo.chmod(&format!("hooks/{hook}"), 0o755);
    }
    repo.write("tracked", "two\n");
    repo.write("sub/own", "changed\n");
    repo.write("new", "n\n");
    std::fs::remove_file(&marker).ok();

    let snapshot = repo.snapshot();
    assert!(
        !marker.exists(),
        "a snapshot ran something: {:?}",
        std::fs::read_to_string(&marker)
    );
    assert_eq!(show(&repo, &format!("{}:tracked", snapshot.commit)), "two");
    repo.open().missing_from(&snapshot).unwrap();
    repo.open()
        .restore(
            ScratchRepo::id(&snapshot),
            RestoreTarget::Directory(repo.beside("out")),
        )
        .unwrap();
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::Automatic)
        .unwrap();
    assert!(!marker.exists(), "a proof or restore ran something");

    repo.try_git_in(repo.root(), ["add", "new"]);
    assert!(marker.exists(), "the trap itself must work");
}

#[test]
fn filtered_files_are_kept_raw() {
    let repo = ScratchRepo::new();
    repo.git(["config", "filter.upper.clean", "tr a-z A-Z"]);
    repo.git(["config", "core.autocrlf", "true"]);
    repo.write(".gitattributes", "*.up filter=upper\n");
    repo.write("a.up", "lower\r\n");
    let snapshot = repo.snapshot();
    assert_eq!(
        repo.git(["cat-file", "-s", &format!("{}:a.up", snapshot.commit)]),
        "7"
    );
}

#[test]
fn submodule_keeps_its_commit_and_uncommitted_files() {
    let repo = ScratchRepo::new();
    add_submodule(&repo);
    assert_eq!(repo.try_snapshot(), None, "a clean submodule is nothing");
    let sub = repo.path("sub");
    std::fs::write(sub.join("second"), "2").unwrap();
    repo.git_in(&sub, ["add", "-A"]);
    repo.git_in(&sub, ["commit", "-qm", "second"]);
    std::fs::write(sub.join("own"), "dirty\n").unwrap();
    std::fs::write(sub.join("untracked"), "u\n").unwrap();
    std::fs::write(sub.join("staged"), "s\n").unwrap();
    repo.git_in(&sub, ["add", "staged"]);
    let before = files(&sub);
    let snapshot = repo.snapshot();
    assert_eq!(
        repo.git(["rev-parse", &format!("{}:sub", snapshot.commit)]),
        repo.git_in(&sub, ["rev-parse", "HEAD"])
    );
    assert_eq!(
        show(&repo, &format!("{}^3:nested/sub/own", snapshot.commit)),
        "dirty"
    );
    assert_eq!(
        paths(&repo, &format!("{}^3", snapshot.commit)),
        [
            "nested/sub/own",
            "nested/sub/staged",
            "nested/sub/untracked"
        ]
    );
    let worktree = repo.open();
    assert_eq!(
        worktree.missing_from(&snapshot).unwrap(),
        Vec::<String>::new()
    );

    repo.git_in(&sub, ["reset", "-q", "--hard"]);
    repo.git_in(&sub, ["clean", "-qffdx"]);
    assert_eq!(
        worktree.missing_from(&snapshot).unwrap(),
        ["sub/own", "sub/staged", "sub/untracked"]
    );
    worktree
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(files(&sub), before);
    repo.git_in(&sub, ["add", "-A"]);
    repo.git_in(&sub, ["commit", "-qm", "all"]);
    std::fs::remove_file(sub.join("untracked")).unwrap();
    assert_eq!(
        worktree.missing_from(&snapshot).unwrap(),
        ["sub"],
        "committed in the submodule, but at another commit than recorded"
    );
}

#[test]
fn a_repository_inside_is_kept_as_files() {
    let repo = ScratchRepo::new();
    other_repository(&repo, &repo.path("inside"));
    repo.write("inside/untracked", "u");
    repo.write("inside/.gitignore", "*.tmp\n");
    repo.write("inside/x.tmp", "ignored there");
    repo.write("unborn/file", "f");
    repo.git_in(&repo.path("unborn"), ["init", "-q"]);
    repo.write("empty-git/file", "f");
    std::fs::create_dir(repo.path("empty-git/.git")).unwrap();
    let snapshot = repo.snapshot();
    let new: Vec<String> = paths(&repo, &snapshot.commit)
        .into_iter()
        .filter(|p| p.contains('/') && !p.starts_with("dir/"))
        .collect();
    assert_eq!(
        new,
        [
            "empty-git/file",
            "inside/.gitignore",
            "inside/own",
            "inside/untracked",
            "unborn/file"
        ]
    );
    repo.remove("inside/x.tmp");
    let before = repo.files();
    repo.wipe();
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.files(), before);
}

#[test]
fn inner_worktree_counts_by_its_uncommitted_files() {
    let repo = ScratchRepo::new();
    repo.git(["worktree", "add", "-q", ".trees/one", "-b", "one"]);
    assert_eq!(repo.try_snapshot(), None);
    repo.write(".trees/one/tracked", "changed there\n");
    let snapshot = repo.snapshot();
    assert_eq!(
        paths(&repo, &format!("{}^3", snapshot.commit)),
        ["nested/.trees/one/tracked"]
    );
    // Seen from the linked worktree itself, it is an ordinary change, and the snapshots are shared.
    let linked = Worktree::open(&repo.path(".trees/one")).unwrap();
    let request = watchdog_git::SnapshotRequest {
        spec: "one",
        at: crate::support::scratch_repo::instant(),
        why: "test",
        max_new_bytes: None,
        even_clean: false,
    };
    let own = linked.take_snapshot(&request).unwrap().unwrap();
    assert_eq!(
        show(&repo, &format!("{}:tracked", own.commit)),
        "changed there"
    );
    assert_eq!(repo.open().snapshots(None).unwrap().len(), 2);
    repo.git(["worktree", "remove", "--force", ".trees/one"]);
    assert_eq!(
        repo.open().snapshots(Some("one")).unwrap().len(),
        1,
        "it outlives its worktree"
    );
}

#[test]
fn sparse_checkouts_keep_what_they_leave_out() {
    for sparse_index in ["--no-sparse-index", "--sparse-index"] {
        let repo = ScratchRepo::new();
        repo.write("kept/a", "a\n");
        repo.write("left/b", "b\n");
        repo.git(["add", "-A"]);
        repo.git(["commit", "-qm", "folders"]);
        repo.git(["sparse-checkout", "set", "--cone", sparse_index, "kept"]);
        assert!(!repo.path("left").exists());
        assert_eq!(repo.try_snapshot(), None, "{sparse_index}");
        repo.write("kept/a", "a2\n");
        repo.write("left/new", "outside the cone\n");
        let snapshot = repo.snapshot();
        assert_eq!(
            show(&repo, &format!("{}:left/b", snapshot.commit)),
            "b",
            "{sparse_index}"
        );
        assert_eq!(
            show(&repo, &format!("{}:left/new", snapshot.commit)),
            "outside the cone"
        );
        assert_eq!(snapshot.files, 2);
    }
}

#[test]
fn unreadable_files_are_named_and_others_kept() {
    // Root reads everything: the test goes on as somebody else.
    let nobody = fill_line("setpriv --reuid=65534 --regid=65534 --clear-groups", &[]);
    let prefix: &[&str] = if rustix::process::geteuid().is_root() {
        &nobody
    } else {
        &["env"]
    };
    let home = [("HOME", "/nonexistent"), ("TMPDIR", "/tmp")];
    if !in_own_process(
        "snapshot_hostile::unreadable_files_are_named_and_others_kept",
        prefix,
        &home,
    ) {
        return;
    }
    let repo = ScratchRepo::new();
    repo.write("closed", "c");
    repo.write("folder/new", "n");
    repo.write("new", "n");
    repo.write("tracked", "two\n");
    repo.chmod("closed", 0);
    repo.chmod("tracked", 0);
    repo.chmod("folder", 0);
    repo.chmod("dir", 0);
    let snapshot = repo.snapshot();
    let mut left: Vec<(&str, &str)> = snapshot
        .left_out
        .iter()
        .map(|l| (l.path.as_str(), l.why.as_str()))
        .collect();
    left.sort();
    left.dedup();
    for folder in ["folder", "dir"] {
        std::fs::set_permissions(repo.path(folder), std::fs::Permissions::from_mode(0o755))
            .unwrap();
    }
    assert_eq!(
        left,
        [
            ("closed", "unreadable"),
            ("dir", "unreadable"),
            ("dir/inner", "unreadable"),
            ("folder", "unreadable"),
            ("tracked", "unreadable")
        ]
    );
    assert_eq!(show(&repo, &format!("{}:new", snapshot.commit)), "n");
    assert_eq!(
        show(&repo, &format!("{}:tracked", snapshot.commit)),
        "one",
        "as it was committed"
    );
    assert_eq!(
        show(&repo, &format!("{}:dir/inner", snapshot.commit)),
        "inner",
        "unreadable is not deleted"
    );
}

#[test]
fn file_written_during_the_snapshot_is_kept_whole() {
    let repo = ScratchRepo::new();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0u64;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                repo.write(
                    "busy",
                    format!("{round}\n").repeat((round % 50 + 1) as usize * 100),
                );
                repo.write(format!("many/{}", round % 200), "x");
            }
        });
        for _ in 0..10 {
            let Some(snapshot) = repo.try_snapshot() else {
                continue;
            };
            repo.git(["cat-file", "-e", &format!("{}^{{tree}}", snapshot.commit)]);
        }
        stop.store(true, Ordering::Relaxed);
    });
    repo.git(["fsck", "--strict", "--connectivity-only"]);
    let last = repo.snapshot();
    assert_eq!(
        show(&repo, &format!("{}:busy", last.commit)),
        repo.read("busy").trim_end()
    );
    repo.git(["fsck", "--strict"]);
}

#[test]
fn a_large_file_passes_through_in_pieces() {
    let repo = ScratchRepo::new();
    let large: Vec<u8> = (0..40u32 << 18)
        .flat_map(|n| (n / 7).to_le_bytes())
        .collect();
    repo.write("large", &large);
    let snapshot = repo.snapshot();
    assert_eq!(snapshot.bytes, large.len() as u64);
    assert_eq!(
        repo.git(["rev-parse", &format!("{}:large", snapshot.commit)]),
        repo.git(["hash-object", "--no-filters", "large"])
    );
}

#[test]
fn concurrent_garbage_collection_leaves_snapshots_complete() {
    let repo = ScratchRepo::new();
    for round in 0..12u64 {
        for n in 0..300 {
            repo.write(format!("folder/{n}"), format!("{round} {n}"));
        }
        std::thread::scope(|scope| {
            // At another moment of the snapshot in each round.
            scope.spawn(|| {
                let start = std::time::Instant::now();
                while start.elapsed() < std::time::Duration::from_millis(round * 25) {
                    std::thread::yield_now();
                }
                repo.git(["gc", "-q", "--prune=now"]);
            });
            let snapshot = repo.snapshot();
            repo.git(["rev-list", "--objects", "--quiet", &snapshot.commit]);
        });
    }
    repo.git(["fsck", "--connectivity-only"]);
}

#[test]
fn leftover_ref_locks_never_block_a_snapshot() {
    let repo = ScratchRepo::new();
    repo.git(["pack-refs", "--all"]);
    repo.write("new", "n");
    for lock in [
        "packed-refs.lock",
        "index.lock",
        "HEAD.lock",
        "refs/heads/main.lock",
    ] {
        std::fs::write(repo.path(".git").join(lock), "").unwrap();
    }
    let snapshot = repo.snapshot();
    assert_eq!(show(&repo, &format!("{}:new", snapshot.commit)), "n");
    assert!(
        repo.path(".git/packed-refs.lock").exists(),
        "a foreign lock is not ours to remove"
    );
    assert_eq!(repo.git(["rev-parse", &snapshot.name]), snapshot.commit);
}

#[test]
fn publishing_a_snapshot_locks_no_packed_refs() {
    let repo = ScratchRepo::new();
    repo.git(["pack-refs", "--all"]);
    repo.write("new", "n");
    // Nobody can make a lock in a folder that is sealed; a snapshot does not need one.
    repo.write(".git/packed-refs.lock/in-the-way", "");
    let snapshot = repo.snapshot();
    assert_eq!(repo.git(["rev-parse", &snapshot.name]), snapshot.commit);
    assert_eq!(
        repo.git(["for-each-ref", "--format=%(refname)", "refs/watchdog"]),
        snapshot.name
    );
}

#[test]
fn unstorable_content_ends_the_snapshot_with_its_reason() {
    // Files above 1 MiB cannot be written, as on a disk with that much left; all others can.
    let prefix = fill_line(
        "sh -c {} sh",
        &["trap '' XFSZ; ulimit -S -f 2048; exec \"$@\""],
    );
    if !in_own_process(
        "snapshot_hostile::unstorable_content_ends_the_snapshot_with_its_reason",
        &prefix,
        &[],
    ) {
        return;
    }
    for size in [3 << 20, 9 << 20] {
        let repo = ScratchRepo::new();
        repo.write("small", "s");
        let unlimited = format!("ulimit -S -f unlimited; head -c {size} /dev/urandom >big");
        let made = std::process::Command::new("sh")
            .args(["-c", &unlimited])
            .current_dir(repo.root())
            .status()
            .unwrap();
        assert!(made.success());
        let request = SnapshotRequest {
            spec: "auth",
            at: instant(),
            why: "test",
            max_new_bytes: None,
            even_clean: false,
        };
        let error = repo
            .open()
            .take_snapshot(&request)
            .expect_err("a snapshot without the file would let a rescue begin")
            .to_string();
        assert!(
            error.contains("too large") && !error.contains("garbage collection"),
            "{error}"
        );
        assert_eq!(repo.git(["for-each-ref", "refs/watchdog"]), "");
        // Where it can be kept, it is.
        repo.remove("big");
        assert_eq!(repo.snapshot().left_out, []);
    }
}

#[test]
fn snapshot_of_an_emptied_orphan_passes_fsck() {
    let repo = ScratchRepo::new();
    repo.git(["checkout", "-q", "--orphan", "fresh"]);
    repo.git(["reset", "-q", "--hard"]);
    repo.write("new", "n");
    let snapshot = repo.snapshot();
    repo.git(["fsck", "--strict", "--no-dangling"]);
    repo.remove("new");
    repo.open()
        .restore(&snapshot.name, RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.read("new"), "n");
}

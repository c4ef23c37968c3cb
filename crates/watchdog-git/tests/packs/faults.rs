//! A full disk, and a kill -9 at each step of writing a pack.

use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::repository::ScratchRepo;

/// Names the repository that [`a_snapshot_by_itself`] is about.
const SUBJECT: &str = "WATCHDOG_TEST_SNAPSHOT_OF";

/// What other tests start in a process of its own; by itself it has nothing to do.
#[test]
fn a_snapshot_by_itself() {
    let Some(root) = std::env::var_os(SUBJECT) else {
        return;
    };
    let at = "2026-01-02T03:04:05Z".parse().expect("a time");
    let request = watchdog_git::SnapshotRequest {
        spec: "auth",
        at,
        why: "test",
        max_new_bytes: None,
        even_clean: false,
    };
    match watchdog_git::Worktree::open(Path::new(&root))
        .and_then(|worktree| worktree.take_snapshot(&request))
    {
        Ok(_) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Takes a snapshot in a process that this program starts.
fn snapshot_under(program: &[&str], repo: &ScratchRepo) -> (ExitStatus, String) {
    let own = std::env::current_exe().expect("it runs");
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .arg(own)
        .args(["--exact", "faults::a_snapshot_by_itself", "--nocapture"])
        .env(SUBJECT, &repo.root);
    let out = command.output().expect("it can be started");
    (
        out.status,
        format!(
            "{}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        ),
    )
}

#[test]
fn full_disk_leaves_no_partial_pack() {
    let repo = ScratchRepo::new(&[]);
    for n in 0..200 {
        repo.write(&format!("many/{n}"), &crate::repository::noise(8 << 10, n));
    }
    let loose = repo.loose();
    // Files above 1 MiB cannot be written, as on a disk with that much left.
    let limited = [
        "sh",
        "-c",
        "trap '' XFSZ; ulimit -S -f 2048; exec \"$@\"",
        "sh",
    ];
    let (status, said) = snapshot_under(&limited, &repo);
    assert!(
        !status.success() && said.contains("too large") && !said.contains("garbage collection"),
        "{said}"
    );
    assert_eq!(repo.git(&["for-each-ref", "refs/watchdog"]), "");
    assert_eq!(
        (
            repo.packs("tmp").len(),
            repo.packs("keep").len(),
            repo.packs("pack").len(),
            repo.loose()
        ),
        (0, 0, 0, loose)
    );
    let snapshot = repo.snapshot();
    assert_eq!(repo.restored(&snapshot), repo.files());
}

/// Kills the snapshot at one call after the other of a family; returns how many there were.
fn killed_at_each(calls: &str) -> usize {
    for when in 1..200 {
        let repo = ScratchRepo::new(&[]);
        repo.write_many(130, 1);
        let inject = format!("inject={calls}:signal=KILL:when={when}");
        let trace = format!("trace={calls}");
        let (status, said) = snapshot_under(
            &[
                "strace",
                "-f",
                "-q",
                "-qq",
                "-o",
                "/dev/null",
                "-e",
                &trace,
                "-e",
                &inject,
            ],
            &repo,
        );
        let killed = !status.success();
        assert!(killed || said.contains("1 passed"), "{said}");
        // Nothing of it is visible but what is whole: a ref leads to a complete snapshot or is not there.
        repo.git(&["fsck", "--full", "--strict", "--no-dangling"]);
        for commit in repo
            .git(&["for-each-ref", "--format=%(objectname)", "refs/watchdog"])
            .lines()
        {
            repo.git(&["rev-list", "--objects", "--quiet", commit]);
        }
        // The next one works, and removes what was left behind.
        repo.write("later", b"one more file");
        let snapshot = repo.snapshot();
        assert_eq!(repo.restored(&snapshot), repo.files(), "{calls} {when}");
        assert_eq!(
            (repo.packs("tmp").len(), repo.packs("keep").len()),
            (0, 0),
            "{calls} {when}"
        );
        assert_eq!(
            repo.packs("pack").len(),
            repo.packs("idx").len(),
            "{calls} {when}"
        );
        repo.assert_sound();
        if !killed {
            return when - 1;
        }
    }
    panic!("a snapshot has no end of {calls}");
}

#[test]
fn killed_snapshot_leaves_only_removable_files() {
    for (calls, least) in [
        ("rename,renameat,renameat2", 2),
        ("link,linkat", 2),
        ("fsync,fdatasync", 5),
        ("pwrite64", 3),
        ("unlink,unlinkat", 2),
    ] {
        let reached = killed_at_each(calls);
        assert!(reached >= least, "{calls}: {reached}");
    }
}

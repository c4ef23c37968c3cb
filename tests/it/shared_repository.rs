//! One repository of two users, who work in it as a group: watchdog of the first, plain git of the second.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{CWD, Gid, Mode};

use crate::support::TestEnv;

/// The group of both, and the second user: each test has numbers of its own.
fn number() -> u32 {
    3_500_000 + std::process::id()
}

/// Gives a tree to the group, as `chgrp -R` and `git init --shared=group` do.
fn give_to_group(path: &Path) {
    rustix::fs::chownat(
        CWD,
        path,
        None,
        Some(Gid::from_raw(number())),
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )
    .expect("root may");
    let is_folder = path.is_dir() && !path.is_symlink();
    let mode = std::fs::symlink_metadata(path)
        .expect("our own")
        .permissions()
        .mode();
    let of_group = if is_folder {
        0o2070
    } else {
        (mode & 0o600) >> 3
    };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode | of_group))
        .expect("our own");
    if is_folder {
        for entry in std::fs::read_dir(path).expect("our own folder") {
            give_to_group(&entry.expect("our own folder").path());
        }
    }
}

#[test]
fn member_of_group_works_after_snapshots() {
    // Only root may become the second user.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let env = TestEnv::new();
    let repo = env.repo();
    repo.git(&["config", "core.sharedRepository", "group"]);
    repo.git(&["config", "gc.auto", "0"]);
    give_to_group(repo.path());
    let (outside, inside) = (Mode::from_raw_mode(0o755), Mode::from_raw_mode(0o1777));
    rustix::fs::chmod(env.root(), outside).expect("our own");
    rustix::fs::chmod(env.root().join("tmp"), inside).expect("our own");

    for n in 0..90 {
        repo.write(&format!("new/{n}"), format!("work {n}\n"));
    }
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", "echo more > more"])
        .expect(10);
    let snapshots = repo.snapshots();
    let id = snapshots[0].trim_start_matches("refs/watchdog/rescue/");
    repo.watchdog(&["rescue", "restore", id, "--branch", "again"])
        .expect(0);

    let user = number().to_string();
    let script = r#"set -e
        export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=* GIT_CONFIG_KEY_1=user.name GIT_CONFIG_VALUE_1=B \
            GIT_CONFIG_KEY_2=user.email GIT_CONFIG_VALUE_2=b@example.com HOME=/nonexistent
        for n in $(seq 200); do echo "object $n" | git hash-object -w --stdin > /dev/null; done
        git worktree add -q -b second "$TMPDIR/second"
        for n in $(seq 10); do echo $n > "$TMPDIR/second/mine"; git -C "$TMPDIR/second" add mine; git -C "$TMPDIR/second" commit -qm "commit $n"; done
        git show again > /dev/null
        git update-ref refs/watchdog/rescue/second/1 HEAD
        git branch -q again-and-again again
        git branch -q -D again
        git pack-refs --all
        git gc -q --prune=now
        git fsck --no-dangling"#;
    let as_second = [
        format!("--reuid={user}"),
        format!("--regid={user}"),
        "--clear-groups".into(),
        "sh".into(),
        "-c".into(),
        script.into(),
    ];
    let out = env.command("setpriv", repo.path()).args(as_second).run();
    assert_eq!(out.code, Some(0), "{out}");

    // The first one goes on as well.
    repo.write("later", "more work\n");
    repo.watchdog(&["run", "--no-probe", "--", "sh", "-c", "echo again > more"])
        .expect(10);
    repo.git(&["fsck", "--no-dangling"]);
}

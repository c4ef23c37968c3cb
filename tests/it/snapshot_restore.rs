//! The way back: exact, and never over work that is in no commit.

use watchdog_git::{RestoreError, RestoreTarget, RestoredTo};

use crate::support::fill_line;
use crate::support::scratch_repo::{ScratchRepo, files, instant};

/// A repository whose uncommitted work is in a snapshot and gone from the work tree; returns the snapshot's id.
fn wiped() -> (ScratchRepo, String) {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    repo.write("new/file", "n\n");
    repo.remove("dir/inner");
    let id = ScratchRepo::id(&repo.snapshot()).to_owned();
    repo.wipe();
    (repo, id)
}

/// Asserts that restoring in place is refused and touches nothing, and that a branch takes its place.
fn assert_falls_back_to_a_branch(
    repo: &ScratchRepo,
    id: &str,
    expected: impl Fn(&RestoreError) -> bool,
) {
    let (private, before) = (repo.private_state(), repo.files());
    let error = repo.open().restore(id, RestoreTarget::InPlace).unwrap_err();
    assert!(expected(&error), "{error}");
    assert_eq!(repo.private_state(), private);
    assert_eq!(repo.files(), before);
    let restored = repo.open().restore(id, RestoreTarget::Automatic).unwrap();
    let branch = format!("watchdog/restored/{id}");
    assert_eq!(restored.to, RestoredTo::Branch(branch.clone()));
    assert!(restored.note.unwrap().contains(&branch));
    assert_eq!(repo.git(["show", &format!("{branch}:new/file")]), "n");
    assert_eq!(repo.files(), before);
    // The same again is no error.
    assert!(repo.open().restore(id, RestoreTarget::Automatic).is_ok());
}

#[test]
fn uncommitted_changes_are_not_overwritten() {
    let (repo, id) = wiped();
    repo.write("run.sh", "unsaved\n");
    assert_falls_back_to_a_branch(
        &repo,
        &id,
        |e| matches!(e, RestoreError::NotClean { paths } if paths == &["run.sh"]),
    );
}

#[test]
fn staged_changes_are_not_overwritten() {
    let (repo, id) = wiped();
    repo.write("extra", "staged");
    repo.git(["add", "extra"]);
    assert_falls_back_to_a_branch(
        &repo,
        &id,
        |e| matches!(e, RestoreError::NotClean { paths } if paths == &["extra"]),
    );
}

#[test]
fn restore_never_overwrites_untracked_files() {
    let (repo, id) = wiped();
    repo.write("new/file", "other work");
    assert_falls_back_to_a_branch(
        &repo,
        &id,
        |e| matches!(e, RestoreError::WouldOverwrite { paths } if paths == &["new/file"]),
    );
    let (repo, id) = wiped();
    repo.write(".git/info/exclude", "new\n");
    repo.write("new", "an ignored file where a folder is wanted");
    assert_falls_back_to_a_branch(
        &repo,
        &id,
        |e| matches!(e, RestoreError::WouldOverwrite { paths } if paths == &["new"]),
    );
    let (repo, id) = wiped();
    std::os::unix::fs::symlink(repo.beside("home"), repo.path("new")).unwrap();
    assert_falls_back_to_a_branch(
        &repo,
        &id,
        |e| matches!(e, RestoreError::WouldOverwrite { paths } if paths == &["new"]),
    );
    assert!(files(&repo.beside("home")).is_empty());
    let (repo, id) = wiped();
    repo.write("new/file/deeper", "a folder where a file is wanted");
    assert_falls_back_to_a_branch(
        &repo,
        &id,
        |e| matches!(e, RestoreError::WouldOverwrite { paths } if paths == &["new/file/deeper"]),
    );
}

#[test]
fn other_untracked_files_do_not_matter() {
    let (repo, id) = wiped();
    repo.write("unrelated", "u");
    std::fs::create_dir_all(repo.path("new/file/empty/folders")).unwrap();
    repo.open().restore(&id, RestoreTarget::InPlace).unwrap();
    assert_eq!(
        (
            repo.read("new/file").as_str(),
            repo.read("unrelated").as_str()
        ),
        ("n\n", "u")
    );
}

#[test]
fn what_head_changed_since_is_not_undone() {
    let (repo, id) = wiped();
    repo.write("tracked", "committed later\n");
    repo.git(["commit", "-qam", "later"]);
    assert_falls_back_to_a_branch(
        &repo,
        &id,
        |e| matches!(e, RestoreError::Moved { paths } if paths == &["tracked"]),
    );
}

#[test]
fn later_commit_never_prevents_a_restore() {
    let (repo, id) = wiped();
    repo.write("run.sh", "#!/bin/sh\ntrue\n");
    repo.git(["commit", "-qam", "later"]);
    let restored = repo.open().restore(&id, RestoreTarget::Automatic).unwrap();
    assert_eq!(restored.to, RestoredTo::WorkTree { index: false });
    assert!(restored.note.unwrap().contains("HEAD is elsewhere"));
    assert_eq!(
        repo.git(["status", "--porcelain"]),
        " D dir/inner\n M tracked\n?? new/"
    );
}

#[test]
fn interrupted_restore_can_be_repeated() {
    let (repo, id) = wiped();
    repo.write("tracked", "two\n");
    repo.remove("dir/inner");
    repo.open().restore(&id, RestoreTarget::InPlace).unwrap();
    assert_eq!(
        repo.git(["status", "--porcelain"]),
        " D dir/inner\n M tracked\n?? new/"
    );
}

#[test]
fn same_second_change_stays_visible_to_git() {
    let (repo, id) = wiped();
    // Without it, the time of the change itself, which nobody can set, would show it.
    repo.git(["config", "core.trustctime", "false"]);
    let touch = |name: &str, at| {
        std::fs::File::options()
            .write(true)
            .open(repo.path(name))
            .unwrap()
            .set_modified(at)
            .unwrap()
    };
    let then = std::fs::metadata(repo.path("tracked"))
        .unwrap()
        .modified()
        .unwrap();
    touch(".git/index", then);
    repo.write("tracked", "two\n");
    touch("tracked", then);
    repo.open().restore(&id, RestoreTarget::InPlace).unwrap();
    touch(".git/index", then + std::time::Duration::from_secs(10));
    assert!(repo.git(["status", "--porcelain"]).contains(" M tracked"));
}

#[test]
fn restore_creates_branches_and_never_moves_them() {
    let (repo, id) = wiped();
    let worktree = repo.open();
    let branch = || RestoreTarget::Branch("saved".into());
    assert_eq!(
        worktree.restore(&id, branch()).unwrap().to,
        RestoredTo::Branch("saved".into())
    );
    assert!(matches!(
        worktree.restore(&id, branch()),
        Err(RestoreError::Branch { .. })
    ));
    assert!(matches!(
        worktree.restore(&id, RestoreTarget::Branch("a..b".into())),
        Err(RestoreError::Branch { .. })
    ));
    assert!(matches!(
        worktree.restore(&id, RestoreTarget::Branch("saved/below".into())),
        Err(RestoreError::Branch { .. })
    ));
    assert!(matches!(
        worktree.restore("auth/none-1", branch()),
        Err(RestoreError::Unknown { .. })
    ));
    assert_eq!(repo.git(["show", "saved:new/file"]), "n");
}

#[test]
fn a_folder_gets_the_whole_tree() {
    let (repo, id) = wiped();
    let out = repo.beside("deep/out");
    let whole = RestoreTarget::Directory(out.clone());
    assert_eq!(repo.open().restore(&id, whole.clone()).unwrap().files, 4);
    assert_eq!(
        std::fs::read_to_string(out.join("tracked")).unwrap(),
        "two\n"
    );
    assert_eq!(files(&out).get(&b"run.sh"[..]).unwrap().0, 'x');
    assert!(matches!(
        repo.open().restore(&id, whole),
        Err(RestoreError::NotEmpty { .. })
    ));
}

#[test]
fn forged_snapshot_cannot_write_into_forbidden_places() {
    let repo = ScratchRepo::new();
    repo.write("new", "n");
    let snapshot = repo.snapshot();
    let blob = repo.git(["rev-parse", &format!("{}:new", snapshot.commit)]);
    let raw = |entries: &[(&str, &str, &str)]| {
        let mut tree = Vec::new();
        for (mode, name, id) in entries {
            tree.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            tree.extend(
                (0..40)
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()),
            );
        }
        std::fs::write(repo.beside("tree"), tree).unwrap();
        repo.git(fill_line(
            "hash-object -t tree -w --literally {}",
            &[repo.beside("tree").to_str().unwrap()],
        ))
    };
    let inner = raw(&[("100755", "post-commit", &blob)]);
    let hooks = raw(&[("40000", "hooks", &inner)]);
    let up = raw(&[("100644", "outside", &blob)]);
    let tree = raw(&[
        ("40000", "..", &up),
        ("40000", ".GIT", &hooks),
        ("40000", ".git", &hooks),
        ("100644", "good", &blob),
    ]);
    let message = repo.git(["log", "-1", "--format=%B", &snapshot.commit]);
    let parent = snapshot.parent.unwrap();
    let forged = repo.git(["commit-tree", &tree, "-p", &parent, "-m", &message]);
    repo.git(["update-ref", "refs/watchdog/rescue/auth/forged-0", &forged]);
    let id = "auth/forged-0";
    repo.wipe();
    let restored = repo
        .open()
        .restore(id, RestoreTarget::Directory(repo.beside("out")))
        .unwrap();
    assert_eq!((restored.files, restored.left_out.len()), (1, 3));
    let restored = repo.open().restore(id, RestoreTarget::Automatic).unwrap();
    assert!(
        restored
            .left_out
            .iter()
            .any(|l| l.path == ".git/hooks/post-commit"),
        "{restored:?}"
    );
    assert!(!repo.path(".git/hooks/post-commit").exists() && !repo.beside("outside").exists());
}

#[test]
fn link_in_a_snapshot_cannot_escape_the_worktree() {
    // First the folder becomes a link, then a later snapshot has a file below the same name.
    let repo = ScratchRepo::new();
    repo.write("new/file", "n");
    let id = ScratchRepo::id(&repo.snapshot()).to_owned();
    repo.wipe();
    repo.symlink("../home", "new");
    repo.git(["add", "new"]);
    repo.git(["commit", "-qm", "a link, committed and clean"]);
    let error = repo
        .open()
        .restore(&id, RestoreTarget::InPlace)
        .unwrap_err();
    assert!(
        matches!(error, RestoreError::WouldOverwrite { .. }),
        "{error}"
    );
    assert!(files(&repo.beside("home")).is_empty());
}

#[test]
fn names_of_specs_become_refs_that_git_accepts() {
    let repo = ScratchRepo::new();
    for (n, spec) in ["a b", "x.lock", "..", "", "spec/auth", "ünï", "a@{1}"]
        .into_iter()
        .enumerate()
    {
        repo.write("tracked", format!("{n}"));
        let request = watchdog_git::SnapshotRequest {
            spec,
            at: instant(),
            why: "",
            max_new_bytes: None,
            even_clean: false,
        };
        let snapshot = repo.open().take_snapshot(&request).unwrap().unwrap();
        repo.git(["check-ref-format", &snapshot.name]);
        assert_eq!(
            repo.open().snapshots(Some(spec)).unwrap().len(),
            1,
            "{spec:?}"
        );
    }
    assert_eq!(
        repo.git(["for-each-ref", "refs/watchdog"]).lines().count(),
        7
    );
}

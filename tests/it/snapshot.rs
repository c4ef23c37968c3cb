//! Snapshots of uncommitted work: complete, harmless, restorable.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use watchdog_git::{RestoreError, RestoreTarget, RestoredTo, Snapshot};

use crate::support::scratch_repo::{ScratchRepo, files};

/// What a snapshot's tree has, one line per file as `git ls-tree -r` prints it, without object names.
fn tree(repo: &ScratchRepo, commit: &str) -> Vec<String> {
    let listed = repo.git(["ls-tree", "-r", "-z", commit]);
    listed
        .split('\0')
        .filter(|l| !l.is_empty())
        .map(|l| format!("{} {}", &l[..6], l.split('\t').nth(1).unwrap()))
        .collect()
}

fn content(repo: &ScratchRepo, commit: &str, path: &str) -> String {
    repo.git(["cat-file", "blob", &format!("{commit}:{path}")])
}

fn restore_after_wipe(repo: &ScratchRepo, snapshot: &Snapshot) {
    let before = repo.files();
    repo.wipe();
    assert_ne!(
        repo.files(),
        before,
        "the wipe must have destroyed something"
    );
    let restored = repo
        .open()
        .restore(ScratchRepo::id(snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert!(matches!(restored.to, RestoredTo::WorkTree { .. }));
    assert_eq!(repo.files(), before);
}

#[test]
fn a_clean_tree_needs_no_snapshot() {
    let repo = ScratchRepo::new();
    assert_eq!(repo.try_snapshot(), None);
    assert_eq!(repo.git(["for-each-ref", "refs/watchdog"]), "");
}

#[test]
fn every_kind_of_change_is_kept_and_restored() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    repo.remove("dir/inner");
    repo.write("new/deep/file", "new\n");
    repo.write("staged", "staged\n");
    repo.git(["add", "staged"]);
    repo.write("staged", "staged and changed\n");
    repo.chmod("run.sh", 0o644);
    repo.remove("link");
    repo.symlink("nowhere", "link");
    repo.symlink("/etc/passwd", "absolute");
    repo.write(".gitignore", "*.log\n");
    repo.write("noise.log", "ignored\n");

    let snapshot = repo.snapshot();
    assert_eq!(
        snapshot.name,
        "refs/watchdog/rescue/auth/20260304T050607Z-0"
    );
    assert_eq!(snapshot.left_out, []);
    assert_eq!(
        tree(&repo, &snapshot.commit),
        [
            "100644 .gitignore",
            "120000 absolute",
            "120000 link",
            "100644 new/deep/file",
            "100644 run.sh",
            "100644 staged",
            "100644 tracked"
        ]
    );
    assert_eq!(snapshot.files, 8);
    assert_eq!(
        content(&repo, &snapshot.commit, "staged"),
        "staged and changed"
    );
    assert_eq!(
        content(&repo, &format!("{}^2", snapshot.commit), "staged"),
        "staged",
        "the second parent is the index"
    );
    assert_eq!(
        repo.git(["rev-parse", &format!("{}^1", snapshot.commit)]),
        repo.git(["rev-parse", "HEAD"])
    );

    repo.remove("noise.log");
    let status = repo.git(["status", "--porcelain"]);
    restore_after_wipe(&repo, &snapshot);
    assert_eq!(
        repo.git(["status", "--porcelain"]),
        status,
        "the index is as it was, too"
    );
    repo.git(["fsck", "--strict"]);
}

#[test]
fn taking_one_leaves_no_other_trace() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    repo.git(["stash"]);
    repo.write("tracked", "three\n");
    repo.write("staged", "x");
    repo.git(["add", "staged"]);
    repo.write("untracked", "y");
    let (private, files) = (repo.private_state(), repo.files());
    repo.snapshot();
    assert_eq!(repo.private_state(), private);
    assert_eq!(repo.files(), files);
    assert_eq!(repo.git(["stash", "list"]).lines().count(), 1);
}

#[test]
fn unchanged_state_is_snapshotted_only_once() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    let first = repo.snapshot();
    let again = repo.snapshot();
    assert!(again.reused && !first.reused);
    assert_eq!(again.name, first.name);
    // The same files, but one of them staged: another state.
    repo.git(["add", "tracked"]);
    let second = repo.snapshot();
    assert_eq!(second.name, "refs/watchdog/rescue/auth/20260304T050607Z-1");
    let ids: Vec<String> = repo
        .open()
        .snapshots(Some("auth"))
        .unwrap()
        .into_iter()
        .map(|s| s.id)
        .collect();
    assert_eq!(
        ids,
        ["auth/20260304T050607Z-1", "auth/20260304T050607Z-0"],
        "newest first"
    );
    assert!(repo.open().snapshots(Some("other")).unwrap().is_empty());
    repo.open()
        .drop_snapshot("auth/20260304T050607Z-1")
        .unwrap();
    assert_eq!(repo.open().snapshots(None).unwrap().len(), 1);
    assert!(matches!(
        repo.open().drop_snapshot("auth/none-7"),
        Err(RestoreError::Unknown { .. })
    ));
}

#[test]
fn it_says_what_it_is() {
    let repo = ScratchRepo::new();
    repo.write("new", "12345");
    repo.snapshot();
    let info = repo.open().snapshots(None).unwrap().remove(0);
    assert_eq!(
        (
            info.spec.as_str(),
            info.why.as_str(),
            info.branch.as_deref()
        ),
        ("auth", "test", Some("main"))
    );
    assert_eq!((info.files, info.bytes), (1, 5));
    assert_eq!(info.worktree, repo.root().to_str().unwrap());
    assert_eq!(
        repo.git(["log", "-1", "--format=%an <%ae>", &info.commit]),
        "watchdog <watchdog@localhost>"
    );
}

#[test]
fn an_unborn_branch_is_kept_whole() {
    let repo = ScratchRepo::unborn();
    assert_eq!(repo.try_snapshot(), None, "an empty folder is nothing");
    repo.write("first", "1");
    repo.write("staged", "2");
    repo.git(["add", "staged"]);
    let snapshot = repo.snapshot();
    assert_eq!(snapshot.parent, None);
    assert_eq!(
        tree(&repo, &snapshot.commit),
        ["100644 first", "100644 staged"]
    );
    let before = repo.files();
    repo.git(["rm", "-qrf", "--cached", "."]);
    repo.git(["clean", "-qffdx"]);
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.files(), before);
    assert_eq!(repo.git(["status", "--porcelain"]), "A  staged\n?? first");
}

#[test]
fn detached_head_and_emptied_tree_are_kept() {
    let repo = ScratchRepo::new();
    repo.git(["checkout", "-q", "--detach"]);
    repo.git(["rm", "-qr", "."]);
    let snapshot = repo.snapshot();
    assert_eq!(tree(&repo, &snapshot.commit), Vec::<String>::new());
    assert_eq!(repo.open().snapshots(None).unwrap()[0].branch, None);
    restore_after_wipe(&repo, &snapshot);
    assert!(repo.files().is_empty());
}

#[test]
fn conflict_keeps_its_markers_and_stages() {
    let repo = ScratchRepo::beside_a_conflict();
    assert!(
        !repo
            .try_git_in(repo.root(), ["merge", "other"])
            .status
            .success()
    );
    let private = repo.private_state();
    let snapshot = repo.snapshot();
    assert_eq!(repo.private_state(), private, "the merge goes on as it was");
    assert!(content(&repo, &snapshot.commit, "tracked").contains("<<<<<<< HEAD"));
    assert_eq!(
        content(
            &repo,
            &format!("{}^3", snapshot.commit),
            "conflicts/1/tracked"
        ),
        "one"
    );
    assert_eq!(
        content(
            &repo,
            &format!("{}^3", snapshot.commit),
            "conflicts/3/tracked"
        ),
        "theirs"
    );
    let unmerged = repo.git(["ls-files", "-u"]);
    repo.git(["merge", "--abort"]);
    restore_after_wipe_of_conflict(&repo, &snapshot);
    assert_eq!(repo.git(["ls-files", "-u"]), unmerged);
}

fn restore_after_wipe_of_conflict(repo: &ScratchRepo, snapshot: &Snapshot) {
    repo.open()
        .restore(ScratchRepo::id(snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert!(repo.read("tracked").contains(">>>>>>> other"));
}

#[test]
fn a_rebase_that_waits_is_not_disturbed() {
    let repo = ScratchRepo::beside_a_conflict();
    assert!(
        !repo
            .try_git_in(repo.root(), ["rebase", "other"])
            .status
            .success()
    );
    repo.write("untracked", "u");
    let private = repo.private_state();
    let snapshot = repo.snapshot();
    assert_eq!(repo.private_state(), private);
    assert!(tree(&repo, &snapshot.commit).contains(&"100644 untracked".to_owned()));
}

#[test]
fn names_that_are_not_text_are_kept() {
    let repo = ScratchRepo::new();
    for name in [
        &b"\xff\xfe"[..],
        b"new\nline",
        b"tab\there",
        b"sp ace/\xc3\xa9",
        b"quo\"te",
        b"-dash",
        b":(literal)x",
        b"*glob*",
    ] {
        repo.write(OsStr::from_bytes(name), name);
    }
    let snapshot = repo.snapshot();
    assert_eq!(snapshot.files, 8);
    restore_after_wipe(&repo, &snapshot);
}

#[test]
fn names_differing_only_in_case_coexist() {
    for ignore_case in ["false", "true"] {
        let repo = ScratchRepo::new();
        repo.git(["config", "core.ignoreCase", ignore_case]);
        repo.write("TRACKED", "upper\n");
        repo.write("tracked", "lower\n");
        repo.write("Dir/inner", "another folder\n");
        repo.write("new/a", "a");
        repo.write("new/A", "A");
        let snapshot = repo.snapshot();
        for path in [
            "TRACKED",
            "Dir/inner",
            "new/A",
            "new/a",
            "dir/inner",
            "tracked",
        ] {
            assert_eq!(
                content(&repo, &snapshot.commit, path),
                repo.read(path).trim_end(),
                "{path}, ignoreCase {ignore_case}"
            );
        }
        restore_after_wipe(&repo, &snapshot);
    }
}

#[test]
fn flags_and_times_hide_no_edit() {
    let repo = ScratchRepo::new();
    repo.git(["update-index", "--assume-unchanged", "tracked"]);
    repo.git(["update-index", "--skip-worktree", "dir/inner"]);
    repo.write("tracked", "two\n");
    repo.write("dir/inner", "outer\n");
    let snapshot = repo.snapshot();
    assert_eq!(content(&repo, &snapshot.commit, "tracked"), "two");
    assert_eq!(content(&repo, &snapshot.commit, "dir/inner"), "outer");
}

#[test]
fn same_size_edit_after_an_add_is_seen() {
    let repo = ScratchRepo::new();
    for round in 0..40 {
        repo.write("tracked", format!("a{round:03}"));
        repo.git(["add", "tracked"]);
        repo.write("tracked", format!("b{round:03}"));
        let snapshot = repo.snapshot();
        assert_eq!(
            content(&repo, &snapshot.commit, "tracked"),
            format!("b{round:03}")
        );
    }
}

#[test]
fn paths_added_without_content_are_kept_with_theirs() {
    let repo = ScratchRepo::new();
    repo.write("intended", "content\n");
    repo.git(["add", "-N", "intended"]);
    let snapshot = repo.snapshot();
    assert_eq!(content(&repo, &snapshot.commit, "intended"), "content");
    let status = repo.git(["status", "--porcelain=v2"]);
    repo.git(["reset", "-q", "--hard"]);
    repo.git(["rm", "-q", "--cached", "--ignore-unmatch", "intended"]);
    repo.git(["clean", "-qffdx"]);
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.git(["status", "--porcelain=v2"]), status);
}

#[test]
fn a_corrupt_index_hides_nothing() {
    let repo = ScratchRepo::new();
    repo.write("tracked", "two\n");
    repo.write("new", "n");
    std::fs::write(repo.path(".git/index"), b"DIRC garbage").unwrap();
    let snapshot = repo.snapshot();
    assert_eq!(content(&repo, &snapshot.commit, "tracked"), "two");
    assert_eq!(content(&repo, &snapshot.commit, "new"), "n");
    assert!(tree(&repo, &snapshot.commit).contains(&"100644 dir/inner".to_owned()));
}

#[test]
fn files_become_folders_and_folders_become_files() {
    let repo = ScratchRepo::new();
    repo.remove("tracked");
    repo.write("tracked/now/a/folder", "f");
    std::fs::remove_dir_all(repo.path("dir")).unwrap();
    repo.write("dir", "now a file");
    let snapshot = repo.snapshot();
    restore_after_wipe(&repo, &snapshot);
}

#[test]
fn a_folder_swapped_for_a_link_leads_nowhere() {
    let repo = ScratchRepo::new();
    let outside = repo.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("inner"), "secret of somebody else").unwrap();
    std::fs::remove_dir_all(repo.path("dir")).unwrap();
    std::os::unix::fs::symlink(&outside, repo.path("dir")).unwrap();
    let snapshot = repo.snapshot();
    assert_eq!(
        tree(&repo, &snapshot.commit),
        [
            "120000 dir",
            "120000 link",
            "100755 run.sh",
            "100644 tracked"
        ]
    );
    restore_after_wipe(&repo, &snapshot);
    assert_eq!(files(&outside).len(), 1);
}

#[test]
fn pipes_and_sockets_do_not_hold_it() {
    let repo = ScratchRepo::new();
    repo.write("new", "n");
    for name in ["pipe", ".gitattributes", "dir/.gitignore"] {
        let path = repo.path(name);
        assert!(
            std::process::Command::new("mkfifo")
                .arg(path)
                .status()
                .unwrap()
                .success()
        );
    }
    repo.remove("tracked");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(repo.path("tracked"))
            .status()
            .unwrap()
            .success()
    );
    let snapshot = repo.snapshot();
    assert_eq!(
        tree(&repo, &snapshot.commit),
        [
            "100644 dir/inner",
            "120000 link",
            "100644 new",
            "100755 run.sh"
        ]
    );
}

#[test]
fn snapshots_outlive_garbage_collection() {
    let repo = ScratchRepo::new();
    repo.write("staged", "only in the index");
    repo.git(["add", "staged"]);
    repo.write("staged", "later");
    repo.write("new", "n");
    let snapshot = repo.snapshot();
    repo.wipe();
    repo.git(["reflog", "expire", "--expire=now", "--all"]);
    repo.git(["gc", "-q", "--prune=now"]);
    repo.open()
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    assert_eq!(repo.read("staged"), "later");
    assert_eq!(repo.git(["show", ":staged"]), "only in the index");
}

#[test]
fn snapshot_of_thousands_of_files_is_fast() {
    let repo = ScratchRepo::new();
    for n in 0..4000 {
        repo.write(format!("src/{}/{n}", n % 50), format!("content {n}\n"));
    }
    repo.git(["add", "-A"]);
    repo.git(["commit", "-qm", "many"]);
    for n in 0..2000 {
        repo.write(format!("src/{}/{n}", n % 50), format!("changed {n}\n"));
    }
    let worktree = repo.open();
    let timed = |what: &str| {
        let start = std::time::Instant::now();
        let snapshot = repo.snapshot();
        println!("{what}: {:?}", start.elapsed());
        (snapshot, start.elapsed())
    };
    let (snapshot, first) = timed("first");
    assert_eq!(snapshot.files, 2000);
    let (again, second) = timed("unchanged");
    assert!(
        again.reused
            && first.as_secs() < 30
            && second < first.max(std::time::Duration::from_secs(5)),
        "{first:?} {second:?}"
    );
    let start = std::time::Instant::now();
    assert_eq!(
        worktree.missing_from(&snapshot).unwrap(),
        Vec::<String>::new()
    );
    println!("proof: {:?}", start.elapsed());
    repo.git(["stash", "-q"]);
    let start = std::time::Instant::now();
    worktree
        .restore(ScratchRepo::id(&snapshot), RestoreTarget::InPlace)
        .unwrap();
    println!("restore: {:?}", start.elapsed());
}

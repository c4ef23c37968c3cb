//! Files that define completion, compared with a commit: what hides a change from git, and what is no change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use watchdog_git::{GuardedPaths, HistoryPoint, Worktree};

use crate::support::lone_repo::Repo;

/// A repository with these files in its only commit, whatever it ignores.
fn with_files(files: &[(&str, &str)]) -> (Repo, HistoryPoint) {
    let repo = Repo::init();
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.git(&["add", "-f", "."]);
    repo.git(&["commit", "-qm", "start"]);
    let point = HistoryPoint::Commit(repo.head());
    (repo, point)
}

/// The files of a glob that differ from a commit, or why that cannot be said.
fn looked(repo: &Repo, point: &HistoryPoint, glob: &str) -> Result<Vec<String>, String> {
    let wanted = GuardedPaths::new(&[glob.to_owned()], BTreeSet::new()).unwrap();
    Worktree::open(repo.root())
        .unwrap()
        .changed_files(point, &BTreeMap::new(), &wanted)
        .map_err(|error| error.to_string())
}

#[track_caller]
fn changed(repo: &Repo, point: &HistoryPoint, glob: &str) -> Vec<String> {
    looked(repo, point, glob).unwrap()
}

#[test]
fn tracked_ignored_file_is_compared() {
    let (repo, point) = with_files(&[
        (".gitignore", "*.test\n"),
        ("a.test", "a\n"),
        ("b.test", "b\n"),
    ]);
    assert!(changed(&repo, &point, "**").is_empty());
    repo.write("a.test", "weaker\n");
    fs::remove_file(repo.path("b.test")).unwrap();
    repo.write("new.test", "ignored\n");
    assert_eq!(changed(&repo, &point, "**"), ["a.test", "b.test"]);
    // Also by its very path, without a glob.
    let wanted = GuardedPaths::new(
        &[],
        ["a.test", "b.test", "new.test"].map(str::to_owned).into(),
    )
    .unwrap();
    let worktree = Worktree::open(repo.root()).unwrap();
    assert_eq!(
        worktree
            .changed_files(&point, &BTreeMap::new(), &wanted)
            .unwrap(),
        ["a.test", "b.test"]
    );
    let differing = worktree.differing_files(&point, &wanted).unwrap();
    let weaker = repo.git(&["hash-object", "a.test"]);
    assert_eq!(
        differing,
        BTreeMap::from([
            ("a.test".to_owned(), Some(weaker)),
            ("b.test".to_owned(), None)
        ])
    );
    repo.git(&["add", "-f", "new.test"]);
    assert_eq!(
        changed(&repo, &point, "**"),
        ["a.test", "b.test", "new.test"]
    );
}

#[test]
fn nearest_regular_ignore_file_decides_on_new_files() {
    let (repo, _) = with_files(&[
        (".gitignore", "*.log\n"),
        ("tests/.gitignore", "!kept.log\n"),
        ("tests/deep/.gitignore", "kept.log\n"),
        ("run/.gitignore", "*.txt\n"),
        ("named/my.gitignore", "*.txt\n"),
    ]);
    fs::create_dir(repo.path("linked")).unwrap();
    symlink("*.txt", repo.path("linked/.gitignore")).unwrap();
    repo.git(&["add", "."]);
    repo.git(&["update-index", "--chmod=+x", "run/.gitignore"]);
    repo.git(&["commit", "-qm", "rules"]);
    repo.git(&["checkout", "-q", "."]);
    let point = HistoryPoint::Commit(repo.head());
    for path in [
        "x.log",
        "tests/x.log",
        "tests/kept.log",
        "tests/deep/kept.log",
        "run/x.txt",
        "named/x.txt",
        "linked/x.txt",
    ] {
        repo.write(path, "new\n");
    }
    assert_eq!(
        changed(&repo, &point, "**"),
        ["linked/x.txt", "named/x.txt", "tests/kept.log"]
    );
    assert_eq!(changed(&repo, &point, "tests/**"), ["tests/kept.log"]);
}

#[test]
fn self_linked_folder_loses_its_files() {
    let (repo, point) = with_files(&[("tests/a", "a\n"), ("tests/unit/b", "b\n")]);
    fs::remove_dir_all(repo.path("tests")).unwrap();
    symlink("tests", repo.path("tests")).unwrap();
    assert_eq!(
        changed(&repo, &point, "tests/**"),
        ["tests/a", "tests/unit/b"]
    );
    assert_eq!(changed(&repo, &point, "tests/unit/*"), ["tests/unit/b"]);
}

#[test]
fn too_deep_new_files_are_an_error() {
    let (repo, point) = with_files(&[("tests/a", "a\n")]);
    // No single path leads there, but a process can walk.
    let name = "d".repeat(250);
    let walk = format!(
        "cd tests && for n in $(seq 20); do mkdir {name} && cd -P {name} || exit 1; done && echo x >new.test"
    );
    let made = Command::new("bash")
        .args(["-c", &walk])
        .current_dir(repo.root())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let why = looked(&repo, &point, "tests/**").expect_err("nobody saw all files");
    assert!(why.contains("tests/ddd"), "{why}");
}

#[test]
fn files_of_inner_worktrees_need_a_naming_glob() {
    let (repo, point) = with_files(&[("sub/a.test", "a\n")]);
    for folder in ["top", "sub/inner"] {
        repo.git(&["worktree", "add", "-q", "--detach", folder]);
        repo.write(&format!("{folder}/new.test"), "x\n");
    }
    assert!(
        changed(&repo, &point, "**").is_empty(),
        "{:?}",
        changed(&repo, &point, "**")
    );
    let below = ["sub/inner/new.test", "sub/inner/sub/a.test"];
    assert_eq!(changed(&repo, &point, "sub/**"), below);
    // A repository of its own is no worktree of this one, nor is a folder whose link to it is gone.
    repo.git(&["init", "-q", "own"]);
    repo.write("own/new.test", "x\n");
    fs::remove_file(repo.path("sub/inner/.git")).unwrap();
    assert_eq!(
        changed(&repo, &point, "**"),
        [&["own/new.test"][..], &below].concat()
    );
}

#[test]
fn lfs_pointer_equals_its_content_and_no_other() {
    // printf 'large\n' | sha256sum
    let oid = "oid sha256:9bfce334a37bd1bc1d36b0370195b31fe9a9389dd43d0873891a3544ef1140a1\n";
    let version = "version https://git-lfs.github.com/spec/v1\n";
    let padded = |length: usize| {
        let text = format!("{version}{oid}size 6\n");
        format!("{text}{}\n", "x".repeat(length - text.len() - 1))
    };
    let (repo, point) = with_files(&[
        ("pointer", &format!("{version}{oid}size 6\n")),
        ("longest", &padded(1023)),
        ("too-long", &padded(1024)),
        ("no-version", oid),
    ]);
    assert!(
        changed(&repo, &point, "*").is_empty(),
        "the pointers themselves"
    );
    for name in ["pointer", "longest", "too-long", "no-version"] {
        repo.write(name, "large\n");
    }
    assert_eq!(changed(&repo, &point, "*"), ["no-version", "too-long"]);
    repo.write("pointer", "other\n");
    assert_eq!(
        changed(&repo, &point, "*"),
        ["no-version", "pointer", "too-long"]
    );
}

#[test]
fn words_name_committed_files_through_links() {
    let (repo, _) = with_files(&[
        ("scripts/run.sh", "x\n"),
        ("scripts/lib/deep.sh", "x\n"),
        ("a[b", "x\n"),
        ("build", "x\n"),
    ]);
    symlink("scripts/run.sh", repo.path("go")).unwrap();
    symlink("scripts", repo.path("tools")).unwrap();
    symlink("round", repo.path("round")).unwrap();
    repo.git(&["add", "."]);
    repo.git(&["commit", "-qm", "links"]);
    repo.write("scripts/later.sh", "x\n");
    let point = HistoryPoint::Commit(repo.head());
    for (words, expected) in [
        (&["scripts/run.sh"][..], &["scripts/run.sh"][..]),
        (&["scripts"], &[]),
        (&["build/step"], &[]),
        (&["nothing", "scripts/later.sh"], &[]),
        (&["go"], &["go", "scripts/run.sh"]),
        (&["tools/lib/deep.sh"], &["scripts/lib/deep.sh", "tools"]),
        (&["round"], &["round"]),
        (&["scripts/*.sh", "build"], &["build", "scripts/run.sh"]),
        (&["s?ripts/**"], &["scripts/lib/deep.sh", "scripts/run.sh"]),
        // No glob, but a file may be called so.
        (&["a[b", "build"], &["a[b", "build"]),
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = Worktree::open(repo.root())
            .unwrap()
            .files_named(&point, &words)
            .unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{words:?}");
    }
}

#[test]
fn head_files_exclude_the_only_staged() {
    let repo = Repo::init();
    repo.write("tests/a", "a\n");
    repo.git(&["add", "."]);
    let has = |path: &str| Worktree::open(repo.root()).unwrap().head_has(path).unwrap();
    assert!(!has("tests/a"), "nothing is committed yet");
    repo.git(&["commit", "-qm", "start"]);
    repo.write("tests/b", "b\n");
    repo.git(&["add", "."]);
    assert_eq!(
        ["tests/a", "tests", "tests/b", "a", "tests/a/x"].map(has),
        [true, true, false, false, false]
    );
}

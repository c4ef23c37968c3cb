//! What is uncommitted, against git's own answer.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use watchdog_facts::evidence::{Changes, GitOperation};
use watchdog_git::{Error, Worktree, escape_path, unescape_path};

use crate::support::lone_repo::Repo;
use crate::support::random_tree::Dice;
use crate::support::{fill_line, wait_until};

fn changes(repo: &Repo) -> Changes {
    Worktree::open(repo.root()).unwrap().changes().unwrap()
}

fn codes(changes: &Changes) -> Vec<&'static str> {
    changes.degraded.iter().map(|d| d.code.as_str()).collect()
}

/// What git says, in our terms: counts and paths.
fn of_git(repo: &Repo) -> (u64, u64, u64, u64, Vec<String>) {
    let mut command = repo.command(&fill_line(
        "--no-optional-locks -c core.fsmonitor=false -c core.hooksPath=/dev/null",
        &[],
    ));
    let output = command
        .args(fill_line(
            "-c status.renames=true status --porcelain=v2 -uall -z",
            &[],
        ))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (mut staged, mut unstaged, mut untracked, mut conflicted) = (0, 0, 0, 0);
    let mut paths = BTreeSet::new();
    let mut records = output.stdout.split(|b| *b == 0).peekable();
    while let Some(record) = records.next().filter(|record| !record.is_empty()) {
        let fields = match record[0] {
            b'1' => 9,
            b'2' => 10,
            b'u' => 11,
            _ => 2,
        };
        let path = record.splitn(fields, |b| *b == b' ').last().unwrap();
        paths.insert(escape_path(path.strip_suffix(b"/").unwrap_or(path)));
        match record[0] {
            b'1' | b'2' => {
                staged += u64::from(record[2] != b'.');
                unstaged += u64::from(record[3] != b'.');
                // The old name of a rename. In the work tree git sees one only towards `git add -N`; to us
                // that is one file gone and one to come.
                if let Some(old) = records.next_if(|_| record[0] == b'2')
                    && record[3] == b'R'
                {
                    unstaged += 1;
                    paths.insert(escape_path(old));
                }
            }
            b'u' => conflicted += 1,
            b'?' => untracked += 1,
            other => panic!("unexpected record {}", other as char),
        }
    }
    (
        staged,
        unstaged,
        untracked,
        conflicted,
        paths.into_iter().collect(),
    )
}

fn of_us(changes: &Changes) -> (u64, u64, u64, u64, Vec<String>) {
    (
        changes.staged,
        changes.unstaged,
        changes.untracked,
        changes.conflicted,
        changes.paths.clone(),
    )
}

/// The repository that the table's cases start from.
fn with_some_files() -> Repo {
    let repo = Repo::init();
    for (path, text) in [
        ("a.txt", "a\n"),
        ("b c.txt", "b\n"),
        ("foo.txt", "foo\n"),
        ("src/old.txt", "old\nold\nold\n"),
    ] {
        repo.write(path, text);
    }
    repo.git(&["add", "."]);
    repo.git(&["commit", "-q", "-m", "base"]);
    repo
}

fn take_step(repo: &Repo, step: &[String]) {
    let words: Vec<&str> = step.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["write", path, text] => repo.write(path, text),
        ["remove", path] => fs::remove_file(repo.path(path)).unwrap(),
        ["folder", path] => fs::create_dir_all(repo.path(path)).unwrap(),
        ["symlink", path, target] => std::os::unix::fs::symlink(target, repo.path(path)).unwrap(),
        ["mode", path, mode] => {
            fs::set_permissions(
                repo.path(path),
                PermissionsExt::from_mode(u32::from_str_radix(mode, 8).unwrap()),
            )
            .unwrap();
        }
        ["fails", args @ ..] => assert!(!repo.try_git(args).status.success()),
        ["git", args @ ..] => drop(repo.git(args)),
        other => panic!("no such step: {other:?}"),
    }
}

#[test]
fn change_counts_match_the_table_and_git() {
    let cases: serde_json::Value =
        serde_json::from_str(include_str!("fixtures/changes.json")).unwrap();
    for case in cases.as_array().unwrap() {
        let repo = with_some_files();
        let steps: Vec<Vec<String>> = serde_json::from_value(case["steps"].clone()).unwrap();
        for step in &steps {
            take_step(&repo, step);
        }
        let (found, name) = (changes(&repo), &case["name"]);
        for (kind, count) in [
            ("staged", found.staged),
            ("unstaged", found.unstaged),
            ("untracked", found.untracked),
            ("conflicted", found.conflicted),
        ] {
            assert_eq!(
                count,
                case["expect"][kind].as_u64().unwrap_or(0),
                "{kind}: {name}"
            );
        }
        let paths: Vec<String> =
            serde_json::from_value(case["expect"]["paths"].clone()).unwrap_or_default();
        assert_eq!(found.paths, paths, "{name}");
        assert_eq!(
            found.operation.map(GitOperation::as_str),
            case["expect"]["operation"].as_str(),
            "{name}"
        );
        assert_eq!(found.any(), !paths.is_empty(), "{name}");
        assert_eq!(codes(&found), [""; 0], "{name}");
        assert_eq!(of_us(&found), of_git(&repo), "git says otherwise: {name}");
    }
}

#[test]
fn before_the_first_commit_everything_counts() {
    let repo = Repo::init();
    assert_eq!(of_us(&changes(&repo)), (0, 0, 0, 0, vec![]));
    repo.write("new.txt", "x");
    repo.write("staged.txt", "x");
    repo.git(&["add", "staged.txt"]);
    assert_eq!(of_us(&changes(&repo)), of_git(&repo));
    assert_eq!((changes(&repo).staged, changes(&repo).untracked), (1, 1));
}

#[test]
fn names_outside_utf8_survive_without_loss() {
    let repo = with_some_files();
    for name in [&b"caf\xe9.txt"[..], b"50%\xff", b"a%FFb"] {
        fs::write(
            repo.root()
                .join(Path::new(std::ffi::OsStr::from_bytes(name))),
            "x",
        )
        .unwrap();
    }
    let found = changes(&repo);
    assert_eq!(found.untracked, 3);
    let mut names: Vec<Vec<u8>> = found.paths.iter().map(|path| unescape_path(path)).collect();
    names.sort();
    assert_eq!(names, [&b"50%\xff"[..], b"a%FFb", b"caf\xe9.txt"]);
    assert_eq!(of_us(&found), of_git(&repo));
}

#[test]
fn linked_worktrees_have_changes_of_their_own() {
    let repo = with_some_files();
    repo.git(&["worktree", "add", "-q", "../side"]);
    let side = repo.at("side");
    side.write("a.txt", "changed");
    assert_eq!((changes(&side).unstaged, changes(&repo).any()), (1, false));
    assert_eq!(of_us(&changes(&side)), of_git(&side));
}

#[test]
fn a_fifo_is_no_file_to_commit() {
    let repo = with_some_files();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        repo.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    fs::remove_file(repo.path("a.txt")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        repo.path("a.txt"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let found = changes(&repo);
    assert_eq!((found.unstaged, found.untracked), (1, 0));
    assert_eq!(of_us(&found), of_git(&repo));
}

#[test]
fn rewriting_a_changed_file_moves_the_fingerprint() {
    let repo = with_some_files();
    let clean = changes(&repo).fingerprint;
    assert_eq!(clean, changes(&repo).fingerprint);
    repo.write("new.txt", "one");
    let first = changes(&repo).fingerprint;
    assert_ne!(clean, first);
    assert_eq!(first, changes(&repo).fingerprint);
    repo.write("new.txt", "two!");
    let second = changes(&repo).fingerprint;
    assert_ne!(first, second);
    repo.git(&["add", "new.txt"]);
    assert_ne!(second, changes(&repo).fingerprint);
    repo.git(&["commit", "-q", "-m", "new"]);
    assert_ne!(clean, changes(&repo).fingerprint);
}

#[test]
fn half_done_operations_are_named() {
    for (operation, steps) in [
        (GitOperation::Merge, &[&["merge", "-q", "side"][..]][..]),
        (GitOperation::Rebase, &[&["rebase", "-q", "side"]]),
        (
            GitOperation::Rebase,
            &[&["rebase", "-q", "--apply", "side"]],
        ),
        (GitOperation::CherryPick, &[&["cherry-pick", "side"]]),
        (
            GitOperation::CherryPick,
            &[
                &["cherry-pick", "side", "side~1"],
                &["reset", "-q", "--hard"],
            ],
        ),
        (GitOperation::Revert, &[&["revert", "--no-edit", "HEAD~1"]]),
        (GitOperation::ApplyMailbox, &[&["am", "-q", "../mail"]]),
        (GitOperation::Bisect, &[&["bisect", "start"]]),
    ] {
        let repo = Repo::init();
        repo.commit_file("f", "one\n", "one");
        repo.git(&["checkout", "-q", "-b", "side"]);
        repo.commit("other");
        repo.commit_file("f", "side\n", "side");
        fs::write(
            repo.root().parent().unwrap().join("mail"),
            repo.git(&["format-patch", "-1", "--stdout"]) + "\n",
        )
        .unwrap();
        repo.git(&["checkout", "-q", "main"]);
        repo.commit_file("f", "two\n", "two");
        repo.commit_file("f", "three\n", "three");
        assert_eq!(
            Worktree::open(repo.root()).unwrap().operation().unwrap(),
            None
        );
        for step in steps {
            repo.try_git(step);
        }
        assert_eq!(
            Worktree::open(repo.root()).unwrap().operation().unwrap(),
            Some(operation),
            "{steps:?}"
        );
        assert_eq!(of_us(&changes(&repo)), of_git(&repo), "{steps:?}");
    }
}

#[test]
fn unreadable_operation_mark_is_an_error() {
    let repo = Repo::init();
    repo.commit("one");
    // A link to itself: the system does not say what is there.
    let mark = repo.root().join(".git/MERGE_HEAD");
    std::os::unix::fs::symlink(&mark, &mark).unwrap();
    let worktree = Worktree::open(repo.root()).unwrap();
    let error = worktree
        .half_done()
        .expect_err("nobody knows whether there is one")
        .to_string();
    assert!(error.contains("half done"), "{error}");
}

#[test]
fn edits_hidden_from_git_are_changes() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repo = with_some_files();
        repo.git(&["update-index", flag, "a.txt", "foo.txt"]);
        assert_eq!(codes(&changes(&repo)), [""; 0], "{flag}");
        repo.write("a.txt", "hidden edit");
        let found = changes(&repo);
        assert_eq!(codes(&found), ["hidden_entries"], "{flag}");
        assert!(found.degraded[0].detail.contains("'a.txt'"));
        assert_eq!(
            (found.unstaged, found.paths),
            (1, vec!["a.txt".to_owned()]),
            "git lists it not, and it is uncommitted: {flag}"
        );
    }
}

#[test]
fn sparse_checkouts_and_sparse_indexes_are_read_right() {
    for index in ["--no-sparse-index", "--sparse-index"] {
        let repo = Repo::init();
        for path in ["in/1", "in/2", "out/1", "out/deep/2", "top"] {
            repo.write(path, "x\n");
        }
        repo.git(&["add", "."]);
        repo.git(&["commit", "-q", "-m", "base"]);
        repo.git(&["sparse-checkout", "set", "--cone", index, "in"]);
        assert!(!repo.path("out").exists());
        assert_eq!(of_us(&changes(&repo)), (0, 0, 0, 0, vec![]), "{index}");
        repo.write("in/1", "changed\n");
        repo.write("in/new", "x\n");
        repo.git(&["add", "in/new"]);
        assert_eq!(
            (changes(&repo).staged, changes(&repo).unstaged),
            (1, 1),
            "{index}"
        );
        // A file outside of the cone that is there after all, changed and unchanged.
        repo.write("out/1", "changed\n");
        repo.write("out/new", "x\n");
        let found = changes(&repo);
        assert_eq!(of_us(&found), of_git(&repo), "{index}");
        assert_eq!((found.unstaged, found.untracked), (2, 1), "{index}");
    }
}

#[test]
fn new_files_are_seen_beside_overlooked_files() {
    let repo = Repo::init();
    repo.commit_file("d/one", "x\n", "one");
    repo.commit_file("d/two", "x\n", "two");
    repo.git(&["update-index", "--skip-worktree", "d/one", "d/two"]);
    repo.write("d/new", "x");
    let found = changes(&repo);
    assert_eq!((of_us(&found), found.untracked), (of_git(&repo), 1));
}

#[test]
fn pipes_as_ignore_or_attribute_files_never_block() {
    let pipe = |path: PathBuf| {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap()
    };
    let repo = with_some_files();
    pipe(repo.path("src/.gitignore"));
    repo.write("src/new", "x");
    let found = changes(&repo);
    assert_eq!(
        (found.untracked, codes(&found)),
        (1, vec!["unreadable_path"])
    );
    let repo = with_some_files();
    pipe(repo.path(".gitattributes"));
    repo.write("a.txt", "b\n");
    let found = changes(&repo);
    assert_eq!(
        (found.unstaged, codes(&found)),
        (1, vec!["unreadable_path"])
    );
}

#[test]
fn comparison_applies_line_endings_and_user_filters() {
    let repo = Repo::init();
    repo.write(".gitattributes", "*.txt text eol=crlf\n");
    repo.write("a.txt", "one\r\ntwo\r\n");
    repo.git(&["add", "."]);
    repo.git(&["commit", "-q", "-m", "base"]);
    repo.write("a.txt", "one\r\ntwo\r\n");
    assert_eq!(
        (of_us(&changes(&repo)), changes(&repo).any()),
        (of_git(&repo), false)
    );
    repo.write("a.txt", "one\r\ntwo\r\r");
    assert_eq!(
        (of_us(&changes(&repo)), changes(&repo).unstaged),
        (of_git(&repo), 1)
    );
}

#[test]
fn large_tree_reads_the_same_on_many_threads() {
    let repo = Repo::init();
    for n in 0..4000 {
        repo.write(&format!("d{}/e{}/f{n}", n % 7, n % 50), "x\n");
    }
    repo.git(&["add", "."]);
    repo.git(&["commit", "-q", "-m", "base"]);
    assert_eq!(of_us(&changes(&repo)), (0, 0, 0, 0, vec![]));
    for n in (0..4000).step_by(37) {
        fs::remove_file(repo.path(&format!("d{}/e{}/f{n}", n % 7, n % 50))).unwrap();
        repo.write(&format!("d{}/e{}/g{n}", n % 7, n % 50), "x\n");
        repo.write(
            &format!("d{}/e{}/f{}", (n + 1) % 7, (n + 1) % 50, n + 1),
            "yyy\n",
        );
    }
    let found = changes(&repo);
    assert_eq!(of_us(&found), of_git(&repo));
    assert_eq!(found.fingerprint, changes(&repo).fingerprint);
}

#[test]
fn dirty_submodules_count_once_with_their_ignore_setting() {
    let inner = Repo::init();
    inner.commit("inner");
    let repo = inner.at("outer");
    fs::create_dir(repo.root()).unwrap();
    repo.git(&["init", "-q", "-b", "main"]);
    repo.git_line(
        "-c protocol.file.allow=always submodule -q add ../repo sub",
        &[],
    );
    repo.git(&["commit", "-q", "-m", "base"]);
    assert!(!changes(&repo).any());
    let clean = changes(&repo).fingerprint;
    repo.write("sub/inner.txt", "changed");
    let found = changes(&repo);
    assert_eq!((of_us(&found), found.unstaged), (of_git(&repo), 1));
    assert_ne!(found.fingerprint, clean);
    repo.write("sub/inner.txt", "inner\n");
    repo.write("sub/new", "x");
    assert_eq!(of_us(&changes(&repo)), of_git(&repo));
    repo.git(&["config", "submodule.sub.ignore", "untracked"]);
    let found = changes(&repo);
    assert_eq!(
        (of_us(&found), codes(&found)),
        (of_git(&repo), vec!["hidden_entries"])
    );
    // A new commit in it is a change of ours.
    repo.git(&["-C", "sub", "add", "."]);
    repo.git(&["-C", "sub", "commit", "-q", "-m", "new"]);
    let found = changes(&repo);
    assert_eq!((of_us(&found), found.unstaged), (of_git(&repo), 1));
    // Refs that cannot be read name no commit and deny none.
    let unsettled = || Worktree::open(repo.root()).unwrap().unsettled_submodules();
    assert!(unsettled().unwrap()[0].named);
    std::os::unix::fs::symlink("tags", repo.path(".git/modules/sub/refs/loop")).unwrap();
    fs::rename(
        repo.path(".git/modules/sub/refs/tags"),
        repo.path(".git/modules/sub/no-tags"),
    )
    .unwrap();
    fs::rename(
        repo.path(".git/modules/sub/refs/loop"),
        repo.path(".git/modules/sub/refs/tags"),
    )
    .unwrap();
    assert!(matches!(unsettled(), Err(Error::Read { .. })));
    fs::remove_file(repo.path(".git/modules/sub/refs/tags")).unwrap();
    repo.git(&["add", "sub"]);
    assert_eq!(
        (of_us(&changes(&repo)), changes(&repo).staged),
        (of_git(&repo), 1)
    );
    // Broken inside: nobody can tell, so it counts and is named.
    fs::write(repo.path(".git/modules/sub/HEAD"), "").unwrap();
    let found = changes(&repo);
    assert_eq!(
        (found.unstaged, codes(&found)),
        (1, vec!["unreadable_path"])
    );
}

#[test]
fn unreadable_files_are_an_error_never_unchanged() {
    let repo = with_some_files();
    let index = repo.path(".git/index");
    let good = fs::read(&index).unwrap();
    for bad in [&b""[..], b"DIRC", &good[..good.len() / 2], &[0xff; 200]] {
        fs::write(&index, bad).unwrap();
        let error = Worktree::open(repo.root()).unwrap().changes().unwrap_err();
        assert!(
            matches!(error, Error::Read { .. }) && error.to_string().contains("index"),
            "{error}"
        );
    }
    fs::write(&index, &good).unwrap();
    repo.write("staged.txt", "x");
    repo.git(&["add", "staged.txt"]);
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    fs::remove_file(repo.path(&format!(".git/objects/{}/{}", &tree[..2], &tree[2..]))).unwrap();
    let error = Worktree::open(repo.root()).unwrap().changes().unwrap_err();
    assert!(
        matches!(error, Error::Read { .. }) && error.to_string().contains(&tree),
        "{error}"
    );
}

#[test]
fn looking_writes_nothing() {
    let repo = with_some_files();
    repo.write("a.txt", "a\n");
    repo.write("new.txt", "x");
    let stamp = |path: PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    let before = (
        fs::read(repo.path(".git/index")).unwrap(),
        stamp(repo.path(".git/index")),
        stamp(repo.path(".git")),
    );
    fs::write(repo.path(".git/index.lock"), "").unwrap();
    let locked = stamp(repo.path(".git"));
    changes(&repo);
    assert_eq!(
        (
            fs::read(repo.path(".git/index")).unwrap(),
            stamp(repo.path(".git/index"))
        ),
        (before.0, before.1)
    );
    assert_eq!(stamp(repo.path(".git")), locked);
}

#[test]
fn lock_from_the_future_ages() {
    let repo = with_some_files();
    let lock = fs::File::create(repo.path(".git/index.lock")).unwrap();
    lock.set_modified(SystemTime::now() + Duration::from_secs(1 << 30))
        .unwrap();
    let worktree = Worktree::open(repo.root()).unwrap();
    let age = || worktree.youngest_lock().unwrap().1;
    wait_until("it is older than now", Duration::from_secs(60), || {
        age() > Duration::ZERO
    });
    assert!(age() < Duration::from_secs(600), "{:?}", age());
}

#[test]
fn random_work_trees_read_as_git_reads_them() {
    for seed in 1..=40_u64 {
        let mut dice = Dice::new(seed);
        let repo = Repo::init();
        let names: Vec<String> = ["a", "b.rs", "d/e", "d/f g", "d/h/i", "j/k.log", "ü", "z"]
            .map(String::from)
            .to_vec();
        for name in &names {
            if dice.roll(4) > 0 {
                repo.write(
                    name,
                    &format!("{name}\nline\nline\n{}", "more\n".repeat(dice.roll(4))),
                );
            }
        }
        repo.write(
            ".gitignore",
            ["*.log\n", "d/\n", "/z\n", "!a\n"][dice.roll(4)],
        );
        repo.git(&["add", "-f", "."]);
        repo.git(&["commit", "-q", "-m", "base"]);
        repo.git(&["branch", "other"]);
        let mut done = Vec::new();
        for _ in 0..12 {
            let (name, second) = (
                dice.pick(&names).clone(),
                format!("{}{}", dice.pick(&names), dice.roll(3)),
            );
            let path = repo.path(&name);
            let what = dice.roll(15);
            done.push((what, name.clone(), second.clone()));
            match what {
                0 | 1 => drop(
                    fs::create_dir_all(path.parent().unwrap())
                        .and_then(|()| fs::write(&path, format!("{}\n", dice.roll(9)))),
                ),
                2 => drop(fs::remove_file(&path)),
                3 => drop(fs::set_permissions(&path, PermissionsExt::from_mode(0o755))),
                4 => drop(
                    fs::remove_file(&path)
                        .and_then(|()| std::os::unix::fs::symlink("nowhere", &path)),
                ),
                5 => drop(repo.try_git(&["add", "-f", &name])),
                6 => drop(repo.try_git(&["add", "."])),
                7 => drop(repo.try_git(&["rm", "-q", "--cached", &name])),
                8 => drop(repo.try_git(&["mv", &name, &second])),
                9 => drop(
                    fs::create_dir_all(repo.path(&second))
                        .and_then(|()| fs::write(repo.path(&second).join("in"), "x")),
                ),
                10 => drop(repo.try_git(&["add", "-N", "-f", &second])),
                11 => drop(repo.try_git(&["commit", "-q", "-m", "more"])),
                12 => {
                    repo.try_git(&["stash", "-q"]);
                    repo.try_git(&["checkout", "-q", "other"]);
                    repo.try_git(&["stash", "pop", "-q"]);
                }
                13 => drop(fs::rename(&path, repo.path(&second))),
                _ => {
                    let bytes =
                        std::ffi::OsString::from_vec(vec![b'n', 0xff, b'0' + dice.roll(3) as u8]);
                    fs::write(repo.root().join(bytes), "x").unwrap();
                }
            }
        }
        let found = changes(&repo);
        assert_eq!(of_us(&found), of_git(&repo), "seed {seed}: {done:?}");
        assert_eq!(codes(&found), [""; 0], "seed {seed}");
    }
}

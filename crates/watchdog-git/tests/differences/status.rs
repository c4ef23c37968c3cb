//! The status of files: every changed path, and how many are staged, changed, unknown to git.
//!
//! Different by design: a file that HEAD has, and of which the index only says that it will be added (`git add -N`), is unstaged here and not
//! staged as well: nothing of it is in the index. git marks it `DA`, or `DD` where the file is gone.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use watchdog_git::{Worktree, unescape_path};

use crate::BATCH;
use crate::drawn::DrawnNumbers;
use crate::repository::ScratchRepository;

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileStep {
    Write,
    Remove,
    Link,
    Executable,
    Touch,
    Stage,
    Unstage,
    IntendToAdd,
}

const STEPS: &[FileStep] = &[
    FileStep::Write,
    FileStep::Write,
    FileStep::Remove,
    FileStep::Link,
    FileStep::Executable,
    FileStep::Touch,
    FileStep::Stage,
    FileStep::Stage,
    FileStep::Unstage,
    FileStep::IntendToAdd,
];

const FOLDERS: &[&str] = &["", "d/", "d/e/", "ü/", "with blank/", "kept.ignored/"];

/// How many steps each file takes: all files take the first, then all the second, so that one git stages for all of them.
const ROUNDS: usize = 4;

/// A batch of files, some committed, each with steps of its own.
pub fn batch(drawn: &mut DrawnNumbers) {
    let repository = ScratchRepository::new();
    repository.write(
        ".gitignore",
        "*.ignored\n/build\n!/kept.ignored\n!/kept.ignored/**\n",
    );
    let names: Vec<String> = (0..BATCH)
        .map(|n| {
            format!(
                "{}f{n}{}",
                drawn.one_of(FOLDERS),
                drawn.one_of(&["", "", "", ".ignored", " x", "%41", "é"])
            )
        })
        .collect();
    let committed: Vec<&String> = names.iter().filter(|_| drawn.below(3) > 0).collect();
    for name in &committed {
        repository.write(name, drawn.lines());
    }
    let version = *drawn.one_of(&["2", "3", "4"]);
    repository.git(&["update-index", "--index-version", version]);
    stage(&repository, &committed);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
    for _ in 0..ROUNDS {
        round(&repository, &names, drawn);
    }
    compare(&repository);
}

fn round(repository: &ScratchRepository, names: &[String], drawn: &mut DrawnNumbers) {
    let (mut staged, mut unstaged, mut intended) = (Vec::new(), Vec::new(), Vec::new());
    for name in names
        .iter()
        .filter(|_| drawn.below(2) == 0)
        .collect::<Vec<_>>()
    {
        let path = repository.root.join(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        match drawn.one_of(STEPS) {
            FileStep::Write => {
                // Not through a link.
                let _ = fs::remove_file(&path);
                repository.write(name, drawn.lines());
            }
            FileStep::Remove => drop(fs::remove_file(&path)),
            FileStep::Link => {
                let _ = fs::remove_file(&path);
                fs::create_dir_all(path.parent().expect("it has a folder"))
                    .expect("the folder is ours");
                std::os::unix::fs::symlink(format!("to {}", drawn.below(1000)), &path)
                    .expect("nothing is there");
            }
            FileStep::Executable if is_file => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
            }
            FileStep::Touch if is_file => {
                let content = fs::read(&path).expect("it is ours");
                fs::write(&path, content).expect("it is ours");
            }
            FileStep::Executable | FileStep::Touch => {}
            FileStep::Stage => staged.push(name),
            FileStep::Unstage => unstaged.push(name),
            FileStep::IntendToAdd if path.is_file() => intended.push(name),
            FileStep::IntendToAdd => {}
        }
    }
    stage(repository, &staged);
    let with_nul = |names: &[&String]| {
        names
            .iter()
            .map(|name| format!("{name}\0"))
            .collect::<String>()
    };
    repository.git_with(
        &["update-index", "--force-remove", "-z", "--stdin"],
        with_nul(&unstaged).as_bytes(),
    );
    if !intended.is_empty() {
        repository.git_with(
            &[
                "add",
                "-f",
                "-N",
                "--pathspec-from-file=-",
                "--pathspec-file-nul",
            ],
            with_nul(&intended).as_bytes(),
        );
    }
}

/// Takes files into the index as they are, those that are gone out of it.
fn stage(repository: &ScratchRepository, names: &[&String]) {
    let names: String = names.iter().map(|name| format!("{name}\0")).collect();
    repository.git_with(
        &["update-index", "--add", "--remove", "-z", "--stdin"],
        names.as_bytes(),
    );
}

fn compare(repository: &ScratchRepository) {
    let listed = repository.git(&[
        "-c",
        "core.quotePath=false",
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=all",
    ]);
    let (mut paths, mut staged, mut unstaged, mut untracked) = (BTreeSet::new(), 0, 0, 0);
    let mut entries = listed.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let (marks, path) = entry.split_at(3);
        let (index, file) = (marks.as_bytes()[0], marks.as_bytes()[1]);
        if index == b'R' || file == b'R' || index == b'C' || file == b'C' {
            entries.next();
        }
        paths.insert(path.as_bytes().to_vec());
        untracked += u64::from(index == b'?');
        staged +=
            u64::from(![b'?', b' '].contains(&index) && !["DA", "DD"].contains(&marks.trim_end()));
        unstaged += u64::from(![b'?', b' '].contains(&file));
    }
    let worktree = Worktree::open(&repository.root).expect("it is a repository");
    let (changes, listed_here) = worktree.changes_with_paths().expect("it can be read");
    let ours: BTreeSet<Vec<u8>> = listed_here
        .iter()
        .map(|path| unescape_path(path).to_vec())
        .collect();
    let only = |these: &BTreeSet<Vec<u8>>, those: &BTreeSet<Vec<u8>>| {
        these
            .difference(those)
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (only(&ours, &paths), only(&paths, &ours)),
        (Vec::new(), Vec::new()),
        "only here, only in git\n{}",
        listed.replace('\0', "\n")
    );
    assert_eq!(
        (changes.staged, changes.unstaged, changes.untracked),
        (staged, unstaged, untracked),
        "{}",
        listed.replace('\0', "\n")
    );
    assert_eq!((changes.conflicted, changes.operation), (0, None));
}

//! Repositories inside the work tree: submodules, repositories of their own, linked worktrees; and work in them.

use std::path::{Path, PathBuf};

use super::ground::Ground;
use crate::support::random_tree::Dice;

/// Where the submodule is.
pub const SUBMODULE: &str = "module";
/// Where a repository is that the outer one knows nothing of.
pub const OWN: &str = "own-repository";
/// Where a linked worktree is.
pub const LINKED: &str = "linked-worktree";

/// All of them.
pub const NESTED: [&str; 3] = [SUBMODULE, OWN, LINKED];

/// Sometimes adds a submodule, to be committed with the first commit.
pub fn submodule(ground: &Ground, dice: &mut Dice) {
    if !dice.once_in(4) {
        return;
    }
    let source = ground.env.root().join("module-source");
    std::fs::create_dir(&source).unwrap();
    let git = |args: &[&str]| assert!(ground.git_in(&source, args).status.success(), "{args:?}");
    git(&["init", "-q", "-b", "main"]);
    for (name, text) in [("inside.txt", "inside\n"), ("deep/er.txt", "deeper\n")] {
        write(&source, name, text.as_bytes());
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "of the submodule"]);
    ground.git(&[
        "submodule",
        "--quiet",
        "add",
        source.to_str().unwrap(),
        SUBMODULE,
    ]);
}

/// Does some work in a repository inside the work tree, and says what.
pub fn change(ground: &Ground, dice: &mut Dice) -> &'static str {
    match dice.roll(4) {
        0 | 1 if ground.root.join(SUBMODULE).join(".git").exists() => work(ground, dice, SUBMODULE),
        2 => {
            let folder = ground.root.join(OWN);
            if !folder.join(".git").exists() {
                std::fs::create_dir_all(&folder).unwrap();
                ground.git_in(&folder, &["init", "-q", "-b", "main"]);
                write(&folder, "first.txt", b"first\n");
                return "a repository without a commit";
            }
            work(ground, dice, OWN)
        }
        3 if ground.head().is_some() => {
            let folder = ground.root.join(LINKED);
            if !folder.exists() {
                ground.try_git(&["worktree", "add", "-q", "-b", "linked", LINKED]);
                return "a linked worktree";
            }
            work(ground, dice, LINKED)
        }
        _ => "nothing",
    }
}

fn work(ground: &Ground, dice: &mut Dice, inside: &str) -> &'static str {
    let folder = ground.root.join(inside);
    let git = |args: &[&str]| drop(ground.git_in(&folder, args));
    match dice.roll(4) {
        0 => {
            write(&folder, "new.txt", &dice.bytes(100));
            "a new file in a nested repository"
        }
        1 => {
            write(&folder, "inside.txt", &dice.bytes(10));
            "a changed file in a nested repository"
        }
        2 => {
            write(&folder, "deep/staged.txt", &dice.bytes(10));
            git(&["add", "deep/staged.txt"]);
            "a staged file in a nested repository"
        }
        _ => {
            write(&folder, "committed.txt", &dice.bytes(10));
            git(&["add", "-A"]);
            git(&[
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.com",
                "commit",
                "-qm",
                "in a nested repository",
            ]);
            "a commit in a nested repository"
        }
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The git directories whose commits hold files of the work tree: where they lie, and where their HEAD is.
pub fn git_dirs(root: &Path) -> Vec<(&'static str, PathBuf)> {
    let git = root.join(".git");
    let all = [
        ("", git.clone()),
        (SUBMODULE, git.join("modules").join(SUBMODULE)),
        (LINKED, git.join("worktrees").join(LINKED)),
    ];
    all.into_iter()
        .filter(|(_, dir)| dir.join("HEAD").exists())
        .collect()
}

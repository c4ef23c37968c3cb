//! What a round begins with: random commits, and the state of HEAD that a session may leave behind.

use std::ffi::OsStr;

use super::ground::Ground;
use super::manifest::{IGNORED_ENDING, IGNORED_FOLDER};
use super::nested;
use crate::support::random_tree::{self, Dice, NAMES};

/// The state of HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// On a branch.
    Branch,
    /// On a branch without a commit.
    Unborn,
    /// On no branch.
    Detached,
    /// A merge stopped at a conflict.
    Merge,
    /// A rebase stopped at a conflict.
    Rebase,
    /// A cherry-pick stopped at a conflict.
    CherryPick,
    /// On a branch, with a sparse checkout.
    Sparse,
}

impl State {
    /// Mostly a branch, as that is where rescue commits.
    pub fn random(dice: &mut Dice) -> Self {
        match dice.roll(16) {
            0 => State::Unborn,
            1 | 2 => State::Detached,
            3 | 4 => State::Merge,
            5 => State::Rebase,
            6 => State::CherryPick,
            7 => State::Sparse,
            _ => State::Branch,
        }
    }

    /// For the tally.
    pub fn name(self) -> &'static str {
        match self {
            State::Branch => "on a branch",
            State::Unborn => "unborn",
            State::Detached => "detached",
            State::Merge => "mid-merge",
            State::Rebase => "mid-rebase",
            State::CherryPick => "mid-cherry-pick",
            State::Sparse => "sparse checkout",
        }
    }
}

/// Makes the repository with its first commits, and brings HEAD into `state`.
pub fn begin(ground: &Ground, dice: &mut Dice, state: State) {
    ground.git(&["init", "-q", "-b", "main"]);
    for (key, value) in [
        ("user.name", "A Person"),
        ("user.email", "person@example.com"),
        ("gc.auto", "0"),
        ("rerere.enabled", "false"),
    ] {
        ground.git(&["config", key, value]);
    }
    let write = |name: &str, text: &str| std::fs::write(ground.root.join(name), text).unwrap();
    write(
        ".gitignore",
        &format!("*{IGNORED_ENDING}\n{IGNORED_FOLDER}/\n"),
    );
    if state == State::Unborn {
        return;
    }
    write("conflict.txt", "base\nof the\nconflict\n");
    write("tracked.txt", "one\n");
    write("lines.crlf", "a\r\nb\r\n");
    write(".gitattributes", "*.crlf text eol=crlf\n");
    for _ in 0..dice.roll(15) {
        random_tree::change(&ground.root, dice, NAMES, &|args| {
            drop(ground.try_git(args))
        });
    }
    nested::submodule(ground, dice);
    commit(ground, "base");
    if dice.once_in(3) {
        write("tracked.txt", "two\n");
        commit(ground, "second");
    }
    diverge(ground, state);
}

fn commit(ground: &Ground, message: &str) {
    ground.git(&["add", "-A"]);
    ground.git(&["commit", "-q", "-m", message]);
}

/// Leaves a half done operation with a conflict, or a detached HEAD.
fn diverge(ground: &Ground, state: State) {
    if state == State::Detached {
        ground.git(&["checkout", "-q", "--detach"]);
    }
    let operation: &[&str] = match state {
        State::Branch | State::Unborn | State::Detached => return,
        State::Sparse => {
            ground.git(&[
                "sparse-checkout",
                "set",
                "--no-cone",
                "/*",
                "!/a*",
                "!/sub",
                "!/conflict.txt",
            ]);
            return;
        }
        State::Merge => &["merge", "-q", "other"],
        State::Rebase => &["rebase", "-q", "other"],
        State::CherryPick => &["cherry-pick", "other"],
    };
    let write = |name: &str, text: &str| std::fs::write(ground.root.join(name), text).unwrap();
    ground.git(&["checkout", "-q", "-b", "other"]);
    write("conflict.txt", "theirs\nof the\nconflict\n");
    write("only-theirs.txt", "theirs\n");
    commit(ground, "theirs");
    ground.git(&["checkout", "-q", "main"]);
    write("conflict.txt", "ours\nof the\nconflict\n");
    commit(ground, "ours");
    let out = ground.try_git(&operation.iter().map(OsStr::new).collect::<Vec<_>>());
    assert!(!out.status.success(), "a conflict was wanted");
    assert!(
        !ground.git(&["ls-files", "--unmerged"]).is_empty(),
        "a conflict was wanted: {}",
        String::from_utf8_lossy(&out.stderr)
    );
}

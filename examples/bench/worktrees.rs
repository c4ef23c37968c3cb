//! Many worktrees, each with a recorded baseline, to measure sweeps and watches with: linked ones of one repository, which then has as
//! many branches, or as many repositories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use watchdog_git::Worktree;
use watchdog_judge::session::{UncommittedRule, record_head_baseline};
use watchdog_store::{StateDir, open_store};

use super::Result;
use super::repository::{Shape, git, make};

/// How many files are in each, `counter` and those in folders.
const FILES: usize = 50;

/// Of more linked worktrees than these all but the first are copies: for each new one git reads all that are there.
const MADE_BY_GIT: usize = 2_000;

/// Each new baseline reads the HEAD of every linked worktree. While those of more are recorded, the repository knows so many: those that are
/// looked at and those that are named.
const KNOWN: usize = 40;

/// What they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Linked worktrees of one repository.
    Linked,
    /// A repository each.
    Separate,
}

/// Many worktrees and their state directory.
pub struct Worktrees {
    scratch: PathBuf,
    /// What HEAD named in all of them when their baselines were recorded.
    pub baseline: String,
}

impl Worktrees {
    /// Makes them, below a folder that is not there yet.
    pub fn make(scratch: &Path, count: usize, layout: Layout) -> Result<Self> {
        fs::create_dir_all(scratch.join("all"))?;
        let mut worktrees = Worktrees {
            scratch: scratch.to_owned(),
            baseline: String::new(),
        };
        let repository = worktrees.repository();
        make(
            &repository,
            Shape {
                name: "worktrees",
                commits: 2,
                files: FILES - 1,
                remote_branches: 0,
            },
        )?;
        for n in 0..count {
            let folder = worktrees.folder(n);
            match layout {
                Layout::Linked if n > 0 && count > MADE_BY_GIT => {
                    copy_linked(&repository, &worktrees.folder(0), &folder, n)?
                }
                Layout::Linked => {
                    git(
                        &repository,
                        &[
                            "worktree",
                            "add",
                            "-q",
                            "-b",
                            &format!("task/{n}"),
                            folder.to_str().ok_or("a UTF-8 path")?,
                        ],
                    )?;
                }
                Layout::Separate => copy(&repository, &folder)?,
            }
        }
        if layout == Layout::Linked {
            // As git's own upkeep does.
            git(&repository, &["config", "gc.auto", "0"])?;
            git(&repository, &["pack-refs", "--all"])?;
        }
        let hides = layout == Layout::Linked && count > MADE_BY_GIT;
        worktrees.record_baselines(count, if hides { KNOWN } else { count })?;
        Ok(worktrees)
    }

    fn record_baselines(&mut self, count: usize, known: usize) -> Result<()> {
        let state = StateDir::resolve(Some(self.state()), None, None)?;
        state.ensure()?;
        let store = open_store(&state)?;
        let git_dir = self.repository().join(".git");
        let (shown, hidden) = (git_dir.join("worktrees"), git_dir.join("hidden"));
        fs::create_dir_all(&hidden)?;
        let put = |n: usize, from: &Path, to: &Path| {
            let name = format!("worktree-{n}");
            fs::rename(from.join(&name), to.join(&name))
        };
        (known..count).try_for_each(|n| put(n, &shown, &hidden))?;
        for n in 0..count {
            if n >= known {
                put(n, &hidden, &shown)?;
            }
            let worktree = Worktree::open(&self.folder(n)).map_err(|error| error.to_string())?;
            let recorded = record_head_baseline(
                store.as_ref(),
                &worktree,
                None,
                UncommittedRule::Inherit,
                Timestamp::now(),
            )
            .map_err(|unreadable| unreadable.why)?;
            recorded.point.as_str().clone_into(&mut self.baseline);
            if n >= known {
                put(n, &shown, &hidden)?;
                // As a watchdog that may start git does.
                if n.is_multiple_of(100) {
                    git(&self.repository(), &["pack-refs", "--all"])?;
                }
            }
        }
        (known..count).try_for_each(|n| put(n, &hidden, &shown))?;
        fs::remove_dir(hidden)?;
        Ok(())
    }

    /// The main worktree, which has no baseline.
    pub fn repository(&self) -> PathBuf {
        self.scratch.join("repository")
    }

    /// The folder that all of them are in, but for the main worktree.
    pub fn all(&self) -> PathBuf {
        self.scratch.join("all")
    }

    /// One of them.
    pub fn folder(&self, n: usize) -> PathBuf {
        self.all().join(format!("worktree-{n}"))
    }

    /// Where their baselines are recorded.
    pub fn state(&self) -> PathBuf {
        self.scratch.join("state")
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp").arg("-r").args([from, to]).status()?;
    if copied.success() {
        Ok(())
    } else {
        Err("cp failed".into())
    }
}

/// Makes the `n`-th linked worktree from the first, with files, index and reflogs as git made them.
fn copy_linked(repository: &Path, first: &Path, folder: &Path, n: usize) -> Result<()> {
    let git_dir = repository.join(".git");
    let (from, to) = (
        git_dir.join("worktrees/worktree-0"),
        git_dir.join(format!("worktrees/worktree-{n}")),
    );
    copy(first, folder)?;
    copy(&from, &to)?;
    fs::write(folder.join(".git"), format!("gitdir: {}\n", to.display()))?;
    fs::write(
        to.join("gitdir"),
        format!("{}\n", folder.join(".git").display()),
    )?;
    fs::write(to.join("HEAD"), format!("ref: refs/heads/task/{n}\n"))?;
    for branches in ["refs/heads/task", "logs/refs/heads/task"] {
        fs::copy(
            git_dir.join(branches).join("0"),
            git_dir.join(branches).join(n.to_string()),
        )?;
    }
    Ok(())
}

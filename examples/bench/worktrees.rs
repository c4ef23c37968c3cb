//! One repository with many linked worktrees, each with a recorded baseline, to measure sweeps and watches with.
//!
//! They share one repository, so a thousand worktrees mean a thousand branches, and the baseline of each has a row of a thousand refs.

use std::fs;
use std::path::{Path, PathBuf};

use completion_watchdog::git::Worktree;
use completion_watchdog::session::record;
use completion_watchdog::store::{SqliteStore, StateDir};
use jiff::Timestamp;

use super::Result;
use super::repository::{Shape, git, make};

/// How many files are in each, `counter` and those in folders.
const FILES: usize = 50;

/// Many worktrees and their state directory.
pub struct Worktrees {
    scratch: PathBuf,
    /// What HEAD named in all of them when their baselines were recorded.
    pub baseline: String,
}

impl Worktrees {
    /// Makes them, below a folder that is not there yet.
    pub fn make(scratch: &Path, count: usize) -> Result<Self> {
        fs::create_dir_all(scratch)?;
        let mut worktrees = Worktrees { scratch: scratch.to_owned(), baseline: String::new() };
        let repository = worktrees.repository();
        make(&repository, Shape { name: "worktrees", commits: 2, files: FILES - 1, remote_branches: 0 })?;
        for n in 0..count {
            let folder = worktrees.folder(n);
            git(&repository, &["worktree", "add", "-q", "-b", &format!("task/{n}"), folder.to_str().ok_or("a UTF-8 path")?])?;
        }
        let state = StateDir::resolve(Some(worktrees.state()), None, None)?;
        state.ensure()?;
        let store = SqliteStore::open(&state)?;
        for n in 0..count {
            let worktree = Worktree::open(&worktrees.folder(n)).map_err(|error| error.to_string())?;
            let recorded = record(&store, &worktree, None, Timestamp::now()).map_err(|unreadable| unreadable.why)?;
            recorded.point.as_str().clone_into(&mut worktrees.baseline);
        }
        Ok(worktrees)
    }

    /// The main worktree, which has no baseline.
    pub fn repository(&self) -> PathBuf {
        self.scratch.join("repository")
    }

    /// One of the linked worktrees.
    pub fn folder(&self, n: usize) -> PathBuf {
        self.scratch.join(format!("worktree-{n}"))
    }

    /// Where their baselines are recorded.
    pub fn state(&self) -> PathBuf {
        self.scratch.join("state")
    }
}

//! The worktree that a command is about, with its store and its lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::decision::evidence::{Degraded, Unreadable};
use crate::decision::verdict::{Reason, Verdict};
use crate::git::Worktree;
use crate::store::lock::{Acquired, Holder, WorktreeLock};
use crate::store::{SqliteStore, Store};
use crate::watch::GitDirs;

use super::surroundings::{Surroundings, now};

/// How a watch names itself in a lock.
pub const WATCH: &str = "watchdog watch";

/// How long a command waits for a watch to let go of a worktree.
const PATIENCE_WITH_WATCH: Duration = Duration::from_millis(500);

/// An opened worktree with its store.
pub struct Place {
    /// The worktree.
    pub worktree: Worktree,
    /// Its stable name in the store.
    pub worktree_id: String,
    /// watchdog's records.
    pub store: Arc<dyn Store>,
    /// What weakened the store.
    pub notes: Vec<Degraded>,
}

/// Whether a worktree may be acted on.
pub enum Claim {
    /// It is ours until the lock is dropped.
    Ours(WorktreeLock),
    /// Somebody else acts on it; holds the verdict to give.
    Taken(Box<Verdict>),
}

impl Place {
    /// Opens the worktree, then the store.
    pub fn open(surroundings: &Surroundings) -> Result<Self, Unreadable> {
        let worktree = Worktree::open(&surroundings.worktree)?;
        surroundings.state.ensure()?;
        let store = SqliteStore::open(&surroundings.state)?;
        let notes = store.notes();
        Ok(Place { worktree_id: worktree.worktree_id(), worktree, store: Arc::new(store), notes })
    }

    /// The top folder.
    pub fn root(&self) -> &Path {
        self.worktree.root()
    }

    /// Where to watch for commits.
    pub fn git_dirs(&self) -> GitDirs {
        GitDirs { git_dir: self.worktree.git_dir().to_owned(), common_dir: self.worktree.common_dir().to_owned() }
    }

    /// The completion.json of the work tree.
    pub fn configuration_path(&self) -> PathBuf {
        self.root().join(super::configuration::FILE)
    }

    /// Takes the worktree's lock, or says who has it.
    pub fn claim(&self, surroundings: &Surroundings, command: &str, session_active: bool) -> Result<Claim, Unreadable> {
        let begun = Instant::now();
        loop {
            let holder = Holder { pid: std::process::id(), command: command.into(), since: now(), session_active, spec: None };
            match WorktreeLock::try_acquire(&surroundings.state, &self.worktree_id, holder)? {
                Acquired::Held(lock) => return Ok(Claim::Ours(lock)),
                // A watch that judges a commit is done in some milliseconds, and must not keep away who comes right after it.
                Acquired::Busy(Some(holder)) if holder.command == WATCH && begun.elapsed() < PATIENCE_WITH_WATCH => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Acquired::Busy(holder) => return Ok(Claim::Taken(Box::new(taken(holder)))),
            }
        }
    }
}

pub(super) fn taken(holder: Option<Holder>) -> Verdict {
    match holder {
        Some(holder) if holder.session_active => Verdict::new(
            Reason::SessionActive,
            format!("a session runs in this worktree since {:.0}, under '{}' (process {})", holder.since, holder.command, holder.pid),
        ),
        Some(holder) => Verdict::new(
            Reason::Locked,
            format!("'{}' (process {}) works on this worktree since {:.0}", holder.command, holder.pid, holder.since),
        ),
        None => Verdict::new(Reason::Locked, "another watchdog works on this worktree"),
    }
}

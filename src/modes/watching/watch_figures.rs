//! What a watch counts of itself, to be read from other threads while it goes on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of a watch since it began, and its state at this moment.
#[derive(Debug, Default)]
pub struct WatchFigures {
    scans: AtomicU64,
    judgements: AtomicU64,
    full_scans: AtomicU64,
    due: AtomicU64,
    under_way: AtomicU64,
    worktrees: AtomicU64,
    folders: AtomicU64,
}

/// The same as plain numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchCounts {
    /// Looks at single worktrees that began.
    pub scans: u64,
    /// Judgements that were printed, reports of unreadable worktrees included.
    pub judgements: u64,
    /// How often every worktree was made due: after dropped events, a suspend or a stop, and from time to time.
    pub full_scans: u64,
    /// Worktrees that wait for a look.
    pub due: u64,
    /// Looks that are under way.
    pub under_way: u64,
    /// Worktrees that are watched.
    pub worktrees: u64,
    /// Folders that the system watches for us.
    pub folders: u64,
}

impl WatchFigures {
    /// A look at a worktree begins.
    pub(super) fn scan_begins(&self) {
        self.scans.fetch_add(1, Relaxed);
    }

    /// Every worktree is due.
    pub(super) fn all_due(&self) {
        self.full_scans.fetch_add(1, Relaxed);
    }

    /// A judgement was printed.
    pub fn judged(&self) {
        self.judgements.fetch_add(1, Relaxed);
    }

    /// The state at this moment.
    pub(super) fn stands(&self, due: usize, under_way: usize, worktrees: usize, folders: usize) {
        for (figure, now) in [
            (&self.due, due),
            (&self.under_way, under_way),
            (&self.worktrees, worktrees),
            (&self.folders, folders),
        ] {
            figure.store(now as u64, Relaxed);
        }
    }

    /// The numbers as they are now; each is right by itself.
    pub fn counts(&self) -> WatchCounts {
        WatchCounts {
            scans: self.scans.load(Relaxed),
            judgements: self.judgements.load(Relaxed),
            full_scans: self.full_scans.load(Relaxed),
            due: self.due.load(Relaxed),
            under_way: self.under_way.load(Relaxed),
            worktrees: self.worktrees.load(Relaxed),
            folders: self.folders.load(Relaxed),
        }
    }
}

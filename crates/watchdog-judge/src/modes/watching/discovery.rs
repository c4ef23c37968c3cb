//! Searches for worktrees, in a thread of its own, and again after events of the file system.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use crate::judge::signals::SignalState;
use crate::judge::spawn_io::or_panic;
use watchdog_facts::evidence::{FaultKind, UnreadableFact};
use watchdog_git::{SearchResult, WorktreeState, find_worktrees};

/// How long after an event to search: a new worktree of git's is incomplete at first.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(50),
    Duration::from_millis(500),
    Duration::from_secs(5),
];

/// The pause after a search, as a multiple of the time that it took, so that searches never use more than a part of one processor.
const REST: u32 = 4;

/// Searches the named paths.
pub struct Discovery {
    paths: Vec<PathBuf>,
    under_way: Option<JoinHandle<SearchResult>>,
    begun: Instant,
    /// No search begins before.
    rested: Instant,
    /// When to search next, and how many searches follow that one.
    next: Option<Instant>,
    searches_left: usize,
    is_over: Arc<AtomicBool>,
}

impl Discovery {
    /// Starts without a search.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        let now = Instant::now();
        Discovery {
            paths,
            under_way: None,
            begun: now,
            rested: now,
            next: None,
            searches_left: 0,
            is_over: Arc::default(),
        }
    }

    /// Schedules a search, as worktrees may have come, gone or moved.
    pub fn want(&mut self) {
        let soon = Instant::now() + PAUSES[0];
        self.next = Some(self.next.map_or(soon, |next| next.min(soon)));
        self.searches_left = PAUSES.len() - 1;
    }

    /// When to call [`Discovery::begin_due`] next.
    pub fn due(&self) -> Option<Instant> {
        self.next
            .filter(|_| self.under_way.is_none())
            .map(|next| next.max(self.rested))
    }

    /// Begins a search that is due.
    pub fn begin_due(&mut self) {
        if self.due().is_some_and(|at| at <= Instant::now()) {
            self.next = (self.searches_left > 0)
                .then(|| Instant::now() + PAUSES[PAUSES.len() - self.searches_left]);
            self.searches_left = self.searches_left.saturating_sub(1);
            self.begin();
        }
    }

    fn begin(&mut self) {
        self.begun = Instant::now();
        let (paths, is_over) = (self.paths.clone(), Arc::clone(&self.is_over));
        self.under_way = Some(tokio::task::spawn_blocking(move || {
            find_worktrees(&paths, &|| is_over.load(Ordering::Relaxed))
        }));
    }

    /// The result of the search in progress, or its panic; never completes where there is none. Safe to cancel.
    pub async fn wait_for_result(&mut self) -> Result<SearchResult, JoinError> {
        let searched = match &mut self.under_way {
            Some(search) => search.await,
            None => return std::future::pending().await,
        };
        self.under_way = None;
        self.rested = Instant::now() + self.begun.elapsed() * REST;
        searched
    }

    /// Cancels a search in progress.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The first search. Finding nothing is an error: the paths are probably mistaken, and waiting would hide that.
    pub async fn first(
        &mut self,
        signals: &mut SignalState,
    ) -> Result<SearchResult, UnreadableFact> {
        self.begin();
        let search = tokio::select! {
            // The watch is still empty, so that this cannot spoil it.
            search = self.wait_for_result() => or_panic(search),
            () = signals.wait_for_interrupt() => return Ok(SearchResult::default()),
        };
        if search
            .worktrees
            .iter()
            .any(|worktree| worktree.standing == WorktreeState::There)
        {
            return Ok(search);
        }
        let why = search
            .worktrees
            .iter()
            .find_map(|worktree| match &worktree.standing {
                WorktreeState::There => None,
                WorktreeState::Gone { why }
                | WorktreeState::Broken { why }
                | WorktreeState::Unlisted { why } => {
                    Some(format!("{}: {why}", worktree.root.display()))
                }
                WorktreeState::Nothing { why } => Some(why.clone()),
            });
        let why = why.unwrap_or_else(|| "no worktree was found".into());
        Err(UnreadableFact {
            kind: FaultKind::NotARepository,
            why,
            hint: Some("name a repository, or a folder with repositories in it".into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::discovery::*;

    #[test]
    fn repeated_movement_does_not_postpone_the_search() {
        let mut discovery = Discovery::new(Vec::new());
        assert_eq!(discovery.due(), None, "nothing moved");
        discovery.next = Some(Instant::now() + PAUSES[2]);
        discovery.want();
        assert!(
            discovery
                .due()
                .is_some_and(|at| at <= Instant::now() + PAUSES[0]),
            "soon"
        );
        let first = discovery.due();
        discovery.want();
        assert_eq!(
            discovery.due(),
            first,
            "what moves all the time puts nothing off"
        );
        discovery.rested = Instant::now() + PAUSES[1];
        assert_eq!(
            discovery.due(),
            Some(discovery.rested),
            "a search that took long is not repeated at once"
        );
    }
}

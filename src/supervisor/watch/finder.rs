//! Searches for worktrees, in a thread of its own, and again after something moved.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use crate::decision::evidence::{FaultKind, Unreadable};
use crate::git::{Search, Standing, find_worktrees};
use crate::supervisor::signals::{Signals, Urgency};

/// When to search after something moved: what git is making then is not whole at once.
const PAUSES: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(5)];

/// Searches the named paths.
pub struct Finder {
    paths: Vec<PathBuf>,
    under_way: Option<JoinHandle<Search>>,
    /// When to search next, and how many searches follow that one.
    next: Option<Instant>,
    left: usize,
    is_over: Arc<AtomicBool>,
}

impl Finder {
    /// Searches nothing yet.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Finder { paths, under_way: None, next: None, left: 0, is_over: Arc::default() }
    }

    /// Asks for a search, as worktrees may have come, gone or moved.
    pub fn want(&mut self) {
        self.next.get_or_insert(Instant::now() + PAUSES[0]);
        self.left = PAUSES.len() - 1;
    }

    /// When to call [`Finder::begin_due`] next.
    pub fn due(&self) -> Option<Instant> {
        self.next.filter(|_| self.under_way.is_none())
    }

    /// Begins a search that is due.
    pub fn begin_due(&mut self) {
        if self.due().is_some_and(|at| at <= Instant::now()) {
            self.next = (self.left > 0).then(|| Instant::now() + PAUSES[PAUSES.len() - self.left]);
            self.left = self.left.saturating_sub(1);
            self.begin();
        }
    }

    fn begin(&mut self) {
        let (paths, is_over) = (self.paths.clone(), Arc::clone(&self.is_over));
        self.under_way = Some(tokio::task::spawn_blocking(move || find_worktrees(&paths, &|| is_over.load(Ordering::Relaxed))));
    }

    /// What the search under way found, or the bug that ended it; never, where there is none. Loses nothing where it is dropped before.
    pub async fn found(&mut self) -> Result<Search, JoinError> {
        let found = match &mut self.under_way {
            Some(search) => search.await,
            None => return std::future::pending().await,
        };
        self.under_way = None;
        found
    }

    /// Ends a search under way soon.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The first search. Where there is nothing to watch, the paths were mistaken, and waiting would hide that.
    pub async fn first(&mut self, signals: &mut Signals) -> Result<Search, Unreadable> {
        self.begin();
        let search = tokio::select! {
            // Nothing is watched yet that this could spoil.
            search = self.found() => search.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic())),
            () = signals.reached(Urgency::Interrupted) => return Ok(Search::default()),
        };
        if search.worktrees.iter().any(|worktree| worktree.standing == Standing::There) {
            return Ok(search);
        }
        let why = search.worktrees.iter().find_map(|worktree| match &worktree.standing {
            Standing::There => None,
            Standing::Gone { why } | Standing::Broken { why } | Standing::Nothing { why } => {
                Some(format!("{}: {why}", worktree.root.display()))
            }
        });
        let why = why.unwrap_or_else(|| "no worktree was found".into());
        Err(Unreadable {
            kind: FaultKind::NotARepository,
            why,
            hint: Some("name a repository, or a folder with repositories in it".into()),
        })
    }
}

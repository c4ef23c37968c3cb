//! Reads the records again and again, and only where something may have changed since: an event, a row, or the life of a process.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::others_poll::OthersPoll;
use crate::PathFilter;
use crate::overview::{ShownSpecs, StatusOverview, overview_of};
use watchdog_judge::clock::now;
use watchdog_judge::judge::command_env::CommandEnv;
use watchdog_store::{LocalStore, StoreError, open_store_to_read};

/// Between two readings.
pub const POLL: Duration = Duration::from_secs(1);
/// Processes end and folders vanish without a word in the records: they are read anew at least this often.
const ANEW: Duration = Duration::from_secs(3);

/// Which rows are shown: at or below which paths, of which specs, and of which other machines.
pub type ChosenRows = (PathFilter, ShownSpecs, Option<OthersPoll>);

/// Reads the records of all worktrees.
pub struct StorePoll {
    command_env: CommandEnv,
    below: PathFilter,
    specs: ShownSpecs,
    others: Option<OthersPoll>,
    /// The store, and the file that it was opened with: one that takes its place is another store.
    store: Option<(Arc<dyn LocalStore>, (u64, u64))>,
    seen: Option<(u64, Instant)>,
}

impl StorePoll {
    /// For the worktrees that are chosen.
    pub fn new(command_env: CommandEnv, (below, specs, others): ChosenRows) -> Self {
        StorePoll {
            command_env,
            below,
            specs,
            others,
            store: None,
            seen: None,
        }
    }

    /// The state of all of them; `None` where nothing changed since the last call.
    ///
    /// # Errors
    /// Fails if the store cannot be read; the next call opens it anew.
    pub fn poll(&mut self) -> Result<Option<StatusOverview>, StoreError> {
        let overview = self.read_overview();
        if overview.is_err() {
            (self.store, self.seen) = (None, None);
        }
        overview
    }

    fn file(&self) -> Option<(u64, u64)> {
        self.command_env
            .state
            .database()
            .metadata()
            .ok()
            .map(|file| (file.dev(), file.ino()))
    }

    fn read_overview(&mut self) -> Result<Option<StatusOverview>, StoreError> {
        let store = match &self.store {
            Some((store, file)) if Some(file) == self.file().as_ref() => Arc::clone(store),
            _ => {
                self.command_env.state.ensure()?;
                let store = open_store_to_read(&self.command_env.state)?;
                self.store = self.file().map(|file| (Arc::clone(&store), file));
                store
            }
        };
        let stamp = read_stamp(store.as_ref(), self.others.as_ref())?;
        if self
            .seen
            .is_some_and(|(seen, at)| seen == stamp && at.elapsed() < ANEW)
        {
            return Ok(None);
        }
        let mut overview = overview_of(
            store.as_ref(),
            &self.command_env.state,
            &self.below,
            self.specs,
            now(),
        )?;
        overview.add_seen_sessions(&self.command_env, &self.below);
        overview
            .notes
            .extend(store.notes().into_iter().map(|note| note.detail));
        if let Some(others) = &self.others {
            others.add_to(&mut overview, self.specs, now())?;
        }
        self.seen = Some((stamp, Instant::now()));
        Ok(Some(overview))
    }
}

/// Differs as soon as an event was written or a row changed.
fn read_stamp(store: &dyn LocalStore, others: Option<&OthersPoll>) -> Result<u64, StoreError> {
    let mut hasher = DefaultHasher::new();
    others.map(OthersPoll::stamp).hash(&mut hasher);
    store.cursor_at(Timestamp::MAX)?.hash(&mut hasher);
    for (key, revision) in store.revisions("")? {
        (key, revision).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

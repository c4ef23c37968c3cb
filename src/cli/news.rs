//! What calls for somebody and was not shown before: cron mails what is printed, and nothing is mailed twice for the same state.

use std::collections::HashSet;
use std::sync::Mutex;

use crate::decision::verdict::Status;
use crate::store::{SqliteStore, StateDir, StoreError, told};
use crate::supervisor::SweepRow;

/// The name that rows of sweeps have among what was told; no branch can be called that.
const NAME: &str = "sweep --news";

/// Remembers what was shown.
pub struct News {
    store: SqliteStore,
    known: Mutex<HashSet<String>>,
}

impl News {
    /// Opens the memory of earlier sweeps.
    pub fn open(state: &StateDir) -> Result<Self, StoreError> {
        Ok(News { store: SqliteStore::open(state)?, known: Mutex::default() })
    }

    /// Takes a row, and says whether it is news. A memory that fails tells twice rather than never.
    pub fn take(&self, row: &SweepRow) -> bool {
        let line = row.line();
        let calls = line.status.is_some_and(|status| status.exit_code() >= Status::Review.exit_code());
        let now = if calls {
            let verdict = row.to_json();
            let text = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
            let left = line.left.map_or_else(String::new, |left| left.to_string());
            [text("status"), text("reason"), text("baseline"), text("head"), left].join(" ")
        } else {
            String::new()
        };
        let before = told::last(&self.store, &line.worktree, NAME).unwrap_or_default();
        if before != now && told::replace(&self.store, &line.worktree, NAME, &now).is_err() {
            return calls;
        }
        let is_news = calls && before != now;
        if !is_news {
            self.known.lock().expect("no panic while it was held").insert(line.worktree);
        }
        is_news
    }

    /// Whether a worktree's row was no news.
    pub fn is_known(&self, worktree: &str) -> bool {
        self.known.lock().expect("no panic while it was held").contains(worktree)
    }
}

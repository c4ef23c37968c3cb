//! Filters the rows that call for somebody and were not shown before: cron mails each output, so
//! the same state is not mailed twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use watchdog_facts::verdict::Status;
use watchdog_judge::modes::sweep::{SweepRow, SweepTableRow};
use watchdog_store::notice_record::NoticeRepeatRule;
use watchdog_store::{LocalStore, StateDir, StoreError, notice_record, open_store};

/// The name that rows of sweeps have among what was told; no branch can be called that.
const NAME: &str = "sweep --news";

/// Remembers what was shown.
pub struct NoticeHistory {
    store: Arc<dyn LocalStore>,
    quiet_worktrees: Mutex<HashSet<String>>,
}

impl NoticeHistory {
    /// Opens the memory of earlier sweeps.
    pub fn open(state: &StateDir) -> Result<Self, StoreError> {
        Ok(NoticeHistory {
            store: open_store(state)?,
            quiet_worktrees: Mutex::default(),
        })
    }

    /// Takes a row, and says whether it is news. A memory that fails tells twice rather than never.
    pub fn take(&self, row: &SweepRow) -> bool {
        let line = row.line();
        let calls = line.needs_person() || line.long_idle;
        let is_news = !self.was_shown(row, &line, calls) && calls;
        if !is_news {
            self.quiet_worktrees
                .lock()
                .expect("mutex poisoned")
                .insert(line.worktree);
        }
        is_news
    }

    /// Whether the same was shown of this state. Rows that call for nobody are remembered as well: a fault that comes back after them is
    /// another one.
    fn was_shown(&self, row: &SweepRow, line: &SweepTableRow, calls: bool) -> bool {
        let Some(status) = line.status else {
            return true;
        };
        let again = if matches!(status, Status::Error | Status::Failed) {
            NoticeRepeatRule::AfterOthers
        } else {
            NoticeRepeatRule::NewStateOnly
        };
        if !calls {
            let what = [status.as_str(), line.reason].join(" ");
            return notice_record::is_repeated(
                self.store.as_ref(),
                &line.worktree,
                NAME,
                None,
                (&what, again),
            )
            .unwrap_or(true);
        }
        let verdict = row.to_verdict().unwrap_or_default();
        let baseline = verdict.baseline.unwrap_or_default();
        // If HEAD was not read, there is no sign that it moved.
        let state = verdict.head.map(|head| [baseline, head].join(" "));
        let state = state.as_deref();
        let uncommitted = line
            .uncommitted
            .map_or_else(String::new, |count| count.to_string());
        let what = [status.as_str(), line.reason, &uncommitted].join(" ");
        notice_record::is_repeated(
            self.store.as_ref(),
            &line.worktree,
            NAME,
            state,
            (&what, again),
        )
        .unwrap_or(false)
    }

    /// Whether a worktree's row was no news.
    pub fn is_known(&self, worktree: &str) -> bool {
        self.quiet_worktrees
            .lock()
            .expect("mutex poisoned")
            .contains(worktree)
    }
}

//! Whether this very call comes from inside of a session that is watched.

use std::cell::LazyCell;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use watchdog_process::{ProcessAncestry, still_runs};
use watchdog_store::session::{self, SessionRecord};
use watchdog_store::{LocalStore, RecordType, StoreError};
use watchdog_system::lock_mutex;

/// How long an answer holds for all that share it.
const SHARED_FOR: Duration = Duration::from_secs(1);

/// Whether this process is a part of a recorded session that still runs, for many judgements in a row: each would read the records of
/// all sessions. The ancestors of a process were there before it, and mostly their records; a record that is newer counts after a second.
#[derive(Clone, Default)]
pub struct SharedInside(Arc<Mutex<Option<(Instant, bool)>>>);

impl SharedInside {
    /// The answer of the last second, or a new one.
    ///
    /// # Errors
    /// Fails if the records cannot be read.
    pub fn is_inside(&self, store: &dyn LocalStore) -> Result<bool, StoreError> {
        let mut last = lock_mutex(&self.0);
        match *last {
            Some((read_at, is_inside)) if read_at.elapsed() <= SHARED_FOR => Ok(is_inside),
            _ => {
                let read_at = Instant::now();
                let is_inside = find_enclosing_session(store)?.is_some();
                *last = Some((read_at, is_inside));
                Ok(is_inside)
            }
        }
    }
}

/// Whether the process of a recorded session still runs, as far as its end is not recorded.
pub fn record_lives(record: &SessionRecord) -> bool {
    record.ended_at.is_none()
        && record
            .pid
            .is_some_and(|pid| still_runs(pid, record.started_at))
}

/// Whether a recorded session of a worktree still runs: it may have arranged whatever a judgement finds meanwhile.
///
/// # Errors
/// Fails if the records cannot be read.
pub fn session_lives(store: &dyn LocalStore, worktree_id: &str) -> Result<bool, StoreError> {
    Ok(session::of_worktree(store, worktree_id)?
        .iter()
        .any(|(_, session)| record_lives(session)))
}

/// The spec of a recorded session that still runs and that this process is a part of; `None` where it is a part of none.
///
/// # Errors
/// Fails if the records cannot be read.
pub fn find_enclosing_session(store: &dyn LocalStore) -> Result<Option<String>, StoreError> {
    Ok(inside_of(store)?.map(|(_, spec)| spec))
}

/// The same with the session's worktree, as the records name it, before the spec.
///
/// # Errors
/// Fails if the records cannot be read.
pub fn inside_of(store: &dyn LocalStore) -> Result<Option<(String, String)>, StoreError> {
    running_session_where(store, |ancestry, pid, session| {
        ancestry.is_inside(pid, session.log.is_some())
    })
}

/// The spec of a recorded session that still runs, where this process is a part of it or may have left it, as a daemon does.
///
/// # Errors
/// Fails if the records cannot be read.
pub fn inside_or_left(store: &dyn LocalStore) -> Result<Option<String>, StoreError> {
    let may_be_inside = |ancestry: &ProcessAncestry, pid, session: &SessionRecord| {
        ancestry.is_inside(pid, session.log.is_some()) || ancestry.may_have_left(pid)
    };
    Ok(running_session_where(store, may_be_inside)?.map(|(_, spec)| spec))
}

/// The worktree and spec of the first recorded session that still runs and that a rule picks.
fn running_session_where(
    store: &dyn LocalStore,
    picks: impl Fn(&ProcessAncestry, u32, &SessionRecord) -> bool,
) -> Result<Option<(String, String)>, StoreError> {
    // Read only if a session runs: nearly always there is none, and a sweep asks for each worktree.
    let ancestry = LazyCell::new(ProcessAncestry::of_this_process);
    for (worktree_id, spec, session) in SessionRecord::list_rows(store)? {
        // An unreadable record proves nothing, and is no reason to refuse a person.
        let Ok(session) = session else { continue };
        let is_picked =
            |pid| picks(&ancestry, pid, &session) && still_runs(pid, session.started_at);
        if session.ended_at.is_none() && session.pid.is_some_and(is_picked) {
            return Ok(Some((worktree_id, spec)));
        }
    }
    Ok(None)
}

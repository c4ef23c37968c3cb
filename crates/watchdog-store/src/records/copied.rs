//! How far this machine's journal was copied to a fleet. The journal is the outbox: nothing is written twice, and a server that is away costs
//! nothing but the copies that wait.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::row::{self, RecordType};
use crate::engine::{EventCursor, Lease, LocalStore};
use crate::error::StoreError;
use crate::key::RowKey;
use std::time::Duration;

/// The state of the copies to one fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyProgress {
    /// Every event up to here was copied, or is none that is shared.
    through: i64,
    /// Events that were deleted for their age before they were copied; at most so many of them were to be shared.
    pub missed: u64,
    /// Since when the server could not be reached, or refused; `None` while copies arrive.
    pub failing_since: Option<Timestamp>,
    /// When it was last asked in vain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tried_at: Option<Timestamp>,
    /// Why it could not, where no person was told: a process without a terminal met it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unsaid: Option<String>,
}

impl RecordType for CopyProgress {
    const KIND: &'static str = "copied";
}

impl CopyProgress {
    /// A machine that joins at this place of its journal: what happened before stays its own.
    pub fn from(through: EventCursor) -> Self {
        CopyProgress {
            through: through.0,
            ..CopyProgress::default()
        }
    }

    fn fail(&mut self, now: Timestamp) {
        self.failing_since.get_or_insert(now);
        self.tried_at = Some(now);
    }

    /// Everything up to here was copied.
    pub fn through(&self) -> EventCursor {
        EventCursor(self.through)
    }
}

/// How long a server that failed is left alone by commands that would start a process for it.
const TRIED_ANEW_AFTER: SignedDuration = SignedDuration::from_mins(1);

fn copy_key(fleet: &str) -> RowKey {
    RowKey::new(CopyProgress::KIND, &[fleet])
}

fn update_copying<T>(
    store: &dyn LocalStore,
    fleet: &str,
    change: impl Fn(&mut CopyProgress) -> T,
) -> Result<T, StoreError> {
    row::update_default(store, &copy_key(fleet), change)
}

/// The state; `None` where this machine never joined.
pub fn read_progress(
    store: &dyn LocalStore,
    fleet: &str,
) -> Result<Option<CopyProgress>, StoreError> {
    row::load_row(store, &copy_key(fleet))
}

/// Whether there is anything to write: an event behind what was copied, or a failure that is over. Reads only.
pub fn is_due(store: &dyn LocalStore, fleet: &str) -> Result<bool, StoreError> {
    let progress = read_progress(store, fleet)?.unwrap_or_default();
    Ok(progress.failing_since.is_some() || !store.read_events(progress.through(), 1)?.0.is_empty())
}

/// Whether an event waits that the server would take, by what is known of it: one that failed is tried anew after a minute. Reads only.
pub fn is_left(store: &dyn LocalStore, fleet: &str, now: Timestamp) -> Result<bool, StoreError> {
    let progress = read_progress(store, fleet)?.unwrap_or_default();
    // A clock that was set back counts as a minute, too.
    let rests = |tried: Timestamp| tried <= now && now.duration_since(tried) < TRIED_ANEW_AFTER;
    if progress.failing_since.is_some() && progress.tried_at.is_some_and(rests) {
        return Ok(false);
    }
    Ok(!store.read_events(progress.through(), 1)?.0.is_empty())
}

/// Begins at the end of the journal, where nothing was copied to this fleet yet.
pub fn begin_copying(store: &dyn LocalStore, fleet: &str) -> Result<(), StoreError> {
    let end = store.cursor_at(Timestamp::MAX)?;
    row::create_row(store, &copy_key(fleet), &CopyProgress::from(end)).map(drop)
}

/// Goes on to `through`, never back: whoever copied further meanwhile is right.
pub fn advance_copying(
    store: &dyn LocalStore,
    fleet: &str,
    through: EventCursor,
    missed: u64,
) -> Result<(), StoreError> {
    update_copying(store, fleet, |progress| {
        let is_further = through.0 > progress.through;
        let missed = if is_further { missed } else { 0 };
        *progress = CopyProgress {
            through: progress.through.max(through.0),
            missed: progress.missed.saturating_add(missed),
            ..CopyProgress::default()
        };
    })
}

/// Notes that the server took nothing. Returns whether that is news.
pub fn record_failure(
    store: &dyn LocalStore,
    fleet: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    update_copying(store, fleet, |progress| {
        let is_news = progress.failing_since.is_none() || progress.unsaid.is_some();
        progress.fail(now);
        progress.unsaid = None;
        is_news
    })
}

/// Notes that the server took nothing, where nobody can be told: the next command says it.
pub fn failed_unseen(
    store: &dyn LocalStore,
    fleet: &str,
    why: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    update_copying(store, fleet, |progress| {
        if progress.failing_since.is_none() {
            progress.unsaid = Some(why.to_owned());
        }
        progress.fail(now);
    })
}

/// Takes what no person was told yet of a server that took nothing.
pub fn take_unsaid(store: &dyn LocalStore, fleet: &str) -> Result<Option<String>, StoreError> {
    if read_progress(store, fleet)?.is_none_or(|progress| progress.unsaid.is_none()) {
        return Ok(None);
    }
    update_copying(store, fleet, |progress| progress.unsaid.take())
}

/// Forgets a fleet that this machine left.
pub fn forget_fleet(store: &dyn LocalStore, fleet: &str) -> Result<(), StoreError> {
    row::remove_row::<CopyProgress>(store, &copy_key(fleet))
}

/// Takes the right to copy, so that two processes do not send the same; `None` while another one copies.
pub fn acquire_copy_lease(
    store: &dyn LocalStore,
    fleet: &str,
    ttl: Duration,
) -> Result<Option<Lease>, StoreError> {
    store.acquire(
        &RowKey::new("copying", &[fleet]),
        &format!("process {}", std::process::id()),
        ttl,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedStore;
    use crate::SqliteStore;
    use crate::journal::{kind, new_event};
    use crate::sqlite::tests::Scratch;

    #[test]
    fn joining_machine_shares_no_earlier_events() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let happened = || {
            new_event(
                Timestamp::UNIX_EPOCH,
                "wt",
                None,
                kind::VERDICT,
                serde_json::json!({}),
            )
        };
        let _ = store.append(&[happened()], None).unwrap();
        begin_copying(&store, "f").unwrap();
        let _ = store.append(&[happened()], None).unwrap();
        let begun = read_progress(&store, "f").unwrap().expect("it joined");
        assert_eq!(store.read_events(begun.through(), 9).unwrap().0.len(), 1);
        begin_copying(&store, "f").unwrap();
        assert_eq!(
            read_progress(&store, "f").unwrap(),
            Some(begun.clone()),
            "joining again begins nothing anew"
        );
    }

    #[test]
    fn progress_never_regresses_and_outage_is_reported_once() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        advance_copying(&store, "f", EventCursor(7), 2).unwrap();
        advance_copying(&store, "f", EventCursor(5), 9).unwrap();
        let standing = read_progress(&store, "f").unwrap().unwrap();
        assert_eq!((standing.through(), standing.missed), (EventCursor(7), 2));
        let now = Timestamp::UNIX_EPOCH;
        assert!(record_failure(&store, "f", now).unwrap());
        assert!(!record_failure(&store, "f", now).unwrap());
        assert_eq!(
            read_progress(&store, "f").unwrap().unwrap().failing_since,
            Some(now)
        );
        advance_copying(&store, "f", EventCursor(8), 0).unwrap();
        assert!(
            record_failure(&store, "f", now).unwrap(),
            "it was back in between"
        );
        forget_fleet(&store, "f").unwrap();
        assert_eq!(read_progress(&store, "f").unwrap(), None);
    }

    #[test]
    fn outage_leaves_due_copy_with_this_process() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let due_and_left = || {
            (
                is_due(&store, "f").unwrap(),
                is_left(&store, "f", Timestamp::UNIX_EPOCH).unwrap(),
            )
        };
        assert_eq!(due_and_left(), (false, false));
        let _ = store
            .append(
                &[new_event(
                    Timestamp::UNIX_EPOCH,
                    "wt",
                    None,
                    kind::VERDICT,
                    serde_json::json!({}),
                )],
                None,
            )
            .unwrap();
        assert_eq!(due_and_left(), (true, true));
        record_failure(&store, "f", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(due_and_left(), (true, false));
        let (_, end) = store.read_events(EventCursor::START, 9).unwrap();
        advance_copying(&store, "f", end, 0).unwrap();
        assert_eq!(due_and_left(), (false, false));
        record_failure(&store, "f", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(
            due_and_left(),
            (true, false),
            "that it answers again is written down"
        );
    }

    #[test]
    fn unseen_failure_is_reported_once_by_next_command() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(take_unsaid(&store, "f").unwrap(), None);
        failed_unseen(&store, "f", "no answer", now).unwrap();
        failed_unseen(&store, "f", "still none", now).unwrap();
        assert_eq!(
            take_unsaid(&store, "f").unwrap().as_deref(),
            Some("no answer")
        );
        assert_eq!(take_unsaid(&store, "f").unwrap(), None);
        assert!(!record_failure(&store, "f", now).unwrap(), "it was said");
        failed_unseen(&store, "f", "the same", now).unwrap();
        assert_eq!(take_unsaid(&store, "f").unwrap(), None, "of one outage");
        advance_copying(&store, "f", EventCursor(1), 0).unwrap();
        failed_unseen(&store, "f", "again", now).unwrap();
        assert!(
            record_failure(&store, "f", now).unwrap(),
            "whoever says it first"
        );
        assert_eq!(take_unsaid(&store, "f").unwrap(), None);
    }

    #[test]
    fn one_process_copies_at_a_time() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let minute = Duration::from_secs(60);
        let copy_lease = acquire_copy_lease(&store, "f", minute)
            .unwrap()
            .expect("nobody copies");
        assert_eq!(acquire_copy_lease(&store, "f", minute).unwrap(), None);
        assert!(store.release(&copy_lease).unwrap());
    }

    #[test]
    fn failed_server_is_retried_after_a_minute() {
        let scratch = Scratch::new();
        let store = SqliteStore::open(&scratch.dir).unwrap();
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let _ = store
            .append(
                &[new_event(
                    at(0),
                    "wt",
                    None,
                    kind::VERDICT,
                    serde_json::json!({}),
                )],
                None,
            )
            .unwrap();
        assert!(
            is_left(&store, "f", at(1000)).unwrap(),
            "nobody failed so far"
        );
        record_failure(&store, "f", at(1000)).unwrap();
        assert!(!is_left(&store, "f", at(1059)).unwrap());
        assert!(is_left(&store, "f", at(1060)).unwrap());
        failed_unseen(&store, "f", "still away", at(1060)).unwrap();
        assert!(!is_left(&store, "f", at(1061)).unwrap());
        assert!(
            is_left(&store, "f", at(900)).unwrap(),
            "the clock was set back"
        );
        assert_eq!(
            read_progress(&store, "f").unwrap().unwrap().failing_since,
            Some(at(1000))
        );
    }
}

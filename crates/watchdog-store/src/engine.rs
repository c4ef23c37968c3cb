//! The two traits that an engine implements. They know nothing of SQLite: a networked engine can take the place of the shared one.
//!
//! Everything blocks; callers who must not block call from a thread of their own. Every engine
//! promises:
//!
//! - A value that was acknowledged survives the death of any process at any moment, and a power cut.
//! - [`RowRevision`] changes with every write of a key and never comes back, not even after a delete. It is opaque.
//! - A fence grows strictly with every [`SharedStore::acquire`] of its key. A write under a lease
//!   that expired, was released or was
//!   taken over has no effect. Expiry is judged by the engine's own clock alone ([`SharedStore::now`]), never by the caller's.
//! - Appending an event whose id is there already is a no-op. [`SharedStore::read_events`] never skips an event that was acknowledged.
//! - [`SwapOutcome::Unknown`] is an answer: the write may or may not have happened, and the caller must look again. It is never a conflict.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::key::RowKey;
use super::notes::StoreNotes;

/// An instant of the engine's own clock, in milliseconds since an origin that only the engine knows.
/// Comparable with other instants of the same engine; no wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EngineTime(pub i64);

/// The revision of a stored value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowRevision(pub i64);

/// The revision that a write expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedRevision {
    /// No value.
    Absent,
    /// The value with this revision.
    Rev(RowRevision),
}

impl From<Option<RowRevision>> for ExpectedRevision {
    fn from(revision: Option<RowRevision>) -> Self {
        revision.map_or(ExpectedRevision::Absent, ExpectedRevision::Rev)
    }
}

/// How a compare-and-swap ended.
#[must_use = "a conflict means that nothing was written"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwapOutcome {
    /// Written, durably.
    Ok(RowRevision),
    /// Something else was there; nothing was written.
    Conflict,
    /// Sent, and the disk or the network failed before an answer came: read the row again. Holds that failure.
    Unknown(StoreError),
}

/// A stored value with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// Its name.
    pub key: RowKey,
    /// Its revision.
    pub rev: RowRevision,
    /// Its bytes.
    pub value: Vec<u8>,
}

/// The right to act on something, for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The leased key.
    pub key: RowKey,
    /// The holder: names one life of one process, so that its successor is another holder.
    pub holder: String,
    /// Larger than that of every earlier lease of this key.
    pub fence: i64,
    /// When it expires, unless renewed.
    pub until: EngineTime,
}

/// The result of renewing a lease.
#[must_use = "a lost lease means that somebody else may act already"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseRenewal {
    /// It does, with a new end.
    Held(Lease),
    /// It expired, was released, or was taken over.
    Lost,
}

/// An event to be written down.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NewEvent {
    /// Unique; a second append of the same id is a no-op.
    pub id: String,
    /// When it happened, by the clock of whoever saw it. Kept to the microsecond.
    pub at: Timestamp,
    /// The worktree that it is about.
    pub worktree: String,
    /// The spec that it is about, if any.
    pub spec: Option<String>,
    /// A word of [`super::journal::kind`].
    pub kind: String,
    /// Further fields.
    pub data: serde_json::Value,
}

/// An event as it was written down. The order of events is that of the store, not that of their times.
pub type StoredEvent = NewEvent;

/// A kind of event to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedKind<'a> {
    /// The kind.
    pub kind: &'a str,
    /// A member of its data that must be a text; `None` takes every event of the kind.
    pub with_text: Option<&'a str>,
}

impl<'a> WantedKind<'a> {
    /// Every event of a kind.
    pub const fn any(kind: &'a str) -> Self {
        WantedKind {
            kind,
            with_text: None,
        }
    }

    /// Only those whose data has a text of this name.
    pub const fn with_text(kind: &'a str, member: &'a str) -> Self {
        WantedKind {
            kind,
            with_text: Some(member),
        }
    }
}

/// A position in the stream of events: the reader has everything up to it. Opaque, and valid permanently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventCursor(pub i64);

impl EventCursor {
    /// Before the first event.
    pub const START: EventCursor = EventCursor(0);
    /// Behind the newest event.
    pub const END: EventCursor = EventCursor(i64::MAX);
}

/// How an append ended.
#[must_use = "a fenced append wrote nothing"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    /// Written, durably; ids that were there already were left alone.
    Done,
    /// The guarding lease has expired; nothing was written.
    Fenced,
}

/// How many events one call of [`LocalStore::prune`] forgets at most.
pub const PRUNED_AT_ONCE: u64 = 1_000;

/// Which events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRetention {
    /// Events older than this may go …
    pub older_than: Timestamp,
    /// … but this many of the newest stay in any case, so that a clock that jumped forward cannot empty the journal.
    pub at_least: u64,
    /// More than this many never stay, however young.
    pub at_most: u64,
}

/// The part that several machines can share: rows with compare-and-swap, leases with growing fences, and an event stream without gaps.
/// The head of the module lists the guarantees of every engine.
pub trait SharedStore: Send + Sync {
    /// The engine's clock.
    fn now(&self) -> Result<EngineTime, StoreError>;

    /// The value of a key, with its revision.
    fn get(&self, key: &RowKey) -> Result<Option<(RowRevision, Vec<u8>)>, StoreError>;

    /// Writes a value if what is there is what the caller expects.
    fn cas(
        &self,
        key: &RowKey,
        expect: ExpectedRevision,
        value: &[u8],
    ) -> Result<SwapOutcome, StoreError> {
        self.cas_all(&[(key.clone(), expect, value.to_vec())])
    }

    /// Writes values if each finds what it expects, all or none. [`SwapOutcome::Ok`] carries the revision of the last of them.
    fn cas_all(
        &self,
        writes: &[(RowKey, ExpectedRevision, Vec<u8>)],
    ) -> Result<SwapOutcome, StoreError>;

    /// Removes a value if it has this revision. [`SwapOutcome::Ok`] carries the revision that was removed.
    fn delete(&self, key: &RowKey, expect: RowRevision) -> Result<SwapOutcome, StoreError>;

    /// At most `limit` values whose keys begin with `prefix`, in the order of their keys, after the key `after`.
    fn list(
        &self,
        prefix: &str,
        after: Option<&RowKey>,
        limit: usize,
    ) -> Result<Vec<StoredRow>, StoreError>;

    /// Takes a free lease; `None` while another call holds it (of the same holder, too).
    fn acquire(
        &self,
        key: &RowKey,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, StoreError>;

    /// Extends a lease to `ttl` from now, if it is still valid.
    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<LeaseRenewal, StoreError>;

    /// Releases a lease. Returns `false`, without effect, if it is no longer valid.
    fn release(&self, lease: &Lease) -> Result<bool, StoreError>;

    /// Writes events, all or none; with a guard, only while that lease is valid. Survives the death of any process; a power cut may lose
    /// the last events.
    fn append(
        &self,
        events: &[NewEvent],
        guard: Option<&Lease>,
    ) -> Result<AppendOutcome, StoreError>;

    /// At most `limit` events after `after`, and the cursor behind them.
    fn read_events(
        &self,
        after: EventCursor,
        limit: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor), StoreError>;
}

/// The part of this machine's engine alone: hints that may be lost, and the journal read backwards, by worktree, and shortened. Judging,
/// rescuing and every lock use this one, so that none of them waits for a network.
pub trait LocalStore: SharedStore {
    /// The keys that begin with `prefix` with their revisions, in the order of the keys and without the values: a cheap way
    /// to see what there is and what changed.
    fn revisions(&self, prefix: &str) -> Result<Vec<(RowKey, RowRevision)>, StoreError>;

    /// Overwrites values, all or none. For values that can be computed again: a power cut may lose them.
    fn keep_hints(&self, hints: &[(RowKey, Vec<u8>)]) -> Result<(), StoreError>;

    /// Writes a value as [`SharedStore::cas`] does, without waiting for the disk: the death of a process loses nothing, a power cut may. For
    /// values whose loss only makes later judgements stricter.
    fn cas_without_flush(
        &self,
        key: &RowKey,
        expect: ExpectedRevision,
        value: &[u8],
    ) -> Result<SwapOutcome, StoreError> {
        self.cas(key, expect, value)
    }

    /// The place before the first event that happened at `at` or later; the end of the stream where there is none.
    fn cursor_at(&self, at: Timestamp) -> Result<EventCursor, StoreError>;

    /// At most `limit` events up to `end`, newest last, and the place before them: the way back through the stream.
    /// With a worktree only those about it, as quickly in a long journal as in a short one.
    fn read_back(
        &self,
        end: EventCursor,
        worktree: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor), StoreError>;

    /// For each of these worktrees with a spec, each named once, the newest event of one of `kinds`: of all in one pass, which is quick
    /// for a thousand of them. It is found where it is among the newest `within` events of its worktree; further back it may be missed.
    fn newest_of(
        &self,
        of: &[(String, String)],
        kinds: &[WantedKind<'_>],
        within: usize,
    ) -> Result<Vec<Option<StoredEvent>>, StoreError>;

    /// At most `limit` of the newest events, newest last.
    fn newest(&self, limit: usize) -> Result<Vec<StoredEvent>, StoreError>;

    /// Deletes events beyond what `retention` keeps, at most [`PRUNED_AT_ONCE`], so that nothing waits long for it. Returns how many; fewer
    /// than that means that none is left to delete.
    fn prune(&self, retention: &EventRetention) -> Result<u64, StoreError>;

    /// How many events there are about a worktree, and the size of what they hold, in bytes.
    fn events_of(&self, worktree: &str) -> Result<(u64, u64), StoreError>;

    /// Deletes the oldest events about a worktree, at most [`PRUNED_AT_ONCE`], and returns how many; fewer than that means that none is
    /// left.
    fn remove_events(&self, worktree: &str) -> Result<u64, StoreError>;

    /// Faults of this store since the last call, such as a damaged database that was put aside. Returns each note once.
    fn notes(&self) -> StoreNotes;

    /// Leaves to another process, which uses the store at once, what this one would do to tidy up when it closes it.
    fn leave_log(&self);
}

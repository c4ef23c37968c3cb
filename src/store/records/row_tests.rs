//! An engine whose answers get lost: nothing may be done twice, and nothing left undone.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::config::settings::BreakerSettings;
use crate::decision::breaker::Outcome;
use crate::decision::evidence::Degraded;
use crate::store::engine::{Append, Cas, Cursor, Entry, Event, Expect, Hold, Lease, NewEvent, Retention, Rev, Store, StoreTime};
use crate::store::records::breaker;
use crate::store::sqlite::tests::Scratch;
use crate::store::{Key, SqliteStore, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

/// Passes everything on, but answers so many writes with [`Cas::Unknown`], every other one of them after it was done.
struct Lossy {
    inner: SqliteStore,
    lost: AtomicU32,
}

impl Store for Lossy {
    fn cas_all(&self, writes: &[(Key, Expect, Vec<u8>)]) -> Result<Cas> {
        match self.lost.load(Ordering::Relaxed) {
            0 => self.inner.cas_all(writes),
            n => {
                self.lost.store(n - 1, Ordering::Relaxed);
                if n % 2 == 0 {
                    assert!(matches!(self.inner.cas_all(writes)?, Cas::Ok(_)));
                }
                Ok(Cas::Unknown)
            }
        }
    }

    fn now(&self) -> Result<StoreTime> {
        self.inner.now()
    }
    fn get(&self, key: &Key) -> Result<Option<(Rev, Vec<u8>)>> {
        self.inner.get(key)
    }
    fn delete(&self, key: &Key, expect: Rev) -> Result<Cas> {
        self.inner.delete(key, expect)
    }
    fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<Vec<Entry>> {
        self.inner.list(prefix, after, limit)
    }
    fn revisions(&self, prefix: &str) -> Result<Vec<(Key, Rev)>> {
        self.inner.revisions(prefix)
    }

    fn keep_hints(&self, hints: &[(Key, Vec<u8>)]) -> Result<()> {
        self.inner.keep_hints(hints)
    }

    fn acquire(&self, key: &Key, holder: &str, ttl: Duration) -> Result<Option<Lease>> {
        self.inner.acquire(key, holder, ttl)
    }
    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<Hold> {
        self.inner.renew(lease, ttl)
    }
    fn release(&self, lease: &Lease) -> Result<bool> {
        self.inner.release(lease)
    }
    fn append(&self, events: &[NewEvent], guard: Option<&Lease>) -> Result<Append> {
        self.inner.append(events, guard)
    }
    fn newest_of(&self, of: &[(String, String)], kinds: &[&str], within: usize) -> Result<Vec<Option<Event>>> {
        self.inner.newest_of(of, kinds, within)
    }
    fn read(&self, after: Cursor, limit: usize) -> Result<(Vec<Event>, Cursor)> {
        self.inner.read(after, limit)
    }
    fn cursor_at(&self, at: Timestamp) -> Result<Cursor> {
        self.inner.cursor_at(at)
    }
    fn read_back(&self, end: Cursor, worktree: Option<&str>, limit: usize) -> Result<(Vec<Event>, Cursor)> {
        self.inner.read_back(end, worktree, limit)
    }
    fn newest(&self, limit: usize) -> Result<Vec<Event>> {
        self.inner.newest(limit)
    }
    fn prune(&self, retention: &Retention) -> Result<u64> {
        self.inner.prune(retention)
    }
    fn notes(&self) -> Vec<Degraded> {
        self.inner.notes()
    }
}

#[test]
fn a_strike_whose_answer_was_lost_counts_once() {
    let settings = BreakerSettings { limit: 0, cooldown: Duration::from_secs(1) };
    for lost in 0..6 {
        let scratch = Scratch::new();
        let store = Lossy { inner: SqliteStore::open(&scratch.dir).unwrap(), lost: AtomicU32::new(lost) };
        for strikes in 1..=9 {
            let now = Timestamp::from_second(i64::from(strikes)).unwrap();
            let strike = || Outcome::Strike { why: format!("strike {strikes}") };
            breaker::update(&store, "wt", "auth", |b| b.record(now, &settings, strike())).unwrap();
            assert_eq!(breaker::of(&store, "wt", "auth").unwrap().strikes(), strikes, "{lost} answers lost");
        }
    }
}

#[test]
fn a_row_that_others_change_for_ever_is_an_error_and_not_an_endless_loop() {
    let scratch = Scratch::new();
    let store = Lossy { inner: SqliteStore::open(&scratch.dir).unwrap(), lost: AtomicU32::new(0) };
    let (calls, interfering) = (AtomicU32::new(0), BreakerSettings { limit: 0, cooldown: Duration::from_secs(1) });
    let meddle = |n| breaker::update(&store.inner, "wt", "auth", |b| b.record(Timestamp::UNIX_EPOCH, &interfering, strike(n))).unwrap();
    fn strike(n: u32) -> Outcome {
        Outcome::Strike { why: n.to_string() }
    }
    let result = breaker::update(&store, "wt", "auth", |b| {
        let n = calls.fetch_add(1, Ordering::Relaxed);
        meddle(n);
        b.record(Timestamp::UNIX_EPOCH, &interfering, strike(n));
    });
    assert!(matches!(result, Err(StoreError::Contended { .. })), "{result:?}");
}

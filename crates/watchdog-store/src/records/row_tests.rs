//! An engine whose answers get lost: nothing may be done twice, and nothing left undone.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::Timestamp;

use crate::engine::{
    AppendOutcome, EngineTime, EventCursor, EventRetention, ExpectedRevision, Lease, LeaseRenewal,
    LocalStore, NewEvent, RowRevision, SharedStore, StoredEvent, StoredRow, SwapOutcome,
    WantedKind,
};
use crate::records::figures;
use crate::records::row::{create_row, overwrite_row, remove_row, spec_key, update_row};
use crate::sqlite::tests::Scratch;
use crate::{RecordType, RowKey, SqliteStore, StoreError, StoreNotes, journal, tally};
use watchdog_core::config::settings::BreakerSettings;
use watchdog_core::decision::breaker::{Breaker, BreakerInput};

type Result<T> = std::result::Result<T, StoreError>;

/// Passes everything on, but answers so many writes with [`SwapOutcome::Unknown`], every other one of them after it was done.
struct Lossy {
    inner: SqliteStore,
    lost: AtomicU32,
    /// Somebody else writes the row before the caller can look.
    is_overwritten: bool,
}

impl Lossy {
    fn lose(scratch: &Scratch, answers: u32) -> Self {
        Lossy {
            inner: SqliteStore::open(&scratch.dir).unwrap(),
            lost: AtomicU32::new(answers),
            is_overwritten: false,
        }
    }
}

/// So many lost answers as no test needs: the disk fails every write, and does not one of them.
const FAILED_DISK: u32 = u32::MAX;

fn disk_failure() -> StoreError {
    StoreError::Full {
        doing: "write a row",
        path: "/state/watchdog.db".into(),
        why: "disk I/O error: quota exceeded".into(),
    }
}

impl SharedStore for Lossy {
    fn cas_all(&self, writes: &[(RowKey, ExpectedRevision, Vec<u8>)]) -> Result<SwapOutcome> {
        match self.lost.load(Ordering::Relaxed) {
            0 => self.inner.cas_all(writes),
            FAILED_DISK => Ok(SwapOutcome::Unknown(disk_failure())),
            n => {
                self.lost.store(n - 1, Ordering::Relaxed);
                if n % 2 == 0 {
                    assert!(matches!(self.inner.cas_all(writes)?, SwapOutcome::Ok(_)));
                    if self.is_overwritten {
                        let settings = BreakerSettings {
                            limit: 0,
                            cooldown: Duration::from_secs(1),
                        };
                        let other = || BreakerInput::Strike {
                            why: "another".into(),
                        };
                        Breaker::update_row(&self.inner, "wt", "auth", |b| {
                            b.record(Timestamp::UNIX_EPOCH, &settings, other())
                        })?;
                    }
                }
                Ok(SwapOutcome::Unknown(disk_failure()))
            }
        }
    }

    fn now(&self) -> Result<EngineTime> {
        self.inner.now()
    }

    fn get(&self, key: &RowKey) -> Result<Option<(RowRevision, Vec<u8>)>> {
        self.inner.get(key)
    }

    fn delete(&self, key: &RowKey, expect: RowRevision) -> Result<SwapOutcome> {
        match self.lost.load(Ordering::Relaxed) {
            FAILED_DISK => Ok(SwapOutcome::Unknown(disk_failure())),
            _ => self.inner.delete(key, expect),
        }
    }

    fn list(&self, prefix: &str, after: Option<&RowKey>, limit: usize) -> Result<Vec<StoredRow>> {
        self.inner.list(prefix, after, limit)
    }

    fn acquire(&self, key: &RowKey, holder: &str, ttl: Duration) -> Result<Option<Lease>> {
        self.inner.acquire(key, holder, ttl)
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<LeaseRenewal> {
        self.inner.renew(lease, ttl)
    }

    fn release(&self, lease: &Lease) -> Result<bool> {
        self.inner.release(lease)
    }

    fn append(&self, events: &[NewEvent], guard: Option<&Lease>) -> Result<AppendOutcome> {
        self.inner.append(events, guard)
    }

    fn read_events(
        &self,
        after: EventCursor,
        limit: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor)> {
        self.inner.read_events(after, limit)
    }
}

impl LocalStore for Lossy {
    fn revisions(&self, prefix: &str) -> Result<Vec<(RowKey, RowRevision)>> {
        self.inner.revisions(prefix)
    }

    fn keep_hints(&self, hints: &[(RowKey, Vec<u8>)]) -> Result<()> {
        self.inner.keep_hints(hints)
    }

    fn events_of(&self, worktree: &str) -> Result<(u64, u64)> {
        self.inner.events_of(worktree)
    }

    fn remove_events(&self, worktree: &str) -> Result<u64> {
        self.inner.remove_events(worktree)
    }

    fn newest_of(
        &self,
        of: &[(String, String)],
        kinds: &[WantedKind<'_>],
        within: usize,
    ) -> Result<Vec<Option<StoredEvent>>> {
        self.inner.newest_of(of, kinds, within)
    }

    fn cursor_at(&self, at: Timestamp) -> Result<EventCursor> {
        self.inner.cursor_at(at)
    }

    fn read_back(
        &self,
        end: EventCursor,
        worktree: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor)> {
        self.inner.read_back(end, worktree, limit)
    }

    fn newest(&self, limit: usize) -> Result<Vec<StoredEvent>> {
        self.inner.newest(limit)
    }

    fn prune(&self, retention: &EventRetention) -> Result<u64> {
        self.inner.prune(retention)
    }

    fn notes(&self) -> StoreNotes {
        self.inner.notes()
    }

    fn leave_log(&self) {
        self.inner.leave_log();
    }
}

#[test]
fn a_strike_whose_answer_was_lost_counts_once() {
    let settings = BreakerSettings {
        limit: 0,
        cooldown: Duration::from_secs(1),
    };
    for lost in 0..6 {
        let scratch = Scratch::new();
        let store = Lossy::lose(&scratch, lost);
        for strikes in 1..=9 {
            let now = Timestamp::from_second(i64::from(strikes)).unwrap();
            let strike = || BreakerInput::Strike {
                why: format!("strike {strikes}"),
            };
            Breaker::update_row(&store, "wt", "auth", |b| b.record(now, &settings, strike()))
                .unwrap();
            assert_eq!(
                Breaker::read_or_default(&store, "wt", "auth")
                    .unwrap()
                    .strikes(),
                strikes,
                "{lost} answers lost"
            );
        }
    }
}

#[test]
fn lost_answer_never_repeats_write_over_newer_ones() {
    let scratch = Scratch::new();
    let store = Lossy {
        inner: SqliteStore::open(&scratch.dir).unwrap(),
        lost: AtomicU32::new(2),
        is_overwritten: true,
    };
    let settings = BreakerSettings {
        limit: 0,
        cooldown: Duration::from_secs(1),
    };
    let strike = || BreakerInput::Strike { why: "ours".into() };
    let result = Breaker::update_row(&store, "wt", "auth", |b| {
        b.record(Timestamp::UNIX_EPOCH, &settings, strike())
    });
    assert!(
        matches!(result, Err(StoreError::Unsure { .. })),
        "{result:?}"
    );
    assert_eq!(
        Breaker::read_or_default(&store, "wt", "auth")
            .unwrap()
            .strikes(),
        2,
        "ours once, and the other"
    );
}

#[test]
fn row_made_despite_lost_answer_is_own() {
    for (lost, is_overwritten) in [(1, false), (2, false), (2, true)] {
        let scratch = Scratch::new();
        let store = Lossy {
            inner: SqliteStore::open(&scratch.dir).unwrap(),
            lost: AtomicU32::new(lost),
            is_overwritten,
        };
        let made = create_row(
            &store,
            &spec_key::<Breaker>("wt", "auth"),
            &Breaker::default(),
        );
        match is_overwritten {
            true => assert!(matches!(made, Err(StoreError::Unsure { .. })), "{made:?}"),
            false => assert!(made.unwrap(), "{lost} answers lost"),
        }
        assert!(
            !create_row(
                &store,
                &spec_key::<Breaker>("wt", "auth"),
                &Breaker::default()
            )
            .unwrap(),
            "it is there"
        );
    }
}

#[test]
fn constantly_changing_row_is_an_error() {
    let scratch = Scratch::new();
    let store = Lossy::lose(&scratch, 0);
    let (calls, interfering) = (
        AtomicU32::new(0),
        BreakerSettings {
            limit: 0,
            cooldown: Duration::from_secs(1),
        },
    );
    let meddle = |n| {
        Breaker::update_row(&store.inner, "wt", "auth", |b| {
            b.record(Timestamp::UNIX_EPOCH, &interfering, strike(n))
        })
        .unwrap()
    };
    fn strike(n: u32) -> BreakerInput {
        BreakerInput::Strike { why: n.to_string() }
    }
    let result = Breaker::update_row(&store, "wt", "auth", |b| {
        let n = calls.fetch_add(1, Ordering::Relaxed);
        meddle(n);
        b.record(Timestamp::UNIX_EPOCH, &interfering, strike(n));
    });
    assert!(
        matches!(result, Err(StoreError::Contended { .. })),
        "{result:?}"
    );
}

#[test]
fn failed_disk_is_named_and_no_conflict() {
    let scratch = Scratch::new();
    let mut store = Lossy::lose(&scratch, 0);
    assert!(
        create_row(
            &store,
            &spec_key::<Breaker>("wt", "there"),
            &Breaker::default()
        )
        .unwrap()
    );
    store.lost = AtomicU32::new(FAILED_DISK);
    let (absent, there) = (
        spec_key::<Breaker>("wt", "auth"),
        spec_key::<Breaker>("wt", "there"),
    );
    let settings = BreakerSettings {
        limit: 0,
        cooldown: Duration::from_secs(1),
    };
    let strike = |breaker: Option<Breaker>| {
        let mut breaker = breaker.unwrap_or_default();
        breaker.record(
            Timestamp::UNIX_EPOCH,
            &settings,
            BreakerInput::Strike { why: "w".into() },
        );
        (breaker, ())
    };
    assert_eq!(
        create_row(&store, &absent, &Breaker::default()).map(drop),
        Err(disk_failure())
    );
    assert_eq!(
        overwrite_row(&store, &absent, &Breaker::default()),
        Err(disk_failure())
    );
    assert_eq!(
        update_row::<Breaker, ()>(&store, &there, strike),
        Err(disk_failure())
    );
    assert_eq!(remove_row::<Breaker>(&store, &there), Err(disk_failure()));
}

#[test]
fn figures_of_a_failed_disk_count_every_event() {
    let scratch = Scratch::new();
    let store = Lossy::lose(&scratch, FAILED_DISK);
    let day = Timestamp::UNIX_EPOCH;
    let started = journal::new_event(
        day,
        "wt",
        Some("auth"),
        journal::kind::SESSION_STARTED,
        serde_json::json!({}),
    );
    assert_eq!(store.append(&[started], None).unwrap(), AppendOutcome::Done);
    assert_eq!(figures::fold_events(&store, 9), Err(disk_failure()));
    let period = figures::up_to_now(&store, jiff::civil::date(1970, 1, 1), || {}).unwrap();
    let sessions: u64 = period
        .days
        .values()
        .map(|day| day.all.get_sum(tally::word::STARTED))
        .sum();
    assert_eq!(sessions, 1);
    assert!(
        period
            .notes
            .iter()
            .any(|note| note.contains("quota exceeded")),
        "{:?}",
        period.notes
    );
}

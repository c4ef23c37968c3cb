//! Copies between two stores: everything that is shared arrives, once and in order, whatever the server answers.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;
use watchdog_store::engine::{
    AppendOutcome, EngineTime, ExpectedRevision, Lease, LeaseRenewal, NewEvent, RowRevision,
    StoredEvent, StoredRow, SwapOutcome,
};
use watchdog_store::journal::{kind, new_event};
use watchdog_store::{RowKey, SqliteStore, StateDir};

use super::*;

struct TwoStores {
    _folder: TempDir,
    local: SqliteStore,
    server: UnreliableServer,
}

/// A store whose answers to `append` can be lost, before or after they were written.
struct UnreliableServer {
    store: SqliteStore,
    /// The next appends, from the last to the first: `true` = written, and the answer is lost; `false` = it does not arrive at all.
    lost: std::sync::Mutex<Vec<bool>>,
    away: AtomicBool,
}

fn gone() -> StoreError {
    StoreError::BadRecord {
        what: "the server".into(),
        why: "gone".into(),
    }
}

impl SharedStore for UnreliableServer {
    fn append(
        &self,
        events: &[NewEvent],
        guard: Option<&Lease>,
    ) -> Result<AppendOutcome, StoreError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(gone());
        }
        match self.lost.lock().unwrap().pop() {
            None => self.store.append(events, guard),
            Some(written) => {
                if written {
                    let _ = self.store.append(events, guard)?;
                }
                Err(gone())
            }
        }
    }
    fn now(&self) -> Result<EngineTime, StoreError> {
        self.store.now()
    }
    fn get(&self, key: &RowKey) -> Result<Option<(RowRevision, Vec<u8>)>, StoreError> {
        self.store.get(key)
    }
    fn cas_all(
        &self,
        writes: &[(RowKey, ExpectedRevision, Vec<u8>)],
    ) -> Result<SwapOutcome, StoreError> {
        self.store.cas_all(writes)
    }
    fn delete(&self, key: &RowKey, expect: RowRevision) -> Result<SwapOutcome, StoreError> {
        self.store.delete(key, expect)
    }
    fn list(
        &self,
        prefix: &str,
        after: Option<&RowKey>,
        limit: usize,
    ) -> Result<Vec<StoredRow>, StoreError> {
        self.store.list(prefix, after, limit)
    }
    fn acquire(
        &self,
        key: &RowKey,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, StoreError> {
        self.store.acquire(key, holder, ttl)
    }
    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<LeaseRenewal, StoreError> {
        self.store.renew(lease, ttl)
    }
    fn release(&self, lease: &Lease) -> Result<bool, StoreError> {
        self.store.release(lease)
    }
    fn read_events(
        &self,
        after: EventCursor,
        limit: usize,
    ) -> Result<(Vec<StoredEvent>, EventCursor), StoreError> {
        self.store.read_events(after, limit)
    }
}

fn two_stores() -> TwoStores {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let state = StateDir::resolve(Some(folder.path().join(name)), None, None).unwrap();
        state.ensure().unwrap();
        SqliteStore::open(&state).unwrap()
    };
    let (local, store) = (open("here"), open("server"));
    let server = UnreliableServer {
        store,
        lost: Vec::new().into(),
        away: false.into(),
    };
    TwoStores {
        _folder: folder,
        local,
        server,
    }
}

fn identity() -> CopyIdentity {
    CopyIdentity {
        fleet: "f".into(),
        machine: "builder".into(),
    }
}

fn happened(n: i64, kind: &str) -> NewEvent {
    new_event(
        Timestamp::from_second(n).unwrap(),
        "wt",
        Some("auth"),
        kind,
        json!({"status": "review", "reason": "untrusted"}),
    )
}

impl TwoStores {
    fn write(&self, events: &[NewEvent]) {
        assert_eq!(
            self.local.append(events, None).unwrap(),
            AppendOutcome::Done
        );
    }

    fn copy(&self) -> Result<CopiedEvents, StoreError> {
        copy_events(&self.local, &self.server, &identity(), usize::MAX)
    }

    fn arrived(&self) -> Vec<i64> {
        self.server
            .store
            .read_events(EventCursor::START, 10_000)
            .unwrap()
            .0
            .iter()
            .map(|event| event.at.as_second())
            .collect()
    }
}

#[test]
fn events_during_outage_arrive_once_in_order() {
    let stores = two_stores();
    stores.write(&[
        happened(1, kind::VERDICT),
        happened(2, kind::SNAPSHOT),
        happened(3, kind::SESSION_STARTED),
    ]);
    stores.server.away.store(true, Ordering::SeqCst);
    stores.copy().unwrap_err();
    stores.write(&[happened(4, kind::VERDICT)]);
    stores.server.away.store(false, Ordering::SeqCst);
    let done = stores.copy().unwrap();
    assert_eq!((done.sent, done.read), (3, 4));
    assert_eq!(
        stores.arrived(),
        [1, 3, 4],
        "a snapshot's ref stays on its machine"
    );
    assert_eq!(stores.copy().unwrap(), CopiedEvents::default());
    assert_eq!(count_waiting_events(&stores.local, "f", 10).unwrap(), 0);
}

#[test]
fn journal_states_how_many_oldest_events_it_lost() {
    let stores = two_stores();
    stores.write(&[happened(0, kind::VERDICT)]);
    assert_eq!(stores.copy().unwrap().sent, 1);
    stores.write(&[
        happened(1, kind::VERDICT),
        happened(2, kind::VERDICT),
        happened(3, kind::VERDICT),
    ]);
    let kept = watchdog_store::engine::EventRetention {
        older_than: Timestamp::from_second(3).unwrap(),
        at_least: 1,
        at_most: 100,
    };
    assert_eq!(stores.local.prune(&kept).unwrap(), 3);
    let done = stores.copy().unwrap();
    assert_eq!((done.sent, done.missed), (1, 2));
    assert_eq!(
        copied::read_progress(&stores.local, "f")
            .unwrap()
            .unwrap()
            .missed,
        2
    );
}

#[test]
fn two_processes_do_not_send_the_same() {
    let stores = two_stores();
    stores.write(&[happened(1, kind::VERDICT)]);
    let other = copied::acquire_copy_lease(&stores.local, "f", LEASE)
        .unwrap()
        .expect("nobody copies yet");
    assert!(stores.copy().unwrap().busy);
    assert!(stores.arrived().is_empty());
    assert!(stores.local.release(&other).unwrap());
    assert_eq!(stores.copy().unwrap().sent, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lost_answers_never_duplicate_or_reorder_events(lost in prop::collection::vec(any::<bool>(), 0..6), count in 1i64..500) {
        let stores = two_stores();
        let events: Vec<_> = (0..count).map(|n| happened(n, kind::ITERATION)).collect();
        stores.write(&events);
        let tries = lost.len() + 1;
        *stores.server.lost.lock().unwrap() = lost;
        let done = (0..tries).filter_map(|_| stores.copy().ok()).next_back();
        prop_assert!(done.is_some(), "each try loses one answer, and the last none");
        prop_assert_eq!(stores.arrived(), (0..count).collect::<Vec<_>>());
    }
}

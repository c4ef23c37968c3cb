//! Conformance tests of engines, a suite for each trait: add an engine to [`on_every_engine`] or [`on_every_shared_engine`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use proptest::prelude::*;

use crate::engine::{
    AppendOutcome, EventCursor, EventRetention, ExpectedRevision, Lease, LeaseRenewal, LocalStore, NewEvent, PRUNED_AT_ONCE, RowRevision,
    SharedStore, SwapOutcome,
};
use crate::journal::{event_id, kind};
use crate::records::{baseline, breaker, progress, session};
use crate::sqlite::tests::{Scratch, rollback_store};
use crate::{RowKey, SqliteStore, journal, rebuild};

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(40);

/// For whatever is written against the trait that machines share.
fn on_every_shared_engine(test: impl Fn(&dyn SharedStore)) {
    on_every_engine(|store| test(store));
}

fn on_every_engine(test: impl Fn(&dyn LocalStore)) {
    let scratch = Scratch::new();
    test(&SqliteStore::open(&scratch.dir).unwrap());
    let scratch = Scratch::new();
    test(&rollback_store(&scratch.dir));
}

fn key(name: &str) -> RowKey {
    RowKey::new("test", &[name])
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn happened(second: i64) -> NewEvent {
    journal::event(at(second), "wt", Some("auth"), kind::PROBE, serde_json::json!({ "n": second }))
}

fn written(cas: SwapOutcome) -> RowRevision {
    match cas {
        SwapOutcome::Ok(rev) => rev,
        other => panic!("{other:?}"),
    }
}

fn taken(lease: Option<Lease>) -> Lease {
    lease.expect("nobody held the lease")
}

/// Waits for what must come true, at most ten seconds.
fn eventually<T>(mut find: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "it never came true");
        thread::sleep(Duration::from_millis(5));
    }
}

mod local;
mod records;
mod shared;

//! Conformance tests of engines, a suite for each trait: add an engine to [`on_every_engine`] or [`on_every_shared_engine`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use jiff::Timestamp;
use proptest::prelude::*;

use crate::engine::{
    AppendOutcome, EventCursor, EventRetention, ExpectedRevision, LocalStore, NewEvent,
    PRUNED_AT_ONCE, SharedStore, SwapOutcome,
};
use crate::journal::{event_id, kind};
use crate::records::{baseline, progress, session};
use crate::shared_suite::{at, happened, key, written};
use crate::sqlite::tests::{Scratch, rollback_store};
use crate::{RowKey, SqliteStore, journal, rebuild};

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

mod local;
mod records;
mod shared;

//! Connections that break behind a write: what may have happened is unknown, and nothing happens twice.

use std::time::{Duration, Instant};

use watchdog_store::engine::{
    AppendOutcome, EventCursor, ExpectedRevision, LeaseRenewal, NewEvent, RowRevision, SwapOutcome,
};
use watchdog_store::{RowKey, SharedStore};

use crate::cutting_proxy::{CutPoint, CuttingProxy};
use crate::test_database::TestDatabase;
use crate::{server, store};

const LONG: Duration = Duration::from_secs(3600);

/// A database without TLS behind a proxy, and the store through it.
fn behind_a_proxy() -> (TestDatabase, CuttingProxy, watchdog_fleet::FleetStore) {
    let database = TestDatabase::new();
    watchdog_fleet::migrations::migrate_tables(
        &server(&database.full_address("owner")).unwrap(),
        "plain",
    )
    .unwrap();
    let proxy = CuttingProxy::to(database.port());
    let address = format!(
        "postgres://plain:secret%20of%20plain@127.0.0.1:{}/{}?sslmode=disable",
        proxy.port, database.name
    );
    let store = store(&address);
    store.now().unwrap();
    (database, proxy, store)
}

/// What is there after a write whose fate is unknown, once the server is done with it.
fn found(
    store: &dyn SharedStore,
    key: &RowKey,
    wanted: impl Fn(Option<&[u8]>) -> bool,
) -> Option<RowRevision> {
    let begun = Instant::now();
    loop {
        let there = store.get(key).unwrap();
        if wanted(there.as_ref().map(|(_, value)| value.as_slice())) {
            return there.map(|(rev, _)| rev);
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{there:?}");
    }
}

#[test]
fn lost_write_answer_is_unknown_until_read_back() {
    let (_database, proxy, store) = behind_a_proxy();
    let key = RowKey::new("test", &["a"]);
    proxy.cut_next(CutPoint::Answer);
    assert!(matches!(
        store.cas(&key, ExpectedRevision::Absent, b"1").unwrap(),
        SwapOutcome::Unknown(_)
    ));
    let first = found(&store, &key, |value| value == Some(b"1")).unwrap();
    proxy.cut_next(CutPoint::Answer);
    assert!(matches!(
        store.cas(&key, ExpectedRevision::Rev(first), b"2").unwrap(),
        SwapOutcome::Unknown(_)
    ));
    let second = found(&store, &key, |value| value == Some(b"2")).unwrap();
    assert_eq!(
        store.cas(&key, ExpectedRevision::Rev(first), b"3").unwrap(),
        SwapOutcome::Conflict,
        "the old revision does not come back"
    );
    proxy.cut_next(CutPoint::Answer);
    assert!(matches!(
        store.delete(&key, second).unwrap(),
        SwapOutcome::Unknown(_)
    ));
    found(&store, &key, |value| value.is_none());
}

#[test]
fn undelivered_write_is_unknown_until_read_back() {
    let (_database, proxy, store) = behind_a_proxy();
    let key = RowKey::new("test", &["a"]);
    proxy.cut_next(CutPoint::Request);
    assert!(matches!(
        store.cas(&key, ExpectedRevision::Absent, b"1").unwrap(),
        SwapOutcome::Unknown(_)
    ));
    assert_eq!(store.get(&key).unwrap(), None);
    assert!(matches!(
        store.cas(&key, ExpectedRevision::Absent, b"1").unwrap(),
        SwapOutcome::Ok(_)
    ));
}

#[test]
fn connection_lost_before_commit_reconnects_and_writes_once() {
    let (_database, proxy, store) = behind_a_proxy();
    let writes = ["a", "b"].map(|name| {
        (
            RowKey::new("test", &[name]),
            ExpectedRevision::Absent,
            b"1".to_vec(),
        )
    });
    for point in [CutPoint::Request, CutPoint::Answer] {
        // The first thing that is sent begins the transaction.
        proxy.cut_next(point);
        let SwapOutcome::Ok(rev) = store.cas_all(&writes).unwrap() else {
            panic!("nothing was committed yet")
        };
        assert_eq!(store.get(&writes[1].0).unwrap(), Some((rev, b"1".to_vec())));
        for (key, ..) in &writes {
            let (rev, _) = store.get(key).unwrap().unwrap();
            assert_eq!(store.delete(key, rev).unwrap(), SwapOutcome::Ok(rev));
        }
    }
}

#[test]
fn events_with_lost_answer_are_resent_without_duplicates() {
    let (database, proxy, store) = behind_a_proxy();
    let event = |n: i64| NewEvent {
        id: format!("e{n}"),
        at: jiff::Timestamp::from_second(n).unwrap(),
        worktree: "/wt".into(),
        spec: None,
        kind: "probe".into(),
        data: serde_json::json!({ "n": n }),
    };
    for (n, point) in [
        (1, CutPoint::Answer),
        (2, CutPoint::Request),
        (3, CutPoint::Answer),
    ] {
        proxy.cut_next(point);
        assert_eq!(
            store.append(&[event(n)], None).unwrap(),
            AppendOutcome::Done
        );
    }
    assert_eq!(
        store.read_events(EventCursor::START, 10).unwrap().0,
        [event(1), event(2), event(3)]
    );
    let lease = store
        .acquire(&RowKey::new("test", &["lease"]), "me", LONG)
        .unwrap()
        .unwrap();
    proxy.cut_next(CutPoint::Answer);
    assert!(
        matches!(store.renew(&lease, LONG).unwrap(), LeaseRenewal::Held(_)),
        "renewing again is renewing"
    );
    proxy.cut_next(CutPoint::Answer);
    assert_eq!(
        store.append(&[event(4)], Some(&lease)).unwrap(),
        AppendOutcome::Done
    );
    assert_eq!(database.sql("SELECT count(*) FROM watchdog.event"), "4");
}

#[test]
fn lost_lease_answer_is_error_without_holder() {
    let (_database, proxy, store) = behind_a_proxy();
    let key = RowKey::new("test", &["lease"]);
    proxy.cut_next(CutPoint::Answer);
    store
        .acquire(&key, "me", Duration::from_millis(500))
        .unwrap_err();
    let begun = Instant::now();
    let lease = loop {
        if let Some(lease) = store.acquire(&key, "me", LONG).unwrap() {
            break lease;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "the lost lease never ended"
        );
    };
    assert!(store.release(&lease).unwrap());
}

#[test]
fn idle_connection_closed_by_server_costs_no_write() {
    let (database, _proxy, store) = behind_a_proxy();
    let key = RowKey::new("test", &["a"]);
    for round in 0..3 {
        database.sql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}' AND usename = 'plain'",
            database.name
        ));
        // The end of it has arrived when no session is left.
        let begun = Instant::now();
        while database.sql(&format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND usename = 'plain'",
            database.name
        )) != "0"
        {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "the session stayed"
            );
        }
        std::thread::sleep(Duration::from_millis(1100));
        let expect = store_expectation(&store, &key);
        assert!(
            matches!(expect, SwapOutcome::Ok(_)),
            "round {round}: {expect:?}"
        );
    }
}

/// Writes without a look before, which would make the connection anew.
fn store_expectation(store: &dyn SharedStore, key: &RowKey) -> SwapOutcome {
    let done = store.cas(key, ExpectedRevision::Absent, b"1").unwrap();
    if let SwapOutcome::Ok(rev) = done {
        assert_eq!(store.delete(key, rev).unwrap(), SwapOutcome::Ok(rev));
    }
    done
}

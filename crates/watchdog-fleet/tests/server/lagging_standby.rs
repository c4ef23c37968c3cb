//! What a synchronous standby does not have yet: it may be seen, but it counts as done only when the standby has it, or a failover loses it.
//!
//! The server of the tests names a standby that there never is, and waits for it only in databases that ask for that.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use watchdog_core::config::task_file::TaskStatus;
use watchdog_fleet::FleetTasks;
use watchdog_store::SharedStore;
use watchdog_store::engine::AppendOutcome;
use watchdog_store::task::TaskRecord;
use watchdog_store::task_store::{TaskClaim, TaskStore};

use crate::order_of_events::event;
use crate::test_database::TestDatabase;
use crate::{server, store, with_tables};

/// The process of the server that waits for the standby, once there is one other than `than`.
fn waiting(database: &TestDatabase, than: &str) -> String {
    let sql = format!(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep' AND pid::text <> '{than}' LIMIT 1"
    );
    let begun = Instant::now();
    loop {
        let found = database.sql(&sql);
        if !found.is_empty() {
            return found;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "nothing waits for the standby"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a write whose connection ends while it waits for the standby, as where the server is stopped at once: it is visible from then on.
/// Whatever looks for it must wait as well; the wait is ended here as if the standby had it.
fn answered_only_with_the_standby<T: Send>(
    database: &TestDatabase,
    write: impl FnOnce() -> T + Send,
) -> T {
    database.sql(&format!(
        "ALTER DATABASE {} SET synchronous_commit = on",
        database.name
    ));
    let done = thread::scope(|scope| {
        let write = scope.spawn(write);
        let first = waiting(database, "");
        database.sql(&format!("SELECT pg_terminate_backend({first})"));
        let again = waiting(database, &first);
        assert!(!write.is_finished());
        database.sql(&format!("SELECT pg_cancel_backend({again})"));
        write.join().unwrap()
    });
    database.sql(&format!(
        "SET synchronous_commit = local; ALTER DATABASE {} RESET synchronous_commit",
        database.name
    ));
    done
}

#[test]
fn existing_events_count_once_the_standby_has_them() {
    let database = TestDatabase::new();
    with_tables(&database);
    let address = database.full_address("worker");
    let events = [event("a".into(), 1), event("b".into(), 2)];
    let done = answered_only_with_the_standby(&database, || {
        store(&address).append(&events, None).unwrap()
    });
    assert_eq!(done, AppendOutcome::Done);
    assert_eq!(
        database.sql("SELECT string_agg(id, ' ' ORDER BY seq) FROM watchdog.event"),
        "a b"
    );
}

fn tasks(database: &TestDatabase) -> FleetTasks {
    FleetTasks::new(
        Arc::new(server(&database.full_address("worker")).unwrap()),
        "one",
        "host/repo",
    )
}

fn new_task(found: Option<&TaskRecord>) -> Option<TaskRecord> {
    found
        .is_none()
        .then(|| TaskRecord::begin(TaskStatus::Pending, Timestamp::UNIX_EPOCH))
}

#[test]
fn found_claim_counts_once_standby_has_it() {
    let database = TestDatabase::new();
    with_tables(&database);
    tasks(&database).change("a", &new_task).unwrap();
    let (ids, from, ttl) = (
        ["a".to_owned()],
        [TaskStatus::Pending],
        Duration::from_secs(3600),
    );
    let (to, now) = (TaskStatus::Assigned, Timestamp::UNIX_EPOCH);
    let claimed = answered_only_with_the_standby(&database, || {
        tasks(&database)
            .claim(&TaskClaim {
                ids: &ids,
                from: &from,
                to,
                agent: "be-1",
                holder: "x",
                ttl,
                now,
            })
            .unwrap()
    });
    assert_eq!(claimed.expect("it was taken").lease.id, "a");
    assert_eq!(
        database.sql("SELECT count(*) FROM watchdog.task_step"),
        "2",
        "it is taken once"
    );
}

#[test]
fn found_change_counts_once_standby_has_it() {
    let database = TestDatabase::new();
    with_tables(&database);
    let written = answered_only_with_the_standby(&database, || {
        tasks(&database).change("a", &new_task).unwrap()
    });
    assert!(written.is_written);
    assert_eq!(database.sql("SELECT count(*) FROM watchdog.task_step"), "1");
}

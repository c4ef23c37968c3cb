//! Old days of events go as a whole, recent ones cannot, and a machine that was removed stays removed.

use watchdog_fleet::FleetError;
use watchdog_fleet::event_days::{DroppedDays, drop_days, event_days};
use watchdog_fleet::machines::{heartbeat, join, leave, machines};
use watchdog_store::SharedStore;
use watchdog_store::engine::EventCursor;

use crate::order_of_events::event;
use crate::test_database::TestDatabase;
use crate::{server, store, with_tables};

#[test]
fn days_that_are_old_go_and_what_happened_lately_stays_whatever_a_worker_asks() {
    let database = TestDatabase::new();
    with_tables(&database);
    let address = database.full_address("worker");
    let (server, store) = (server(&address).unwrap(), store(&address));
    // Partitions of the days of a year ago, as they were made then.
    database.sql(
        "DO $$ DECLARE d date := current_date - 100; BEGIN
         EXECUTE format('CREATE TABLE watchdog.event_%s PARTITION OF watchdog.event FOR VALUES FROM (%L) TO (%L)', to_char(d, 'YYYYMMDD'),
             d::text || ' 00:00:00+00', (d + 1)::text || ' 00:00:00+00');
         EXECUTE format('ALTER TABLE watchdog.event_%s OWNER TO owner', to_char(d, 'YYYYMMDD')); END $$",
    );
    let now = jiff::Timestamp::now().as_second();
    let days = |days: i64| now - days * 86_400;
    let events = [
        ("day of 100", days(100)),
        ("other day of 200", days(200)),
        ("40 days", days(40)),
        ("today", now),
    ]
    .map(|(id, at)| event(id.into(), at));
    let _ = store.append(&events, None).unwrap();
    let left = || -> Vec<String> {
        store
            .read(EventCursor::START, 99)
            .unwrap()
            .0
            .into_iter()
            .map(|event| event.id)
            .collect()
    };
    for young in [29, 0, -1] {
        let refused = drop_days(&server, young).unwrap_err();
        assert!(
            refused.to_string().contains("the last 30 days are kept"),
            "{refused}"
        );
    }
    assert_eq!(left().len(), 4);
    assert!(event_days(&server).unwrap().bytes > 0);
    assert_eq!(
        drop_days(&server, 90).unwrap(),
        DroppedDays { days: 1, events: 1 }
    );
    assert_eq!(left(), ["40 days", "today"]);
    assert_eq!(drop_days(&server, 90).unwrap(), DroppedDays::default());
    let error =
        database.sql("SET ROLE worker; SELECT has_table_privilege('watchdog.event', 'delete')");
    assert_eq!(error, "f", "a worker deletes no event by itself");
}

#[test]
fn a_heartbeat_renews_and_never_brings_back_a_machine_that_was_removed() {
    let database = TestDatabase::new();
    with_tables(&database);
    let server = server(&database.full_address("worker")).unwrap();
    join(&server, "one", "id 1").unwrap();
    database.sql("UPDATE watchdog.machine SET seen_at = seen_at - interval '1 hour'");
    heartbeat(&server, "one", "id 1").unwrap();
    assert!(machines(&server).unwrap()[0].silent_seconds < 1800);
    assert!(leave(&server, "id 1").unwrap());
    let error = heartbeat(&server, "one", "id 1").unwrap_err();
    assert!(
        matches!(&error, FleetError::Removed { name } if name == "one"),
        "{error}"
    );
    assert!(machines(&server).unwrap().is_empty());
}

//! Old events go, recent ones cannot, and a machine that was removed stays removed.

use watchdog_fleet::FleetError;
use watchdog_fleet::event_pruning::{prune_events, survey_events};
use watchdog_fleet::machines::{add_machine, list_machines, remove_machine, send_heartbeat};
use watchdog_store::SharedStore;
use watchdog_store::engine::EventCursor;

use crate::order_of_events::event;
use crate::test_database::TestDatabase;
use crate::{server, store, with_tables};

#[test]
fn old_events_go_and_recent_ones_stay() {
    let database = TestDatabase::new();
    with_tables(&database);
    let address = database.full_address("worker");
    let (server, store) = (server(&address).unwrap(), store(&address));
    let now = jiff::Timestamp::now().as_second();
    let days = |days: i64| now - days * 86_400;
    let events = [
        ("100 days", days(100)),
        ("200 days", days(200)),
        ("40 days", days(40)),
        ("today", now),
    ]
    .map(|(id, at)| event(id.into(), at));
    let _ = store.append(&events, None).unwrap();
    let left = || -> Vec<String> {
        store
            .read_events(EventCursor::START, 99)
            .unwrap()
            .0
            .into_iter()
            .map(|event| event.id)
            .collect()
    };
    for young in [29, 0, -1] {
        let refused = prune_events(&server, young).unwrap_err();
        assert!(
            refused.to_string().contains("the last 30 days are kept"),
            "{refused}"
        );
    }
    assert_eq!(left().len(), 4);
    let kept_events = survey_events(&server).unwrap();
    assert!(
        kept_events.bytes > 0 && kept_events.oldest.is_some(),
        "{kept_events:?}"
    );
    assert_eq!(prune_events(&server, 90).unwrap(), 2);
    assert_eq!(left(), ["40 days", "today"]);
    assert_eq!(prune_events(&server, 90).unwrap(), 0);
    let error =
        database.sql("SET ROLE worker; SELECT has_table_privilege('watchdog.event', 'delete')");
    assert_eq!(error, "f", "a worker deletes no event by itself");
}

#[test]
fn heartbeat_renews_but_never_restores_removed_machine() {
    let database = TestDatabase::new();
    with_tables(&database);
    let server = server(&database.full_address("worker")).unwrap();
    add_machine(&server, "one", "id 1").unwrap();
    database.sql("UPDATE watchdog.machine SET seen_at = seen_at - interval '1 hour'");
    send_heartbeat(&server, "one", "id 1").unwrap();
    assert!(list_machines(&server).unwrap()[0].silent_seconds < 1800);
    assert!(remove_machine(&server, "id 1").unwrap());
    let error = send_heartbeat(&server, "one", "id 1").unwrap_err();
    assert!(
        matches!(&error, FleetError::Removed { name } if name == "one"),
        "{error}"
    );
    assert!(list_machines(&server).unwrap().is_empty());
}

#[test]
fn tables_of_format_6_migrate_with_their_events() {
    let database = TestDatabase::new();
    let steps = [
        include_str!("../../src/schema/001.sql"),
        include_str!("../../src/schema/002.sql"),
        include_str!("../../src/schema/003.sql"),
        include_str!("../../src/schema/004.sql"),
        include_str!("../../src/schema/005.sql"),
        include_str!("../../src/schema/006.sql"),
    ];
    let events = "SELECT watchdog.prepare_days();
        INSERT INTO watchdog.format (version, program) VALUES (6, '0.1.0');
        INSERT INTO watchdog.event (id, at, machine, worktree, kind, data)
            SELECT n::text, now() - n * interval '1 day', 'one', 'w', 'limit', '{}' FROM generate_series(0, 40) AS n";
    database.sql(&format!("SET ROLE owner; {} {events}", steps.join("\n")));
    with_tables(&database);
    let store = store(&database.full_address("worker"));
    let (kept_events, position) = store.read_events(EventCursor::START, 99).unwrap();
    assert_eq!((kept_events.len(), kept_events[40].id.as_str()), (41, "40"));
    let _ = store.append(&[event("later".into(), 7)], None).unwrap();
    assert_eq!(store.read_events(position, 99).unwrap().0[0].id, "later");
}

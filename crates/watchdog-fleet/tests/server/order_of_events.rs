//! A follower never skips an event, however late a writer's commit comes.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use watchdog_store::SharedStore;
use watchdog_store::engine::{AppendOutcome, EventCursor, NewEvent};

use crate::test_database::TestDatabase;
use crate::{store, with_tables};

pub fn event(id: String, second: i64) -> NewEvent {
    NewEvent {
        id,
        at: jiff::Timestamp::from_second(second).unwrap(),
        worktree: "/wt".into(),
        spec: None,
        kind: "probe".into(),
        data: serde_json::json!({}),
    }
}

#[test]
fn follower_skips_no_event_among_eight_late_writers() {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    let database = TestDatabase::new();
    with_tables(&database);
    // Between the number that was drawn and the commit, each writer waits as long as chance has it.
    database.sql(
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(random() * 0.02); RETURN NULL; END';
         CREATE TRIGGER late AFTER INSERT ON watchdog.event FOR EACH STATEMENT EXECUTE FUNCTION late()",
    );
    let address = database.full_address("worker");
    let mut seen: Vec<String> = Vec::new();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let address = &address;
            scope.spawn(move || {
                let store = store(address);
                for n in 0..EACH {
                    let day = 1_800_000_000 + (n as i64 % 3) * 86_400;
                    let done = store
                        .append(&[event(format!("{writer}-{n:03}"), day)], None)
                        .unwrap();
                    assert_eq!(done, AppendOutcome::Done);
                }
            });
        }
        let reader = store(&address);
        let (begun, mut cursor) = (Instant::now(), EventCursor::START);
        while seen.len() < WRITERS * EACH {
            let (events, next) = reader.read_events(cursor, 3).unwrap();
            cursor = next;
            seen.extend(events.into_iter().map(|event| event.id));
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "only {} of {} were seen",
                seen.len(),
                WRITERS * EACH
            );
        }
    });
    let mut of: HashMap<&str, Vec<&str>> = HashMap::new();
    for id in &seen {
        of.entry(&id[..1]).or_default().push(id);
    }
    assert_eq!(of.len(), WRITERS);
    for (writer, ids) in of {
        assert!(
            ids.is_sorted() && ids.len() == EACH,
            "writer {writer}: {ids:?}"
        );
    }
}

#[test]
fn events_that_are_sent_twice_are_there_once() {
    let database = TestDatabase::new();
    with_tables(&database);
    let store = store(&database.full_address("worker"));
    let events = [event("a".into(), 1_800_000_000), event("old".into(), 7)];
    for _ in 0..2 {
        assert_eq!(store.append(&events, None).unwrap(), AppendOutcome::Done);
    }
    let ids = database.sql("SELECT string_agg(id, ' ' ORDER BY seq) FROM watchdog.event");
    assert_eq!(ids, "a old");
}

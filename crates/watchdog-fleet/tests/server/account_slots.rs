//! The cap of an account on a real server: no two machines get the same slot, and one that dies gives its slots back.

use std::thread;
use std::time::Duration;

use watchdog_fleet::account_budget::account_terms;
use watchdog_fleet::account_slots::{
    TakenSlots, WantedSlots, give_slots_back, set_parallel_questions, take_slots,
};
use watchdog_fleet::machines::join;
use watchdog_fleet::{FleetError, FleetServer};

use crate::test_database::TestDatabase;
use crate::{server, with_tables};

const DEADLINE: Duration = Duration::from_secs(30);

/// Asks for slots by these names.
fn ask(
    server: &FleetServer,
    machine: &str,
    names: &[&str],
    (lasts_ms, to_keep): (u64, bool),
) -> Result<Option<TakenSlots>, FleetError> {
    let ids: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let lasts = Duration::from_millis(lasts_ms);
    take_slots(
        server,
        DEADLINE,
        &WantedSlots {
            account: "team",
            machine,
            ids: &ids,
            lasts,
            to_keep,
        },
    )
}

fn taken(server: &FleetServer, machine: &str, names: &[&str], how: (u64, bool)) -> Vec<String> {
    ask(server, machine, names, how)
        .unwrap()
        .expect("a cap")
        .ids
}

const LONG: (u64, bool) = (60_000, false);

#[test]
fn machines_that_ask_at_once_are_never_given_more_slots_than_the_cap() {
    let database = TestDatabase::new();
    with_tables(&database);
    let worker = server(&database.full_address("worker")).unwrap();
    assert_eq!(ask(&worker, "a", &["x"], LONG).unwrap(), None, "no cap");
    set_parallel_questions(&worker, "team", Some(7)).unwrap();
    let asking: Vec<_> = (0..6)
        .map(|n| {
            let address = if n % 2 == 0 {
                database.full_address("worker")
            } else {
                database.pooler_address("worker").unwrap()
            };
            thread::spawn(move || {
                let server = server(&address).unwrap();
                (0..3)
                    .map(|k| taken(&server, &format!("m{n}"), &[&format!("{n}-{k}")], LONG).len())
                    .sum::<usize>()
            })
        })
        .collect();
    let given: usize = asking.into_iter().map(|one| one.join().unwrap()).sum();
    assert_eq!(given, 7);
    let terms = account_terms(&worker, "team").unwrap();
    assert_eq!(
        (terms.max_parallel_questions, terms.slots_taken),
        (Some(7), 7)
    );
    assert_eq!(
        account_terms(&worker, "other")
            .unwrap()
            .max_parallel_questions,
        None
    );
}

#[test]
fn a_slot_is_given_back_or_ends_by_itself_and_asking_again_by_its_name_takes_no_second_one() {
    let database = TestDatabase::new();
    with_tables(&database);
    let worker = server(&database.full_address("worker")).unwrap();
    set_parallel_questions(&worker, "team", Some(2)).unwrap();
    assert_eq!(taken(&worker, "a", &["1"], LONG), ["1"]);
    assert_eq!(
        taken(&worker, "a", &["1"], LONG),
        ["1"],
        "the answer was lost, and it asks again"
    );
    assert_eq!(taken(&worker, "b", &["2"], (0, false)), ["2"]);
    assert_eq!(
        taken(&worker, "c", &["3"], LONG),
        ["3"],
        "that of 'b' is over"
    );
    assert!(taken(&worker, "d", &["4"], LONG).is_empty());
    give_slots_back(&worker, DEADLINE, "team", &["1".into()]).unwrap();
    assert_eq!(taken(&worker, "d", &["4", "5"], LONG), ["4"]);
    set_parallel_questions(&worker, "team", Some(1)).unwrap();
    assert!(
        taken(&worker, "a", &["6"], LONG).is_empty(),
        "two run, and one may"
    );
    assert_eq!(
        database.sql("SELECT count(*) FROM watchdog.question_slot"),
        "2",
        "what is under way goes on"
    );
    set_parallel_questions(&worker, "team", None).unwrap();
    assert_eq!(ask(&worker, "a", &["7"], LONG).unwrap(), None);
    let refused = set_parallel_questions(&worker, "team", Some(0)).unwrap_err();
    assert!(
        refused.to_string().contains("max_parallel_questions"),
        "{refused}"
    );
}

#[test]
fn half_of_the_cap_is_kept_ready_in_equal_parts_by_the_machines_that_are_there() {
    let database = TestDatabase::new();
    with_tables(&database);
    let worker = server(&database.full_address("worker")).unwrap();
    set_parallel_questions(&worker, "team", Some(8)).unwrap();
    for (name, id) in [("a", "id 1"), ("b", "id 2"), ("gone", "id 3")] {
        join(&worker, name, id).unwrap();
    }
    database.sql(
        "UPDATE watchdog.machine SET seen_at = seen_at - interval '1 hour' WHERE name = 'gone'",
    );
    let keep = (900_000, true);
    let given = ask(&worker, "a", &["a1", "a2", "a3"], keep)
        .unwrap()
        .expect("a cap");
    assert_eq!(
        given,
        TakenSlots {
            ids: vec!["a1".into(), "a2".into()],
            most: 8,
            share: 2
        }
    );
    assert_eq!(account_terms(&worker, "team").unwrap().slots_to_keep, 2);
    assert_eq!(
        taken(&worker, "a", &["a4"], LONG),
        ["a4"],
        "a question may have more than the part"
    );
    assert!(
        taken(&worker, "a", &["a5"], keep).is_empty(),
        "and keeps no more ready then"
    );
    assert_eq!(
        taken(&worker, "b", &["b1", "b2", "b3", "b4", "b5", "b6"], LONG).len(),
        5
    );
    assert_eq!(
        taken(&worker, "a", &["a1", "a2"], keep).len(),
        1,
        "renewed, as far as its part goes beside its question"
    );
}

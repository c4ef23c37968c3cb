//! Machines that join, and what a look at the server tells of them.

use watchdog_fleet::FleetError;
use watchdog_fleet::machines::{add_machine, remove_machine, survey_server};
use watchdog_fleet::migrations::FLEET_FORMAT;

use crate::test_database::TestDatabase;
use crate::{server, with_tables};

#[test]
fn machine_joins_under_unique_name_and_can_leave() {
    let database = TestDatabase::new();
    with_tables(&database);
    let server = server(&database.full_address("worker")).unwrap();
    add_machine(&server, "one", "id 1").unwrap();
    add_machine(&server, "one", "id 1").unwrap();
    let error = add_machine(&server, "one", "id 2").unwrap_err();
    assert!(
        matches!(&error, FleetError::NameTaken { name } if name == "one"),
        "{error}"
    );
    add_machine(&server, "two", "id 2").unwrap();
    add_machine(&server, "first", "id 1").unwrap();
    let found = survey_server(&server).unwrap();
    let names: Vec<_> = found
        .machines
        .iter()
        .map(|machine| (machine.name.as_str(), machine.id.as_str()))
        .collect();
    assert_eq!(
        names,
        [("first", "id 1"), ("two", "id 2")],
        "a machine has one name"
    );
    assert_eq!(
        (found.format, found.is_encrypted, found.is_read_only),
        (Some(FLEET_FORMAT), true, false)
    );
    assert!(
        found.missing_rights.is_empty() && found.clock_ahead_ms.abs() < 30_000,
        "{found:?}"
    );
    assert!(remove_machine(&server, "id 1").unwrap() && !remove_machine(&server, "id 1").unwrap());
    assert_eq!(survey_server(&server).unwrap().machines.len(), 1);
}

#[test]
fn inspection_names_missing_rights_and_missing_fleet() {
    let database = TestDatabase::new();
    let found = survey_server(&server(&database.full_address("worker")).unwrap()).unwrap();
    assert_eq!((found.format, found.missing_rights.len()), (None, 0));
    with_tables(&database);
    let found = survey_server(&server(&database.full_address("nobody")).unwrap()).unwrap();
    assert_eq!(found.format, Some(FLEET_FORMAT));
    assert!(
        found
            .missing_rights
            .contains(&"insert on watchdog.event".to_owned()),
        "{:?}",
        found.missing_rights
    );
    database.sql("REVOKE UPDATE ON watchdog.lease FROM worker");
    let found = survey_server(&server(&database.full_address("worker")).unwrap()).unwrap();
    assert_eq!(found.missing_rights, ["update on watchdog.lease"]);
    let pooled =
        survey_server(&server(&database.pooler_address("worker").unwrap()).unwrap()).unwrap();
    assert!(pooled.is_through_pooler && pooled.is_encrypted);
}

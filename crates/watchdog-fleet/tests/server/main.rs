//! Tests against a real PostgreSQL server, which they start.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs by themselves"
)]

mod account_limits;
mod broken_connections;
mod conformance;
mod cutting_proxy;
mod hostile_server;
mod joining;
mod lagging_standby;
mod order_of_events;
mod pruning;
mod tasks;
mod test_database;

/// The suites that every engine has to pass. A feature of the store's own for them would compile the product a second time.
#[path = "../../../watchdog-store/src/shared_suite.rs"]
mod shared_suite;
#[path = "../../../watchdog-store/src/task_suite.rs"]
mod task_suite;

use std::sync::Arc;

use watchdog_fleet::connection_settings::ConnectionSettings;
use watchdog_fleet::migrations::migrate_tables;
use watchdog_fleet::{FleetError, FleetServer, FleetStore};
use watchdog_store::{RowKey, engine, journal, task, task_store};

use test_database::TestDatabase;

fn settings(address: &str) -> ConnectionSettings {
    ConnectionSettings::from_address(address, &|_| None).unwrap()
}

fn server(address: &str) -> Result<FleetServer, FleetError> {
    FleetServer::new(settings(address))
}

/// Makes the tables, with the role `worker` as the worker.
fn with_tables(database: &TestDatabase) {
    migrate_tables(&server(&database.full_address("owner")).unwrap(), "worker").unwrap();
}

fn store(address: &str) -> FleetStore {
    FleetStore::new(
        Arc::new(server(address).unwrap().needing_its_format()),
        "machine",
    )
}

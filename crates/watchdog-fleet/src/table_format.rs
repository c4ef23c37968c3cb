//! The format of the fleet's tables: which one this program needs, and which one a database has.

use std::cmp::Ordering;

use tokio_postgres::{Client, Error};

use crate::connection_settings::ConnectionSettings;
use crate::fleet_error::FleetError;

/// The format that this program needs.
pub const FLEET_FORMAT: i32 = 7;

/// The format of the tables; `None` where there are none.
pub(crate) async fn format_of(client: &Client) -> Result<Option<i32>, Error> {
    // The catalogue says it to everybody, so that a missing right is told from a missing table.
    let there = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                                WHERE n.nspname = 'watchdog' AND c.relname = 'format')";
    if !client
        .query_typed_one(there, &[])
        .await?
        .try_get::<_, bool>(0)?
    {
        return Ok(None);
    }
    client
        .query_typed_one("SELECT max(version) FROM watchdog.format", &[])
        .await?
        .try_get(0)
}

/// Refuses tables of another format than this program's.
pub(crate) fn require_own_format(
    database_format: Option<i32>,
    settings: &ConnectionSettings,
) -> Result<(), FleetError> {
    let Some(database_format) = database_format else {
        return Err(FleetError::NoSchema {
            server: settings.server(),
            database: settings.database.clone(),
        });
    };
    match database_format.cmp(&FLEET_FORMAT) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(FleetError::NewerSchema {
            found: database_format,
            newest_format: FLEET_FORMAT,
        }),
        Ordering::Less => Err(FleetError::OlderSchema {
            found: database_format,
            needed_format: FLEET_FORMAT,
        }),
    }
}

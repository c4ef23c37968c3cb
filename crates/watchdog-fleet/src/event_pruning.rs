//! How much the server keeps of what happened, and how old events go.

use jiff::civil::Date;
use tokio_postgres::types::Type;

use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat};

/// How many events one call deletes at most.
const AT_ONCE: i64 = 50_000;

const KEPT_EVENTS: &str = "SELECT to_char(min(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), \
     pg_total_relation_size('watchdog.event') FROM watchdog.event";

/// The events that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptEvents {
    /// The day of the oldest one.
    pub oldest: Option<Date>,
    /// The room that they take on the server's disk, with their indexes, in bytes.
    pub bytes: u64,
}

/// Looks at the events.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn survey_events(server: &FleetServer) -> Result<KeptEvents, FleetError> {
    let kept_events = server.call("look at the events", Repeat::Safe, async |call| {
        let row = call.client.query_typed_one(KEPT_EVENTS, &[]).await?;
        let oldest: Option<&str> = row.try_get(0)?;
        Ok(KeptEvents {
            oldest: oldest.and_then(|day| day.parse().ok()),
            bytes: row.try_get::<_, i64>(1)?.unsigned_abs(),
        })
    })?;
    Ok(kept_events)
}

/// Deletes the events that are older than so many days, at least 30, and returns how many.
///
/// # Errors
/// Fails if the server cannot be used or refuses; some events may be gone then.
pub fn prune_events(server: &FleetServer, older_than_days: i32) -> Result<u64, FleetError> {
    let mut total = 0;
    loop {
        let pruned = server.call("delete old events", Repeat::Safe, async |call| {
            let row = call
                .client
                .query_typed_one(
                    "SELECT watchdog.prune_events($1)",
                    &[(&older_than_days, Type::INT4)],
                )
                .await?;
            row.try_get::<_, i64>(0)
        })?;
        total += pruned.unsigned_abs();
        if pruned < AT_ONCE {
            return Ok(total);
        }
    }
}

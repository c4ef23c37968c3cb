//! The days of events on the server: how many there are, how large they are, and how old ones go.

use jiff::civil::Date;
use tokio_postgres::types::Type;

use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat};

/// The youngest age, in days, at which events may go: what happened lately cannot be erased by a machine of the fleet.
pub const KEPT_DAYS: i32 = 30;

/// How many events among those of other days one call deletes at most.
const AT_ONCE: i64 = 50_000;

const DAYS: &str = "SELECT count(*) FILTER (WHERE c.relname ~ '^event_[0-9]{8}$' AND substr(c.relname, 7) <= to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDD')), \
     min(substr(c.relname, 7)) FILTER (WHERE c.relname ~ '^event_[0-9]{8}$'), \
     coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint \
     FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'watchdog.event'::regclass";

/// The days of events that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventDays {
    /// How many days have a place of their own, up to today.
    pub days: u64,
    /// The oldest of them.
    pub oldest: Option<Date>,
    /// What all events take on the server's disk, with their indexes, in bytes.
    pub bytes: u64,
}

/// What went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DroppedDays {
    /// Whole days.
    pub days: u64,
    /// Events that lay among those of other days.
    pub events: u64,
}

/// Looks at the days of events.
///
/// # Errors
/// Where the server cannot be used.
pub fn event_days(server: &FleetServer) -> Result<EventDays, FleetError> {
    let found = server.call("look at the events", Repeat::Safe, async |call| {
        let row = call.client.query_typed_one(DAYS, &[]).await?;
        let oldest: Option<&str> = row.try_get(1)?;
        Ok(EventDays {
            days: row.try_get::<_, i64>(0)?.unsigned_abs(),
            oldest: oldest.and_then(|day| Date::strptime("%Y%m%d", day).ok()),
            bytes: row.try_get::<_, i64>(2)?.unsigned_abs(),
        })
    })?;
    Ok(found)
}

/// Drops the days of events that are older than so many days, and at least [`KEPT_DAYS`]. A day that somebody reads at the moment stays for
/// the next call.
///
/// # Errors
/// Where the server cannot be used or refuses; some days may be gone then.
pub fn drop_days(server: &FleetServer, older_than_days: i32) -> Result<DroppedDays, FleetError> {
    let mut dropped = DroppedDays::default();
    loop {
        let (days, events) = server.call("drop old events", Repeat::Safe, async |call| {
            let row = call
                .client
                .query_typed_one(
                    "SELECT days, events FROM watchdog.drop_days($1)",
                    &[(&older_than_days, Type::INT4)],
                )
                .await?;
            Ok((row.try_get::<_, i32>(0)?, row.try_get::<_, i64>(1)?))
        })?;
        dropped.days += u64::from(days.unsigned_abs());
        dropped.events += events.unsigned_abs();
        if events < AT_ONCE {
            return Ok(dropped);
        }
    }
}

//! The machines of a fleet: joining under a name, heartbeats, leaving, and what a look at the server tells.

use std::time::Instant;

use jiff::Timestamp;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::event_pruning::{KeptEvents, survey_events};
use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat};
use crate::table_format::{FLEET_FORMAT, format_of};

/// Whether the row of a name is this machine's, or is made so; and what it says of itself.
const JOIN: &str = "INSERT INTO watchdog.machine AS known (name, id, program, clock_ahead_ms) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (name) DO UPDATE SET program = excluded.program, seen_at = clock_timestamp(), clock_ahead_ms = excluded.clock_ahead_ms \
     WHERE known.id = excluded.id RETURNING name";

/// Only renews: a machine that was removed stays so until a person lets it join again.
const BEAT: &str = "UPDATE watchdog.machine SET program = $3, seen_at = clock_timestamp(), clock_ahead_ms = $4 WHERE name = $1 AND id = $2";

const MACHINES: &str = "SELECT name, id, program, joined_at, seen_at, \
     greatest(0, extract(epoch FROM clock_timestamp() - seen_at))::bigint, clock_ahead_ms FROM watchdog.machine ORDER BY name";

/// The rights that a worker needs, each with the question whether the role has it.
const RIGHTS: &str = "SELECT wanted FROM (VALUES \
     ('select', 'record'), ('insert', 'record'), ('update', 'record'), ('delete', 'record'), \
     ('select', 'lease'), ('insert', 'lease'), ('update', 'lease'), ('select', 'event'), ('insert', 'event'), \
     ('select', 'task'), ('insert', 'task'), ('update', 'task'), ('select', 'task_step'), ('insert', 'task_step'), \
     ('select', 'usage_limit'), ('insert', 'usage_limit'), ('update', 'usage_limit'), \
     ('select', 'machine'), ('insert', 'machine'), ('update', 'machine'), ('delete', 'machine')) AS needed (act, relation), \
     LATERAL (SELECT act || ' on watchdog.' || relation AS wanted, \
         (SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
          WHERE n.nspname = 'watchdog' AND c.relname = relation) AS id) AS named \
     WHERE NOT coalesce(has_table_privilege(id, act), false)";

/// A machine that joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetMachine {
    /// Its name in the fleet.
    pub name: String,
    /// Names the machine's own state, so that a namesake is told from it.
    pub id: String,
    /// The version of its watchdog.
    pub program: String,
    /// When it joined, by the server's clock.
    pub joined_at: Timestamp,
    /// Its last heartbeat, by the server's clock.
    pub seen_at: Timestamp,
    /// Seconds since then.
    pub silent_seconds: u64,
    /// How far its clock was ahead of the server's at that time, in milliseconds; negative where it was behind.
    pub clock_ahead_ms: i64,
}

/// The result of a look at the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSurvey {
    /// The server's version, in its own words.
    pub version: String,
    /// The format of the tables; `None` where there are none.
    pub format: Option<i32>,
    /// Whether this connection is over TLS.
    pub is_encrypted: bool,
    /// Whether a pooler in between gives each transaction another session.
    pub is_through_pooler: bool,
    /// Whether the server takes no writes.
    pub is_read_only: bool,
    /// How far this machine's clock is ahead of the server's, in milliseconds; negative where it is behind.
    pub clock_ahead_ms: i64,
    /// Rights that a worker needs and this role lacks, in words.
    pub missing_rights: Vec<String>,
    /// How much is kept of what happened; `None` where there are no tables or the role may not read them.
    pub events: Option<KeptEvents>,
    /// The machines that joined; empty where there are no tables or the role may not read them.
    pub machines: Vec<FleetMachine>,
}

/// Looks at the server and changes nothing.
///
/// # Errors
/// Fails if it cannot be reached or refuses to answer.
pub fn survey_server(server: &FleetServer) -> Result<FleetSurvey, FleetError> {
    let version = server.version()?;
    let clock_ahead_ms = clock_ahead(server)?;
    let (format, is_read_only, missing_rights) =
        server.call("look at the fleet", Repeat::Safe, async |call| {
            let is_read_only: String = call
                .client
                .query_typed_one("SHOW transaction_read_only", &[])
                .await?
                .try_get(0)?;
            let missing = call.client.query_typed(RIGHTS, &[]).await?;
            let missing = missing
                .iter()
                .map(|row| row.try_get(0))
                .collect::<Result<Vec<String>, _>>()?;
            let format = match format_of(call.client).await {
                // Said by what is missing, and by the table's being there.
                Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                    Some(FLEET_FORMAT)
                }
                other => other?,
            };
            Ok((format, is_read_only == "on", missing))
        })?;
    let missing_rights = if format.is_some() {
        missing_rights
    } else {
        Vec::new()
    };
    let may_read = format == Some(FLEET_FORMAT) && missing_rights.is_empty();
    Ok(FleetSurvey {
        version,
        format,
        is_encrypted: server.is_encrypted(),
        is_through_pooler: server.is_through_pooler(),
        is_read_only,
        clock_ahead_ms,
        missing_rights,
        events: if may_read {
            Some(survey_events(server)?)
        } else {
            None
        },
        machines: if may_read {
            list_machines(server)?
        } else {
            Vec::new()
        },
    })
}

/// The machines that joined, by name.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn list_machines(server: &FleetServer) -> Result<Vec<FleetMachine>, FleetError> {
    let fleet_machines = server.call("list the machines", Repeat::Safe, async |call| {
        let rows = call.client.query_typed(MACHINES, &[]).await?;
        let machine_of_row = |row: &tokio_postgres::Row| {
            Ok(FleetMachine {
                name: row.try_get(0)?,
                id: row.try_get(1)?,
                program: row.try_get(2)?,
                joined_at: row.try_get(3)?,
                seen_at: row.try_get(4)?,
                silent_seconds: row.try_get::<_, i64>(5)?.unsigned_abs(),
                clock_ahead_ms: row.try_get(6)?,
            })
        };
        rows.iter().map(machine_of_row).collect()
    })?;
    Ok(fleet_machines)
}

/// Writes this machine down under a name, or renews what is there of it: joining again is a heartbeat. `id` names its state; an earlier
/// name of it is given up.
///
/// # Errors
/// Fails if another machine has the name, or the server cannot be used.
pub fn add_machine(server: &FleetServer, name: &str, id: &str) -> Result<(), FleetError> {
    let ahead = clock_ahead(server)?;
    let joined = server.call("join the fleet", Repeat::Safe, async |call| {
        let mark = call.before_commit();
        let tx = call.client.transaction().await?;
        let values: [crate::server::SqlValue<'_>; 4] = [
            (&name, Type::TEXT),
            (&id, Type::TEXT),
            (&env!("CARGO_PKG_VERSION"), Type::TEXT),
            (&ahead, Type::INT8),
        ];
        tx.query_typed(
            "DELETE FROM watchdog.machine WHERE id = $2 AND name <> $1",
            &values[..2],
        )
        .await?;
        let joined = tx.query_typed_opt(JOIN, &values).await?.is_some();
        if joined {
            mark.committing();
            tx.commit().await?;
        }
        Ok(joined)
    })?;
    if joined {
        Ok(())
    } else {
        Err(FleetError::NameTaken {
            name: name.to_owned(),
        })
    }
}

/// Says that a machine that joined is there.
///
/// # Errors
/// Fails if it was removed from the fleet, which a heartbeat does not undo, or the server cannot be
/// used.
pub fn send_heartbeat(server: &FleetServer, name: &str, id: &str) -> Result<(), FleetError> {
    let ahead = clock_ahead(server)?;
    let updated_rows = server.call("send a heartbeat", Repeat::Safe, async |call| {
        let values: [crate::server::SqlValue<'_>; 4] = [
            (&name, Type::TEXT),
            (&id, Type::TEXT),
            (&env!("CARGO_PKG_VERSION"), Type::TEXT),
            (&ahead, Type::INT8),
        ];
        call.client.execute_typed(BEAT, &values).await
    })?;
    if updated_rows > 0 {
        Ok(())
    } else {
        Err(FleetError::Removed {
            name: name.to_owned(),
        })
    }
}

/// Takes this machine out; `false` where it was not in.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn remove_machine(server: &FleetServer, id: &str) -> Result<bool, FleetError> {
    let deleted_rows = server.call("leave the fleet", Repeat::Safe, async |call| {
        call.client
            .execute_typed(
                "DELETE FROM watchdog.machine WHERE id = $1",
                &[(&id, Type::TEXT)],
            )
            .await
    })?;
    Ok(deleted_rows > 0)
}

/// How far this machine's clock is ahead of the server's, in milliseconds, within half of the way there and back.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn clock_ahead(server: &FleetServer) -> Result<i64, FleetError> {
    let ahead = server.call("read the clock", Repeat::Safe, async |call| {
        let (begun, at) = (Instant::now(), Timestamp::now());
        let there: i64 = call
            .client
            .query_typed_one(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
                &[],
            )
            .await?
            .try_get(0)?;
        let half = i64::try_from(begun.elapsed().as_millis() / 2).unwrap_or(0);
        Ok(at
            .as_millisecond()
            .saturating_add(half)
            .saturating_sub(there))
    })?;
    Ok(ahead)
}

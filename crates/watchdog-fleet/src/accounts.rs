//! Accounts that machines share: the usage limits that were met, by the server's clock.

use tokio_postgres::types::Type;

use jiff::Timestamp;

use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat, SqlValue};

/// Limits are told as often as it takes: sent twice, they are the same. A limit lasts at most eight
/// days, whatever an agent prints, and an expired one is ignored. Of two that are in force the
/// longer one counts, so that it does not matter which arrives first.
const TELL: &str = "INSERT INTO watchdog.usage_limit AS known (account, agent, until, machine, seen_at) \
     SELECT $1, told.agent, least(told.until, clock_timestamp() + interval '8 days'), $2, clock_timestamp() - told.age * interval '1 ms' \
     FROM unnest($3, $4, $5) AS told (agent, until, age) WHERE told.until > clock_timestamp() ORDER BY told.agent \
     ON CONFLICT (account, agent) DO UPDATE SET until = excluded.until, machine = excluded.machine, seen_at = excluded.seen_at \
     WHERE excluded.until > known.until AND excluded.seen_at > coalesce(known.cleared_at, '-infinity')";

const LIMITS: &str = "SELECT agent, (extract(epoch FROM until - clock_timestamp()) * 1000)::bigint, machine FROM watchdog.usage_limit \
     WHERE account = $1 AND until > clock_timestamp() ORDER BY agent";

const CLEAR: &str = "UPDATE watchdog.usage_limit SET until = clock_timestamp(), cleared_at = clock_timestamp() \
     WHERE account = $1 AND ($2::text IS NULL OR agent = $2) AND until > clock_timestamp()";

/// A limit that was met on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedLimit {
    /// The agent that met it.
    pub agent: String,
    /// Its end, as the agent told it.
    pub until: Timestamp,
    /// How long ago it was met, in milliseconds.
    pub age_ms: i64,
}

/// A limit that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetLimit {
    /// The agent that it holds.
    pub agent: String,
    /// How long it lasts, by the server's clock, in milliseconds.
    pub left_ms: i64,
    /// The machine that met it.
    pub machine: String,
}

/// Tells of limits that `machine` met.
///
/// # Errors
/// Fails if the server cannot be used. The server then has either all of it or none; the caller may
/// repeat it.
pub fn tell_limits(
    server: &FleetServer,
    account: &str,
    machine: &str,
    limits: &[ReportedLimit],
) -> Result<(), FleetError> {
    if limits.is_empty() {
        return Ok(());
    }
    let agents: Vec<&str> = limits.iter().map(|limit| limit.agent.as_str()).collect();
    let until: Vec<Timestamp> = limits.iter().map(|limit| limit.until).collect();
    let ages: Vec<f64> = limits
        .iter()
        .map(|limit| limit.age_ms.max(0) as f64)
        .collect();
    server.call("tell of a usage limit", Repeat::Safe, async |call| {
        let values: [SqlValue<'_>; 5] = [
            (&account, Type::TEXT),
            (&machine, Type::TEXT),
            (&agents, Type::TEXT_ARRAY),
            (&until, Type::TIMESTAMPTZ_ARRAY),
            (&ages, Type::FLOAT8_ARRAY),
        ];
        call.client.execute_typed(TELL, &values).await
    })?;
    Ok(())
}

/// The limits of an account that are in force, by agent.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn limits_in_force(server: &FleetServer, account: &str) -> Result<Vec<FleetLimit>, FleetError> {
    let limits = server.call("read the usage limits", Repeat::Safe, async |call| {
        let rows = call
            .client
            .query_typed(LIMITS, &[(&account, Type::TEXT)])
            .await?;
        rows.iter()
            .map(|row| {
                Ok(FleetLimit {
                    agent: row.try_get(0)?,
                    left_ms: row.try_get(1)?,
                    machine: row.try_get(2)?,
                })
            })
            .collect()
    })?;
    Ok(limits)
}

/// Ends the limit of an agent, or every limit of the account, as a person says; returns how many
/// there were. A limit met before and reported later does not bring it back.
///
/// # Errors
/// Fails if the server cannot be used.
pub fn clear_limits(
    server: &FleetServer,
    account: &str,
    agent: Option<&str>,
) -> Result<u64, FleetError> {
    let cleared = server.call("clear a usage limit", Repeat::Safe, async |call| {
        call.client
            .execute_typed(CLEAR, &[(&account, Type::TEXT), (&agent, Type::TEXT)])
            .await
    })?;
    Ok(cleared)
}

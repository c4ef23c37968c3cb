//! The budget of an account: its terms, and the shares that machines draw of it, by the server's day.

use tokio_postgres::types::Type;

use crate::fleet_error::FleetError;
use crate::server::{FleetServer, Repeat, SqlValue};
use std::time::Duration;

const DRAW: &str =
    "SELECT share_usd, most_usd, share_day, day_left_ms FROM watchdog.draw_share($1, $2, $3, $4)";

const TAKE_BACK: &str = "UPDATE watchdog.account SET drawn_usd = greatest(0, drawn_usd - $2) WHERE name = $1 AND day::text = $3";

const SET: &str = "INSERT INTO watchdog.account (name, max_cost_usd_per_day) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET max_cost_usd_per_day = excluded.max_cost_usd_per_day, changed_at = clock_timestamp()";

const READ: &str = "SELECT max_cost_usd_per_day, \
     CASE WHEN day = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN drawn_usd ELSE 0 END \
     FROM watchdog.account WHERE name = $1";

/// What holds the machines of an account together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AccountTerms {
    /// US dollars that its machines may spend in a day of the server, in UTC; `None` = no budget.
    pub max_usd_per_day: Option<f64>,
    /// US dollars of today that machines hold or spent.
    pub drawn_usd: f64,
}

/// A share that a machine drew.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetShare {
    /// US dollars; 0 where nothing is left.
    pub usd: f64,
    /// US dollars of the whole day.
    pub most_usd: f64,
    /// The day.
    pub day: String,
    /// How long the day lasts, in milliseconds.
    pub left_ms: i64,
}

/// The budget of an account.
///
/// # Errors
/// Where the server cannot be used.
pub fn account_terms(server: &FleetServer, account: &str) -> Result<AccountTerms, FleetError> {
    let found = server.call("read the budget", Repeat::Safe, async |call| {
        let row = call
            .client
            .query_typed_opt(READ, &[(&account, Type::TEXT)])
            .await?;
        row.map(|row| {
            Ok(AccountTerms {
                max_usd_per_day: row.try_get(0)?,
                drawn_usd: row.try_get(1)?,
            })
        })
        .transpose()
    })?;
    Ok(found.unwrap_or_default())
}

/// Sets the budget of an account, or removes it. What was drawn today stays drawn.
///
/// # Errors
/// Where the server cannot be used.
pub fn set_account_budget(
    server: &FleetServer,
    account: &str,
    max_usd_per_day: Option<f64>,
) -> Result<(), FleetError> {
    server.call("set the budget", Repeat::Safe, async |call| {
        call.client
            .execute_typed(
                SET,
                &[(&account, Type::TEXT), (&max_usd_per_day, Type::FLOAT8)],
            )
            .await
    })?;
    Ok(())
}

/// Draws a share within `deadline`; `None` where the account has no budget. `owed` = US dollars that this machine spent beyond what it drew of
/// `owed_of`, a day.
///
/// # Errors
/// Where the server cannot be used. A share whose answer was lost counts as spent.
pub fn draw_share(
    server: &FleetServer,
    deadline: Duration,
    account: &str,
    wanted_usd: f64,
    (owed, owed_of): (f64, &str),
) -> Result<Option<FleetShare>, FleetError> {
    let given = server.call_within(
        deadline,
        "draw a share of the budget",
        Repeat::Never,
        async |call| {
            let values: [SqlValue<'_>; 4] = [
                (&account, Type::TEXT),
                (&wanted_usd, Type::FLOAT8),
                (&owed, Type::FLOAT8),
                (&owed_of, Type::TEXT),
            ];
            let row = call.client.query_typed_opt(DRAW, &values).await?;
            row.map(|row| {
                Ok(FleetShare {
                    usd: row.try_get(0)?,
                    most_usd: row.try_get(1)?,
                    day: row.try_get(2)?,
                    left_ms: row.try_get(3)?,
                })
            })
            .transpose()
        },
    )?;
    Ok(given)
}

/// Gives back a part of what was drawn of a day, which this machine counts as its own no longer.
///
/// # Errors
/// Where the server cannot be used. It then counts as spent until the day ends.
pub fn take_share_back(
    server: &FleetServer,
    deadline: Duration,
    account: &str,
    usd: f64,
    day: &str,
) -> Result<(), FleetError> {
    server.call_within(
        deadline,
        "give back a share of the budget",
        Repeat::Never,
        async |call| {
            let values: [SqlValue<'_>; 3] = [
                (&account, Type::TEXT),
                (&usd, Type::FLOAT8),
                (&day, Type::TEXT),
            ];
            call.client.execute_typed(TAKE_BACK, &values).await
        },
    )?;
    Ok(())
}

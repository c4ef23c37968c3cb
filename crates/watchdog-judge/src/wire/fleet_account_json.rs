//! The account that machines of a fleet share, as JSON.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

/// A usage limit of an account.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct AccountLimitJson<'a> {
    /// The agent that it holds.
    pub agent: &'a str,
    /// Its end, by this machine's clock.
    pub until: Timestamp,
    /// The machine that met it.
    pub machine: &'a str,
}

/// Adds how an account stands to an object.
pub fn with_account_standing<'a>(
    mut account: Value,
    refreshed_at: Option<Timestamp>,
    limits: impl Iterator<Item = AccountLimitJson<'a>>,
    problems: impl Iterator<Item = &'a str>,
) -> Value {
    account["refreshed_at"] = refreshed_at.map(|at| at.to_string()).into();
    account["limits"] = json!(limits.collect::<Vec<_>>());
    account["problems"] = problems.collect();
    account
}

/// `watchdog fleet account --json`, without what the account holds. `used_here` = this machine works on it.
pub fn fleet_account_json(joined: bool, name: Option<&str>, used_here: bool) -> Value {
    json!({"schema": 1, "joined": joined, "account": name, "used_here": used_here})
}

/// `watchdog fleet account --clear-limit --json`.
pub fn cleared_limits_json(account: &str, cleared: u64, server_knows: bool) -> Value {
    json!({"schema": 1, "joined": true, "account": account, "cleared": cleared, "server_knows": server_knows})
}

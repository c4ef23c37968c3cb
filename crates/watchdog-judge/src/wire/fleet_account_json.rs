//! The account that machines of a fleet share, as JSON.

use jiff::Timestamp;
use serde_json::{Value, json};
use watchdog_store::account::AccountLimit;

/// Adds how an account stands to an object.
pub fn with_account_standing<'a>(
    mut account: Value,
    refreshed_at: Option<Timestamp>,
    limits: &[AccountLimit],
    problems: impl Iterator<Item = &'a str>,
) -> Value {
    account["refreshed_at"] = refreshed_at.map(|at| at.to_string()).into();
    account["limits"] = json!(limits);
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

//! The account that machines of a fleet share, as JSON.

use jiff::Timestamp;
use serde_json::{Value, json};

/// A usage limit of an account.
#[derive(Debug, Clone, Copy)]
pub struct AccountLimitJson<'a> {
    /// The agent that it holds.
    pub agent: &'a str,
    /// Its end, by this machine's clock.
    pub until: Timestamp,
    /// The machine that met it.
    pub machine: &'a str,
}

/// The budget of an account.
#[derive(Debug, Clone, Copy)]
pub struct AccountBudgetJson {
    /// US dollars that its machines may spend in a day.
    pub max_usd_per_day: Option<f64>,
    /// US dollars of today that its machines hold or spent.
    pub drawn_usd: f64,
    /// US dollars that this machine may spend without asking.
    pub free_here_usd: Option<f64>,
}

/// `watchdog fleet account --json` of an account that machines share. `used_here` = this machine works on it.
pub fn shared_account_json<'a>(
    name: &str,
    used_here: bool,
    budget: AccountBudgetJson,
    limits: impl Iterator<Item = AccountLimitJson<'a>>,
) -> Value {
    let mut account = fleet_account_json(Some(name), used_here, limits);
    account["budget"] = json!({
        "max_cost_usd_per_day": budget.max_usd_per_day,
        "drawn_today_usd": budget.drawn_usd,
        "free_here_usd": budget.free_here_usd,
    });
    account
}

/// `watchdog fleet account --json`. `used_here` = this machine works on it.
pub fn fleet_account_json<'a>(name: Option<&str>, used_here: bool, limits: impl Iterator<Item = AccountLimitJson<'a>>) -> Value {
    let limits = limits.map(|limit| json!({"agent": limit.agent, "until": limit.until.to_string(), "machine": limit.machine}));
    json!({"schema": 1, "joined": true, "account": name, "used_here": used_here, "limits": limits.collect::<Vec<_>>()})
}

/// `watchdog fleet account --clear-limit --json`.
pub fn cleared_limits_json(account: &str, cleared: u64, server_knows: bool) -> Value {
    json!({"schema": 1, "joined": true, "account": account, "cleared": cleared, "server_knows": server_knows})
}

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
pub struct AccountBudgetJson<'a> {
    /// US dollars that its machines may spend in a day.
    pub max_usd_per_day: f64,
    /// US dollars of today that its machines hold or spent.
    pub drawn_usd: Option<f64>,
    /// US dollars that this machine may spend without asking.
    pub free_here_usd: f64,
    /// US dollars that sessions and questions of this machine hold.
    pub held_here_usd: f64,
    /// US dollars that this machine spent today.
    pub spent_here_usd: f64,
    /// The end of the server's day.
    pub ends_at: Option<Timestamp>,
    /// Why the server gave this machine nothing the last time.
    pub unreached: Option<&'a str>,
}

/// How an account stands.
#[derive(Debug, Clone, Copy)]
pub struct AccountStandingJson<'a> {
    /// When the server was asked last.
    pub refreshed_at: Option<Timestamp>,
    /// Its budget.
    pub budget: Option<AccountBudgetJson<'a>>,
}

/// Adds how an account stands to an object.
pub fn with_account_standing<'a>(
    mut account: Value,
    standing: &AccountStandingJson<'_>,
    limits: impl Iterator<Item = AccountLimitJson<'a>>,
    problems: impl Iterator<Item = &'a str>,
) -> Value {
    account["refreshed_at"] = standing.refreshed_at.map(|at| at.to_string()).into();
    account["limits"] = limits_json(limits);
    account["budget"] = standing.budget.map_or(Value::Null, |budget| {
        json!({
            "max_cost_usd_per_day": budget.max_usd_per_day,
            "drawn_today_usd": budget.drawn_usd,
            "free_here_usd": budget.free_here_usd,
            "held_here_usd": budget.held_here_usd,
            "spent_here_usd": budget.spent_here_usd,
            "ends_at": budget.ends_at.map(|end| end.to_string()),
            "unreached": budget.unreached,
        })
    });
    account["problems"] = problems.collect();
    account
}

fn limits_json<'a>(limits: impl Iterator<Item = AccountLimitJson<'a>>) -> Value {
    limits.map(|limit| json!({"agent": limit.agent, "until": limit.until.to_string(), "machine": limit.machine})).collect()
}

/// `watchdog fleet account --json`, without what the account holds. `used_here` = this machine works on it.
pub fn fleet_account_json(joined: bool, name: Option<&str>, used_here: bool) -> Value {
    json!({"schema": 1, "joined": joined, "account": name, "used_here": used_here})
}

/// `watchdog fleet account --clear-limit --json`.
pub fn cleared_limits_json(account: &str, cleared: u64, server_knows: bool) -> Value {
    json!({"schema": 1, "joined": true, "account": account, "cleared": cleared, "server_knows": server_knows})
}

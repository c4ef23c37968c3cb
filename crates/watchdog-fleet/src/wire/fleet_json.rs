//! A fleet as JSON: what `watchdog fleet` prints, and the file that says which one this machine is in.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;
use serde_json::{Value, json};

use watchdog_store::account::AccountLimit;
use watchdog_store::engine::StoredEvent;
use watchdog_store::verdict_parts::{as_answer, as_json};

/// The newest form of the files that this program reads.
const SETTING_VERSION: u64 = 1;

/// Which fleet this machine is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetSettingFields {
    /// Its name there.
    pub name: String,
    /// Names its state, so that a namesake is told from it.
    pub machine_id: String,
    /// The server's address with everything that is needed to connect, passwords included.
    pub address: String,
    /// The account that it shares with other machines; `None` where its account is its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

/// The text of the file.
pub fn fleet_setting_text(setting: &FleetSettingFields) -> String {
    versioned_text(as_json(setting))
}

fn versioned_text(mut object: Value) -> String {
    object["v"] = SETTING_VERSION.into();
    format!("{object:#}\n")
}

/// The setting of such a text.
///
/// # Errors
/// Says why it cannot be read, without repeating what it holds.
pub fn read_fleet_setting(text: &str) -> Result<FleetSettingFields, String> {
    let value = parse_versioned(text)?;
    let field = |name: &str| text_field(&value, name);
    let account = value["account"].as_str().map(str::to_owned);
    Ok(FleetSettingFields {
        name: field("name")?,
        machine_id: field("machine_id")?,
        address: field("address")?,
        account,
    })
}

/// A repository of this machine that its fleet shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedRepository {
    /// Names the repository on this machine.
    pub local: String,
    /// Its name in the fleet, the same on every machine.
    pub id: String,
    /// The remote over which work travels, by its name here.
    pub remote: String,
    /// The address of that remote when the person shared it; it may hold a password.
    pub url: String,
}

/// The text of the file that lists shared repositories.
pub fn shared_repositories_text(shared: &[SharedRepository]) -> String {
    versioned_text(json!({"repositories": shared}))
}

/// The repositories of such a text.
///
/// # Errors
/// Says why it cannot be read, without repeating what it holds.
pub fn read_shared_repositories(text: &str) -> Result<Vec<SharedRepository>, String> {
    let value = parse_versioned(text)?;
    let listed = value["repositories"]
        .as_array()
        .ok_or("it has no list 'repositories'")?;
    let parse_repository = |value: &Value| {
        let field = |name: &str| text_field(value, name);
        Ok(SharedRepository {
            local: field("local")?,
            id: field("id")?,
            remote: field("remote")?,
            url: field("url")?,
        })
    };
    listed.iter().map(parse_repository).collect()
}

fn parse_versioned(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| format!("it is no JSON (line {})", error.line()))?;
    match value["v"].as_u64() {
        Some(SETTING_VERSION) => Ok(value),
        Some(newer) if newer > SETTING_VERSION => Err(format!(
            "it has format {newer}, and this watchdog knows {SETTING_VERSION}"
        )),
        _ => Err("it names no format".into()),
    }
}

fn text_field(value: &Value, name: &str) -> Result<String, String> {
    value[name]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| format!("it has no text '{name}'"))
}

/// `watchdog fleet init --json`.
pub fn fleet_made_json(
    server: &str,
    database: &str,
    from: Option<i32>,
    format: i32,
    worker: Option<&str>,
) -> Value {
    json!({"schema": 1, "server": server, "database": database, "from": from, "format": format, "worker": worker})
}

/// `watchdog fleet join --json`, and of `leave`.
pub fn fleet_joined_json(
    (joined, account): (bool, Option<&str>),
    machine: &str,
    server: &str,
    server_knows: bool,
) -> Value {
    json!({"schema": 1, "joined": joined, "machine": machine, "account": account, "server": server, "server_knows": server_knows})
}

/// `watchdog fleet status --json` of a machine that is in none.
pub fn no_fleet_json() -> Value {
    json!({"schema": 1, "joined": false})
}

/// `watchdog fleet sync --json`. `busy` = another process of this machine copies at the moment.
pub fn fleet_synced_json(
    machine: &str,
    server: &str,
    copied: u64,
    missed: u64,
    busy: bool,
) -> Value {
    json!({"schema": 1, "joined": true, "machine": machine, "server": server, "copied": copied, "missed": missed, "busy": busy})
}

/// `watchdog fleet prune --json`.
pub fn fleet_pruned_json(events: u64, bytes_left: u64) -> Value {
    json!({"schema": 1, "dropped": {"events": events}, "kept": {"bytes": bytes_left}})
}

/// A machine of the fleet.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct FleetMachineJson<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is this one.
    #[serde(rename = "this")]
    pub is_this: bool,
    /// The version of its watchdog.
    pub program: &'a str,
    /// When it joined.
    pub joined_at: Timestamp,
    /// Its last heartbeat.
    pub seen_at: Timestamp,
    /// Seconds since then, by the server's clock.
    pub silent_seconds: u64,
    /// How far its clock was ahead of the server's, in milliseconds.
    pub clock_ahead_ms: i64,
}

/// `watchdog fleet status --json`. Facts of the server are `null` if it could not be asked.
#[derive(Debug, Serialize)]
pub struct FleetStatusJson<'a> {
    /// That this machine is in a fleet.
    pub joined: bool,
    /// This machine's name.
    pub machine: &'a str,
    /// The account that it shares; `None` where its account is its own.
    pub account: Option<&'a str>,
    /// Hosts and ports.
    pub server: String,
    /// The database.
    pub database: &'a str,
    /// The role.
    pub user: &'a str,
    /// The server's version.
    pub version: Option<&'a str>,
    /// The format of the tables.
    pub format: Option<i32>,
    /// The format that this program needs.
    pub known_format: i32,
    /// Whether the connection is over TLS.
    pub tls: Option<bool>,
    /// How much of TLS was asked for.
    pub sslmode: &'a str,
    /// Whether a pooler is in between.
    pub pooler: Option<bool>,
    /// Whether it takes no writes.
    pub read_only: Option<bool>,
    /// How far this machine's clock is ahead of the server's.
    pub clock_ahead_ms: Option<i64>,
    /// Rights that the role lacks.
    pub missing_rights: Option<&'a [String]>,
    /// What waits to be copied.
    pub copies: WaitingCopies,
    /// What the server keeps; `None` where that cannot be read.
    pub events: Option<KeptEventsJson>,
    /// Whether somebody took this machine out.
    pub removed: Option<bool>,
    /// The machines that joined.
    pub machines: Option<Vec<FleetMachineJson<'a>>>,
    /// How the account of this machine stands.
    pub account_standing: Value,
    /// The repositories that this machine shares.
    pub repositories: Vec<SharedRepositoryJson<'a>>,
}

/// The waiting copies of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WaitingCopies {
    /// Events of this machine's journal that were not copied yet, those that stay here included; counted up to 10,000.
    #[serde(rename = "waiting")]
    pub events: usize,
    /// Events that were deleted for their age before they were copied.
    pub missed: u64,
    /// Since when the server has taken nothing.
    pub failing_since: Option<Timestamp>,
}

/// The day of the oldest event that the server keeps, and the bytes of all.
#[derive(Debug, Serialize)]
pub struct KeptEventsJson {
    /// That day.
    pub oldest: Option<Date>,
    /// Those bytes.
    pub bytes: u64,
}

/// A repository that this machine shares.
#[derive(Debug, Serialize)]
pub struct SharedRepositoryJson<'a> {
    /// Names it in the fleet.
    pub id: &'a str,
    /// The remote over which work travels.
    pub remote: &'a str,
    /// The address of that remote, without credentials.
    pub address: String,
}

/// Adds the repository to `watchdog fleet join --json`: the id under which it is shared, and the
/// remote. Without it, the repository is not shared.
pub fn with_shared_repository(mut joined: Value, shared: Option<&SharedRepository>) -> Value {
    joined["repository"] = shared.map_or(
        Value::Null,
        |shared| json!({"id": shared.id, "remote": shared.remote}),
    );
    joined
}

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

/// An event of another machine, or of this one as its fleet has it: with the machine's name.
pub fn fleet_event_json(event: &StoredEvent) -> Value {
    let mut object = as_answer(event);
    object["machine"] = event.data["machine"].clone();
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_fleet_setting_is_refused_without_its_content() {
        let setting = |account: Option<&str>| FleetSettingFields {
            name: "a".into(),
            machine_id: "7".into(),
            address: "postgres://u:hush@h/x".into(),
            account: account.map(str::to_owned),
        };
        assert_eq!(
            read_fleet_setting(&fleet_setting_text(&setting(Some("team")))),
            Ok(setting(Some("team")))
        );
        let text = fleet_setting_text(&setting(None));
        assert_eq!(read_fleet_setting(&text), Ok(setting(None)));
        for (text, why) in [
            (text.replace("\"v\": 1", "\"v\": 2"), "format 2"),
            (text.replace("\"name\"", "\"nome\""), "no text 'name'"),
            (text.replace('{', ""), "no JSON"),
            ("{}".into(), "names no format"),
        ] {
            let error = read_fleet_setting(&text).unwrap_err();
            assert!(error.contains(why) && !error.contains("hush"), "{error}");
        }
    }
}

//! The setup of watchdog as JSON: the output of `watchdog init`, and of `watchdog hook install` and
//! `uninstall`.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// The outcome of a first configuration.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct InitReport<'a> {
    /// The file that was written; `None` where nothing was.
    pub written: Option<&'a str>,
    /// The fingerprint that is trusted.
    pub trusted: Option<&'a str>,
    /// The text of the file; `None` where there is nothing to write.
    #[serde(rename = "proposed", serialize_with = "write_json")]
    pub text: Option<&'a str>,
    /// The further choices, for people.
    pub offered: &'a [String],
    /// Notes for a person.
    pub notes: &'a [String],
    /// The checks that were run.
    pub tried: &'a [TriedCheck],
    /// The command to type next.
    pub next: &'a str,
}

/// A check that was run.
#[derive(Debug, Clone, Serialize)]
pub struct TriedCheck {
    /// Its name.
    pub name: String,
    /// The word for how it ended.
    pub outcome: &'static str,
    /// What is missing.
    pub feedback: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// The object in a text that the parser of configurations read before.
fn write_json<S: Serializer>(text: &Option<&str>, to: S) -> Result<S::Ok, S::Error> {
    let object: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    object.serialize(to)
}

/// `watchdog init --cron --json`: a line for cron, two units for systemd, and what a person should know of them.
pub fn cron_json(crontab: &str, service: &str, timer: &str, notes: &[String]) -> Value {
    json!({"schema": 1, "crontab": crontab, "service": service, "timer": timer, "notes": notes})
}

/// An edit of the settings that name hooks. `others` = entries of other people, which stay as they are; `needs` = what a person must do
/// besides; `switched_off` = the setting with which no hook runs.
pub fn hook_settings_json(
    agent: &str,
    file: &str,
    changed: bool,
    dry_run: bool,
    others: &[String],
    (needs, switched_off): (Option<&str>, Option<&str>),
    diff: &str,
) -> Value {
    json!({"schema": 1, "agent": agent, "file": file, "changed": changed, "dry_run": dry_run, "others": others, "needs": needs, "switched_off": switched_off, "diff": diff})
}

//! The setup of watchdog as JSON: the output of `watchdog init`, and of `watchdog hook install` and
//! `uninstall`.

use serde::{Serialize, Serializer};
use serde_json::Value;

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

/// `watchdog init --cron --json`.
#[derive(Serialize)]
pub struct CronSetup<'a> {
    /// A line for cron.
    pub crontab: &'a str,
    /// A unit of systemd.
    pub service: &'a str,
    /// A unit of systemd that starts the other.
    pub timer: &'a str,
    /// Notes for a person.
    pub notes: &'a [String],
}

/// An edit of the settings that name an agent's hooks.
#[derive(Debug, Clone, Serialize)]
pub struct EditedSettings {
    /// The agent.
    pub agent: &'static str,
    /// The settings file.
    pub file: String,
    /// Whether there was anything to change.
    pub changed: bool,
    /// Whether it was only shown.
    pub dry_run: bool,
    /// The entries of other people, which stay as they are.
    pub others: Vec<String>,
    /// A person's further step.
    pub needs: Option<&'static str>,
    /// The setting with which no hook runs.
    pub switched_off: Option<String>,
    /// The lines that change.
    pub diff: String,
}

/// The edits of the settings of several agents.
#[derive(Debug, Clone, Serialize)]
pub struct EditedAgents {
    /// The edits, by agent.
    pub agents: Vec<EditedSettings>,
}

//! Trust in files that name commands as JSON: the output of `watchdog trust` and `untrust`, and the events of whatever only a person may do.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::verdict_json::as_json;
use watchdog_store::trust::TrustGrant;

/// A grant, as in a list.
#[derive(Serialize)]
struct GrantView<'a> {
    hash: &'a str,
    path: String,
    commands: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
}

impl<'a> From<&'a TrustGrant> for GrantView<'a> {
    fn from(grant: &'a TrustGrant) -> Self {
        GrantView {
            hash: &grant.hash,
            path: grant.path.display().to_string(),
            commands: &grant.commands,
            repository: None,
            at: None,
        }
    }
}

/// `watchdog trust --json` of one file.
pub fn trusted_json(grant: &TrustGrant) -> Value {
    json!({"schema": 1, "trusted": grant.hash, "path": grant.path.display().to_string(), "commands": grant.commands})
}

/// `watchdog trust --json` of a folder of tasks.
pub fn trusted_tasks_json(grants: &[TrustGrant]) -> Value {
    let grants: Vec<_> = grants.iter().map(GrantView::from).collect();
    json!({"schema": 1, "trusted": grants})
}

/// `watchdog trust --list --json`: what is trusted in any repository.
pub fn all_trusted_json(grants: &[TrustGrant]) -> Value {
    let view = grants.iter().map(|grant| GrantView {
        repository: Some(grant.repository.display().to_string()),
        at: Some(grant.at),
        ..grant.into()
    });
    json!({"schema": 1, "trusted": view.collect::<Vec<_>>()})
}

/// `watchdog untrust --json`: how many grants went.
pub fn revoked_json(revoked: usize) -> Value {
    json!({"schema": 1, "revoked": revoked})
}

/// A person's deed that moves the criteria of work, or was tried from inside of a session.
#[derive(Serialize)]
#[serde(untagged)]
pub enum PersonDeed<'a> {
    /// The command came from inside of a session.
    FromSession {
        /// The spec of that session.
        #[serde(rename = "from_session")]
        spec: &'a str,
        /// Whether it was refused.
        refused: bool,
    },
    /// A file was trusted.
    Trusted {
        /// The file, from the root of the work tree.
        path: String,
        /// The fingerprint of its bytes.
        hash: &'a str,
    },
    /// Trust in a file was taken back.
    Revoked {
        /// The file, from the root of the work tree.
        path: String,
        /// How many grants went.
        revoked: usize,
    },
    /// The criteria of a commit were accepted.
    Accepted {
        /// The commit, or `unborn`.
        #[serde(rename = "accepted")]
        baseline: &'a str,
        /// The spec whose criteria they are.
        spec: &'a str,
    },
}

/// Such a deed, with the command that did it, as an event has it.
pub fn person_deed_data(command: &str, deed: &PersonDeed<'_>) -> Value {
    let mut data = as_json(deed);
    data["command"] = command.into();
    data
}

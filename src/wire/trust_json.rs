//! Trust in files that name commands as JSON: the output of `watchdog trust` and `untrust`, and the events of whatever only a person may do.

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_store::trust::TrustGrant;

/// `watchdog trust --json` of one file.
pub fn trusted_json(grant: &TrustGrant) -> Value {
    json!({"schema": 1, "trusted": grant.hash, "path": grant.path.display().to_string(), "commands": grant.commands})
}

/// `watchdog trust --json` of a folder of tasks.
pub fn trusted_tasks_json(grants: &[TrustGrant]) -> Value {
    let grants =
        grants.iter().map(|grant| json!({"hash": grant.hash, "path": grant.path.display().to_string(), "commands": grant.commands}));
    json!({"schema": 1, "trusted": grants.collect::<Vec<_>>()})
}

/// `watchdog trust --list --json`: what is trusted in any repository.
pub fn all_trusted_json(grants: &[TrustGrant]) -> Value {
    let grants = grants.iter().map(|grant| {
        json!({
            "hash": grant.hash,
            "repository": grant.repository.display().to_string(),
            "path": grant.path.display().to_string(),
            "at": grant.at.to_string(),
            "commands": grant.commands,
        })
    });
    json!({"schema": 1, "trusted": grants.collect::<Vec<_>>()})
}

/// `watchdog untrust --json`: how many grants went.
pub fn revoked_json(revoked: usize) -> Value {
    json!({"schema": 1, "revoked": revoked})
}

/// What a person did that moves what work is judged by, or tried to do from inside of a session.
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
    let mut data = json!(deed);
    data["command"] = json!(command);
    data
}

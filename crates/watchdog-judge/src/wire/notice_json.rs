//! A notification as JSON: what is sent, and the event that says whether it arrived. See `docs/events.md`.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use watchdog_facts::verdict::Reason;
use watchdog_store::engine::StoredEvent;
use watchdog_store::journal::kind;

use super::event_json::event_json;

/// The kind of a test notice that is no sample of another.
const TEST: &str = "test";

/// Writes the JSON for a command or an address: the event, and the worktree's folder, which the
/// event names by an id alone.
pub fn notice_json(event: &StoredEvent, path: &str) -> Value {
    let mut notice = event_json(event);
    notice["path"] = path.into();
    notice
}

/// The end of a delivery, as an event has it. `why` = why it failed; `to` = the receiver without secrets.
pub fn delivery_data(notice: &Value, attempts: u32, why: Option<&str>, to: &str) -> Value {
    json!({
        "event": notice["id"],
        "kind": notice["kind"],
        "delivered": why.is_none(),
        "attempts": attempts,
        "why": why,
        "to": to,
    })
}

/// A test notice: its kind and its data. With a word it is a sample of what that word selects, which says that it is one.
pub fn test_notice(on: Option<&str>) -> (&str, Value) {
    let mut data = json!({"message": "this is a test notice, sent by `watchdog notify test`; nothing happened", "test": true});
    let Some(word) = on else { return (TEST, data) };
    let verdict = Reason::ALL.iter().find(|reason| {
        word == reason.as_str() || word == reason.status().as_str() || word == kind::VERDICT
    });
    let Some(reason) = verdict else {
        if word == kind::BREAKER {
            data["state"] = "open".into();
        }
        return (word, data);
    };
    data["status"] = reason.status().as_str().into();
    data["reason"] = reason.as_str().into();
    (kind::VERDICT, data)
}

/// A receiver of a test notice.
#[derive(Serialize)]
pub struct TestedReceiver {
    /// The receiver, without secrets.
    pub to: String,
    /// The kind of receiver.
    pub form: String,
    /// The words about which it is told.
    pub on: Vec<String>,
    /// Whether it had the notice.
    pub delivered: bool,
    /// Why not.
    pub why: Option<String>,
    /// The next step then.
    pub hint: Option<&'static str>,
    /// The note for a person, despite success.
    pub note: Option<&'static str>,
    /// How long the attempt took.
    #[serde(rename = "duration_ms", with = "watchdog_facts::millis")]
    pub duration: Duration,
}

/// The outcome of a test, for `watchdog notify test --json`.
pub fn tested_json(tested: &[TestedReceiver]) -> Value {
    let failed = tested
        .iter()
        .filter(|receiver| receiver.why.is_some())
        .count();
    json!({"schema": 1, "delivered": tested.len() - failed, "failed": failed, "receivers": tested})
}

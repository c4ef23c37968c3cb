//! A notification as JSON: what is sent, and the event that says whether it arrived. See `docs/events.md`.

use serde_json::{Value, json};

use watchdog_store::engine::StoredEvent;

use super::event_json::event_json;

/// What a command or an address is sent: the event, and the worktree's folder, which the event names by an id alone.
pub fn notice_json(event: &StoredEvent, path: &str) -> Value {
    let mut notice = event_json(event);
    notice["path"] = json!(path);
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

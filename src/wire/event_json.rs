//! The JSON of an event: for `watchdog events --json`, and for notifications. See `docs/events.md`.

use serde_json::{Value, json};

use watchdog_store::engine::StoredEvent;

/// The object of `docs/schema/event.json`.
pub fn event_json(event: &StoredEvent) -> Value {
    json!({
        "schema": 1,
        "id": event.id,
        "at": event.at.to_string(),
        "worktree": event.worktree,
        "spec": event.spec,
        "kind": event.kind,
        "data": event.data,
    })
}

/// JSON Schema (2020-12) of an event.
pub const EVENT_SCHEMA: &str = include_str!("../../docs/schema/event.json");

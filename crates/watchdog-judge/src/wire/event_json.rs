//! The JSON of an event: for `watchdog events --json`, and for notifications. See `docs/events.md`.

use serde_json::Value;

use watchdog_store::engine::StoredEvent;
use watchdog_store::verdict_parts::as_answer;

/// The object of `docs/schema/event.json`.
pub fn event_json(event: &StoredEvent) -> Value {
    as_answer(event)
}

/// JSON Schema (2020-12) of an event.
pub const EVENT_SCHEMA: &str = include_str!("../../../../docs/schema/event.json");

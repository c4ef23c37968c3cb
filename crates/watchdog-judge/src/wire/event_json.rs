//! The JSON of an event: for `watchdog events --json`, and for notifications. See `docs/events.md`.

use serde_json::Value;

use watchdog_store::engine::StoredEvent;
use watchdog_store::verdict_parts::as_answer;

/// The object of `docs/schema/event.json`.
pub fn event_json(event: &StoredEvent) -> Value {
    as_answer(event)
}

/// The same of an event of another machine, or of this one as its fleet has it: with the machine's name.
#[cfg(feature = "fleet")]
pub fn fleet_event_json(event: &StoredEvent) -> Value {
    let mut object = event_json(event);
    object["machine"] = event.data["machine"].clone();
    object
}

/// JSON Schema (2020-12) of an event.
pub const EVENT_SCHEMA: &str = include_str!("../../../../docs/schema/event.json");

//! A command that could not do its work as JSON, for whoever waits for a result.

use serde_json::{Value, json};

use watchdog_facts::verdict::Status;

/// A failure that the command says by itself.
pub fn failure_json(reason: &str, message: &str, hint: Option<&str>) -> Value {
    json!({
        "schema": 1,
        "status": Status::Error,
        "reason": reason,
        "complete": false,
        "message": message,
        "hint": hint,
    })
}

/// Adds the failure's members to the facts that are known all the same.
pub fn with_failure(mut document: Value, failure: Value) -> Value {
    if let (Some(members), Value::Object(failure)) = (document.as_object_mut(), failure) {
        members.extend(failure);
    }
    document
}

/// A panic, which is a bug: nobody is left who could say more.
pub fn panicked_json() -> Value {
    json!({"schema": 1, "status": Status::Error, "reason": "bug", "complete": false, "message": "watchdog panicked"})
}

//! Whether a value meets a JSON Schema. A build without the feature `jsonschema` reports that in place of judging by one.

use serde_json::Value;

#[cfg(feature = "jsonschema")]
use super::feedback::{cut_feedback, one_line};

/// Faults that are named at most.
#[cfg(feature = "jsonschema")]
const NAMED: usize = 10;

/// The violations of the schema; empty where the value is valid. Follows no references to other documents.
///
/// # Errors
/// The mistake in the schema.
#[cfg(feature = "jsonschema")]
pub(super) fn list_violations(schema: &Value, value: &Value) -> Result<Vec<String>, String> {
    let shown = |text: String| cut_feedback(one_line(&text), 300);
    let validator = jsonschema::validator_for(schema).map_err(|error| shown(error.to_string()))?;
    let named = validator.iter_errors(value).take(NAMED).map(|error| {
        let at = error.instance_path().to_string();
        shown(if at.is_empty() {
            error.to_string()
        } else {
            format!("{at}: {error}")
        })
    });
    Ok(named.collect())
}

/// Judges nothing.
///
/// # Errors
/// Always: this build knows no schemas.
#[cfg(not(feature = "jsonschema"))]
pub(super) fn list_violations(_: &Value, _: &Value) -> Result<Vec<String>, String> {
    Err("this watchdog was built without JSON Schema: build it with --features jsonschema".into())
}

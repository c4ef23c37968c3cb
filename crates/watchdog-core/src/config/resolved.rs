//! Settings back to JSON: the lowered configuration, with every default written out. Reading it again gives the same settings.

use serde_json::Value;

use super::elements::TOP;
use super::settings::ConfigSettings;

/// The settings as a version 1 configuration.
pub fn to_json(settings: &ConfigSettings) -> Value {
    TOP.write(settings.clone()).into()
}

#[cfg(test)]
#[path = "resolved_tests.rs"]
mod tests;

//! The JSON Schema of `completion.json`, for editors and for other programs. The reader does not use it: its messages are better.

/// JSON Schema (2020-12) of a configuration file.
pub const SCHEMA: &str = include_str!("../../../../docs/schema/config.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::elements::{TOP, agent, breaker, check_list, completion_check, flat_keys, limits, notification, rescue, tasks};
    use super::super::parse::DIALECTS;
    use super::super::to_json;
    use super::*;
    use crate::config::settings::ConfigSettings;

    fn schema() -> Value {
        serde_json::from_str(SCHEMA).unwrap()
    }

    #[track_caller]
    fn same_keys(place: &Value, keys: impl IntoIterator<Item = &'static str>) {
        let described: BTreeSet<&str> = place["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, keys.into_iter().collect::<BTreeSet<_>>());
        assert_eq!(place["additionalProperties"], false);
    }

    #[test]
    fn the_schema_knows_the_keys_that_the_reader_knows() {
        let schema = schema();
        let blocks = &schema["properties"];
        same_keys(&schema, [&TOP.names(), &flat_keys::BLOCK.names(), DIALECTS].concat());
        same_keys(&blocks["completion_check"], completion_check::BLOCK.names());
        same_keys(&blocks["agent"], agent::BLOCK.names());
        same_keys(&blocks["agents"]["items"], agent::ENTRY.names());
        same_keys(&blocks["rescue"], rescue::BLOCK.names());
        same_keys(&blocks["breaker"], breaker::BLOCK.names());
        same_keys(&blocks["limits"], limits::BLOCK.names());
        same_keys(&blocks["tasks"], tasks::BLOCK.names());
        same_keys(&blocks["notify"]["items"], notification::BLOCK.names());
        assert_eq!(blocks["notify"]["items"]["properties"]["on"]["items"]["enum"], serde_json::json!(notification::notification_words()));
        for kind in check_list::TYPES {
            let described = &schema["$defs"][kind.word()];
            same_keys(described, kind.rows().iter().map(|row| row.key).chain(["type", "name"]));
            assert_eq!(described["properties"]["type"]["const"], kind.word());
        }
    }

    /// Each `default` that the schema states, by the path of its key.
    fn defaults(place: &Value, path: &str, found: &mut Vec<(String, Value)>) {
        for (key, value) in place["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}/{key}");
            if let Some(default) = value.get("default") {
                found.push((path.clone(), default.clone()));
            }
            defaults(value, &path, found);
        }
    }

    #[test]
    fn the_schema_states_the_defaults_that_the_reader_fills_in() {
        let mut stated = Vec::new();
        defaults(&schema(), "", &mut stated);
        assert!(stated.len() > 25, "{}", stated.len());
        let filled_in = to_json(&ConfigSettings::default());
        for (path, default) in stated {
            assert_eq!(filled_in.pointer(&path), Some(&default), "{path}");
        }
    }
}

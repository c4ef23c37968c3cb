//! The JSON Schema of `completion.json`, made from the tables of keys, for editors and for other programs. The reader does not use it:
//! its messages are better.

use serde_json::{Map, Value, json};

use super::elements::{TOP, behavior, check_list, completion_block, flat_keys};

/// JSON Schema (2020-12) of a configuration file.
pub fn build_config_schema() -> Value {
    let mut schema = TOP.schema();
    let dialects = [
        ("completion", completion_block::build_completion_schema()),
        ("behavior", behavior::build_behavior_schema()),
    ];
    if let (Some(keys), Value::Object(mut flat)) = (
        schema["properties"].as_object_mut(),
        flat_keys::BLOCK.schema()["properties"].take(),
    ) {
        keys.append(&mut flat);
        keys.extend(dialects.map(|(key, schema)| (key.to_owned(), schema)));
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "completion.json".into();
    schema["description"] = "The configuration of watchdog, version 1. What this schema cannot say, such as contradictions between dialects, the program says.".into();
    schema["$defs"] = build_definitions().into();
    schema
}

/// The definitions that kinds of values and types of checks refer to.
fn build_definitions() -> Map<String, Value> {
    let mut definitions = check_list::build_check_definitions();
    let inside = "^[/\\\\]|(^|[/\\\\])\\.\\.([/\\\\]|$)";
    let upwards = "(^|[/\\\\])\\.\\.([/\\\\]|$)";
    let values = json!({
        "argv": {
            "type": "array", "minItems": 1, "prefixItems": [{"type": "string", "pattern": "\\S"}], "items": {"type": "string"},
            "description": "the program and its arguments",
        },
        "command_line": {
            "oneOf": [{"type": "string", "pattern": "\\S", "description": "run by sh -c"}, {"$ref": "#/$defs/argv"}],
        },
        "inside_path": {
            "type": "string", "pattern": "\\S", "not": {"pattern": inside},
            "description": "inside the worktree, relative to its root",
        },
        "file_path": {
            "type": "string", "pattern": "\\S", "not": {"pattern": upwards},
            "description": "inside the worktree, relative to its root, or absolute",
        },
    });
    if let Value::Object(mut values) = values {
        definitions.append(&mut values);
    }
    definitions
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{parse_config, to_json};
    use super::*;

    /// Files that are right: the examples of the pages for users, the contract's file, and this repository's own.
    fn right() -> Vec<&'static str> {
        let pages = [
            include_str!("../../../../docs/configuration.md"),
            include_str!("../../../../docs/notifications.md"),
        ];
        let page = pages
            .into_iter()
            .flat_map(|page| page.split("```json\n").skip(1));
        let contract = include_str!("../../../../tests/fixtures/config/contract.json");
        let own = include_str!("../../../../completion.json");
        page.filter_map(|after_fence| after_fence.split("```").next())
            .chain([contract, own])
            .collect()
    }

    const WRONG: &[&str] = &[
        r#"{"max_probes": 1}"#,
        r#"{"breaker": {"limit": 0}}"#,
        r#"{"rescue": {"mode": "none"}}"#,
        r#"{"limits": {"max_iterations": null}}"#,
        r#"{"guards": ["../a"]}"#,
        r#"{"agents": [{"role": "a"}]}"#,
        r#"{"notify": [{"on": ["failed"]}]}"#,
        r#"{"notify": [{"on": ["failed"], "desktop": true, "mail": "a@b"}]}"#,
        r#"{"notify": [{"on": ["failed"], "desktop": true, "template": "slack"}]}"#,
        r#"{"notify": [{"on": ["failed"], "mail": "nobody"}]}"#,
        r#"{"completion": {}}"#,
        r#"{"checks": [{"type": "command"}]}"#,
        r#"{"checks": [{"type": "git", "path": "a"}]}"#,
        r#"{"checks": [{"type": "issue"}]}"#,
        r#"{"checks": [{"type": "structured"}]}"#,
        r#"{"checks": [{"type": "plan", "done": []}]}"#,
        r#"{"checks": [{"mode": "any", "checks": []}]}"#,
    ];

    #[test]
    fn documented_schema_matches_the_program() {
        let documented: Value =
            serde_json::from_str(include_str!("../../../../docs/schema/config.json")).unwrap();
        assert_eq!(documented, build_config_schema());
    }

    #[test]
    fn schema_and_reader_agree_on_whole_files() {
        let validator = jsonschema::draft202012::new(&build_config_schema()).unwrap();
        let allows = |text: &str| validator.is_valid(&serde_json::from_str(text).unwrap());
        assert!(right().len() > 8, "{}", right().len());
        for text in right() {
            let read = parse_config(text, Path::new("c")).unwrap().settings;
            assert!(allows(text), "{text}");
            assert!(
                validator.is_valid(&to_json(&read)),
                "as it is resolved: {text}"
            );
        }
        for text in WRONG {
            assert!(
                parse_config(text, Path::new("c")).is_err() && !allows(text),
                "{text}"
            );
        }
    }
}

//! The text of a file of another program, read by watchdog's own parser and taken apart into what a `completion.json` would say. Pure.

use std::path::Path;

use serde_json::{Map, Value};

use watchdog_core::checks::describe;
use watchdog_core::config::settings::{CheckKind, CheckSpec, ConfigSettings};
use watchdog_core::config::{parse, to_json};

use super::foreign_file::{ForeignCriterion, ForeignFile, ForeignSetting};

/// The key at the top that says what decides without checks.
const WITHOUT_CHECKS: &str = "on_no_criteria";
/// The blocks whose keys are taken over.
const BLOCKS: [&str; 3] = ["limits", "breaker", "completion_check"];

/// Takes a file apart: its criteria and limits in the plain form, and the parser's notes.
///
/// # Errors
/// Everything that is wrong with it, on one line each.
pub fn plain_form(path: &str, text: &str) -> Result<ForeignFile, String> {
    let parsed = parse(text, Path::new(path)).map_err(|error| error.to_string())?;
    let (plain, default) = (
        to_json(&parsed.settings),
        to_json(&ConfigSettings::default()),
    );
    let mut settings = Vec::new();
    for block in BLOCKS {
        for (key, value) in plain[block]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, value)| default[block][key.as_str()] != **value)
        {
            settings.push(ForeignSetting::new(block, key, value.clone()));
        }
    }
    // Where a person decides, commits alone must not.
    if plain[WITHOUT_CHECKS] != default[WITHOUT_CHECKS] {
        settings.push(ForeignSetting::new(
            "",
            WITHOUT_CHECKS,
            plain[WITHOUT_CHECKS].clone(),
        ));
    }
    let entries = plain["checks"].as_array().cloned().unwrap_or_default();
    let criteria = entries
        .iter()
        .zip(&parsed.settings.checks)
        .map(|(entry, check)| ForeignCriterion {
            entry: shortest(entry),
            meaning: meaning(check),
            chosen: !lacks_a_number(check),
        });
    Ok(ForeignFile {
        path: path.to_owned(),
        criteria: criteria.collect(),
        settings,
        notes: parsed.notes,
    })
}

/// What a check asks for, on one line.
fn meaning(check: &CheckSpec) -> String {
    let settings = ConfigSettings {
        checks: vec![check.clone()],
        ..ConfigSettings::default()
    };
    describe(&settings)
        .lines()
        .map(|line| line.trim().trim_start_matches("- "))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Whether an issue is asked for whose number the other program has on its command line.
fn lacks_a_number(check: &CheckSpec) -> bool {
    match check {
        CheckSpec::Group { checks, .. } => checks.iter().any(lacks_a_number),
        CheckSpec::Single { criterion, .. } => {
            matches!(criterion, CheckKind::Issue(issue) if issue.number.is_none() && issue.pull_request.is_none())
        }
    }
}

/// The entry without the keys that mean the same where they are not there.
fn shortest(entry: &Value) -> Value {
    let Value::Object(keys) = entry else {
        return entry.clone();
    };
    let mut keys = keys.clone();
    if let Some(Value::Array(inner)) = keys.get_mut("checks") {
        inner.iter_mut().for_each(|entry| *entry = shortest(entry));
    }
    let meant = read(&keys);
    for key in keys.clone().keys() {
        let mut fewer = keys.clone();
        fewer.remove(key);
        if meant.is_some() && read(&fewer) == meant {
            keys = fewer;
        }
    }
    Value::Object(keys)
}

fn read(keys: &Map<String, Value>) -> Option<Vec<CheckSpec>> {
    let file = Map::from_iter([(
        "checks".to_owned(),
        Value::Array(vec![Value::Object(keys.clone())]),
    )]);
    parse(
        &Value::Object(file).to_string(),
        Path::new("completion.json"),
    )
    .ok()
    .map(|parsed| parsed.settings.checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_taken_apart_into_the_plain_form() {
        let text = r#"{"name": "a", "displayName": "A", "runner": {"verdict": {"type": "meta:composite", "config": {"operator": "or",
            "maxIterations": 40, "conditions": [{"type": "detect:keyword", "config": {"verdictKeyword": "DONE"}},
            {"type": "count:check", "config": {"maxChecks": 3}}]}}}}"#;
        let found = plain_form(".agent/a/agent.json", text).expect("it is right");
        let entry = r#"{"mode":"any","checks":[{"type":"signal","text":"DONE","match":"contains","in":"iteration"},{"type":"iterations","count":3}]}"#;
        let wanted: Value = serde_json::from_str(entry).expect("JSON");
        assert_eq!(
            found
                .criteria
                .iter()
                .map(|criterion| &criterion.entry)
                .collect::<Vec<_>>(),
            [&wanted]
        );
        assert!(
            found.criteria[0].meaning.contains("DONE") && found.criteria[0].chosen,
            "{found:?}"
        );
        assert_eq!(
            found.settings,
            [ForeignSetting::new("limits", "max_iterations", 40)]
        );
        assert!(found.notes.is_empty(), "{found:?}");
    }

    #[test]
    fn an_issue_without_a_number_is_not_written_by_itself() {
        let found = plain_form(
            "agent.json",
            r#"{"runner": {"verdict": {"type": "poll:state"}}}"#,
        )
        .expect("it is right");
        assert!(!found.criteria[0].chosen, "{found:?}");
        assert!(plain_form("agent.json", r#"{"runner": {"verdict": {"type": "poll"}}}"#).is_err());
    }
}

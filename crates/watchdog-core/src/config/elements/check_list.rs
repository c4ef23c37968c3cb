//! `checks`: criteria and groups of them, at any depth.

use serde_json::{Map, Value, json};

use super::super::key_kinds::{ValueForm, filled_list_of, word_of};
use super::super::key_table::{KeyBlock, keys, no_rules};
use super::super::nearest::format_nearest_hint;
use super::super::problem::quote_text;
use super::super::reader::ConfigNode;
use super::super::settings::{CheckKind, CheckSpec, Mode};
use super::check_type::{CheckType, ErasedCheckType};
use super::{agent_checks, command, external_checks, fact_checks, lists};

/// The words for [`Mode`].
pub(in super::super) const MODES: &[(&str, Mode)] = &[
    ("all", Mode::All),
    ("any", Mode::Any),
    ("first", Mode::First),
];

/// Every type of check, in the contract's order.
pub(in super::super) static TYPES: &[&dyn ErasedCheckType] = &[
    &agent_checks::SIGNAL,
    &command::COMMAND,
    &lists::PLAN,
    &lists::FEATURE_LIST,
    &fact_checks::GIT,
    &fact_checks::FILES,
    &external_checks::ISSUE,
    &agent_checks::STRUCTURED,
    &agent_checks::SQL_RESULT,
    &external_checks::JUDGE,
    &external_checks::PHASE,
    &agent_checks::ITERATIONS,
    &external_checks::CUSTOM,
    &ALWAYS,
];

static ALWAYS: CheckType<()> = CheckType {
    doc: "Met, whatever happened; its evidence is none.",
    block: KeyBlock {
        name: "always",
        defaults: || (),
        keys: &[],
        rules: no_rules,
    },
    any_of: &[],
    wrap: |()| CheckKind::Always,
    unwrap: |criterion| matches!(criterion, CheckKind::Always).then_some(&()),
};

/// A group as it is written.
#[derive(Clone)]
struct CheckGroup {
    mode: Mode,
    checks: Vec<CheckSpec>,
}

static GROUP: KeyBlock<CheckGroup> = KeyBlock {
    name: "group",
    defaults: || CheckGroup {
        mode: Mode::All,
        checks: Vec::new(),
    },
    keys: keys! { CheckGroup;
        "mode" => mode: word_of(MODES), "how its checks combine", mark_required("a group says how its checks combine: `all`, `any` or `first`");
        "checks" => checks: filled_list_of(ENTRY, "a group without checks can never be complete; add one or remove the group"),
            "checks and groups of them", mark_required("a group lists its checks");
    },
    rules: no_rules,
};

/// An entry of `checks`.
pub(in super::super) const ENTRY: ValueForm<CheckSpec> = ValueForm {
    read: read_check_entry,
    write: write_check,
    schema: || json!({"$ref": "#/$defs/entry"}),
    words: "check",
};

/// The schema's definitions of entries, groups and each type of check, by name.
pub(in super::super) fn build_check_definitions() -> Map<String, Value> {
    let names = [GROUP.name]
        .into_iter()
        .chain(TYPES.iter().map(|kind| kind.type_word()));
    let entry: Vec<Value> = names
        .map(|name| json!({"$ref": format!("#/$defs/{name}")}))
        .collect();
    let types = TYPES
        .iter()
        .map(|kind| (kind.type_word().to_owned(), kind.build_schema()));
    types
        .chain([
            ("entry".to_owned(), json!({"oneOf": entry})),
            (GROUP.name.to_owned(), GROUP.schema()),
        ])
        .collect()
}

pub(in super::super) fn read_list(node: &ConfigNode<'_>) -> Option<Vec<CheckSpec>> {
    node.list(read_check_entry)
}

fn read_check_entry(node: &ConfigNode<'_>) -> Option<CheckSpec> {
    if node.members().is_none() {
        node.report_expected("an object: a check with `type`, or a group with `mode` and `checks`");
        return None;
    }
    if node.has("type") {
        read_single_check(node)
    } else if node.has("mode") || node.has("checks") {
        GROUP
            .read_whole(node)
            .map(|CheckGroup { mode, checks }| CheckSpec::Group { mode, checks })
    } else {
        node.wrong(
            "neither a check nor a group; a check has `type`, a group has `mode` and `checks`",
        );
        None
    }
}

fn read_single_check(node: &ConfigNode<'_>) -> Option<CheckSpec> {
    let kind = node.peek("type")?;
    let word = kind.text()?;
    let registered_types = node.report.registered_types();
    let criterion =
        if let Some(check_type) = TYPES.iter().find(|candidate| candidate.type_word() == word) {
            check_type.read_check(node)
        } else if registered_types.contains(&word.as_str()) {
            read_registered(&word, node)
        } else {
            let known_words = TYPES
                .iter()
                .map(|check_type| check_type.type_word())
                .chain(registered_types.iter().copied());
            kind.wrong(format!(
                "no type of check is named {}{}",
                quote_text(&word),
                format_nearest_hint(&word, known_words)
            ));
            None
        };
    let name = match node.peek("name") {
        Some(name) => name.text(),
        None => Some(word),
    };
    Some(CheckSpec::Single {
        name: name?,
        criterion: criterion?,
    })
}

fn write_check(spec: &CheckSpec) -> Value {
    match spec {
        CheckSpec::Group { mode, checks } => GROUP
            .write(CheckGroup {
                mode: *mode,
                checks: checks.clone(),
            })
            .into(),
        CheckSpec::Single { name, criterion } => {
            let mut entry = match criterion {
                CheckKind::Registered { keys, .. } => keys.clone(),
                known => TYPES
                    .iter()
                    .find_map(|kind| kind.write_check(known))
                    .unwrap_or_default(),
            };
            entry.insert("type".into(), criterion.kind().into());
            entry.insert("name".into(), name.as_str().into());
            entry.into()
        }
    }
}

/// An entry of a type that this program does not know itself: the program that registered it reads its keys.
fn read_registered(kind: &str, node: &ConfigNode<'_>) -> Option<CheckKind> {
    node.open_section()?;
    let serde_json::Value::Object(mut keys) = node.json.to_value() else {
        return None;
    };
    keys.retain(|key, _| key != "type" && key != "name");
    Some(CheckKind::Registered {
        kind: kind.to_owned(),
        keys,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::parse::testing::{fails, reads};
    use super::*;

    #[test]
    fn groups_nest() {
        let settings = reads(
            r#"{"mode": "any", "checks": [{"type": "always"}, {"mode": "all", "checks": [{"mode": "first", "checks": [{"type": "always", "name": "n"}]}]}]}"#,
        );
        let always = |name: &str| CheckSpec::Single {
            name: name.into(),
            criterion: CheckKind::Always,
        };
        assert_eq!(settings.mode, Mode::Any);
        assert_eq!(
            settings.checks,
            [
                always("always"),
                CheckSpec::Group {
                    mode: Mode::All,
                    checks: vec![CheckSpec::Group {
                        mode: Mode::First,
                        checks: vec![always("n")]
                    }]
                }
            ]
        );
    }

    #[test]
    fn an_unknown_type_names_the_nearest() {
        fails(
            r#"{"checks": [{"type": "comand", "run": "x"}]}"#,
            "checks[0].type: no type of check is named \"comand\", did you mean `command`?",
        );
        fails(
            r#"{"checks": [{"type": "featureList"}]}"#,
            "did you mean `feature_list`?",
        );
        fails(
            r#"{"checks": [{"type": "zzzzzzzz"}]}"#,
            "the nearest known one is `",
        );
        fails(
            r#"{"checks": [{"type": 5}]}"#,
            "checks[0].type: expected a text, found the number 5",
        );
    }

    #[test]
    fn what_is_neither_check_nor_group_is_named() {
        fails(
            r#"{"checks": [{"name": "x"}]}"#,
            "checks[0]: neither a check nor a group",
        );
        fails(
            r#"{"checks": ["tests"]}"#,
            "checks[0]: expected an object: a check with `type`, or a group with `mode` and `checks`, found the text",
        );
        fails(
            r#"{"checks": {"type": "always"}}"#,
            "checks: expected a list, found an object",
        );
        fails(
            r#"{"checks": [{"mode": "any"}]}"#,
            "checks[0].checks: missing",
        );
        fails(
            r#"{"checks": [{"checks": [{"type": "always"}]}]}"#,
            "checks[0].mode: missing",
        );
        fails(
            r#"{"checks": [{"mode": "none", "checks": [{"type": "always"}]}]}"#,
            "checks[0].mode: unknown word \"none\"",
        );
        fails(
            r#"{"checks": [{"mode": "any", "checks": []}]}"#,
            "checks[0].checks: a group without checks can never be complete",
        );
        fails(
            r#"{"checks": [{"type": "always", "checks": []}]}"#,
            "checks[0].checks: unknown key",
        );
        fails(
            r#"{"checks": [{"type": "always", "name": ""}]}"#,
            "checks[0].name: must not be empty",
        );
    }
}
